// What an entry needs for one assignment of its symbolic dimensions: sizes,
// arena offsets, library primitives, and the command list with every operand
// resolved to a pointer.
//
// The planner belongs to one Executable, knows what doesn't depend on shapes,
// and makes plans; it refers to the program, the kernels and the variables.
#pragma once

#include "sinter/core/executable.h"
#include "sinter/core/memory_plan.h"

#include <memory>
#include <vector>

namespace sinter::rt {

/// A command ready to run. Commands without work have none.
struct Step {
  CommandKind kind;
  Index command;  ///< its place in the entry
  void **buffers; ///< the operands, inside ShapePlan::pointers
  sinter_kernel kernel = nullptr;
  PreparedCall *primitive = nullptr; ///< Library: of the kind that the executor's device runs
  int64_t tasks = 0;                 ///< Launch
  int64_t scratchStride = 0;         ///< Launch: bytes a worker
  int64_t bytes = 0;                 ///< Copy
};

struct ShapePlan {
  /// An operand that lies in a caller's array.
  struct Patch {
    size_t pointer; ///< in `pointers`
    int64_t offset;
  };
  struct Port {
    void *data = nullptr; ///< what the patches were last set to
    std::vector<Patch> patches;
  };

  std::vector<int64_t> symbols, values; ///< one a Symbol, one an Expr
  std::vector<int64_t> offsets;         ///< one a buffer: its place inside its root
  std::vector<Dims> bufferDims, outputDims;
  std::vector<Interval> intervals;
  ArenaPlan arena;
  int64_t scratchBytes = 0;
  std::vector<Step> steps;
  std::vector<void *> pointers;
  std::vector<Port> ports; ///< inputs, then outputs
  std::vector<std::shared_ptr<PreparedCall>> primitives;
  std::unique_ptr<Replay> replay; ///< null: the device has none, or it was not run yet
  uint64_t workspaceVersion = 0;  ///< of the arena that `pointers` refer to
  uint64_t lastUse = 0;

  void setPort(size_t port, void *data) {
    ports[port].data = data;
    for (const Patch &patch : ports[port].patches)
      pointers[patch.pointer] = static_cast<std::byte *>(data) + patch.offset;
  }
};

/// Makes a library call ready.
using PrepareCall = std::function<StatusOr<std::unique_ptr<PreparedCall>>(
    const LibraryCall &, std::span<const LibraryOperand>)>;

class ShapePlanner {
public:
  /// `kernels` may be empty: then steps have none, and run on a device. `prepare` is null where
  /// there is no library.
  static StatusOr<std::unique_ptr<ShapePlanner>> create(const Program &program, const Entry &entry,
                                                        std::vector<sinter_kernel> kernels,
                                                        VariableStore &variables, int threads,
                                                        PrepareCall prepare);

  StatusOr<std::unique_ptr<ShapePlan>> plan(const std::vector<int64_t> &symbols);
  /// Sets where variables and constants are, if not in the host's memory.
  void place(std::vector<std::byte *> variables, std::vector<const std::byte *> constants) {
    variableData = std::move(variables);
    constantData = std::move(constants);
    placed = true;
  }
  /// Points the operands at an arena that has room for the plan; `version` tells arenas apart.
  void resolve(ShapePlan &plan, std::byte *arena, uint64_t version) const;
  std::string describe(const ShapePlan &plan) const;

  CommandInfo info(Index command) const;
  int64_t constantBytes() const;

private:
  struct CachedPrimitive {
    std::vector<int64_t> key;
    std::weak_ptr<PreparedCall> primitive;
  };

  ShapePlanner(const Program &program, const Entry &entry, std::vector<sinter_kernel> kernels,
               int threads, PrepareCall prepare)
      : program(program), entry(entry), kernels(std::move(kernels)), threads(threads),
        prepare(std::move(prepare)) {}

  Status bindVariables(VariableStore &variables);
  Status placeConstants();
  Status sizeBuffers(ShapePlan &plan) const;
  Status sizeBuffer(ShapePlan &plan, size_t position) const;
  int64_t capacity(const ShapePlan &plan, const Buffer &buffer) const;
  void planMemory(ShapePlan &plan) const;
  Status addSteps(ShapePlan &plan);
  Status addStep(ShapePlan &plan, Index command, size_t firstPointer);
  Status addLibraryStep(ShapePlan &plan, Step &step);
  void addPatches(ShapePlan &plan) const;
  std::byte *base(const ShapePlan &plan, Index root, std::byte *arena) const;
  template <class... Parts> Status commandError(Code code, Index command, const Parts &...) const;

  const Program &program;
  const Entry &entry;
  std::vector<sinter_kernel> kernels;
  int threads;
  PrepareCall prepare;
  bool placed = false;                   ///< variables and constants are in a device's memory
  std::vector<std::byte *> variableData; ///< one a Variable
  std::vector<const std::byte *> constantData;
  Memory constantMemory;           ///< of constants whose bytes the program holds misaligned
  std::vector<Index> root;         ///< one a buffer: the one that holds its bytes
  std::vector<Index> arenaBuffers; ///< those of kind Arena; intervals follow this order
  std::vector<Index> intervalOf;   ///< one a buffer
  std::vector<CachedPrimitive> cache;
};

} // namespace sinter::rt

// A library call as phases of independent tasks, the form in which every
// primitive of this folder runs.
//
// The tasks are fixed when the primitive is made, by shape alone; a phase starts
// when the one before is done. A task never depends on the thread that runs it,
// so results have the same bits for any number of threads. A TaskList owns its
// tasks and packed constants and is used by one caller at a time.
#pragma once

#include "sinter/core/memory.h"
#include "sinter/cpu/vendor.h"

#include <memory>
#include <set>
#include <vector>

namespace sinter::rt::onednn {

/// Where bytes will be found when the call runs.
struct Place {
  enum class Area : uint8_t {
    Operand, ///< buffer number `index` of the call
    Scratch, ///< the call's scratch
    Packed,  ///< packed constant number `index` of the TaskList
  };
  Area area = Area::Operand;
  int32_t index = 0;
  int64_t offset = 0; ///< bytes

  Place plus(int64_t bytes) const { return {area, index, offset + bytes}; }
};

/// The addresses of one run.
struct Areas {
  void *const *operands;
  std::byte *scratch;
  const std::vector<Memory> *packed;

  std::byte *at(const Place &place) const;
};

/// One operand of the call: what it is, and where it is found (not always in the
/// caller's buffer: bf16 operands may be staged as f32 in scratch).
struct Operand {
  DType dtype = DType::F32;
  std::vector<int64_t> dims;
  Place place;
  bool constant = false; ///< the bytes are known now and never change

  int64_t elements() const;
};

class Task {
public:
  virtual ~Task() = default;
  /// Takes the addresses of the coming run; called by one thread.
  virtual void bind(const Areas &areas) = 0;
  /// False if the library failed. Threads may run different tasks at once.
  virtual bool run() = 0;
};

using Phase = std::vector<std::unique_ptr<Task>>;

class TaskList final : public VendorPrimitive {
public:
  /// `description` names the call in errors. `constants`: an operand's bytes if
  /// they never change, else null; read only while the primitive is being made.
  TaskList(std::string description, std::vector<void *> constants)
      : description(std::move(description)), constants(std::move(constants)) {}

  void addPhase(Phase phase);
  Place allocateScratch(int64_t bytes);
  /// Room for a packed constant, kept as long as the primitive.
  StatusOr<Place> allocatePacked(int64_t bytes);
  /// Runs `phase` now, on constants and packed constants.
  Status runNow(Phase phase);
  void noteImplementation(std::string name) { implementations.insert(std::move(name)); }
  void forgetConstants() { constants.clear(); }

  int64_t scratchBytes() const override { return scratchSize; }
  Status run(void *const *buffers, void *scratch, ThreadPool &pool) override;
  std::string implementationName() const override;
  int64_t parallelism() const override;

private:
  Status failed() const;

  std::string description;
  std::vector<void *> constants;
  std::vector<Phase> phases;
  std::vector<Memory> packed;
  std::set<std::string> implementations;
  int64_t scratchSize = 0;
};

} // namespace sinter::rt::onednn

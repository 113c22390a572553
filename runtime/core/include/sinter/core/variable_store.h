// Named storage that outlives a step: parameters, optimizer slots, statistics,
// counters. A variable's address, dtype and shape never change once it is added,
// so compiled programs bind to the address.
//
// The store owns the entries; executables that bound to one need it alive. It
// may be shared by any number of executables; adding variables while another
// thread reads the store, or running two writers at once, is the caller's to
// prevent.
#pragma once

#include "sinter/core/array.h"
#include "sinter/core/program.h"

#include <deque>
#include <string_view>
#include <unordered_map>

namespace sinter::rt {

struct StoredVariable {
  std::string name; ///< unique, dotted path
  Array value;
  bool trainable = false;
};

class VariableStore {
public:
  VariableStore() = default;
  VariableStore(const VariableStore &) = delete;
  VariableStore &operator=(const VariableStore &) = delete;

  /// Adds zeros, or returns the variable of that name if it has the same type;
  /// of another type: AlreadyExists.
  StatusOr<StoredVariable *> add(std::string_view name, DType dtype, Dims dims, bool trainable);
  /// Adds a variable on the given storage, which may be shared (tied weights) or
  /// borrowed (a mapped file).
  StatusOr<StoredVariable *> add(std::string_view name, Array value, bool trainable);
  /// Adds whatever the program needs and the store lacks, as zeros.
  Status addAll(const Program &program);

  StoredVariable *find(std::string_view name);
  const StoredVariable *find(std::string_view name) const;
  /// As find; the error of a wrong name suggests the nearest one.
  StatusOr<StoredVariable *> get(std::string_view name);

  size_t size() const { return entries.size(); }
  int64_t bytes() const;
  auto begin() { return entries.begin(); } ///< in order of addition
  auto end() { return entries.end(); }
  auto begin() const { return entries.begin(); }
  auto end() const { return entries.end(); }

private:
  std::deque<StoredVariable> entries; ///< stable addresses; the map's keys point into it
  std::unordered_map<std::string_view, StoredVariable *> byName;
};

} // namespace sinter::rt

// Named storage that outlives a step: parameters, optimizer slots, statistics,
// counters. A variable's address, dtype and shape never change once it is added,
// so compiled programs bind to the address.
//
// The host's memory is a variable's home. While a device works with a copy, that
// copy may be newer: whoever wants the contents asks `read` or `write`, which
// bring them home.
//
// The store owns the entries; executables that bound to one need it alive. It
// may be shared by any number of executables; adding variables while another
// thread reads the store, or running two writers at once, is the caller's to
// prevent.
#pragma once

#include "sinter/core/array.h"
#include "sinter/core/program.h"

#include <deque>
#include <memory>
#include <string_view>
#include <unordered_map>

namespace sinter::rt {

class StoredVariable;

/// Who may have newer contents of a variable than the host: the copies on a device.
class VariableHolder {
public:
  virtual ~VariableHolder() = default;
  /// Brings the contents to the variable's storage and waits for them.
  virtual Status fetch(StoredVariable &variable) = 0;
};

class StoredVariable {
public:
  StoredVariable(std::string name, Array value, bool trainable)
      : name(std::move(name)), trainable(trainable), value(std::move(value)) {}

  const std::string name; ///< unique, dotted path
  const bool trainable;

  DType dtype() const { return value.dtype(); }
  const Dims &dims() const { return value.dims(); }
  std::string type() const { return value.type(); }
  int64_t bytes() const { return value.bytes(); }

  /// The contents, to look at until something runs. Fails if the device that has them does.
  StatusOr<Array> read();
  /// The contents, to change before anything runs; every device's copy is old from now on.
  StatusOr<Array> write();
  /// The home itself, for its address: the contents may be old.
  const Array &storage() const { return value; }

  // For holders.
  /// One higher whenever the contents change, wherever that is.
  uint64_t version() const { return changes; }
  /// The contents are `holder`'s from now on; null: the storage's.
  void changed(std::shared_ptr<VariableHolder> holder) {
    ++changes;
    newest = std::move(holder);
  }

private:
  Array value;
  uint64_t changes = 1;
  std::shared_ptr<VariableHolder> newest; ///< null: the storage is up to date
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

  /// Whether a device has, or had, copies of variables.
  bool copied() const { return hasCopies; }
  void noteCopies() { hasCopies = true; }

private:
  std::deque<StoredVariable> entries; ///< stable addresses; the map's keys point into it
  std::unordered_map<std::string_view, StoredVariable *> byName;
  bool hasCopies = false;
};

} // namespace sinter::rt

#include "sinter/core/variable_store.h"

#include "sinter/base/text.h"

namespace sinter::rt {

StatusOr<Array> StoredVariable::read() {
  if (newest) {
    std::shared_ptr<VariableHolder> holder = newest;
    SINTER_RETURN_IF_ERROR(holder->fetch(*this));
    newest = nullptr;
  }
  return value;
}

StatusOr<Array> StoredVariable::write() {
  StatusOr<Array> current = read();
  if (current.ok())
    changed(nullptr);
  return current;
}

static Status mismatch(const StoredVariable &found, DType dtype, const Dims &dims) {
  return makeError(Code::AlreadyExists, "variable '", found.name, "' has type ", found.type(),
                   " and cannot be added as ", formatType(dtype, dims),
                   "; give the new one another name");
}

StatusOr<StoredVariable *> VariableStore::add(std::string_view name, DType dtype, Dims dims,
                                              bool trainable) {
  if (StoredVariable *found = find(name)) {
    if (found->dtype() == dtype && found->dims() == dims)
      return found;
    return mismatch(*found, dtype, dims);
  }
  StatusOr<Array> value = Array::allocate(dtype, std::move(dims));
  if (!value.ok())
    return makeError(value.status().code(), "variable '", name, "': ", value.status().message());
  std::memset(value->data(), 0, value->bytes());
  return add(name, *std::move(value), trainable);
}

StatusOr<StoredVariable *> VariableStore::add(std::string_view name, Array value, bool trainable) {
  if (StoredVariable *found = find(name))
    return mismatch(*found, value.dtype(), value.dims());
  StoredVariable &added = entries.emplace_back(std::string(name), std::move(value), trainable);
  byName.emplace(added.name, &added);
  return &added;
}

Status VariableStore::addAll(const Program &program) {
  for (const Variable &variable : program.variables) {
    auto added = add(variable.name, variable.dtype, variable.dims, variable.trainable);
    SINTER_RETURN_IF_ERROR(added.status());
  }
  return {};
}

StoredVariable *VariableStore::find(std::string_view name) {
  auto it = byName.find(name);
  return it == byName.end() ? nullptr : it->second;
}

const StoredVariable *VariableStore::find(std::string_view name) const {
  return const_cast<VariableStore *>(this)->find(name);
}

StatusOr<StoredVariable *> VariableStore::get(std::string_view name) {
  if (StoredVariable *found = find(name))
    return found;
  std::vector<std::string> names;
  for (const StoredVariable &entry : entries)
    names.push_back(entry.name);
  std::string_view near = nearestName(name, names);
  return makeError(Code::NotFound, "there is no variable '", name, "' among the ", entries.size(),
                   near.empty() ? "" : "; did you mean '", near, near.empty() ? "" : "'?");
}

int64_t VariableStore::bytes() const {
  int64_t total = 0;
  for (const StoredVariable &entry : entries)
    total += entry.bytes();
  return total;
}

} // namespace sinter::rt

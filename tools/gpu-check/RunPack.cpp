#include "RunPack.h"

#include "sinter/base/text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace sinter::gpucheck {

namespace {

/// "[3, 5]" of a position in row-major order.
std::string indexText(const rt::Dims &dims, int64_t position) {
  rt::Dims index(dims.size());
  for (size_t axis = dims.size(); axis-- > 0;) {
    index[axis] = position % dims[axis];
    position /= dims[axis];
  }
  return formatShape(index);
}

std::string digits(double value, int count = 9) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*g", count, value);
  return text;
}

std::string failure(const Expected &expected, int64_t at, const std::string &wanted,
                    const std::string &got, const std::string &bound) {
  return concat(expected.name, ", element ", indexText(expected.value.dims(), at), " of ",
                expected.value.type(), ": got ", got, ", expected ", wanted, ", ", bound);
}

std::string compareIntegers(const Expected &expected, const rt::Array &got) {
  for (int64_t i = 0; i < got.elements(); ++i)
    if (int64_t a = got.integerAt(i), e = expected.value.integerAt(i); a != e)
      return failure(expected, i, std::to_string(e), std::to_string(a), "must be equal");
  return "";
}

double allowed(const Bound &bound, double expected, int64_t i) {
  double magnitude = std::max(std::abs(expected), bound.floor);
  if (bound.scale)
    magnitude = std::max(magnitude, bound.scale.floatAt(i));
  return bound.relative * magnitude + bound.absolute;
}

} // namespace

std::string compare(const Expected &expected, const rt::Array &got, double &worst) {
  const rt::Array &value = expected.value;
  if (got.type() != value.type())
    return concat(expected.name, ": got ", got.type(), ", expected ", value.type());
  if (!isFloat(value.dtype()))
    return compareIntegers(expected, got);
  int64_t at = -1;
  double most = 0;
  for (int64_t i = 0; i < value.elements(); ++i) {
    double e = value.floatAt(i), a = got.floatAt(i);
    if (e == a || (std::isnan(e) && std::isnan(a)))
      continue;
    double share = std::isfinite(e) && std::isfinite(a)
                       ? std::abs(e - a) / allowed(expected.bound, e, i)
                       : INFINITY;
    if (share > most) {
      most = share;
      at = i;
    }
  }
  worst = std::max(worst, most);
  if (most <= 1)
    return "";
  double e = value.floatAt(at), a = got.floatAt(at);
  return failure(expected, at, digits(e), digits(a),
                 concat("bound ", digits(allowed(expected.bound, e, at), 3), " (difference ",
                        digits(std::abs(e - a), 3), ")"));
}

StatusOr<std::unique_ptr<LoadedPack>> LoadedPack::load(const Pack &pack, Target &target) {
  std::unique_ptr<LoadedPack> result(new LoadedPack(pack, target));
  auto program = rt::deserialize(pack.program.data(), pack.program.size());
  if (!program.ok())
    return program.status();
  result->shared = std::make_shared<const rt::Program>(*std::move(program));
  auto loaded = target.load(pack, *result->shared);
  if (!loaded.ok())
    return loaded.status();
  result->loaded = *std::move(loaded);
  return result;
}

StatusOr<rt::Executable *> LoadedPack::prepare(const Case &c, rt::Device &device) {
  auto entry = std::find_if(shared->entries.begin(), shared->entries.end(),
                            [&](const rt::Entry &e) { return e.name == c.entry; });
  if (entry == shared->entries.end())
    return makeError(Code::Corrupt, pack.name, " has no entry '", c.entry, "'; record it again");
  release();
  store = std::make_unique<rt::VariableStore>();
  SINTER_RETURN_IF_ERROR(store->addAll(*shared));
  for (const NamedArray &variable : c.variables) {
    rt::StoredVariable *stored = store->find(variable.name);
    if (!stored || stored->type() != variable.value.type())
      return makeError(Code::Corrupt, pack.name, ": the program has no variable '", variable.name,
                       "' of type ", variable.value.type(), "; record it again");
    stored->storage().copyFrom(variable.value.data(), variable.value.bytes());
  }
  rt::Executable::Options options;
  options.device = rt::DeviceVariables::create(
      std::shared_ptr<rt::Device>(std::shared_ptr<void>(), &device)); // the target's
  options.deviceKernels = loaded.kernels;
  auto made = rt::Executable::create(shared, rt::Index(entry - shared->entries.begin()), {}, *store,
                                     pool, nullptr, std::move(options));
  if (!made.ok())
    return made.status();
  executable = *std::move(made);
  return executable.get();
}

Verdict LoadedPack::run(const Case &c, size_t mostSteps) {
  Verdict verdict;
  auto prepared = prepare(c, target.device());
  if (!prepared.ok()) {
    verdict.error = prepared.status();
    return verdict;
  }
  size_t steps = std::min(mostSteps, c.steps.size());
  for (size_t s = 0; s < steps; ++s) {
    const Step &step = c.steps[s];
    auto results = (*prepared)->call(step.inputs);
    if (!results.ok()) {
      verdict.error = results.status();
      return verdict;
    }
    for (const Expected &expected : step.expected) {
      bool isResult = expected.of == Expected::Of::Result;
      rt::StoredVariable *variable = isResult ? nullptr : store->find(expected.name);
      if (isResult ? expected.position >= results->size() : !variable) {
        verdict.failures.push_back(expected.name + " is not among what the program gives");
        continue;
      }
      StatusOr<rt::Array> got =
          isResult ? StatusOr<rt::Array>((*results)[expected.position]) : variable->read();
      if (!got.ok()) {
        verdict.error = got.status();
        return verdict;
      }
      std::string wrong = compare(expected, *got, verdict.worst);
      if (!wrong.empty())
        verdict.failures.push_back(c.steps.size() > 1 ? concat("step ", s, ": ", wrong) : wrong);
    }
  }
  release();
  return verdict;
}

} // namespace sinter::gpucheck

#include "session/Weights.h"

#include "sinter/array.h"
#include "sinter/base/text.h"
#include "sinter/core/npy.h"
#include "tracing/Types.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ostream>
#include <set>

namespace sinter {
namespace detail {

rt::TensorView viewOf(const std::string &name, const Array &array) {
  return {name, array.dtype(), array.dims(), static_cast<const std::byte *>(array.data()),
          size_t(array.bytes())};
}

void check(const Status &status) {
  if (!status.ok())
    throw Error(status.message());
}

bool matches(std::string_view glob, std::string_view name) {
  // Greedy with one point to return to: the last star.
  size_t g = 0, n = 0, star = glob.npos, mark = 0;
  while (n < name.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      mark = n;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == name[n])) {
      ++g, ++n;
    } else if (star != glob.npos) {
      g = star + 1;
      n = ++mark;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*')
    ++g;
  return g == glob.size();
}

static Array arrayOf(const rt::TensorView &view) {
  Array array = Array::empty(view.dtype, view.dims);
  if (view.bytes)
    std::memcpy(array.data(), view.data, view.bytes);
  return array;
}

static std::string withNearest(const std::string &name, const std::vector<std::string> &others) {
  std::string_view near = nearestName(name, others);
  return near.empty() ? name : text(name, " (nearest: ", near, ")");
}

namespace {

/// Compares a file with targets; nothing is changed until all was compared.
class Comparison {
public:
  Comparison(const rt::Safetensors &file, const std::vector<Target> &targets,
             const LoadOptions &options)
      : file(file), targets(targets), options(options) {}

  LoadReport run() {
    for (const Target &target : targets)
      if (matches(options.only, target.name))
        compare(target);
    std::vector<std::string> names;
    for (const Target &target : targets)
      names.push_back(options.prefix + target.name);
    for (const rt::TensorView &tensor : file.tensors)
      if (std::find(names.begin(), names.end(), tensor.name) == names.end() &&
          std::string_view(tensor.name).starts_with(options.prefix) &&
          matches(options.only, tensor.name.substr(options.prefix.size())))
        report.unexpected.push_back(withNearest(tensor.name, absent));
    std::vector<std::string> available;
    for (const rt::TensorView &tensor : file.tensors)
      available.push_back(tensor.name);
    for (const std::string &name : absent)
      report.missing.push_back(withNearest(name, available));
    return std::move(report);
  }

  void apply() {
    for (const auto &[variable, tensor] : fitting) {
      Array value = arrayOf(*tensor).cast(variable->dtype());
      contentsToWrite(*variable).copyFrom(value.data(), size_t(value.bytes()));
    }
  }

private:
  void compare(const Target &target) {
    std::string name = options.prefix + target.name;
    const rt::TensorView *tensor = file.find(name);
    if (!tensor) {
      // A tied variable may stand in the file under its other name.
      auto other = [&](const Target &t) {
        return t.variable == target.variable && file.find(options.prefix + t.name);
      };
      if (std::none_of(targets.begin(), targets.end(), other))
        absent.push_back(name);
      return;
    }
    const VariableState &own = *target.variable;
    if (tensor->dims != own.dims())
      report.misshapen.push_back(text(name, ": ", formatShape(tensor->dims), " in the file, ",
                                      formatShape(own.dims()), " in the model"));
    else if (tensor->dtype != own.dtype() && !options.cast)
      report.wrongDtype.push_back(text(name, ": ", sinter::name(tensor->dtype), " in the file, ",
                                       sinter::name(own.dtype()), " in the model"));
    else {
      report.loaded.push_back(name);
      fitting.emplace_back(target.variable, tensor);
    }
  }

  const rt::Safetensors &file;
  const std::vector<Target> &targets;
  const LoadOptions &options;
  LoadReport report;
  std::vector<std::string> absent;
  std::vector<std::pair<std::shared_ptr<VariableState>, const rt::TensorView *>> fitting;
};

} // namespace

std::vector<Target> targetsOf(SessionState &session) {
  session.randomState();
  std::vector<Target> targets;
  for (const auto &[name, variable] : session.livingVariables())
    targets.push_back({name, variable});
  return targets;
}

std::vector<rt::TensorView> viewsOf(SessionState &session) {
  std::vector<rt::TensorView> views;
  for (const Target &target : targetsOf(session))
    views.push_back(viewOf(target.name, contentsOf(*target.variable)));
  return views;
}

LoadReport applyWeights(const rt::Safetensors &file, const std::string &path,
                        const std::vector<Target> &targets, const LoadOptions &options, Where at) {
  Comparison comparison(file, targets, options);
  LoadReport report = comparison.run();
  report.path = path;
  if (options.strict && !report.ok())
    fail(at, report.str(), report.wrongDtype.empty() ? "" : "; .cast = true converts other dtypes",
         "; .strict = false loads what fits");
  comparison.apply();
  return report;
}

LoadReport loadWeights(const std::string &path, const std::vector<Target> &targets,
                       const LoadOptions &options, Where at) {
  StatusOr<rt::Safetensors> file = rt::readSafetensors(path);
  if (!file.ok())
    fail(at, file.status().message());
  return applyWeights(*file, path, targets, options, at);
}

} // namespace detail

std::string LoadReport::str() const {
  std::string result = detail::text(path, ": ", loaded.size(), " loaded");
  auto add = [&](const char *what, const std::vector<std::string> &names) {
    constexpr size_t kShown = 8;
    if (names.empty())
      return;
    result += detail::text("; ", names.size(), ' ', what, ": ");
    for (size_t i = 0; i < std::min(names.size(), kShown); ++i)
      result += (i ? ", " : "") + names[i];
    if (names.size() > kShown)
      result += ", …";
  };
  add("missing", missing);
  add("unexpected", unexpected);
  add("misshapen", misshapen);
  add("of the wrong dtype", wrongDtype);
  return result;
}

void LoadReport::print() const { std::fprintf(stderr, "sinter: %s\n", str().c_str()); }

std::ostream &rt::operator<<(std::ostream &stream, const Array &array) {
  return stream << array.str();
}

Array load_npy(const std::string &path) {
  StatusOr<rt::NpyArray> file = rt::readNpy(path);
  detail::check(file.status());
  return detail::arrayOf(file->view);
}

void save_npy(const std::string &path, const Array &array) {
  detail::check(rt::writeNpy(path, detail::viewOf({}, array)));
}

std::map<std::string, Array> load_safetensors(const std::string &path) {
  StatusOr<rt::Safetensors> file = rt::readSafetensors(path);
  detail::check(file.status());
  std::map<std::string, Array> arrays;
  for (const rt::TensorView &tensor : file->tensors)
    arrays.emplace(tensor.name, detail::arrayOf(tensor));
  return arrays;
}

void save_safetensors(const std::string &path, const std::map<std::string, Array> &arrays) {
  std::vector<rt::TensorView> views;
  for (const auto &[name, array] : arrays)
    views.push_back(detail::viewOf(name, array));
  detail::check(rt::writeSafetensors(path, std::move(views)));
}

} // namespace sinter

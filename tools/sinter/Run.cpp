// sinter run: one entry of an artifact, on files or random numbers.
#include "Arrays.h"
#include "Artifact.h"
#include "Cli.h"
#include "Sinter.h"
#include "sinter/base/text.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

namespace sinter::tools {
namespace {

struct Flags {
  std::string artifact, entry, weights, isa, device, save, trace;
  std::vector<std::string> inputs, outputs, dims;
  int64_t iterations = 1;
  int32_t threads = 1;
  uint64_t seed = 1;
  bool profile = false;
};

void addFlags(CLI::App &app, Flags &flags) {
  app.add_option("artifact", flags.artifact, "A shared object made by sinter compile")
      ->required()
      ->type_name("<lib.so>");
  app.add_option("--entry", flags.entry, "Which entry; may be left out if there is but one")
      ->type_name("<name>");
  app.add_option("-i,--input", flags.inputs,
                 "An input: <x.npy>, taken in order, <name>=<x.npy>, or <f.safetensors> with "
                 "tensors named as the inputs are. What is not given is random: floats in [0, 1), "
                 "integers 0 or 1")
      ->allow_extra_args(false)
      ->type_name("<file>");
  app.add_option("-o,--output", flags.outputs,
                 "Where outputs go: <y.npy>, in order, <name>=<y.npy>, or <f.safetensors> for all. "
                 "Without one they are printed")
      ->allow_extra_args(false)
      ->type_name("<file>");
  app.add_option("--dim", flags.dims,
                 "Size of a symbolic dimension of random inputs, <symbol>=<size>; default: the "
                 "smallest there is, but 1")
      ->allow_extra_args(false)
      ->type_name("<n=size>");
  app.add_option("--weights", flags.weights,
                 "Take the variables from here, not from the artifact or the file beside it")
      ->type_name("<f.safetensors>");
  app.add_option("--save", flags.save, "Write the variables here afterwards")
      ->type_name("<f.safetensors>");
  app.add_option("--iterations", flags.iterations,
                 "Calls to time, after one that is not; an entry that updates variables updates "
                 "them each time")
      ->check(CLI::PositiveNumber)
      ->type_name("<count>");
  app.add_option("--threads", flags.threads, "Threads that work on a call; -1: all there are")
      ->type_name("<count>");
  app.add_option("--isa", flags.isa, "Force a compiled instruction set, e.g. x86-64-v3")
      ->type_name("<name>");
  app.add_option("--device", flags.device,
                 "Which device, of an artifact for one: cuda:1. Default: the first")
      ->type_name("<name>");
  app.add_option("--seed", flags.seed, "Of the random inputs")->type_name("<number>");
  app.add_flag("--profile", flags.profile, "Print the time of each command afterwards");
  app.add_option("--trace", flags.trace, "Write the timed commands here as a Chrome trace")
      ->type_name("<f.json>");
  app.footer("Example:\n  sinter run libmnist.so --entry=classify -i digits.npy -o scores.npy "
             "--iterations=1000");
}

class Runner {
public:
  explicit Runner(Flags flags) : flags(std::move(flags)) {}

  Status run() {
    auto loaded = loadArtifact(flags.artifact);
    SINTER_RETURN_IF_ERROR(loaded.status());
    api = *loaded;
    SINTER_RETURN_IF_ERROR(chooseEntry());
    SINTER_RETURN_IF_ERROR(checkOutputs());
    SINTER_RETURN_IF_ERROR(readInputs());
    sinter_options options = SINTER_OPTIONS_INIT;
    options.threads = flags.threads;
    options.weights_path = flags.weights.empty() ? nullptr : flags.weights.c_str();
    options.isa = flags.isa.empty() ? nullptr : flags.isa.c_str();
    options.device = flags.device.empty() ? nullptr : flags.device.c_str();
    auto created = createInstance(api, options);
    SINTER_RETURN_IF_ERROR(created.status());
    Instance instance = *std::move(created);
    SINTER_RETURN_IF_ERROR(makeOutputs(instance.get()));
    SINTER_RETURN_IF_ERROR(measure(instance.get()));
    SINTER_RETURN_IF_ERROR(deliver());
    if (!flags.save.empty())
      SINTER_RETURN_IF_ERROR(checked(api->save(instance.get(), flags.save.c_str())));
    return {};
  }

private:
  Status checked(int code) const { return code ? lastError(api, code) : Status(); }

  Status chooseEntry() {
    int32_t count = api->entry_count(api);
    if (count < 0)
      return lastError(api, SINTER_CORRUPT);
    std::string names;
    for (int32_t i = 0; i < count; ++i)
      names += (i ? ", " : "") + std::string(api->entry_name(api, i));
    if (flags.entry.empty() && count != 1)
      return makeError(Code::InvalidArgument, flags.artifact, " has ", count,
                       " entries; choose one with --entry: ", names);
    entry = flags.entry.empty() ? 0 : api->find_entry(api, flags.entry.c_str());
    if (entry < 0)
      return makeError(Code::NotFound, flags.artifact, ": ", api->last_error(), " It has ", names);
    return {};
  }

  std::string entryName() const { return api->entry_name(api, entry); }

  std::vector<std::string> portNames(bool input) const {
    std::vector<std::string> names;
    int32_t count = input ? api->input_count(api, entry) : api->output_count(api, entry);
    for (int32_t i = 0; i < count; ++i)
      names.push_back((input ? api->input : api->output)(api, entry, i)->name);
    return names;
  }

  /// The port called `name`; without a name the first that is free.
  StatusOr<size_t> findPort(const std::vector<std::string> &names, const std::set<size_t> &taken,
                            const std::string &name, const char *what) const {
    size_t port = 0;
    if (name.empty())
      while (taken.count(port))
        ++port;
    else
      port = size_t(std::find(names.begin(), names.end(), name) - names.begin());
    if (port < names.size())
      return port;
    if (name.empty())
      return makeError(Code::InvalidArgument, "entry '", entryName(), "' has ", names.size(), " ",
                       what, "s, more are given");
    std::string_view near = nearestName(name, names);
    return makeError(Code::NotFound, "entry '", entryName(), "' has no ", what, " '", name, "'",
                     near.empty() ? "" : concat("; did you mean '", near, "'?"));
  }

  /// Finds out before the work where each output goes.
  Status checkOutputs() {
    std::vector<std::string> names = portNames(/*input=*/false);
    std::set<size_t> taken;
    for (const std::string &argument : flags.outputs) {
      auto [name, path] = splitArgument(argument);
      if (path.ends_with(".safetensors") && name.empty()) {
        targets.push_back({path, std::nullopt});
        continue;
      }
      if (!path.ends_with(".npy"))
        return makeError(Code::InvalidArgument, "-o ", argument,
                         " ends neither in .npy nor in .safetensors");
      auto port = findPort(names, taken, name, "output");
      SINTER_RETURN_IF_ERROR(port.status());
      taken.insert(*port);
      targets.push_back({path, *port});
    }
    return {};
  }

  Status readInputs() {
    std::vector<std::string> names = portNames(/*input=*/true);
    inputs.resize(names.size());
    std::set<size_t> taken;
    for (const std::string &argument : flags.inputs) {
      auto arrays = readArrays(argument);
      SINTER_RETURN_IF_ERROR(arrays.status());
      for (NamedArray &array : *arrays) {
        auto port = findPort(names, taken, array.name, "input");
        SINTER_RETURN_IF_ERROR(port.status());
        if (!taken.insert(*port).second)
          return makeError(Code::InvalidArgument, "input '", names[*port], "' is given twice");
        inputs[*port] = array.value;
      }
    }
    return fillInputs();
  }

  /// Random values for what was not given, in the sizes that the given ones or --dim tell.
  Status fillInputs() {
    auto parsed = parseSizes(flags.dims);
    SINTER_RETURN_IF_ERROR(parsed.status());
    std::map<std::string, int64_t> sizes = *std::move(parsed);
    std::set<std::string> asked;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const sinter_port &port = *api->input(api, entry, int32_t(i));
      for (int32_t d = 0; d < port.rank; ++d)
        if (const char *symbol = port.dims[d].symbol) {
          asked.insert(symbol);
          if (inputs[i] && inputs[i].rank() == port.rank)
            sizes.emplace(symbol, inputs[i].dim(d));
        }
    }
    for (const auto &[symbol, size] : sizes)
      if (!asked.count(symbol))
        return makeError(Code::NotFound, "entry '", entryName(), "' has no dimension '", symbol,
                         "' for --dim");
    for (size_t i = 0; i < inputs.size(); ++i)
      if (!inputs[i])
        inputs[i] = randomInput(*api->input(api, entry, int32_t(i)), sizes, flags.seed + i);
    return {};
  }

  static rt::Array randomInput(const sinter_port &port, const std::map<std::string, int64_t> &sizes,
                               uint64_t seed) {
    rt::Dims dims;
    for (const sinter_dim &dim : std::span(port.dims, size_t(port.rank))) {
      auto known = dim.symbol ? sizes.find(dim.symbol) : sizes.end();
      dims.push_back(!dim.symbol            ? dim.size
                     : known != sizes.end() ? known->second
                                            : std::max<int64_t>(1, dim.lower));
    }
    return randomArray(DType(port.dtype), std::move(dims), seed);
  }

  static std::vector<sinter_tensor> tensorsOf(const std::vector<rt::Array> &arrays) {
    std::vector<sinter_tensor> tensors;
    for (const rt::Array &array : arrays)
      tensors.push_back(
          {array.data(), array.dims().data(), int32_t(array.rank()), int32_t(array.dtype())});
    return tensors;
  }

  Status makeOutputs(sinter_instance *instance) {
    std::vector<sinter_tensor> given = tensorsOf(inputs);
    for (int32_t i = 0; i < api->output_count(api, entry); ++i) {
      const sinter_port &port = *api->output(api, entry, i);
      rt::Dims dims(size_t(port.rank));
      SINTER_RETURN_IF_ERROR(checked(api->output_dims(
          instance, entry, given.data(), int32_t(given.size()), i, dims.data(), port.rank)));
      auto array = rt::Array::allocate(DType(port.dtype), std::move(dims));
      SINTER_RETURN_IF_ERROR(array.status());
      outputs.push_back(*std::move(array));
    }
    return {};
  }

  StatusOr<double> timeCall(sinter_instance *instance) {
    using Clock = std::chrono::steady_clock;
    Clock::time_point start = Clock::now();
    int code =
        api->run(instance, entry, from.data(), int32_t(from.size()), to.data(), int32_t(to.size()));
    if (code)
      return lastError(api, code);
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  }

  Status measure(sinter_instance *instance) {
    from = tensorsOf(inputs), to = tensorsOf(outputs);
    // A single iteration is the first call, so that an entry that updates variables updates once.
    bool once = flags.iterations == 1, profiled = flags.profile || !flags.trace.empty();
    if (profiled && once)
      SINTER_RETURN_IF_ERROR(checked(api->profile(instance, 1)));
    auto first = timeCall(instance);
    SINTER_RETURN_IF_ERROR(first.status());
    if (profiled && !once)
      SINTER_RETURN_IF_ERROR(checked(api->profile(instance, 1)));
    std::vector<double> times;
    for (int64_t i = 0; i < flags.iterations && !once; ++i) {
      auto time = timeCall(instance);
      SINTER_RETURN_IF_ERROR(time.status());
      times.push_back(*time);
    }
    report(instance, *first, std::move(times));
    if (flags.profile)
      std::fputs(api->profile_report(instance), stdout);
    return flags.trace.empty() ? Status()
                               : checked(api->profile_trace(instance, flags.trace.c_str()));
  }

  void report(sinter_instance *instance, double first, std::vector<double> times) const {
    std::printf("%s on %s, %s: first call %.3f ms", entryName().c_str(), api->isa(instance),
                flags.threads < 0 ? "all threads"
                                  : concat("threads ", std::max(1, flags.threads)).c_str(),
                first);
    if (!times.empty()) {
      std::sort(times.begin(), times.end());
      auto quantile = [&](double share) {
        return times[size_t(std::ceil(share * double(times.size()))) - 1];
      };
      std::printf("; of %zu more: p50 %.3f ms, p99 %.3f ms", times.size(), quantile(0.5),
                  quantile(0.99));
    }
    std::puts("");
  }

  Status deliver() const {
    std::vector<std::string> names = portNames(/*input=*/false);
    std::vector<NamedArray> arrays;
    for (size_t i = 0; i < outputs.size(); ++i)
      arrays.push_back({names[i], outputs[i]});
    for (const Target &target : targets)
      SINTER_RETURN_IF_ERROR(
          writeArrays(target.path, target.port ? std::vector{arrays[*target.port]} : arrays));
    if (targets.empty())
      for (const NamedArray &array : arrays)
        std::printf("%s %s\n%s\n", array.name.c_str(), array.value.type().c_str(),
                    array.value.str().c_str());
    return {};
  }

  struct Target {
    std::string path;
    std::optional<size_t> port; ///< none: all outputs
  };

  Flags flags;
  const sinter_artifact_api *api = nullptr;
  int32_t entry = 0;
  std::vector<Target> targets;
  std::vector<rt::Array> inputs, outputs;
  std::vector<sinter_tensor> from, to; ///< the same, as the artifact takes them
};

} // namespace

int runMain(int argc, char **argv) {
  CLI::App app("Runs an entry of an artifact and tells how long it takes.", "sinter run");
  Flags flags;
  addFlags(app, flags);
  if (auto status = parse(app, argc, argv))
    return *status;
  Status status = Runner(std::move(flags)).run();
  return status.ok() ? kSuccess : fail(status);
}

} // namespace sinter::tools

// A backend that runs nothing: it keeps what a machine with a GPU shall run, in packs of
// tools/gpu-check.
#include "Backend.h"

#include "Record.h"

using namespace mlir;
using sinter::ir::ReferenceTensor;

namespace sinter::conformance {

namespace {

rt::Array toScale(const ReferenceTensor &tensor) {
  rt::Array array = rt::Array::empty(DType::F64, rt::Dims(tensor.dims()));
  for (int64_t i = 0; i < tensor.size(); ++i)
    array.data<double>()[i] = tensor.real(i);
  return array;
}

gpucheck::Expected toExpected(const Expectation &expectation) {
  gpucheck::Expected expected;
  expected.of = expectation.of == Expectation::Of::Result ? gpucheck::Expected::Of::Result
                                                          : gpucheck::Expected::Of::Variable;
  expected.position = expectation.position;
  expected.name = expectation.name;
  expected.value = toArray(expectation.value);
  const Allowance &allowance = expectation.allowance;
  expected.bound = {allowance.relative, allowance.floor, allowance.absolute,
                    allowance.scale ? toScale(*allowance.scale) : rt::Array()};
  return expected;
}

class Recorder : public Backend {
public:
  explicit Recorder(std::string folder) : folder(std::move(folder)) {}

  std::string name() const override { return "recorder"; }

  LogicalResult compile(ModuleOp module) override {
    auto made = gpucheck::record(module, "conformance/" + module.getSymName().value_or("op").str(),
                                 /*assemble=*/false);
    if (failed(made))
      return failure();
    recording = std::move(*made);
    return success();
  }

  bool keeps(const Run &run) override {
    gpucheck::Case c;
    c.name = StringRef(run.name).rtrim().str() +
             (StringRef(run.function).starts_with("grad") ? ", gradient" : "");
    c.entry = run.function;
    for (const auto &[name, value] : run.variables)
      c.variables.push_back({name, toArray(value)});
    gpucheck::Step &step = c.steps.emplace_back();
    for (const ReferenceTensor &argument : run.arguments)
      step.inputs.push_back(toArray(argument));
    for (const Expectation &expectation : run.expected)
      step.expected.push_back(toExpected(expectation));
    recording.pack.cases.push_back(std::move(c));
    return true;
  }

  FailureOr<std::vector<ReferenceTensor>> run(Run &, std::string &error) override {
    return error = "a recorder runs nothing", failure();
  }

  LogicalResult finish(std::string &error) override {
    Status written = gpucheck::write(recording, folder);
    return error = written.message(), success(written.ok());
  }

private:
  std::string folder;
  gpucheck::Recording recording;
};

} // namespace

std::unique_ptr<Backend> makeRecorder(const std::string &folder) {
  return std::make_unique<Recorder>(folder);
}

} // namespace sinter::conformance

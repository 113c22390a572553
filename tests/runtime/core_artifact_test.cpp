#include "core_allocations.h"
#include "core_support.h"
#include "file_size_limit.h"

#include "sinter/abi/artifact.h"
#include "sinter/core/isa.h"
#include "sinter/core/weights.h"

#include <array>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <fstream>
#include <thread>

namespace sinter::rt {
namespace {

using test::Builder;

/// A hand-built image of stepProgram and what it points to.
struct Image {
  explicit Image(Program from, std::vector<std::string> isas = {"x86-64-v3"})
      : program(serialize(from)), kernels(test::stepKernels()), isas(std::move(isas)) {
    for (const std::string &isa : this->isas)
      variants.push_back({isa.c_str(), kernels.data(), uint32_t(kernels.size())});
    image.abi_version = SINTER_ABI_VERSION;
    image.name = "step";
    image.program = reinterpret_cast<const unsigned char *>(program.data());
    image.program_size = program.size();
    image.variants = variants.data();
    image.variant_count = uint32_t(variants.size());
  }
  const sinter_artifact_api *api() const { return sinter_artifact_open(&image); }

  std::vector<std::byte> program;
  std::vector<sinter_kernel> kernels;
  std::vector<std::string> isas;
  std::vector<sinter_kernel_variant> variants;
  std::vector<char> weights;
  sinter_artifact_image image{};
};

/// Images live as long as the process, as those in a library do.
Image &makeImage(std::vector<std::string> isas = {"x86-64-v3"}) {
  static std::deque<Image> images;
  return images.emplace_back(test::stepProgram(), std::move(isas));
}

std::string writeWeights(const std::string &file, std::vector<TensorView> tensors) {
  std::string path = ::testing::TempDir() + "/" + file;
  EXPECT_TRUE(writeSafetensors(path, std::move(tensors)).ok());
  return path;
}

constexpr float w[] = {1, 2, 3, 4};
constexpr int64_t steps = 10;
std::vector<TensorView> goodWeights() {
  return {{"w", DType::F32, {4}, reinterpret_cast<const std::byte *>(w), sizeof w},
          {"steps", DType::I64, {}, reinterpret_cast<const std::byte *>(&steps), sizeof steps}};
}

std::vector<char> bytesOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The image that the C consumer uses, with embedded weights.
Image &stepImage() {
  static Image &image = [&]() -> Image & {
    Image &made = makeImage();
    made.weights = bytesOf(writeWeights("embedded.safetensors", goodWeights()));
    made.image.weights = reinterpret_cast<const unsigned char *>(made.weights.data());
    made.image.weights_size = made.weights.size();
    return made;
  }();
  return image;
}

class Instance {
public:
  explicit Instance(const sinter_artifact_api *api, const sinter_options *options = nullptr)
      : api(api) {
    EXPECT_EQ(api->create(api, options, &instance), SINTER_OK) << api->last_error();
  }
  ~Instance() { api->destroy(instance); }
  operator sinter_instance *() const { return instance; }

  int run(int64_t rows, float *x, float *y, float *total) {
    int64_t matrix[] = {rows, 4}, vector[] = {4};
    sinter_tensor input = {x, matrix, 2, SINTER_F32};
    sinter_tensor outputs[] = {{y, matrix, 2, SINTER_F32}, {total, vector, 1, SINTER_F32}};
    return api->run(instance, 0, &input, 1, outputs, 2);
  }
  int64_t stepsDone() {
    sinter_tensor view;
    EXPECT_EQ(api->get_variable(instance, api->find_variable(api, "steps"), &view), SINTER_OK);
    return *static_cast<int64_t *>(view.data);
  }

private:
  const sinter_artifact_api *api;
  sinter_instance *instance = nullptr;
};

/// The last error is one line that has these words.
void expectLastError(const sinter_artifact_api *api, std::initializer_list<const char *> words) {
  EXPECT_EQ(std::string(api->last_error()).find('\n'), std::string::npos) << api->last_error();
  for (const char *word : words)
    EXPECT_NE(std::string(api->last_error()).find(word), std::string::npos)
        << "no '" << word << "' in: " << api->last_error();
}

void expectCreateFails(const sinter_artifact_api *api, sinter_options options, sinter_code code,
                       std::initializer_list<const char *> words) {
  auto *instance = reinterpret_cast<sinter_instance *>(8);
  EXPECT_EQ(api->create(api, &options, &instance), code);
  EXPECT_EQ(instance, nullptr);
  expectLastError(api, words);
}

} // namespace
} // namespace sinter::rt

extern "C" {
const sinter_artifact_api *step_api(void) { return sinter::rt::stepImage().api(); }
int runFromC(float last[4]);
}

namespace sinter::rt {
namespace {

TEST(Artifact, RunsFromC) {
  float last[4] = {};
  ASSERT_EQ(runFromC(last), 0);
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(last[i], w[i] + 2);
}

TEST(Artifact, TellsWhatItHolds) {
  const sinter_artifact_api *api = step_api();
  EXPECT_EQ(api, step_api());
  EXPECT_EQ(api->abi_version, SINTER_ABI_VERSION);
  EXPECT_EQ(api->size, sizeof *api);
  EXPECT_STREQ(api->name(api), "step");
  EXPECT_STRNE(api->version(), "");
  ASSERT_EQ(api->entry_count(api), 1);
  EXPECT_STREQ(api->entry_name(api, 0), "step");
  EXPECT_EQ(api->find_entry(api, "stop"), -1);
  expectLastError(api, {"no entry 'stop'", "did you mean 'step'"});
  ASSERT_EQ(api->input_count(api, 0), 1);
  ASSERT_EQ(api->output_count(api, 0), 2);
  const sinter_port *x = api->input(api, 0, 0);
  EXPECT_STREQ(x->name, "x");
  EXPECT_EQ(x->rank, 2);
  EXPECT_EQ(x->dtype, SINTER_F32);
  EXPECT_EQ(x->dims[0].size, -1);
  EXPECT_STREQ(x->dims[0].symbol, "n");
  EXPECT_EQ(x->dims[0].upper, 64);
  EXPECT_EQ(x->dims[1].size, 4);
  EXPECT_EQ(api->output(api, 0, 2), nullptr);
  EXPECT_EQ(api->input(api, 1, 0), nullptr);
  expectLastError(api, {"no entry 1"});
  ASSERT_EQ(api->variable_count(api), 2);
  EXPECT_STREQ(api->variable(api, 0)->name, "w");
  EXPECT_EQ(api->variable(api, 0)->trainable, 1);
  EXPECT_EQ(api->find_variable(api, "steps"), 1);
  EXPECT_STREQ(api->variant(api, 0), "x86-64-v3");
  EXPECT_EQ(api->variant(api, 1), nullptr);
}

TEST(Artifact, InstancesHaveTheirOwnVariables) {
  const sinter_artifact_api *api = step_api();
  Instance a(api), b(api);
  float x[8] = {}, y[8], total[4];
  ASSERT_EQ(a.run(2, x, y, total), SINTER_OK) << api->last_error();
  EXPECT_EQ(a.stepsDone(), 11);
  EXPECT_EQ(b.stepsDone(), 10);
}

TEST(Artifact, RunAllocatesNothingOnASeenShape) {
  Instance instance(step_api());
  float x[8] = {}, y[8], total[4];
  ASSERT_EQ(instance.run(2, x, y, total), SINTER_OK);
  int64_t before = test::allocations();
  for (int i = 0; i < 10; ++i)
    instance.run(2, x, y, total);
  EXPECT_EQ(test::allocations(), before);
}

TEST(Artifact, InstancesRunConcurrently) {
  const sinter_artifact_api *api = step_api();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      sinter_options options = SINTER_OPTIONS_INIT;
      options.threads = 1 + i % 2;
      Instance instance(api, &options);
      std::vector<float> x(64 * 4, 1), y(64 * 4), total(4);
      for (int64_t rows = 1; rows <= 64; ++rows) {
        ASSERT_EQ(instance.run(rows, x.data(), y.data(), total.data()), SINTER_OK);
        ASSERT_EQ(y[size_t(rows) * 4 - 1], 4 + float(rows) - 1);
      }
      ASSERT_EQ(instance.stepsDone(), 10 + 64);
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(Artifact, OutputDimsFollowTheInputs) {
  const sinter_artifact_api *api = step_api();
  Instance instance(api);
  int64_t matrix[] = {7, 4}, dims[2];
  sinter_tensor input = {nullptr, matrix, 2, SINTER_F32};
  ASSERT_EQ(api->output_dims(instance, 0, &input, 1, 0, dims, 2), SINTER_OK) << api->last_error();
  EXPECT_EQ(dims[0], 7);
  EXPECT_EQ(dims[1], 4);
  EXPECT_EQ(api->output_dims(instance, 0, &input, 1, 0, dims, 1), SINTER_INVALID_ARGUMENT);
  expectLastError(api, {"rank 2", "room for 1"});
  EXPECT_EQ(api->output_dims(instance, 0, &input, 1, 5, dims, 2), SINTER_INVALID_ARGUMENT);
}

TEST(Artifact, MisuseIsAnErrorNotACrash) {
  const sinter_artifact_api *api = step_api();
  Instance instance(api);
  float data[12] = {};
  int64_t matrix[] = {2, 4};
  sinter_tensor good = {data, matrix, 2, SINTER_F32};
  EXPECT_EQ(api->run(instance, 3, &good, 1, nullptr, 0), SINTER_INVALID_ARGUMENT);
  expectLastError(api, {"no entry 3"});
  EXPECT_EQ(api->run(instance, 0, nullptr, 1, nullptr, 0), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(api->run(instance, 0, &good, -1, nullptr, 0), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(api->run(nullptr, 0, &good, 1, nullptr, 0), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(api->run(instance, 0, &good, 1, &good, 1), SINTER_INVALID_ARGUMENT);
  expectLastError(api, {"2 outputs", "got 1"});
  for (sinter_tensor bad : {sinter_tensor{data, matrix, 2, 99}, sinter_tensor{data, nullptr, 2, 1},
                            sinter_tensor{data, matrix, -2, 1}}) {
    EXPECT_EQ(api->run(instance, 0, &bad, 1, &good, 1), SINTER_INVALID_ARGUMENT);
    expectLastError(api, {"input 0", "sinter_tensor"});
  }
  EXPECT_EQ(api->create(api, nullptr, nullptr), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(api->get_variable(instance, 9, &good), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(api->save(instance, nullptr), SINTER_INVALID_ARGUMENT);
  EXPECT_NE(api->save(instance, "/nonexistent/weights.safetensors"), SINTER_OK);
  expectLastError(api, {"/nonexistent/weights.safetensors"});
  sinter_options odd = SINTER_OPTIONS_INIT;
  odd.size = 4000;
  expectCreateFails(api, odd, SINTER_INVALID_ARGUMENT, {"size 4000", "SINTER_OPTIONS_INIT"});
  api->destroy(nullptr);
}

/// What run() says to `inputs` and `outputs`, which do not fit.
void expectRefused(const sinter_artifact_api *api, sinter_instance *instance,
                   std::vector<sinter_tensor> inputs, std::vector<sinter_tensor> outputs,
                   std::initializer_list<const char *> words) {
  EXPECT_EQ(api->run(instance, 0, inputs.data(), int32_t(inputs.size()), outputs.data(),
                     int32_t(outputs.size())),
            SINTER_INVALID_ARGUMENT);
  expectLastError(api, words);
}

TEST(Artifact, WrongInputsAndOutputsAreNamedWithWhatIsWanted) {
  const sinter_artifact_api *api = step_api();
  Instance instance(api);
  double wide[8] = {};
  float x[8] = {}, y[8], total[4];
  int64_t matrix[] = {2, 4}, turned[] = {4, 2}, vector[] = {4}, many[] = {65, 4};
  sinter_tensor input = {x, matrix, 2, SINTER_F32};
  std::vector<sinter_tensor> good = {{y, matrix, 2, SINTER_F32}, {total, vector, 1, SINTER_F32}};
  expectRefused(api, instance, {}, good,
                {"'step' has 1 input (x f32[n, 4]), got 0", "pass one array for each"});
  expectRefused(api, instance, {input, input}, good, {"got 2", "pass one array for each"});
  expectRefused(api, instance, {input}, {}, {"2 outputs (y f32[n, 4], total f32[4]), got 0"});
  expectRefused(api, instance, {{wide, matrix, 2, SINTER_F64}}, good,
                {"input 'x' is f32[n, 4], got f64[2, 4]", "convert it to f32"});
  expectRefused(api, instance, {{x, vector, 1, SINTER_F32}}, good,
                {"got f32[4]", "give it 2 dimensions"});
  expectRefused(api, instance, {{x, turned, 2, SINTER_F32}}, good,
                {"got f32[4, 2]", "dimension 1 must be 4"});
  expectRefused(api, instance, {{x, many, 2, SINTER_F32}}, good, {"'n' must lie in 1..64"});
  expectRefused(api, instance, {{nullptr, matrix, 2, SINTER_F32}}, good,
                {"null pointer", "point data at"});
  expectRefused(api, instance, {input}, {{y, turned, 2, SINTER_F32}, good[1]},
                {"output 'y'", "got f32[4, 2]", "for these inputs it is f32[2, 4]"});
  EXPECT_EQ(instance.stepsDone(), 10) << "a refused call ran something";
}

TEST(Artifact, AFullDiskKeepsTheOldFile) {
  const sinter_artifact_api *api = step_api();
  std::filesystem::path folder = ::testing::TempDir() + "/artifact_full_disk";
  std::filesystem::create_directory(folder);
  std::string path = folder / "saved.safetensors";
  Instance instance(api);
  ASSERT_EQ(api->save(instance, path.c_str()), SINTER_OK) << api->last_error();
  std::vector<char> before = bytesOf(path);
  float other[] = {9, 8, 7, 6};
  int64_t four[] = {4};
  sinter_tensor value = {other, four, 1, SINTER_F32};
  ASSERT_EQ(api->set_variable(instance, 0, &value), SINTER_OK) << api->last_error();
  {
    sinter::test::FileSizeLimit limit(16);
    EXPECT_EQ(api->save(instance, path.c_str()), SINTER_IO);
    expectLastError(api, {"cannot write", path.c_str(), "ulimit -f"});
  }
  EXPECT_EQ(api->save(instance, "/dev/full"), SINTER_IO);
  expectLastError(api, {"cannot write /dev/full", "free some space"});
  EXPECT_EQ(bytesOf(path), before);
  auto entries = std::filesystem::directory_iterator(folder);
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1) << "a half-written file is left";
  std::filesystem::remove_all(folder);
}

TEST(Artifact, DamagedWeightsAreNamedAndChangeNothing) {
  const sinter_artifact_api *api = step_api();
  std::string path = writeWeights("whole.safetensors", goodWeights());
  std::vector<char> whole = bytesOf(path);
  Instance instance(api);
  float x[4] = {}, y[4], total[4];
  ASSERT_EQ(instance.run(1, x, y, total), SINTER_OK);
  sinter_options options = SINTER_OPTIONS_INIT;
  options.weights_path = path.c_str();
  for (size_t size = 0; size < whole.size(); ++size) {
    std::ofstream(path, std::ios::binary).write(whole.data(), std::streamsize(size));
    ASSERT_EQ(api->load(instance, path.c_str()), SINTER_CORRUPT) << size;
    expectLastError(api, {"whole.safetensors: byte ", "copy or write it again"});
    expectCreateFails(api, options, SINTER_CORRUPT, {"artifact 'step'", "safetensors: byte "});
  }
  EXPECT_EQ(instance.stepsDone(), 11);
}

TEST(Artifact, VariablesAreSetSavedAndLoaded) {
  const sinter_artifact_api *api = step_api();
  std::string path = ::testing::TempDir() + "/saved.safetensors";
  float other[] = {9, 8, 7, 6};
  int64_t four[] = {4}, five[] = {5};
  {
    Instance instance(api);
    sinter_tensor value = {other, four, 1, SINTER_F32};
    ASSERT_EQ(api->set_variable(instance, 0, &value), SINTER_OK) << api->last_error();
    value.dims = five;
    EXPECT_EQ(api->set_variable(instance, 0, &value), SINTER_INVALID_ARGUMENT);
    expectLastError(api, {"variable 'w' is f32[4], got f32[5]", "pass a value of its type"});
    ASSERT_EQ(api->save(instance, path.c_str()), SINTER_OK) << api->last_error();
  }
  Instance instance(api);
  ASSERT_EQ(api->load(instance, path.c_str()), SINTER_OK) << api->last_error();
  sinter_tensor view;
  ASSERT_EQ(api->get_variable(instance, 0, &view), SINTER_OK);
  EXPECT_EQ(std::memcmp(view.data, other, sizeof other), 0);
  EXPECT_EQ(instance.stepsDone(), 10);
}

TEST(Artifact, ExternalWeightsAreMappedAndPrivate) {
  Image &image = makeImage();
  std::string path = writeWeights("external.safetensors", goodWeights());
  sinter_options options = SINTER_OPTIONS_INIT;
  options.weights_path = path.c_str();
  const sinter_artifact_api *api = image.api();
  std::vector<char> before = bytesOf(path);
  Instance instance(api, &options), second(api, &options);
  float x[] = {1, 1, 1, 1}, y[4], total[4], other[] = {5, 5, 5, 5};
  ASSERT_EQ(instance.run(1, x, y, total), SINTER_OK) << api->last_error();
  EXPECT_EQ(y[3], 4);
  int64_t four[] = {4};
  sinter_tensor value = {other, four, 1, SINTER_F32};
  ASSERT_EQ(api->set_variable(instance, 0, &value), SINTER_OK) << api->last_error();
  ASSERT_EQ(instance.run(1, x, y, total), SINTER_OK);
  EXPECT_EQ(y[3], 5);
  ASSERT_EQ(second.run(1, x, y, total), SINTER_OK);
  EXPECT_EQ(y[3], 4);
  EXPECT_EQ(bytesOf(path), before);
  EXPECT_EQ(instance.stepsDone(), 12);
}

TEST(Artifact, WeightsThatDoNotFitAreListedTogether) {
  Image &image = makeImage();
  const sinter_artifact_api *api = image.api();
  float five[5] = {};
  std::string path = writeWeights(
      "unfit.safetensors",
      {{"w", DType::F32, {5}, reinterpret_cast<const std::byte *>(five), sizeof five},
       {"step", DType::I64, {}, reinterpret_cast<const std::byte *>(&steps), sizeof steps}});
  sinter_options options = SINTER_OPTIONS_INIT;
  options.weights_path = path.c_str();
  expectCreateFails(api, options, SINTER_INVALID_ARGUMENT,
                    {"unfit.safetensors", "'w' is f32[5], must be f32[4]",
                     "'steps' i64[] is missing (nearest there: 'step')"});
  path = writeWeights(
      "dtype.safetensors",
      {{"w", DType::I32, {4}, reinterpret_cast<const std::byte *>(five), 16},
       {"steps", DType::I64, {}, reinterpret_cast<const std::byte *>(&steps), sizeof steps},
       {"x", DType::I64, {}, reinterpret_cast<const std::byte *>(&steps), sizeof steps}});
  options.weights_path = path.c_str();
  expectCreateFails(api, options, SINTER_INVALID_ARGUMENT,
                    {"dtype.safetensors", "'w' is i32[4], must be f32[4]", "the same model"});
  options.weights_path = "/nonexistent.safetensors";
  expectCreateFails(api, options, SINTER_NOT_FOUND, {"/nonexistent.safetensors"});
  expectCreateFails(api, SINTER_OPTIONS_INIT, SINTER_INVALID_ARGUMENT,
                    {"holds no weights", "weights_path"});
  image.image.weights_file = "lost.safetensors";
  expectCreateFails(api, SINTER_OPTIONS_INIT, SINTER_NOT_FOUND,
                    {"lost.safetensors", "weights_path"});
}

TEST(Artifact, WeightsBesideTheArtifactAreFound) {
  Image &image = makeImage();
  std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  std::string path = folder / "core_artifact_test.safetensors";
  ASSERT_OK(writeSafetensors(path, goodWeights()));
  // The folder is that of the object which holds the image: give it static storage.
  static sinter_artifact_image fixed;
  fixed = image.image;
  fixed.weights_file = "core_artifact_test.safetensors";
  Instance instance(sinter_artifact_open(&fixed));
  EXPECT_EQ(instance.stepsDone(), 10);
  std::filesystem::remove(path);
}

TEST(Artifact, TheBestVariantIsChosenAndAMissingOneNamesWhatTheCpuLacks) {
  std::vector<std::string> runnable;
  for (std::string_view isa : isaNames())
    if (missingForIsa(isa).empty())
      runnable.emplace_back(isa);
  ASSERT_FALSE(runnable.empty());
  EXPECT_EQ(bestIsa(), runnable.back());
  Image &image = makeImage(runnable);
  image.image.weights = stepImage().image.weights;
  image.image.weights_size = stepImage().image.weights_size;
  const sinter_artifact_api *api = image.api();
  EXPECT_STREQ(api->isa(Instance(api)), runnable.back().c_str());
  sinter_options options = SINTER_OPTIONS_INIT;
  options.isa = runnable.front().c_str();
  EXPECT_STREQ(api->isa(Instance(api, &options)), runnable.front().c_str());
  options.isa = "x86-64-v9";
  expectCreateFails(api, options, SINTER_NOT_FOUND, {"no variant 'x86-64-v9'", "x86-64-v3"});

  Image &alien = makeImage({"quantum-v1"});
  expectCreateFails(alien.api(), SINTER_OPTIONS_INIT, SINTER_UNSUPPORTED,
                    {"does not run on this CPU", "quantum-v1", "lacks"});
}

TEST(Artifact, OtherVersionsAndDamageAreNamed) {
  Image &old = makeImage();
  old.image.abi_version = 77;
  const std::string own = "has version " + std::to_string(SINTER_ABI_VERSION);
  expectCreateFails(old.api(), SINTER_OPTIONS_INIT, SINTER_UNSUPPORTED,
                    {"ABI version 77", own.c_str()});
  EXPECT_EQ(old.api()->entry_count(old.api()), -1);
  Image &damaged = makeImage();
  damaged.program[60] ^= std::byte(1);
  expectCreateFails(damaged.api(), SINTER_OPTIONS_INIT, SINTER_CORRUPT,
                    {"artifact 'step'", "checksum"});
  Image &vendor = makeImage();
  vendor.image.vendor = SINTER_VENDOR_ONEDNN;
  expectCreateFails(vendor.api(), SINTER_OPTIONS_INIT, SINTER_FAILED_PRECONDITION,
                    {"vendor library", "--vendor=none"});
}

TEST(Artifact, ReportsMemoryAndTime) {
  const sinter_artifact_api *api = step_api();
  Instance instance(api);
  float x[8] = {}, y[8], total[4];
  EXPECT_STREQ(api->profile_report(instance), "");
  expectLastError(api, {"profiling is off"});
  ASSERT_EQ(api->profile(instance, 1), SINTER_OK);
  ASSERT_EQ(instance.run(2, x, y, total), SINTER_OK);
  EXPECT_NE(std::string(api->profile_report(instance)).find("scale in net.head"),
            std::string::npos);
  std::string path = ::testing::TempDir() + "/artifact_trace.json";
  EXPECT_EQ(api->profile_trace(instance, path.c_str()), SINTER_OK) << api->last_error();
  ASSERT_EQ(api->profile(instance, 1), SINTER_OK);
  EXPECT_NE(std::string(api->profile_report(instance)).find("nothing was profiled"),
            std::string::npos);
  ASSERT_EQ(api->profile(instance, 0), SINTER_OK);
  EXPECT_NE(std::string(api->memory_report(instance)).find("hidden"), std::string::npos);
}

} // namespace
} // namespace sinter::rt

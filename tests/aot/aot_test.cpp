// Compiled artifacts through their C interface, several in one process. Nothing of sinter is linked
// but they.
#include "aot_support.h"
#include "mlp.h"
#include "mlp_onednn.h"
#include "scale.h"

#include <cmath>
#include <filesystem>
#include <thread>

namespace sinter::aot {
namespace {

/// What classify computes, in doubles, for one row.
std::vector<double> classifyRow(Instance &instance, const float *x) {
  std::vector<float> w0 = instance.variable("hidden.weight"), b0 = instance.variable("hidden.bias");
  std::vector<float> w1 = instance.variable("head.weight"), b1 = instance.variable("head.bias");
  std::vector<double> hidden(b0.begin(), b0.end()), score(b1.begin(), b1.end());
  for (size_t o = 0; o < 16; ++o) {
    for (size_t i = 0; i < 8; ++i)
      hidden[o] += double(w0[o * 8 + i]) * x[i];
    hidden[o] = std::max(0.0, hidden[o]);
  }
  double sum = 0;
  for (size_t o = 0; o < 4; ++o) {
    for (size_t i = 0; i < 16; ++i)
      score[o] += double(w1[o * 16 + i]) * hidden[i];
    score[o] = std::exp(score[o]);
    sum += score[o];
  }
  for (double &value : score)
    value /= sum;
  return score;
}

void expectClassifies(const sinter_artifact_api *api, int64_t rows) {
  Instance instance(api);
  Tensor<float> x = points(rows), y({rows, 4}, NAN);
  instance.run("classify", {x}, {y});
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<double> expected = classifyRow(instance, &x.values[size_t(row) * 8]);
    for (size_t i = 0; i < 4; ++i)
      ASSERT_NEAR(y.values[size_t(row) * 4 + i], expected[i], 1e-6) << "row " << row;
  }
}

TEST(Aot, GeneratedKernelsAndOneDnnAgreeWithTheDefinition) {
  for (int64_t rows : {1, 2, 7, 16, 63, 64}) {
    expectClassifies(mlp_api(), rows);
    expectClassifies(mlp_onednn_api(), rows);
  }
}

TEST(Aot, ThreeArtifactsLiveInOneProcess) {
  EXPECT_STREQ(mlp_api()->name(mlp_api()), "mlp");
  EXPECT_STREQ(mlp_onednn_api()->name(mlp_onednn_api()), "mlp_onednn");
  Instance a(mlp_api()), b(mlp_onednn_api()), c(scale_api());
  Tensor<float> x = points(3), y({3, 4}), z({3, 4}), line({5}, 1.5f), twice({5});
  a.run("classify", {x}, {y});
  c.run("scale", {line}, {twice});
  b.run("classify", {x}, {z});
  for (size_t i = 0; i < y.values.size(); ++i)
    EXPECT_NEAR(y.values[i], z.values[i], 1e-6);
  EXPECT_EQ(twice.values, std::vector<float>(5, 3.0f));
}

TEST(Aot, HeaderNumbersEntriesAndPorts) {
  EXPECT_EQ(mlp_api()->find_entry(mlp_api(), "train"), MLP_TRAIN);
  EXPECT_EQ(mlp_api()->find_entry(mlp_api(), "classify"), MLP_CLASSIFY);
  EXPECT_STREQ(mlp_api()->input(mlp_api(), MLP_TRAIN, MLP_TRAIN_IN_LABEL)->name, "label");
  EXPECT_STREQ(mlp_api()->output(mlp_api(), MLP_TRAIN, MLP_TRAIN_OUT_LOSS)->name, "loss");
  EXPECT_EQ(mlp_api()->variant_count(mlp_api()), 3);
}

/// Loss by loss, from the weights of the package.
std::vector<float> trainingLosses(const sinter_artifact_api *api, int threads, int steps) {
  Instance instance(api, threads);
  Tensor<int64_t> label = labels();
  std::vector<float> losses;
  for (int step = 0; step < steps; ++step) {
    Tensor<float> x = points(12, step % 5), loss({});
    instance.run("train", {x, label}, {loss});
    losses.push_back(loss.values[0]);
  }
  return losses;
}

TEST(Aot, TrainsTheSameWithAnyNumberOfThreads) {
  for (const sinter_artifact_api *api : {mlp_api(), mlp_onednn_api()}) {
    std::vector<float> losses = trainingLosses(api, 1, 60);
    EXPECT_LT(losses.back(), losses.front());
    EXPECT_EQ(losses, trainingLosses(api, 2, 60));
    EXPECT_EQ(losses, trainingLosses(api, 3, 60));
  }
}

TEST(Aot, InstancesTrainConcurrently) {
  std::vector<float> expected = trainingLosses(mlp_onednn_api(), 1, 40);
  std::vector<std::vector<float>> losses(4);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < losses.size(); ++i)
    threads.emplace_back(
        [&, i] { losses[i] = trainingLosses(mlp_onednn_api(), int(1 + i % 2), 40); });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::vector<float> &got : losses)
    EXPECT_EQ(got, expected);
}

TEST(Aot, TrainedVariablesMoveBetweenArtifacts) {
  std::string path = ::testing::TempDir() + "/aot_trained.safetensors";
  Tensor<float> x = points(12), loss({}), before({12, 4}), after({12, 4});
  Tensor<int64_t> label = labels();
  {
    Instance trained(mlp_api());
    for (int i = 0; i < 5; ++i)
      trained.run("train", {x, label}, {loss});
    trained.run("classify", {x}, {before});
    ASSERT_EQ(mlp_api()->save(trained, path.c_str()), SINTER_OK) << mlp_api()->last_error();
  }
  Instance loaded(mlp_onednn_api());
  ASSERT_EQ(mlp_onednn_api()->load(loaded, path.c_str()), SINTER_OK)
      << mlp_onednn_api()->last_error();
  loaded.run("classify", {x}, {after});
  for (size_t i = 0; i < before.values.size(); ++i)
    EXPECT_NEAR(before.values[i], after.values[i], 1e-6);
  std::filesystem::remove(path);
}

TEST(Aot, WrongArgumentsAreNamed) {
  const sinter_artifact_api *api = mlp_api();
  Instance instance(api);
  Tensor<float> x = points(3), y({3, 4}), narrow({3, 7}), flat({24}), wrong({2, 4});
  Tensor<int64_t> integers({3, 8});
  auto expectRefused = [&](std::vector<sinter_tensor> inputs, std::vector<sinter_tensor> outputs,
                           std::initializer_list<const char *> words) {
    EXPECT_EQ(instance.tryRun("classify", inputs, outputs), SINTER_INVALID_ARGUMENT);
    expectWords(api->last_error(), words);
  };
  expectRefused({}, {y}, {"classify", "1 input", "got 0"});
  expectRefused({x, x}, {y}, {"classify", "1 input", "got 2"});
  expectRefused({x}, {}, {"1 output", "got 0"});
  expectRefused({narrow}, {y}, {"'x'", "f32[n, 8]", "f32[3, 7]"});
  expectRefused({flat}, {y}, {"'x'", "f32[n, 8]", "f32[24]"});
  expectRefused({integers}, {y}, {"'x'", "f32[n, 8]", "i64[3, 8]"});
  expectRefused({x}, {wrong}, {"'probability'", "f32[2, 4]"});
  Tensor<float> many = points(65), result({65, 4}), none({0, 8}), empty({0, 4});
  expectRefused({many}, {result}, {"n", "65", "64"});
  expectRefused({none}, {empty}, {"n", "0", "1"});
  EXPECT_EQ(instance.tryRun("clasify", {x}, {y}), SINTER_INVALID_ARGUMENT);
}

TEST(Aot, AVariantIsForcedOrRefused) {
  const sinter_artifact_api *api = scale_api();
  ASSERT_EQ(api->variant_count(api), 1);
  EXPECT_STREQ(api->isa(Instance(api, 1, "x86-64-v3")), "x86-64-v3");
  sinter_options options = SINTER_OPTIONS_INIT;
  options.isa = "x86-64-v4";
  sinter_instance *instance = nullptr;
  EXPECT_EQ(api->create(api, &options, &instance), SINTER_NOT_FOUND);
  expectWords(api->last_error(), {"no variant 'x86-64-v4'", "only x86-64-v3"});
}

} // namespace
} // namespace sinter::aot

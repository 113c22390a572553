// The functions that kernel_quality.h looks at.
#include "kernel_quality.h"

#include "../models/mnist/models.h"
#include "../tests/frontend/transformer.h"

namespace bench {
namespace {

namespace sn = sinter;
using sn::Port;
using sn::Tensor;
using Tensors = std::vector<Tensor>;

constexpr int64_t kRows = 1024, kWidth = 1024; // 4 MiB of f32
const sn::Shape kMatrix{kRows, kWidth}, kRow{kWidth}, kImages{16, 64, 32, 32}, kChannels{64};

Port f32(const sn::Shape &shape) { return {"", sn::f32, shape}; }
Port i64(const sn::Shape &shape) { return {"", sn::i64, shape}; }

template <class F> KernelCase made(std::string name, F function, std::vector<Port> inputs) {
  sn::Options options;
  options.verbose = false;
  sn::Session session{options};
  sn::Package package{session};
  for (size_t i = 0; i < inputs.size(); ++i)
    inputs[i].name = "x" + std::to_string(i);
  package.add("f", sn::jit(session, function), inputs);
  return {std::move(name), package.str()};
}

/// The gradients of y's product with dy.
Tensors backward(const Tensor &y, const Tensor &dy, const std::vector<sn::Operand> &of) {
  return sn::gradients(y * dy, of);
}

void addPointwise(std::vector<KernelCase> &cases) {
  cases.push_back(
      made("add", [](Tensor a, Tensor b) { return a + b; }, {f32(kMatrix), f32(kMatrix)}));
  cases.push_back(made("bias_gelu", [](Tensor x, Tensor bias) { return gelu(x + bias); },
                       {f32(kMatrix), f32(kRow)}));
  cases.push_back(made("dropout", [](Tensor x) { return dropout(x, 0.1); }, {f32(kMatrix)}));
}

void addNorms(std::vector<KernelCase> &cases) {
  cases.push_back(made("layer_norm.forward",
                       [](Tensor x, Tensor w, Tensor b) { return layer_norm(x, w, b); },
                       {f32(kMatrix), f32(kRow), f32(kRow)}));
  cases.push_back(made("layer_norm.backward",
                       [](Tensor x, Tensor w, Tensor b, Tensor dy) {
                         return backward(layer_norm(x, w, b), dy, {x, w, b});
                       },
                       {f32(kMatrix), f32(kRow), f32(kRow), f32(kMatrix)}));
  cases.push_back(made("batch_norm.forward",
                       [](Tensor x, Tensor w, Tensor b) { return batch_norm_training(x, w, b).y; },
                       {f32(kImages), f32(kChannels), f32(kChannels)}));
  cases.push_back(made("batch_norm.backward",
                       [](Tensor x, Tensor w, Tensor b, Tensor dy) {
                         return backward(batch_norm_training(x, w, b).y, dy, {x, w, b});
                       },
                       {f32(kImages), f32(kChannels), f32(kChannels), f32(kImages)}));
}

void addSoftmax(std::vector<KernelCase> &cases) {
  cases.push_back(made("softmax.forward", [](Tensor x) { return softmax(x, 1); }, {f32(kMatrix)}));
  cases.push_back(made("softmax.backward",
                       [](Tensor x, Tensor dy) { return backward(softmax(x, 1), dy, {x}); },
                       {f32(kMatrix), f32(kMatrix)}));
  cases.push_back(made("cross_entropy.forward",
                       [](Tensor x, Tensor label) { return cross_entropy(x, label); },
                       {f32(kMatrix), i64({kRows})}));
  cases.push_back(
      made("cross_entropy.backward",
           [](Tensor x, Tensor label) { return gradients(cross_entropy(x, label), {x}); },
           {f32(kMatrix), i64({kRows})}));
  cases.push_back(made("column_sum", [](Tensor dy) { return sum(dy, 0); }, {f32(kMatrix)}));
}

struct Weight : sn::Module<Weight> {
  using Module::Module;
  sn::Parameter weight{{this, "weight"}, kMatrix, sn::Init::constant(0)};
};

KernelCase optimizerCase() {
  sn::Options options;
  options.verbose = false;
  sn::Session session{options};
  Weight net{session};
  sn::AdamW optimizer{net.parameters()};
  sn::Package package{session};
  auto step = sn::jit(session, [&](Tensor gradient) { optimizer.apply({gradient}); });
  package.add("f", step, {{"gradient", sn::f32, kMatrix}});
  return {"adamw", package.str()};
}

void addMoves(std::vector<KernelCase> &cases) {
  cases.push_back(made("transpose", [](Tensor x) { return transpose(x) * 2.0; }, {f32(kMatrix)}));
  cases.push_back(made("transpose.add", [](Tensor x, Tensor y) { return transpose(x) + y; },
                       {f32(kMatrix), f32({kWidth, kRows})}));
  cases.push_back(made("nchw_to_nhwc", [](Tensor x) { return permute(x, {0, 2, 3, 1}) * 2.0; },
                       {f32(kImages)}));
  cases.push_back(made("nhwc_to_nchw", [](Tensor x) { return permute(x, {0, 3, 1, 2}) * 2.0; },
                       {f32({16, 32, 32, 64})}));
  cases.push_back(made("embedding",
                       [](Tensor table, Tensor index) { return embedding(table, index); },
                       {f32(kMatrix), i64({kRows})}));
  cases.back().indexLimit = kRows;
  cases.push_back(made("embedding.backward",
                       [](Tensor table, Tensor index, Tensor dy) {
                         return backward(embedding(table, index), dy, {table});
                       },
                       {f32(kMatrix), i64({kRows}), f32(kMatrix)}));
  cases.back().indexLimit = kRows;
  cases.push_back(made("max_pool.forward", [](Tensor x) { return max_pool2d(x, {.kernel = 2}); },
                       {f32(kImages)}));
  cases.push_back(
      made("max_pool.backward",
           [](Tensor x, Tensor dy) { return backward(max_pool2d(x, {.kernel = 2}), dy, {x}); },
           {f32(kImages), f32({16, 64, 16, 16})}));
}

template <class Net>
KernelCase stepOf(std::string name, Port input, Port label, Tensor (*prepare)(Tensor)) {
  sn::Options options;
  options.verbose = false;
  sn::Session session{options};
  Net net{session};
  sn::AdamW optimizer{net.parameters()};
  auto step = sn::jit(session, [&](Tensor x, Tensor y) {
    Tensor scores = net(prepare(x));
    Tensor loss = cross_entropy(reshape(scores, {-1, scores.dim(-1).value()}), y);
    optimizer.minimize(loss);
    return loss;
  });
  sn::Package package{session};
  package.add("step", step, {std::move(input), std::move(label)});
  return {std::move(name), package.str(), 10};
}

} // namespace

std::vector<KernelCase> kernelCases() {
  std::vector<KernelCase> cases;
  addPointwise(cases);
  addNorms(cases);
  addSoftmax(cases);
  cases.push_back(optimizerCase());
  addMoves(cases);
  return cases;
}

KernelCase cnnStep(int64_t batch) {
  return stepOf<mnist::Cnn>("cnn", {"image", sn::u8, {batch, 1, 28, 28}},
                            {"label", sn::i64, {batch}}, mnist::normalise);
}

KernelCase transformerStep(int64_t batch) {
  using sn::testing::Transformer;
  return stepOf<Transformer>("transformer", {"tokens", sn::i64, {batch, Transformer::kLength}},
                             {"label", sn::i64, {batch * Transformer::kLength}},
                             [](Tensor x) { return x; });
}

} // namespace bench

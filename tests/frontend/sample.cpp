// The sample program of the DSL's design, on synthetic digits: what a user writes must compile and
// run as it stands.
#include "sinter/sinter.h"

#include <cstdio>

namespace sn = sinter;
using sn::Tensor;

template <class T> struct Digits {
  T image, label;
};
template <class T> struct Report {
  T loss, accuracy;
};

struct Block : sn::Module<Block> {
  int64_t in, out;
  Block(sn::Slot at, int64_t in, int64_t out) : Module(at), in(in), out(out) {}
  sn::Conv2d conv{{this, "conv"}, {.in = in, .out = out, .kernel = 3, .padding = 1}};
  sn::BatchNorm2d norm{{this, "norm"}, out};

  Tensor forward(Tensor x) { return max_pool2d(relu(norm(conv(x))), {.kernel = 2}); }
};

struct ConvNet : sn::Module<ConvNet> {
  using Module::Module;
  sn::ModuleList<Block> blocks{
      {this, "blocks"}, 2, [](sn::Slot at, int64_t i) { return Block(at, i ? 32 : 1, 32 << i); }};
  sn::Linear head{{this, "head"}, 64 * 7 * 7, 10};

  Tensor forward(Tensor x) {
    for (Block &block : blocks)
      x = block(x);
    return head(flatten(x, {.first = 1}));
  }
};

int main(int argc, char **argv) try {
  sn::Session session{sn::Options::fromArgs(argc, argv)};
  ConvNet net{session};
  net.save("old.safetensors");
  net.load("old.safetensors", {.only = "blocks.*", .strict = false}).print();
  net.blocks[0].freeze();
  sn::AdamW optimizer{net.parameters(), {.learningRate = 1e-3}};
  optimizer.group(net.parameters("*.bias"), {.weightDecay = 0});
  sn::Ema ema{net, 0.999};

  auto report = [&](Digits<Tensor> b) {
    Tensor logits = net(cast(b.image, sn::f32) / 255.0);
    Tensor hit = cast(argmax(logits, 1) == b.label, sn::f32);
    return Report<Tensor>{cross_entropy(logits, b.label), mean(hit)};
  };
  auto step = sn::jit(session, [&](Digits<Tensor> b) {
    Report<Tensor> r = report(b);
    optimizer.minimize(r.loss), ema.update();
    return r;
  });
  auto evaluate = sn::jit(session, report, {.mode = sn::Mode::Inference, .weights = &ema});

  Digits<sn::Array> b{sn::Array::zeros(sn::u8, {64, 1, 28, 28}), sn::Array::zeros(sn::i64, {64})};
  for (int64_t i = 0; i < 64; ++i) {
    b.label.data<int64_t>()[i] = i % 10;
    for (int64_t p = 0; p < 784; ++p)
      b.image.data<uint8_t>()[i * 784 + p] = uint8_t((p * (i % 10 + 3) + i) % 251);
  }
  float first = 0, last = 0;
  for (int i = 0; i < 8; ++i) {
    Report<sn::Array> r = step(b);
    last = r.loss.item<float>();
    first = i ? first : last;
  }
  std::printf("loss %.4f -> %.4f, evaluated %.4f\n", first, last, evaluate(b).loss.item<float>());

  sn::Dim n = sn::dim("n", 1, 64);
  sn::Package package{session};
  package.add("classify", [&](Tensor image) { return softmax(net(image), 1); },
              {{"image", sn::f32, {n, 1, 28, 28}}}, {"probability"});
  package.add("train", step, {{"image", sn::u8, {64, 1, 28, 28}}, {"label", sn::i64, {64}}});
  package.write("mnist.mlirbc");
  return last < first ? 0 : 1;
} catch (const sn::Error &e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}

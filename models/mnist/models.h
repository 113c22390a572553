// The two networks of the MNIST example: a multilayer perceptron and a small convolutional network.
#pragma once

#include "sinter/sinter.h"

namespace mnist {

namespace sn = sinter;
using sn::Tensor;

template <class T> struct Digits {
  T image, label; ///< u8 [batch, 1, 28, 28], i64 [batch]
};
template <class T> struct Report {
  T loss, accuracy; ///< f32 scalars: mean over the batch
};

/// Images of the files as the networks take them: f32 in [0, 1].
inline Tensor normalise(Tensor image) { return cast(image, sn::f32) / 255.0; }

struct Mlp : sn::Module<Mlp> {
  using Module::Module;
  sn::Linear first{{this, "first"}, 784, 256};
  sn::Linear second{{this, "second"}, 256, 128};
  sn::Linear head{{this, "head"}, 128, 10};

  Tensor forward(Tensor x) { return head(relu(second(relu(first(flatten(x, {.first = 1})))))); }
};

struct Block : sn::Module<Block> {
  int64_t in, out;
  Block(sn::Slot at, int64_t in, int64_t out) : Module(at), in(in), out(out) {}
  sn::Conv2d conv{{this, "conv"}, {.in = in, .out = out, .kernel = 3, .padding = 1}};
  sn::BatchNorm2d norm{{this, "norm"}, out};

  Tensor forward(Tensor x) { return max_pool2d(relu(norm(conv(x))), {.kernel = 2}); }
};

struct Cnn : sn::Module<Cnn> {
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

} // namespace mnist

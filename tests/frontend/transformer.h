// A small causal transformer, for tests that need more than convolutions.
#pragma once

#include "sinter/sinter.h"

#include <cmath>

namespace sinter::testing {

struct Attention : Module<Attention> {
  int64_t heads, width;
  Attention(Slot at, int64_t width, int64_t heads) : Module(at), heads(heads), width(width) {}
  Linear project{{this, "project"}, width, 3 * width};
  Linear out{{this, "out"}, width, width};

  Tensor forward(Tensor x) {
    Dim batch = x.dim(0), length = x.dim(1);
    int64_t each = width / heads;
    std::vector<Tensor> parts = chunk(project(x), 3, -1);
    for (Tensor &part : parts)
      part = permute(reshape(part, {batch, length, heads, each}), {0, 2, 1, 3});
    Tensor scores = matmul(parts[0], transpose(parts[1])) / std::sqrt(double(each));
    Tensor visible = tril(ones({length, length})) > 0;
    Tensor weights = softmax(where(visible, scores, -1e9), -1);
    Tensor mixed = permute(matmul(weights, parts[2]), {0, 2, 1, 3});
    return out(reshape(mixed, {batch, length, width}));
  }
};

struct TransformerBlock : Module<TransformerBlock> {
  int64_t width;
  TransformerBlock(Slot at, int64_t width) : Module(at), width(width) {}
  LayerNorm before{{this, "before"}, width}, between{{this, "between"}, width};
  Attention attention{{this, "attention"}, width, 4};
  Linear up{{this, "up"}, width, 4 * width}, down{{this, "down"}, 4 * width, width};
  Dropout drop{{this, "drop"}, 0.1};

  Tensor forward(Tensor x) {
    x = x + drop(attention(before(x)));
    return x + drop(down(gelu(up(between(x)))));
  }
};

/// Tokens i64 [batch, length] to logits f32 [batch, length, vocabulary].
struct Transformer : Module<Transformer> {
  static constexpr int64_t kVocabulary = 50, kLength = 24, kWidth = 64;
  using Module::Module;
  Embedding tokens{{this, "tokens"}, kVocabulary, kWidth};
  Embedding positions{{this, "positions"}, kLength, kWidth};
  ModuleList<TransformerBlock> blocks{
      {this, "blocks"}, 2, [](Slot at, int64_t) { return TransformerBlock(at, kWidth); }};
  LayerNorm norm{{this, "norm"}, kWidth};
  Linear head{{this, "head"}, kWidth, kVocabulary};

  Tensor forward(Tensor index) {
    Tensor x = tokens(index) + positions(arange(index.dim(1)));
    for (TransformerBlock &block : blocks)
      x = block(x);
    return head(norm(x));
  }
};

} // namespace sinter::testing

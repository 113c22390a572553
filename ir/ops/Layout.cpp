// Image layouts: which operands and results hold images, and where channels last pays for itself.
#include "sinter/ir/Dialect.h"

using namespace mlir;
using namespace sinter::ir;

/// Channels along vector lanes, and matrix products of all of them, win once there are a few;
/// depthwise filters have one.
static constexpr int64_t kFewestChannels = 8;

static bool manyChannels(Value weight, int64_t groups) {
  auto shape = tensorTypeOf(weight).getShape();
  return shape[0] / groups >= kFewestChannels;
}

bool Conv2dOp::isImageOperand(unsigned operand) { return operand == 0; }
bool Conv2dOp::isImageResult(unsigned) { return true; }
bool Conv2dOp::prefersChannelsLast() { return manyChannels(getWeight(), getGroups()); }

bool Conv2dInputGradOp::isImageOperand(unsigned operand) { return operand == 0; }
bool Conv2dInputGradOp::isImageResult(unsigned) { return true; }
bool Conv2dInputGradOp::prefersChannelsLast() { return manyChannels(getWeight(), getGroups()); }

bool Conv2dWeightGradOp::isImageOperand(unsigned) { return true; }
bool Conv2dWeightGradOp::isImageResult(unsigned) { return false; }
bool Conv2dWeightGradOp::prefersChannelsLast() { return manyChannels(getY(), getGroups()); }

// A pool works in the layout of what surrounds it. All its operands and results are images.
#define SINTER_POOL(OP)                                                                            \
  bool OP::isImageOperand(unsigned) { return true; }                                               \
  bool OP::isImageResult(unsigned) { return true; }                                                \
  bool OP::prefersChannelsLast() { return false; }
SINTER_POOL(MaxPool2dOp)
SINTER_POOL(MaxPool2dIndexOp)
SINTER_POOL(PoolGatherOp)
SINTER_POOL(PoolScatterOp)
SINTER_POOL(AvgPool2dOp)
SINTER_POOL(AvgPool2dGradOp)
#undef SINTER_POOL

#define SINTER_LAYOUT(OP)                                                                          \
  bool OP::isChannelsLast() { return getChannelsLast(); }                                          \
  void OP::setChannelsLastLayout(bool last) { setChannelsLast(last); }
SINTER_LAYOUT(Conv2dOp)
SINTER_LAYOUT(Conv2dInputGradOp)
SINTER_LAYOUT(Conv2dWeightGradOp)
SINTER_LAYOUT(MaxPool2dOp)
SINTER_LAYOUT(MaxPool2dIndexOp)
SINTER_LAYOUT(PoolGatherOp)
SINTER_LAYOUT(PoolScatterOp)
SINTER_LAYOUT(AvgPool2dOp)
SINTER_LAYOUT(AvgPool2dGradOp)
#undef SINTER_LAYOUT

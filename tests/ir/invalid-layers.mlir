// RUN: sinter-opt %s -verify-diagnostics -split-input-file

func.func @matmulInner(%a: tensor<64x6272xf32>, %b: tensor<6262x10xf32>) {
  // expected-error @+2 {{inner dimensions differ: [64, 6272] x [6262, 10]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = sinter.matmul %a, %b : tensor<64x6272xf32>, tensor<6262x10xf32> to tensor<64x10xf32>
  return
}

// -----

func.func @matmulTransposed(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  // expected-error @+2 {{inner dimensions differ: [2, 3] transposed x [2, 3] transposed}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = sinter.matmul %a transposed, %b transposed : tensor<2x3xf32>, tensor<2x3xf32> to tensor<3x2xf32>
  return
}

// -----

func.func @matmulRank(%a: tensor<3xf32>, %b: tensor<3x2xf32>) {
  // expected-error @+2 {{operands need equal numbers of dimensions, 2 or more: [3] x [3, 2]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = sinter.matmul %a, %b : tensor<3xf32>, tensor<3x2xf32> to tensor<2xf32>
  return
}

// -----

func.func @matmulBatch(%a: tensor<?x2x3xf32, #sinter.dims<s0, 2, 3>>, %b: tensor<1x3x2xf32>) {
  // expected-error @+2 {{leading dimensions differ: [s0, 2, 3] x [1, 3, 2]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = sinter.matmul %a, %b : tensor<?x2x3xf32, #sinter.dims<s0, 2, 3>>, tensor<1x3x2xf32> to tensor<?x2x2xf32, #sinter.dims<s0, 2, 2>>
  return
}

// -----

func.func @matmulElement(%a: tensor<2x3xf32>, %b: tensor<3x2xf64>) {
  // expected-error @+2 {{element types differ: [2, 3] of 'f32' and [3, 2] of 'f64'; cast one of them}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = sinter.matmul %a, %b : tensor<2x3xf32>, tensor<3x2xf64> to tensor<2x2xf32>
  return
}

// -----

func.func @linear(%x: tensor<64x784xf32>, %w: tensor<10x768xf32>) {
  // expected-error @+2 {{inner dimensions differ: [64, 784] x [10, 768] transposed}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = sinter.linear %x, %w : (tensor<64x784xf32>, tensor<10x768xf32>) -> tensor<64x10xf32>
  return
}

// -----

func.func @linearScalar(%x: tensor<f32>, %w: tensor<10x3xf32>) {
  // expected-error @+2 {{the input needs a last dimension of 3 elements for the weight [10, 3], not []}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = sinter.linear %x, %w : (tensor<f32>, tensor<10x3xf32>) -> tensor<10xf32>
  return
}

// -----

func.func @linearWeight(%x: tensor<2x3xf32>, %w: tensor<3xf32>) {
  // expected-error @+2 {{the weight needs 2 dimensions, not [3]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = sinter.linear %x, %w : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @linearBias(%x: tensor<2x3xf32>, %w: tensor<10x3xf32>, %b: tensor<3xf32>) {
  // expected-error @+2 {{the bias [3] doesn't fit the weight [10, 3]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = sinter.linear %x, %w, %b : (tensor<2x3xf32>, tensor<10x3xf32>, tensor<3xf32>) -> tensor<2x10xf32>
  return
}

// -----

func.func @convRank(%x: tensor<3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+2 {{an image needs 4 dimensions, not [3, 8, 8]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = sinter.conv2d %x, %w {dilation = array<i64: 1, 1>, groups = 1 : i64, padding = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>}
    : (tensor<3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<4x6x6xf32>
  return
}

// -----

func.func @convChannels(%x: tensor<1x3x8x8xf32>, %w: tensor<4x4x3x3xf32>) {
  // expected-error @+2 {{input channels differ: the image [1, 3, 8, 8] x the weight [4, 4, 3, 3] in 1 group}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = sinter.conv2d %x, %w {dilation = array<i64: 1, 1>, groups = 1 : i64, padding = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>}
    : (tensor<1x3x8x8xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x6x6xf32>
  return
}

// -----

func.func @convGroups(%x: tensor<1x3x8x8xf32>, %w: tensor<4x1x3x3xf32>) {
  // expected-error @+2 {{3 groups don't divide the 4 output channels of the weight [4, 1, 3, 3]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = sinter.conv2d %x, %w {dilation = array<i64: 1, 1>, groups = 3 : i64, padding = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>}
    : (tensor<1x3x8x8xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x6x6xf32>
  return
}

// -----

func.func @convWindow(%x: tensor<1x3x8x2xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+2 {{a window of 5 (kernel 3, dilation 2) is larger than the width 2 padded by 1 and 1 of [1, 3, 8, 2]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = sinter.conv2d %x, %w {dilation = array<i64: 1, 2>, groups = 1 : i64, padding = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>}
    : (tensor<1x3x8x2xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x1xf32>
  return
}

// -----

func.func @convStride(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+2 {{kernel [3, 3], stride [0, 1] and dilation [1, 1] must be 1 or more}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = sinter.conv2d %x, %w {dilation = array<i64: 1, 1>, groups = 1 : i64, padding = array<i64: 0, 0, 0, 0>, stride = array<i64: 0, 1>}
    : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  return
}

// -----

func.func @convPaddingCount(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+2 {{padding [0, 0] has 2 values where 4 are needed}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = sinter.conv2d %x, %w {dilation = array<i64: 1, 1>, groups = 1 : i64, padding = array<i64: 0, 0>, stride = array<i64: 1, 1>}
    : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  return
}

// -----

func.func @convPadding(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+2 {{padding [0, -1, 0, 0] must not be negative}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = sinter.conv2d %x, %w {dilation = array<i64: 1, 1>, groups = 1 : i64, padding = array<i64: 0, -1, 0, 0>, stride = array<i64: 1, 1>}
    : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  return
}

// -----

func.func @convWeight(%x: tensor<1x3x8x8xf32>, %w: tensor<?x3x3x3xf32, #sinter.dims<s0, 3, 3, 3>>) {
  // expected-error @+2 {{the weight [s0, 3, 3, 3] must have a static shape}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = sinter.conv2d %x, %w {dilation = array<i64: 1, 1>, groups = 1 : i64, padding = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>}
    : (tensor<1x3x8x8xf32>, tensor<?x3x3x3xf32, #sinter.dims<s0, 3, 3, 3>>) -> tensor<1x4x6x6xf32>
  return
}

// -----

func.func @convInputGrad(%dy: tensor<1x4x6x6xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{dy is [1, 4, 6, 6] where the convolution of [1, 3, 9, 8] by [4, 3, 3, 3] gives [1, 4, 7, 6]}}
  %y = sinter.conv2d_input_grad %dy, %w {dilation = array<i64: 1, 1>, groups = 1 : i64, padding = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>}
    : (tensor<1x4x6x6xf32>, tensor<4x3x3x3xf32>) -> tensor<1x3x9x8xf32>
  return
}

// -----

func.func @convWeightGrad(%x: tensor<1x3x8x8xf32>, %dy: tensor<1x4x6x6xf32>) {
  // expected-error @+1 {{dy is [1, 4, 6, 6] where the convolution of [1, 3, 8, 8] by [4, 3, 2, 2] gives [1, 4, 7, 7]}}
  %y = sinter.conv2d_weight_grad %x, %dy {dilation = array<i64: 1, 1>, groups = 1 : i64, padding = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>}
    : (tensor<1x3x8x8xf32>, tensor<1x4x6x6xf32>) -> tensor<4x3x2x2xf32>
  return
}

// -----

func.func @pool(%x: tensor<1x3x2x8xf32>) {
  // expected-error @+2 {{a window of 3 (kernel 3, dilation 1) is larger than the height 2 padded by 0 and 0 of [1, 3, 2, 8]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = sinter.max_pool2d %x {dilation = array<i64: 1, 1>, kernel = array<i64: 3, 3>, padding = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>}
    : (tensor<1x3x2x8xf32>) -> tensor<1x3x1x6xf32>
  return
}

// -----

func.func @poolGather(%x: tensor<1x3x8x8xf32>, %i: tensor<1x3x4x5xi32>) {
  // expected-error @+2 {{index is [1, 3, 4, 5] where the windows over [1, 3, 8, 8] give [1, 3, 4, 4]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = sinter.pool_gather %x, %i {dilation = array<i64: 1, 1>, kernel = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>}
    : (tensor<1x3x8x8xf32>, tensor<1x3x4x5xi32>) -> tensor<1x3x4x5xf32>
  return
}

// -----

func.func @poolScatter(%dy: tensor<1x3x4x3xf32>, %i: tensor<1x3x4x4xi32>) {
  // expected-error @+1 {{dy is [1, 3, 4, 3] where the windows over [1, 3, 8, 8] give [1, 3, 4, 4]}}
  %y = sinter.pool_scatter %dy, %i {dilation = array<i64: 1, 1>, kernel = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>}
    : (tensor<1x3x4x3xf32>, tensor<1x3x4x4xi32>) -> tensor<1x3x8x8xf32>
  return
}

// -----

func.func @avgPoolGrad(%dy: tensor<1x3x4x3xf32>) {
  // expected-error @+1 {{dy is [1, 3, 4, 3] where the windows over [1, 3, 8, 8] give [1, 3, 4, 4]}}
  %y = sinter.avg_pool2d_grad %dy {dilation = array<i64: 1, 1>, kernel = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>}
    : (tensor<1x3x4x3xf32>) -> tensor<1x3x8x8xf32>
  return
}

// -----

func.func @softmax(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{dimension -1 is out of range for [2, 3], which has 2}}
  %y = sinter.softmax %x dim -1 : tensor<2x3xf32>
  return
}

// -----

func.func @logSoftmax(%x: tensor<f32>) {
  // expected-error @+1 {{dimension 0 is out of range for [], which has 0}}
  %y = sinter.log_softmax %x dim 0 : tensor<f32>
  return
}

// -----

func.func @layerNorm(%x: tensor<2x3xf32>, %s: tensor<2xf32>) {
  // expected-error @+1 {{scale [2] must have the last dimensions of the input [2, 3]}}
  %y = sinter.layer_norm %x, %s, %s epsilon 1.0e-5 : (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @layerNormBias(%x: tensor<2x3xf32>, %s: tensor<3xf32>, %b: tensor<2x3xf32>) {
  // expected-error @+1 {{scale [3] and bias [2, 3] differ in shape}}
  %y = sinter.layer_norm %x, %s, %b epsilon 1.0e-5 : (tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @batchNorm(%x: tensor<2x3x4xf32>, %c: tensor<3xf32>, %v: tensor<4xf32>) {
  // expected-error @+1 {{variance is [4] where the input [2, 3, 4] has 3 channels}}
  %y = sinter.batch_norm %x, %c, %c, %c, %v epsilon 1.0e-5
    : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @batchNormTraining(%x: tensor<3xf32>, %c: tensor<3xf32>) {
  // expected-error @+2 {{the input needs batch and channel dimensions, not [3]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y:3 = sinter.batch_norm_training %x, %c, %c epsilon 1.0e-5 : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @crossEntropyRank(%x: tensor<2x3x4xf32>, %l: tensor<2xi64>) {
  // expected-error @+2 {{logits needs 2 dimensions, not [2, 3, 4]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = sinter.cross_entropy %x, %l : (tensor<2x3x4xf32>, tensor<2xi64>) -> tensor<f32>
  return
}

// -----

func.func @crossEntropyLabels(%x: tensor<64x10xf32>, %l: tensor<32xi64>) {
  // expected-error @+2 {{labels [32] must be one class number a row of the logits [64, 10]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = sinter.cross_entropy %x, %l : (tensor<64x10xf32>, tensor<32xi64>) -> tensor<f32>
  return
}

// -----

func.func @crossEntropySmoothing(%x: tensor<64x10xf32>, %l: tensor<64xi64>) {
  // expected-error @+2 {{label_smoothing is 1.500000, not within [0, 1]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = sinter.cross_entropy %x, %l {label_smoothing = 1.5 : f64} : (tensor<64x10xf32>, tensor<64xi64>) -> tensor<f32>
  return
}

// -----

func.func @mse(%x: tensor<?xf32, #sinter.dims<s0>>, %t: tensor<?xf32, #sinter.dims<s1>>) {
  // expected-error @+2 {{shapes differ: [s0] and [s1]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = sinter.mse %x, %t : (tensor<?xf32, #sinter.dims<s0>>, tensor<?xf32, #sinter.dims<s1>>) -> tensor<f32>
  return
}

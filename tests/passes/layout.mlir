// RUN: sinter-opt %s --split-input-file --sinter-graph | FileCheck %s
// RUN: sinter-opt %s --split-input-file --sinter-graph=channels-last=false | FileCheck %s --check-prefix=PLAIN

// The whole training step of a block works channels last: one channel in makes the input free, and where images are
// flattened the linear layer's weight is permuted instead.
// PLAIN-NOT: channels_last
// CHECK-LABEL: func.func @block
// CHECK: sinter.reshape %arg0 : tensor<4x1x8x8xf32> to tensor<4x8x8x1xf32>
// CHECK: sinter.conv2d {{.*}}channels_last{{.*}} -> tensor<4x8x8x32xf32>
// CHECK: sinter.mean {{.*}} dims [0, 1, 2] keepdim : tensor<4x8x8x32xf32> to tensor<1x1x1x32xf32>
// CHECK: sinter.max_pool2d {{.*}}channels_last
// CHECK-NOT: sinter.transpose {{.*}} : tensor<4x
// CHECK: sinter.pool_scatter {{.*}}channels_last
// CHECK-NOT: sinter.transpose {{.*}} : tensor<4x
// CHECK: sinter.conv2d_weight_grad {{.*}}channels_last
// CHECK-NOT: sinter.transpose {{.*}} : tensor<4x
// CHECK: return
func.func @block(%x: tensor<4x1x8x8xf32>, %w: tensor<32x1x3x3xf32>, %s: tensor<32xf32>, %b: tensor<32xf32>, %h: tensor<3x512xf32>, %l: tensor<4xi64>)
    -> (tensor<32x1x3x3xf32>, tensor<32xf32>, tensor<32xf32>, tensor<3x512xf32>, tensor<32xf32>) {
  %0 = sinter.conv2d %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<4x1x8x8xf32>, tensor<32x1x3x3xf32>) -> tensor<4x32x8x8xf32>
  %y, %m, %v = sinter.batch_norm_training %0, %s, %b epsilon 1.0e-05 : (tensor<4x32x8x8xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<4x32x8x8xf32>, tensor<32xf32>, tensor<32xf32>)
  %1 = sinter.relu %y : tensor<4x32x8x8xf32>
  %2 = sinter.max_pool2d %1 {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>, dilation = array<i64: 1, 1>} : (tensor<4x32x8x8xf32>) -> tensor<4x32x4x4xf32>
  %3 = sinter.reshape %2 : tensor<4x32x4x4xf32> to tensor<4x512xf32>
  %4 = sinter.linear %3, %h : (tensor<4x512xf32>, tensor<3x512xf32>) -> tensor<4x3xf32>
  %5 = sinter.cross_entropy %4, %l : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<f32>
  %g:4 = sinter.gradients %5 wrt %w, %s, %b, %h : (tensor<f32>, tensor<32x1x3x3xf32>, tensor<32xf32>, tensor<32xf32>, tensor<3x512xf32>) -> (tensor<32x1x3x3xf32>, tensor<32xf32>, tensor<32xf32>, tensor<3x512xf32>)
  return %g#0, %g#1, %g#2, %g#3, %m : tensor<32x1x3x3xf32>, tensor<32xf32>, tensor<32xf32>, tensor<3x512xf32>, tensor<32xf32>
}

// -----

// Padding, joining, broadcasting and reductions are followed.
// CHECK-LABEL: func.func @followed
// CHECK: sinter.transpose %arg0 [0, 2, 3, 1]
// CHECK: sinter.conv2d
// CHECK: sinter.pad {{.*}} low [0, 1, 0, 0] high [0, 0, 2, 0]
// CHECK: sinter.concat {{.*}} dim 3
// CHECK: sinter.slice {{.*}} [0, 1, 2, 0] strides [1, 1, 1, 2]
// CHECK: sinter.sum {{.*}} dims [1, 2] : tensor<2x5x4x8xf32> to tensor<2x8xf32>
// CHECK-NOT: sinter.transpose
// CHECK: return
func.func @followed(%x: tensor<2x3x5x4xf32>, %w: tensor<8x3x1x1xf32>) -> tensor<2x8xf32> {
  %0 = sinter.conv2d %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x3x5x4xf32>, tensor<8x3x1x1xf32>) -> tensor<2x8x5x4xf32>
  %1 = sinter.pad %0 low [0, 0, 1, 0] high [0, 0, 0, 2] interior [0, 0, 0, 0] value 0.0 : tensor<2x8x5x4xf32> to tensor<2x8x6x6xf32>
  %2 = sinter.concat %1, %1 dim 1 : tensor<2x8x6x6xf32>, tensor<2x8x6x6xf32> to tensor<2x16x6x6xf32>
  %3 = sinter.slice %2 [0, 0, 1, 2] strides [1, 2, 1, 1] : tensor<2x16x6x6xf32> to tensor<2x8x5x4xf32>
  %4 = sinter.sum %3 dims [2, 3] : tensor<2x8x5x4xf32> to tensor<2x8xf32>
  return %4 : tensor<2x8xf32>
}

// -----

// Few channels don't pay.
// CHECK-LABEL: func.func @few
// CHECK-NOT: channels_last
// CHECK: return
func.func @few(%x: tensor<2x3x5x4xf32>, %w: tensor<2x3x1x1xf32>) -> tensor<2x2x5x4xf32> {
  %0 = sinter.conv2d %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x3x5x4xf32>, tensor<2x3x1x1xf32>) -> tensor<2x2x5x4xf32>
  return %0 : tensor<2x2x5x4xf32>
}

// -----

// argmax over channels and rows would number them in another order: it gets its images channels first.
// CHECK-LABEL: func.func @positions
// CHECK: sinter.conv2d
// CHECK: %[[BACK:.*]] = sinter.transpose {{.*}} [0, 3, 1, 2]
// CHECK: sinter.argmax %[[BACK]] dims [1, 2]
func.func @positions(%x: tensor<2x3x5x4xf32>, %w: tensor<8x3x1x1xf32>) -> tensor<2x4xi64> {
  %0 = sinter.conv2d %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x3x5x4xf32>, tensor<8x3x1x1xf32>) -> tensor<2x8x5x4xf32>
  %1 = sinter.argmax %0 dims [1, 2] : tensor<2x8x5x4xf32> to tensor<2x4xi64>
  return %1 : tensor<2x4xi64>
}

// -----

// Symbolic batch; a residual that arrives channels first is brought over.
// CHECK-LABEL: func.func @residual
// CHECK: sinter.conv2d
// CHECK: sinter.add {{.*}} : tensor<?x5x4x8xf32, #sinter.dims<s0, 5, 4, 8>>
// CHECK: sinter.conv2d
module attributes {sinter.symbols = [{name = "n", lower = 1 : i64, upper = 64 : i64}]} {
  func.func @residual(%x: tensor<?x8x5x4xf32, #sinter.dims<s0, 8, 5, 4>>, %w: tensor<8x8x1x1xf32>) -> tensor<?x8x5x4xf32, #sinter.dims<s0, 8, 5, 4>> {
    %0 = sinter.conv2d %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<?x8x5x4xf32, #sinter.dims<s0, 8, 5, 4>>, tensor<8x8x1x1xf32>) -> tensor<?x8x5x4xf32, #sinter.dims<s0, 8, 5, 4>>
    %1 = sinter.add %0, %x : tensor<?x8x5x4xf32, #sinter.dims<s0, 8, 5, 4>>
    %2 = sinter.conv2d %1, %w {stride = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<?x8x5x4xf32, #sinter.dims<s0, 8, 5, 4>>, tensor<8x8x1x1xf32>) -> tensor<?x8x5x4xf32, #sinter.dims<s0, 8, 5, 4>>
    return %2 : tensor<?x8x5x4xf32, #sinter.dims<s0, 8, 5, 4>>
  }
}

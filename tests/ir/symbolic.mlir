// Sizes that are expressions of symbols: inference carries them, equal expressions are equal sizes.
// RUN: sinter-opt %s | FileCheck %s

module attributes {sinter.symbols = [{name = "n", lower = 2 : i64, upper = 64 : i64}, {name = "t", lower = 8 : i64, upper = 128 : i64}]} {

// CHECK-LABEL: func.func @flatten
// CHECK-SAME: tensor<?x1x28x28xf32, #sinter.dims<s0, 1, 28, 28>>
func.func @flatten(%x: tensor<?x1x28x28xf32, #sinter.dims<s0, 1, 28, 28>>, %w: tensor<10x784xf32>) -> tensor<?x10xf32, #sinter.dims<s0, 10>> {
  %0 = sinter.reshape %x : tensor<?x1x28x28xf32, #sinter.dims<s0, 1, 28, 28>> to tensor<?x784xf32, #sinter.dims<s0, 784>>
  %1 = sinter.linear %0, %w : (tensor<?x784xf32, #sinter.dims<s0, 784>>, tensor<10x784xf32>) -> tensor<?x10xf32, #sinter.dims<s0, 10>>
  return %1 : tensor<?x10xf32, #sinter.dims<s0, 10>>
}

// CHECK-LABEL: func.func @merge
func.func @merge(%x: tensor<?x?x64xf32, #sinter.dims<s0, s1, 64>>) {
  // CHECK: to tensor<?x64xf32, #sinter.dims<s0 * s1, 64>>
  %0 = sinter.reshape %x : tensor<?x?x64xf32, #sinter.dims<s0, s1, 64>> to tensor<?x64xf32, #sinter.dims<s0 * s1, 64>>
  %1 = sinter.transpose %x [1, 0, 2] : tensor<?x?x64xf32, #sinter.dims<s0, s1, 64>> to tensor<?x?x64xf32, #sinter.dims<s1, s0, 64>>
  %2 = sinter.reshape %1 : tensor<?x?x64xf32, #sinter.dims<s1, s0, 64>> to tensor<?x8x8xf32, #sinter.dims<s0 * s1, 8, 8>>
  %3 = sinter.reshape %2 : tensor<?x8x8xf32, #sinter.dims<s0 * s1, 8, 8>> to tensor<?xf32, #sinter.dims<s1 * 64 * s0>>
  return
}

// CHECK-LABEL: func.func @windows
func.func @windows(%x: tensor<?x3x?x32xf32, #sinter.dims<s0, 3, s1, 32>>, %w: tensor<4x3x3x3xf32>) {
  // CHECK: -> tensor<?x4x?x32xf32, #sinter.dims<s0, 4, s1, 32>>
  %0 = sinter.conv2d %x, %w {dilation = array<i64: 1, 1>, groups = 1 : i64, padding = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>}
    : (tensor<?x3x?x32xf32, #sinter.dims<s0, 3, s1, 32>>, tensor<4x3x3x3xf32>) -> tensor<?x4x?x32xf32, #sinter.dims<s0, 4, s1, 32>>
  // CHECK: -> tensor<?x4x?x16xf32, #sinter.dims<s0, 4, s1 floordiv 2, 16>>
  %1 = sinter.max_pool2d %0 {dilation = array<i64: 1, 1>, kernel = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>}
    : (tensor<?x4x?x32xf32, #sinter.dims<s0, 4, s1, 32>>) -> tensor<?x4x?x16xf32, #sinter.dims<s0, 4, s1 floordiv 2, 16>>
  return
}

// CHECK-LABEL: func.func @sizes
func.func @sizes(%x: tensor<?x4xf32, #sinter.dims<s0, 4>>, %b: tensor<4xf32>, %i: tensor<?xi64, #sinter.dims<s0>>) {
  // CHECK: to tensor<?x4xf32, #sinter.dims<s0 * 2, 4>>
  %0 = sinter.concat %x, %x dim 0 : tensor<?x4xf32, #sinter.dims<s0, 4>>, tensor<?x4xf32, #sinter.dims<s0, 4>> to tensor<?x4xf32, #sinter.dims<s0 * 2, 4>>
  // CHECK: to tensor<?x4xf32, #sinter.dims<s0 * 2 + 2, 4>>
  %1 = sinter.pad %x low [1, 0] high [2, 0] interior [1, 0] value 0.0 : tensor<?x4xf32, #sinter.dims<s0, 4>> to tensor<?x4xf32, #sinter.dims<s0 * 2 + 2, 4>>
  // CHECK: to tensor<?x4xf32, #sinter.dims<s0 - 1, 4>>
  %2 = sinter.slice %x [1, 0] strides [1, 1] : tensor<?x4xf32, #sinter.dims<s0, 4>> to tensor<?x4xf32, #sinter.dims<s0 - 1, 4>>
  // The lower bound of n, 2, allows the first two rows.
  // CHECK: to tensor<2x4xf32>
  %3 = sinter.slice %x [0, 0] strides [1, 1] : tensor<?x4xf32, #sinter.dims<s0, 4>> to tensor<2x4xf32>
  // CHECK: to tensor<?xf32, #sinter.dims<s0>>
  %4 = sinter.sum %x dims [1] : tensor<?x4xf32, #sinter.dims<s0, 4>> to tensor<?xf32, #sinter.dims<s0>>
  %5 = sinter.expand %b : tensor<4xf32> to tensor<?x4xf32, #sinter.dims<s0, 4>>
  %6 = sinter.cross_entropy %x, %i : (tensor<?x4xf32, #sinter.dims<s0, 4>>, tensor<?xi64, #sinter.dims<s0>>) -> tensor<f32>
  %7 = sinter.lt %x, %5 : tensor<?x4xf32, #sinter.dims<s0, 4>>
  // CHECK: sinter.where %{{.*}} : tensor<?x4xi1, #sinter.dims<s0, 4>>, tensor<?x4xf32, #sinter.dims<s0, 4>>
  %8 = sinter.where %7, %x, %5 : tensor<?x4xi1, #sinter.dims<s0, 4>>, tensor<?x4xf32, #sinter.dims<s0, 4>>
  %9 = sinter.embedding %0, %i : (tensor<?x4xf32, #sinter.dims<s0 * 2, 4>>, tensor<?xi64, #sinter.dims<s0>>) -> tensor<?x4xf32, #sinter.dims<s0, 4>>
  return
}

}

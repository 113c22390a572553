// RUN: sinter-opt %s --sinter-layout=report=true --verify-diagnostics | FileCheck %s

// CHECK: channels_last
// expected-remark @below {{transposed 0, 2, 3, 1: 'tensor<2x3x5x4xf32>' to 'tensor<2x5x4x3xf32>'}}
func.func @report(%x: tensor<2x3x5x4xf32>, %w: tensor<8x3x1x1xf32>) -> tensor<2x8x5x4xf32> {
  // expected-remark @below {{transposed 0, 3, 1, 2: 'tensor<2x5x4x8xf32>' to 'tensor<2x8x5x4xf32>'}}
  %0 = sinter.conv2d %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x3x5x4xf32>, tensor<8x3x1x1xf32>) -> tensor<2x8x5x4xf32>
  return %0 : tensor<2x8x5x4xf32>
}

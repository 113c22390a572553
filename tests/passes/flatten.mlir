// RUN: sinter-opt %s --split-input-file --sinter-flatten --sinter-simplify | FileCheck %s

// Forward: the weight's columns follow the image's order in memory.
// CHECK-LABEL: func.func @forward
// CHECK-NOT: sinter.transpose %arg0
// CHECK: sinter.reshape %arg0 : tensor<64x7x5x3xf32> to tensor<64x105xf32>
// CHECK: sinter.reshape %arg1 : tensor<10x105xf32> to tensor<10x3x7x5xf32>
// CHECK: sinter.transpose {{.*}} [0, 2, 3, 1] : tensor<10x3x7x5xf32> to tensor<10x7x5x3xf32>
// CHECK: sinter.matmul {{.*}} transposed : tensor<64x105xf32>, tensor<10x105xf32> to tensor<64x10xf32>
func.func @forward(%x: tensor<64x7x5x3xf32>, %w: tensor<10x105xf32>) -> tensor<64x10xf32> {
  %t = sinter.transpose %x [0, 3, 1, 2] : tensor<64x7x5x3xf32> to tensor<64x3x7x5xf32>
  %f = sinter.reshape %t : tensor<64x3x7x5xf32> to tensor<64x105xf32>
  %y = sinter.matmul %f, %w transposed : tensor<64x105xf32>, tensor<10x105xf32> to tensor<64x10xf32>
  return %y : tensor<64x10xf32>
}

// -----

// Backward: the weight's gradient is permuted back, the image's is made as it lies.
// CHECK-LABEL: func.func @backward
// CHECK-NOT: tensor<64x3x7x5xf32> to tensor<64x7x5x3xf32>
// CHECK: sinter.matmul %arg2 transposed, {{.*}} to tensor<10x105xf32>
// CHECK: sinter.transpose {{.*}} [0, 3, 1, 2] : tensor<10x7x5x3xf32> to tensor<10x3x7x5xf32>
// CHECK: sinter.matmul %arg2, {{.*}} to tensor<64x105xf32>
// CHECK-NOT: sinter.transpose
// CHECK: return
func.func @backward(%x: tensor<64x7x5x3xf32>, %w: tensor<10x105xf32>, %dy: tensor<64x10xf32>) -> (tensor<10x105xf32>, tensor<64x7x5x3xf32>) {
  %t = sinter.transpose %x [0, 3, 1, 2] : tensor<64x7x5x3xf32> to tensor<64x3x7x5xf32>
  %f = sinter.reshape %t : tensor<64x3x7x5xf32> to tensor<64x105xf32>
  %dw = sinter.matmul %dy transposed, %f : tensor<64x10xf32>, tensor<64x105xf32> to tensor<10x105xf32>
  %df = sinter.matmul %dy, %w : tensor<64x10xf32>, tensor<10x105xf32> to tensor<64x105xf32>
  %dt = sinter.reshape %df : tensor<64x105xf32> to tensor<64x3x7x5xf32>
  %dx = sinter.transpose %dt [0, 2, 3, 1] : tensor<64x3x7x5xf32> to tensor<64x7x5x3xf32>
  return %dw, %dx : tensor<10x105xf32>, tensor<64x7x5x3xf32>
}

// -----

// One image is smaller than the weight; symbolic batches count as large.
// CHECK-LABEL: func.func @one_image
// CHECK: sinter.transpose %arg0
func.func @one_image(%x: tensor<1x7x5x3xf32>, %w: tensor<10x105xf32>) -> tensor<1x10xf32> {
  %t = sinter.transpose %x [0, 3, 1, 2] : tensor<1x7x5x3xf32> to tensor<1x3x7x5xf32>
  %f = sinter.reshape %t : tensor<1x3x7x5xf32> to tensor<1x105xf32>
  %y = sinter.matmul %f, %w transposed : tensor<1x105xf32>, tensor<10x105xf32> to tensor<1x10xf32>
  return %y : tensor<1x10xf32>
}

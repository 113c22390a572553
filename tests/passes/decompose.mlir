// RUN: sinter-opt %s --sinter-decompose | FileCheck %s

// CHECK-LABEL: func.func @softmax
// CHECK: %[[MAX:.*]] = sinter.max %arg0 dims [1] keepdim
// CHECK: %[[MAXES:.*]] = sinter.expand %[[MAX]]
// CHECK: %[[SHIFTED:.*]] = sinter.sub %arg0, %[[MAXES]]
// CHECK: %[[EXP:.*]] = sinter.exp %[[SHIFTED]]
// CHECK: %[[SUM:.*]] = sinter.sum %[[EXP]] dims [1] keepdim
// CHECK: %[[SUMS:.*]] = sinter.expand %[[SUM]]
// CHECK: %[[Y:.*]] = sinter.div %[[EXP]], %[[SUMS]]
// CHECK: return %[[Y]]
func.func @softmax(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = sinter.softmax %x dim 1 : tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// Statistics of f16 are f32.
// CHECK-LABEL: func.func @half
// CHECK: %[[WIDE:.*]] = sinter.cast %arg0 : tensor<3x4xf16> to tensor<3x4xf32>
// CHECK: sinter.mean %[[WIDE]] dims [1] keepdim : tensor<3x4xf32>
// CHECK: sinter.rsqrt {{.*}} : tensor<3x1xf32>
// CHECK: sinter.cast {{.*}} : tensor<3x4xf32> to tensor<3x4xf16>
func.func @half(%x: tensor<3x4xf16>, %s: tensor<4xf16>, %b: tensor<4xf16>) -> tensor<3x4xf16> {
  %0 = sinter.layer_norm %x, %s, %b epsilon 1.0e-05 : (tensor<3x4xf16>, tensor<4xf16>, tensor<4xf16>) -> tensor<3x4xf16>
  return %0 : tensor<3x4xf16>
}

// Leading dimensions become rows of one product, with the bias beside it.
// CHECK-LABEL: func.func @linear
// CHECK: %[[ROWS:.*]] = sinter.reshape %arg0 : tensor<2x3x4xf32> to tensor<6x4xf32>
// CHECK: %[[Y:.*]] = sinter.matmul %[[ROWS]], %arg1 transposed
// CHECK: %[[BIAS:.*]] = sinter.expand %arg2 : tensor<5xf32> to tensor<6x5xf32>
// CHECK: %[[SUM:.*]] = sinter.add %[[Y]], %[[BIAS]]
// CHECK: sinter.reshape %[[SUM]] : tensor<6x5xf32> to tensor<2x3x5xf32>
func.func @linear(%x: tensor<2x3x4xf32>, %w: tensor<5x4xf32>, %b: tensor<5xf32>) -> tensor<2x3x5xf32> {
  %0 = sinter.linear %x, %w, %b : (tensor<2x3x4xf32>, tensor<5x4xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
  return %0 : tensor<2x3x5xf32>
}

// Parts are taken apart too: no log_softmax stays.
// CHECK-LABEL: func.func @cross_entropy
// CHECK-NOT: sinter.log_softmax
// CHECK: sinter.full -100 : i64
// CHECK-NOT: sinter.log_softmax
// CHECK: return
func.func @cross_entropy(%x: tensor<5x4xf32>, %l: tensor<5xi64>) -> tensor<f32> {
  %0 = sinter.cross_entropy %x, %l : (tensor<5x4xf32>, tensor<5xi64>) -> tensor<f32>
  return %0 : tensor<f32>
}

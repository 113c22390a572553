// Ops over constants are evaluated; tensors filled with one number stay sinter.full whatever their size.
// RUN: sinter-opt %s -canonicalize | FileCheck %s

// CHECK-LABEL: func.func @splat
func.func @splat() -> (tensor<1000x1000xf32>, tensor<3xi64>) {
  // CHECK-DAG: %[[A:.*]] = sinter.full 5.000000e-01 : f32 : tensor<1000x1000xf32>
  // CHECK-DAG: %[[B:.*]] = sinter.constant dense<9007199254740993> : tensor<3xi64>
  // CHECK: return %[[A]], %[[B]]
  %0 = sinter.constant dense<0.5> : tensor<1000x1000xf32>
  %1 = sinter.constant dense<9007199254740993> : tensor<3xi64>
  return %0, %1 : tensor<1000x1000xf32>, tensor<3xi64>
}

// CHECK-LABEL: func.func @filled
func.func @filled() -> (tensor<?x3xf32, #sinter.dims<s0, 3>>, tensor<?x3xi1, #sinter.dims<s0, 3>>, tensor<?x3xi32, #sinter.dims<s0, 3>>) {
  // CHECK-DAG: %[[A:.*]] = sinter.full 6.000000e+00 : f32 : tensor<?x3xf32, #sinter.dims<s0, 3>>
  // CHECK-DAG: %[[B:.*]] = sinter.full true : tensor<?x3xi1, #sinter.dims<s0, 3>>
  // CHECK-DAG: %[[C:.*]] = sinter.full -2 : i32 : tensor<?x3xi32, #sinter.dims<s0, 3>>
  // CHECK: return %[[A]], %[[B]], %[[C]]
  %two = sinter.full 2.0 : f32 : tensor<?x3xf32, #sinter.dims<s0, 3>>
  %three = sinter.full 3.0 : f32 : tensor<?x3xf32, #sinter.dims<s0, 3>>
  %0 = sinter.mul %two, %three : tensor<?x3xf32, #sinter.dims<s0, 3>>
  %1 = sinter.lt %two, %three : tensor<?x3xf32, #sinter.dims<s0, 3>>
  %2 = sinter.full -2.7 : f32 : tensor<?x3xf32, #sinter.dims<s0, 3>>
  %3 = sinter.cast %2 : tensor<?x3xf32, #sinter.dims<s0, 3>> to tensor<?x3xi32, #sinter.dims<s0, 3>>
  return %0, %1, %3 : tensor<?x3xf32, #sinter.dims<s0, 3>>, tensor<?x3xi1, #sinter.dims<s0, 3>>, tensor<?x3xi32, #sinter.dims<s0, 3>>
}

// Results are rounded to the element type.
// CHECK-LABEL: func.func @rounding
func.func @rounding() -> (tensor<4xf16>, tensor<2xui8>) {
  // CHECK-DAG: %[[A:.*]] = sinter.full 2.048000e+03 : f16 : tensor<4xf16>
  // CHECK-DAG: %[[B:.*]] = sinter.full 44 : ui8 : tensor<2xui8>
  // CHECK: return %[[A]], %[[B]]
  %0 = sinter.full 2048.0 : f16 : tensor<4xf16>
  %1 = sinter.full 1.0 : f16 : tensor<4xf16>
  %2 = sinter.add %0, %1 : tensor<4xf16>
  %3 = sinter.full 200 : ui8 : tensor<2xui8>
  %4 = sinter.full 100 : ui8 : tensor<2xui8>
  %5 = sinter.add %3, %4 : tensor<2xui8>
  return %2, %5 : tensor<4xf16>, tensor<2xui8>
}

// CHECK-LABEL: func.func @movement
func.func @movement() -> (tensor<2x8xf32>) {
  // CHECK: %[[A:.*]] = sinter.full 3.000000e+00 : f32 : tensor<2x8xf32>
  // CHECK: return %[[A]]
  %0 = sinter.full 3.0 : f32 : tensor<f32>
  %1 = sinter.expand %0 : tensor<f32> to tensor<3x8xf32>
  %2 = sinter.reshape %1 : tensor<3x8xf32> to tensor<6x4xf32>
  %3 = sinter.transpose %2 [1, 0] : tensor<6x4xf32> to tensor<4x6xf32>
  %4 = sinter.slice %3 [0, 0] strides [2, 2] : tensor<4x6xf32> to tensor<2x3xf32>
  %5 = sinter.concat %4, %4 dim 1 : tensor<2x3xf32>, tensor<2x3xf32> to tensor<2x6xf32>
  %6 = sinter.pad %5 low [0, 1] high [0, 1] interior [0, 0] value 3.0 : tensor<2x6xf32> to tensor<2x8xf32>
  return %6 : tensor<2x8xf32>
}

// CHECK-LABEL: func.func @reductions
func.func @reductions() -> (tensor<2000xf32>, tensor<2000xf32>, tensor<2000xi32>, tensor<2000xi32>, tensor<2000xi64>) {
  // CHECK-DAG: %[[SUM:.*]] = sinter.full 1.500000e+03 : f32 : tensor<2000xf32>
  // CHECK-DAG: %[[MEAN:.*]] = sinter.full 5.000000e-01 : f32 : tensor<2000xf32>
  // CHECK-DAG: %[[PROD:.*]] = sinter.full 0 : i32 : tensor<2000xi32>
  // CHECK-DAG: %[[MAX:.*]] = sinter.full 2 : i32 : tensor<2000xi32>
  // CHECK-DAG: %[[ARG:.*]] = sinter.full 0 : i64 : tensor<2000xi64>
  // CHECK: return %[[SUM]], %[[MEAN]], %[[PROD]], %[[MAX]], %[[ARG]]
  %0 = sinter.full 0.5 : f32 : tensor<2000x3000xf32>
  %1 = sinter.sum %0 dims [1] : tensor<2000x3000xf32> to tensor<2000xf32>
  %2 = sinter.mean %0 dims [1] : tensor<2000x3000xf32> to tensor<2000xf32>
  %3 = sinter.full 2 : i32 : tensor<2000x3000xi32>
  %4 = sinter.prod %3 dims [1] : tensor<2000x3000xi32> to tensor<2000xi32>
  %5 = sinter.max %3 dims [1] : tensor<2000x3000xi32> to tensor<2000xi32>
  %6 = sinter.argmax %0 dims [1] : tensor<2000x3000xf32> to tensor<2000xi64>
  return %1, %2, %4, %5, %6 : tensor<2000xf32>, tensor<2000xf32>, tensor<2000xi32>, tensor<2000xi32>, tensor<2000xi64>
}

// CHECK-LABEL: func.func @values
func.func @values() -> (tensor<2x2xf32>, tensor<3x2xi32>) {
  // CHECK-DAG: %[[A:.*]] = sinter.constant dense<{{\[\[}}1.100000e+01, 2.500000e+01], [1.000000e+01, 2.200000e+01]]> : tensor<2x2xf32>
  // CHECK-DAG: %[[B:.*]] = sinter.constant dense<{{\[\[}}1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
  // CHECK: return %[[A]], %[[B]]
  %0 = sinter.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %1 = sinter.constant dense<[[3.0, 4.0], [2.0, 4.0]]> : tensor<2x2xf32>
  %2 = sinter.matmul %1, %0 transposed : tensor<2x2xf32>, tensor<2x2xf32> to tensor<2x2xf32>
  %3 = sinter.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %4 = sinter.reshape %3 : tensor<2x3xi32> to tensor<3x2xi32>
  return %2, %4 : tensor<2x2xf32>, tensor<3x2xi32>
}

// What is large is left to the program.
// CHECK-LABEL: func.func @large
func.func @large(%x: tensor<4xf32>) -> tensor<1025xf32> {
  // CHECK: sinter.constant
  // CHECK: sinter.expand
  %0 = sinter.constant dense<[[1.0], [2.0], [3.0], [4.0], [5.0]]> : tensor<5x1xf32>
  %1 = sinter.expand %0 : tensor<5x1xf32> to tensor<5x205xf32>
  %2 = sinter.reshape %1 : tensor<5x205xf32> to tensor<1025xf32>
  return %2 : tensor<1025xf32>
}

// Shapes, reductions, indices, random numbers and the ops that hold a program together.
// RUN: sinter-opt %s | sinter-opt | FileCheck %s
// RUN: sinter-opt -mlir-print-op-generic %s | sinter-opt | FileCheck %s
// RUN: sinter-opt -emit-bytecode %s | sinter-opt | FileCheck %s

// CHECK: sinter.variable trainable @weight : tensor<4x3xf32>
sinter.variable trainable @weight : tensor<4x3xf32>
// CHECK: sinter.variable @step : tensor<2xi64>
sinter.variable @step : tensor<2xi64>

// CHECK-LABEL: func.func @creation
func.func @creation() {
  // CHECK: sinter.full 5.000000e-01 : f32 : tensor<2x3xf32>
  %0 = sinter.full 0.5 : f32 : tensor<2x3xf32>
  // CHECK: sinter.full 1.000000e+00 : f64 : tensor<f64>
  %1 = sinter.full 1.0 : f64 : tensor<f64>
  // CHECK: sinter.full true : tensor<3xi1>
  %2 = sinter.full true : tensor<3xi1>
  // CHECK: sinter.full -7 : i64 : tensor<3xi64>
  %3 = sinter.full -7 : i64 : tensor<3xi64>
  // CHECK: sinter.full 200 : ui8 : tensor<0xui8>
  %4 = sinter.full 200 : ui8 : tensor<0xui8>
  // CHECK: sinter.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf16>
  %5 = sinter.constant dense<[1.0, 2.0]> : tensor<2xf16>
  // CHECK: sinter.arange 0.000000e+00, 2.000000e+00 : tensor<5xi32>
  %6 = sinter.arange 0.0, 2.0 : tensor<5xi32>
  return
}

// CHECK-LABEL: func.func @shape
func.func @shape(%x: tensor<2x1x6xf32>) {
  // CHECK: sinter.expand %{{.*}} : tensor<2x1x6xf32> to tensor<5x2x3x6xf32>
  %0 = sinter.expand %x : tensor<2x1x6xf32> to tensor<5x2x3x6xf32>
  // CHECK: sinter.reshape %{{.*}} : tensor<2x1x6xf32> to tensor<3x4xf32>
  %1 = sinter.reshape %x : tensor<2x1x6xf32> to tensor<3x4xf32>
  // CHECK: sinter.transpose %{{.*}} [2, 0, 1] : tensor<2x1x6xf32> to tensor<6x2x1xf32>
  %2 = sinter.transpose %x [2, 0, 1] : tensor<2x1x6xf32> to tensor<6x2x1xf32>
  // CHECK: sinter.slice %{{.*}} [1, 0, 1] strides [1, 1, 2] : tensor<2x1x6xf32> to tensor<1x1x3xf32>
  %3 = sinter.slice %x [1, 0, 1] strides [1, 1, 2] : tensor<2x1x6xf32> to tensor<1x1x3xf32>
  // CHECK: sinter.pad %{{.*}} low [0, 1, 2] high [0, 0, 1] interior [1, 0, 0] value 0.000000e+00 : tensor<2x1x6xf32> to tensor<3x2x9xf32>
  %4 = sinter.pad %x low [0, 1, 2] high [0, 0, 1] interior [1, 0, 0] value 0.0 : tensor<2x1x6xf32> to tensor<3x2x9xf32>
  // CHECK: sinter.concat %{{.*}}, %{{.*}} dim 1 : tensor<2x1x6xf32>, tensor<2x1x6xf32> to tensor<2x2x6xf32>
  %5 = sinter.concat %x, %x dim 1 : tensor<2x1x6xf32>, tensor<2x1x6xf32> to tensor<2x2x6xf32>
  return
}

// CHECK-LABEL: func.func @reduction
func.func @reduction(%x: tensor<2x3x4xf32>) {
  // CHECK: sinter.sum %{{.*}} dims [0, 2] : tensor<2x3x4xf32> to tensor<3xf32>
  %0 = sinter.sum %x dims [0, 2] : tensor<2x3x4xf32> to tensor<3xf32>
  // CHECK: sinter.mean %{{.*}} dims [1] keepdim : tensor<2x3x4xf32> to tensor<2x1x4xf32>
  %1 = sinter.mean %x dims [1] keepdim : tensor<2x3x4xf32> to tensor<2x1x4xf32>
  // CHECK: sinter.prod
  %2 = sinter.prod %x dims [0, 1, 2] : tensor<2x3x4xf32> to tensor<f32>
  // CHECK: sinter.max
  %3 = sinter.max %x dims [1] : tensor<2x3x4xf32> to tensor<2x4xf32>
  // CHECK: sinter.min
  %4 = sinter.min %x dims [1] : tensor<2x3x4xf32> to tensor<2x4xf32>
  // CHECK: sinter.argmax %{{.*}} dims [1] : tensor<2x3x4xf32> to tensor<2x4xi64>
  %5 = sinter.argmax %x dims [1] : tensor<2x3x4xf32> to tensor<2x4xi64>
  // CHECK: sinter.argmin
  %6 = sinter.argmin %x dims [0] keepdim : tensor<2x3x4xf32> to tensor<1x3x4xi64>
  return
}

// CHECK-LABEL: func.func @index
func.func @index(%weight: tensor<10x4xf32>, %index: tensor<2x3xi64>, %dy: tensor<2x3x4xf32>, %x: tensor<2x5xf32>,
                 %src: tensor<2x3xf32>) {
  // CHECK: sinter.embedding %{{.*}}, %{{.*}} : (tensor<10x4xf32>, tensor<2x3xi64>) -> tensor<2x3x4xf32>
  %0 = sinter.embedding %weight, %index : (tensor<10x4xf32>, tensor<2x3xi64>) -> tensor<2x3x4xf32>
  // CHECK: sinter.embedding_grad
  %1 = sinter.embedding_grad %dy, %index : (tensor<2x3x4xf32>, tensor<2x3xi64>) -> tensor<10x4xf32>
  // CHECK: sinter.gather %{{.*}}, %{{.*}} dim 1 : (tensor<2x5xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>
  %2 = sinter.gather %x, %index dim 1 : (tensor<2x5xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>
  // CHECK: sinter.scatter_add %{{.*}}, %{{.*}}, %{{.*}} dim 1 : (tensor<2x5xf32>, tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<2x5xf32>
  %3 = sinter.scatter_add %x, %index, %src dim 1 : (tensor<2x5xf32>, tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<2x5xf32>
  // CHECK: sinter.one_hot %{{.*}} classes 7 {type = f32} : tensor<2x3xi64> to tensor<2x3x7xf32>
  %4 = sinter.one_hot %index classes 7 {type = f32} : tensor<2x3xi64> to tensor<2x3x7xf32>
  return
}

// CHECK-LABEL: func.func @random
func.func @random(%x: tensor<8xf32>) {
  %state = sinter.read @step : tensor<2xi64>
  // CHECK: sinter.random_uniform %{{.*}} id 1 : tensor<2xi64> to tensor<3x2xf32>
  %0 = sinter.random_uniform %state id 1 : tensor<2xi64> to tensor<3x2xf32>
  // CHECK: sinter.random_normal %{{.*}} id 2 : tensor<2xi64> to tensor<f64>
  %1 = sinter.random_normal %state id 2 : tensor<2xi64> to tensor<f64>
  // CHECK: sinter.random_bernoulli %{{.*}} id 3 {probability = 2.500000e-01 : f64} : tensor<2xi64> to tensor<4xi1>
  %2 = sinter.random_bernoulli %state id 3 {probability = 0.25 : f64} : tensor<2xi64> to tensor<4xi1>
  // CHECK: sinter.dropout %{{.*}}, %{{.*}} id 4 probability 5.000000e-01 : (tensor<8xf32>, tensor<2xi64>) -> tensor<8xf32>
  %3 = sinter.dropout %x, %state id 4 probability 0.5 : (tensor<8xf32>, tensor<2xi64>) -> tensor<8xf32>
  return
}

// CHECK-LABEL: func.func @control
func.func @control(%x: tensor<4x3xf32>, %seed: tensor<f32>) -> tensor<4xf32> {
  // CHECK: %[[READ:.*]] = sinter.read @weight : tensor<4x3xf32>
  %weight = sinter.read @weight : tensor<4x3xf32>
  %product = sinter.mul %x, %weight : tensor<4x3xf32>
  %loss = sinter.sum %product dims [0, 1] : tensor<4x3xf32> to tensor<f32>
  // CHECK: sinter.gradients %{{.*}} wrt %[[READ]], %{{.*}} : (tensor<f32>, tensor<4x3xf32>, tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
  %g:2 = sinter.gradients %loss wrt %weight, %x : (tensor<f32>, tensor<4x3xf32>, tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
  // CHECK: sinter.gradients %{{.*}} seed %{{.*}} wrt %[[READ]] : (tensor<f32>, tensor<f32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %h = sinter.gradients %loss seed %seed wrt %weight : (tensor<f32>, tensor<f32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: sinter.probe %{{.*}}, "gradient" : tensor<4x3xf32>
  sinter.probe %g#0, "gradient" : tensor<4x3xf32>
  // CHECK: sinter.group "reduction"(%{{.*}}, %{{.*}}) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<4x3xf32>, %[[B:.*]]: tensor<4x3xf32>):
  // CHECK: sinter.yield %{{.*}} : tensor<4xf32>
  %y = sinter.group "reduction"(%h, %x) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4x3xf32>, %b: tensor<4x3xf32>):
    %0 = sinter.mul %a, %b : tensor<4x3xf32>
    %1 = sinter.sum %0 dims [1] : tensor<4x3xf32> to tensor<4xf32>
    sinter.yield %1 : tensor<4xf32>
  }
  // CHECK: sinter.assign @weight, %{{.*}} : tensor<4x3xf32>
  sinter.assign @weight, %g#0 : tensor<4x3xf32>
  return %y : tensor<4xf32>
}

// Contractions, pooling, normalisations and losses.
// RUN: sinter-opt %s | sinter-opt | FileCheck %s
// RUN: sinter-opt -mlir-print-op-generic %s | sinter-opt | FileCheck %s
// RUN: sinter-opt -emit-bytecode %s | sinter-opt | FileCheck %s

// CHECK-LABEL: func.func @products
func.func @products(%a: tensor<5x2x3xf32>, %b: tensor<5x3x4xf32>, %c: tensor<5x4x3xf32>, %x: tensor<7x2x3xf32>,
                    %weight: tensor<4x3xf32>, %bias: tensor<4xf32>) {
  // CHECK: sinter.matmul %{{[^ ]*}}, %{{[^ ]*}} : tensor<5x2x3xf32>, tensor<5x3x4xf32> to tensor<5x2x4xf32>
  %0 = sinter.matmul %a, %b : tensor<5x2x3xf32>, tensor<5x3x4xf32> to tensor<5x2x4xf32>
  // CHECK: sinter.matmul %{{[^ ]*}}, %{{[^ ]*}} transposed : tensor<5x2x3xf32>, tensor<5x4x3xf32> to tensor<5x2x4xf32>
  %1 = sinter.matmul %a, %c transposed : tensor<5x2x3xf32>, tensor<5x4x3xf32> to tensor<5x2x4xf32>
  // CHECK: sinter.matmul %{{[^ ]*}} transposed, %{{[^ ]*}} transposed : tensor<5x3x4xf32>, tensor<5x2x3xf32> to tensor<5x4x2xf32>
  %2 = sinter.matmul %b transposed, %a transposed : tensor<5x3x4xf32>, tensor<5x2x3xf32> to tensor<5x4x2xf32>
  // CHECK: sinter.linear %{{[^ ]*}}, %{{[^ ]*}}, %{{[^ ]*}} : (tensor<7x2x3xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<7x2x4xf32>
  %3 = sinter.linear %x, %weight, %bias : (tensor<7x2x3xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<7x2x4xf32>
  // CHECK: sinter.linear %{{[^ ]*}}, %{{[^ ]*}} : (tensor<7x2x3xf32>, tensor<4x3xf32>) -> tensor<7x2x4xf32>
  %4 = sinter.linear %x, %weight : (tensor<7x2x3xf32>, tensor<4x3xf32>) -> tensor<7x2x4xf32>
  return
}

// CHECK-LABEL: func.func @convolution
func.func @convolution(%x: tensor<2x4x9x8xf32>, %last: tensor<2x9x8x4xf32>, %weight: tensor<6x2x3x3xf32>) {
  // CHECK: sinter.conv2d %{{.*}}, %{{.*}} {dilation = array<i64: 1, 1>, groups = 2 : i64, padding = array<i64: 1, 1, 1, 1>, stride = array<i64: 2, 1>} : (tensor<2x4x9x8xf32>, tensor<6x2x3x3xf32>) -> tensor<2x6x5x8xf32>
  %y = sinter.conv2d %x, %weight {dilation = array<i64: 1, 1>, groups = 2, padding = array<i64: 1, 1, 1, 1>, stride = array<i64: 2, 1>}
    : (tensor<2x4x9x8xf32>, tensor<6x2x3x3xf32>) -> tensor<2x6x5x8xf32>
  // CHECK: sinter.conv2d %{{.*}} {channels_last, dilation = array<i64: 2, 1>
  %z = sinter.conv2d %last, %weight {channels_last, dilation = array<i64: 2, 1>, groups = 2, padding = array<i64: 0, 1, 2, 3>, stride = array<i64: 1, 1>}
    : (tensor<2x9x8x4xf32>, tensor<6x2x3x3xf32>) -> tensor<2x7x10x6xf32>
  // CHECK: sinter.conv2d_input_grad
  %dx = sinter.conv2d_input_grad %y, %weight {dilation = array<i64: 1, 1>, groups = 2, padding = array<i64: 1, 1, 1, 1>, stride = array<i64: 2, 1>}
    : (tensor<2x6x5x8xf32>, tensor<6x2x3x3xf32>) -> tensor<2x4x9x8xf32>
  // CHECK: sinter.conv2d_weight_grad
  %dw = sinter.conv2d_weight_grad %x, %y {dilation = array<i64: 1, 1>, groups = 2, padding = array<i64: 1, 1, 1, 1>, stride = array<i64: 2, 1>}
    : (tensor<2x4x9x8xf32>, tensor<2x6x5x8xf32>) -> tensor<6x2x3x3xf32>
  return
}

// CHECK-LABEL: func.func @pooling
func.func @pooling(%x: tensor<2x3x7x8xf32>) {
  // CHECK: sinter.max_pool2d %{{.*}} {dilation = array<i64: 1, 1>, kernel = array<i64: 3, 2>, padding = array<i64: 1, 0, 1, 0>, stride = array<i64: 2, 2>} : (tensor<2x3x7x8xf32>) -> tensor<2x3x4x4xf32>
  %0 = sinter.max_pool2d %x {dilation = array<i64: 1, 1>, kernel = array<i64: 3, 2>, padding = array<i64: 1, 0, 1, 0>, stride = array<i64: 2, 2>}
    : (tensor<2x3x7x8xf32>) -> tensor<2x3x4x4xf32>
  // CHECK: sinter.max_pool2d_index
  %1 = sinter.max_pool2d_index %x {dilation = array<i64: 1, 1>, kernel = array<i64: 3, 2>, padding = array<i64: 1, 0, 1, 0>, stride = array<i64: 2, 2>}
    : (tensor<2x3x7x8xf32>) -> tensor<2x3x4x4xi32>
  // CHECK: sinter.pool_gather
  %2 = sinter.pool_gather %x, %1 {dilation = array<i64: 1, 1>, kernel = array<i64: 3, 2>, padding = array<i64: 1, 0, 1, 0>, stride = array<i64: 2, 2>}
    : (tensor<2x3x7x8xf32>, tensor<2x3x4x4xi32>) -> tensor<2x3x4x4xf32>
  // CHECK: sinter.pool_scatter
  %3 = sinter.pool_scatter %2, %1 {dilation = array<i64: 1, 1>, kernel = array<i64: 3, 2>, padding = array<i64: 1, 0, 1, 0>, stride = array<i64: 2, 2>}
    : (tensor<2x3x4x4xf32>, tensor<2x3x4x4xi32>) -> tensor<2x3x7x8xf32>
  // CHECK: sinter.avg_pool2d
  %4 = sinter.avg_pool2d %x {channels_last, dilation = array<i64: 1, 1>, kernel = array<i64: 2, 3>, padding = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>}
    : (tensor<2x3x7x8xf32>) -> tensor<2x2x5x8xf32>
  // CHECK: sinter.avg_pool2d_grad
  %5 = sinter.avg_pool2d_grad %4 {channels_last, dilation = array<i64: 1, 1>, kernel = array<i64: 2, 3>, padding = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>}
    : (tensor<2x2x5x8xf32>) -> tensor<2x3x7x8xf32>
  return
}

// CHECK-LABEL: func.func @normalization
func.func @normalization(%x: tensor<8x4x5xf16>, %last: tensor<4x5xf32>, %channels: tensor<4xf32>) {
  // CHECK: sinter.softmax %{{.*}} dim 2 : tensor<8x4x5xf16>
  %0 = sinter.softmax %x dim 2 : tensor<8x4x5xf16>
  // CHECK: sinter.log_softmax %{{.*}} dim 0 : tensor<8x4x5xf16>
  %1 = sinter.log_softmax %x dim 0 : tensor<8x4x5xf16>
  // CHECK: sinter.layer_norm %{{.*}}, %{{.*}}, %{{.*}} epsilon 1.000000e-05 : (tensor<8x4x5xf16>, tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<8x4x5xf16>
  %2 = sinter.layer_norm %x, %last, %last epsilon 1.0e-5 : (tensor<8x4x5xf16>, tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<8x4x5xf16>
  // CHECK: sinter.batch_norm %{{.*}} epsilon 1.000000e-05
  %3 = sinter.batch_norm %x, %channels, %channels, %channels, %channels epsilon 1.0e-5
    : (tensor<8x4x5xf16>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<8x4x5xf16>
  // CHECK: sinter.batch_norm_training %{{.*}} : (tensor<8x4x5xf16>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4x5xf16>, tensor<4xf32>, tensor<4xf32>)
  %4:3 = sinter.batch_norm_training %x, %channels, %channels epsilon 1.0e-5
    : (tensor<8x4x5xf16>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4x5xf16>, tensor<4xf32>, tensor<4xf32>)
  return
}

// CHECK-LABEL: func.func @losses
func.func @losses(%logits: tensor<8x10xbf16>, %labels: tensor<8xi32>, %x: tensor<3x2xf64>) {
  // CHECK: sinter.cross_entropy %{{.*}}, %{{[^ ]*}} : (tensor<8x10xbf16>, tensor<8xi32>) -> tensor<f32>
  %0 = sinter.cross_entropy %logits, %labels : (tensor<8x10xbf16>, tensor<8xi32>) -> tensor<f32>
  // CHECK: sinter.cross_entropy %{{.*}} {ignore_index = 0 : i64, label_smoothing = 1.000000e-01 : f64}
  %1 = sinter.cross_entropy %logits, %labels {ignore_index = 0 : i64, label_smoothing = 0.1 : f64} : (tensor<8x10xbf16>, tensor<8xi32>) -> tensor<f32>
  // CHECK: sinter.mse %{{.*}}, %{{.*}} : (tensor<3x2xf64>, tensor<3x2xf64>) -> tensor<f64>
  %2 = sinter.mse %x, %x : (tensor<3x2xf64>, tensor<3x2xf64>) -> tensor<f64>
  return
}

// RUN: sinter-opt %s | sinter-opt | FileCheck %s
// RUN: sinter-opt -mlir-print-op-generic %s | sinter-opt | FileCheck %s
// RUN: sinter-opt -emit-bytecode %s | sinter-opt | FileCheck %s

// CHECK-LABEL: func.func @arithmetic
func.func @arithmetic(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  // CHECK: sinter.add %{{.*}}, %{{.*}} : tensor<2x3xf32>
  %0 = sinter.add %a, %b : tensor<2x3xf32>
  // CHECK: sinter.sub
  %1 = sinter.sub %a, %b : tensor<2x3xf32>
  // CHECK: sinter.mul
  %2 = sinter.mul %a, %b : tensor<2x3xf32>
  // CHECK: sinter.div
  %3 = sinter.div %a, %b : tensor<2x3xf32>
  // CHECK: sinter.pow
  %4 = sinter.pow %a, %b : tensor<2x3xf32>
  // CHECK: sinter.atan2
  %5 = sinter.atan2 %a, %b : tensor<2x3xf32>
  // CHECK: sinter.maximum
  %6 = sinter.maximum %a, %b : tensor<2x3xf32>
  // CHECK: sinter.minimum
  %7 = sinter.minimum %a, %b : tensor<2x3xf32>
  // CHECK: sinter.prelu %{{.*}}, %{{.*}} : tensor<2x3xf32>
  %8 = sinter.prelu %a, %b : tensor<2x3xf32>
  // CHECK: sinter.neg %{{.*}} : tensor<2x3xf32>
  %9 = sinter.neg %a : tensor<2x3xf32>
  // CHECK: sinter.abs
  %10 = sinter.abs %a : tensor<2x3xf32>
  // CHECK: sinter.sign
  %11 = sinter.sign %a : tensor<2x3xf32>
  // CHECK: sinter.reciprocal
  %12 = sinter.reciprocal %a : tensor<2x3xf32>
  return
}

// CHECK-LABEL: func.func @mathematics
func.func @mathematics(%x: tensor<4xbf16>) {
  // CHECK: sinter.exp %{{.*}} : tensor<4xbf16>
  %0 = sinter.exp %x : tensor<4xbf16>
  // CHECK: sinter.expm1
  %1 = sinter.expm1 %x : tensor<4xbf16>
  // CHECK: sinter.log
  %2 = sinter.log %x : tensor<4xbf16>
  // CHECK: sinter.log1p
  %3 = sinter.log1p %x : tensor<4xbf16>
  // CHECK: sinter.sqrt
  %4 = sinter.sqrt %x : tensor<4xbf16>
  // CHECK: sinter.rsqrt
  %5 = sinter.rsqrt %x : tensor<4xbf16>
  // CHECK: sinter.sin
  %6 = sinter.sin %x : tensor<4xbf16>
  // CHECK: sinter.cos
  %7 = sinter.cos %x : tensor<4xbf16>
  // CHECK: sinter.tan
  %8 = sinter.tan %x : tensor<4xbf16>
  // CHECK: sinter.erf
  %9 = sinter.erf %x : tensor<4xbf16>
  // CHECK: sinter.floor
  %10 = sinter.floor %x : tensor<4xbf16>
  // CHECK: sinter.ceil
  %11 = sinter.ceil %x : tensor<4xbf16>
  // CHECK: sinter.round
  %12 = sinter.round %x : tensor<4xbf16>
  // CHECK: sinter.clamp %{{.*}} {lower = -1.000000e+00 : f64, upper = 5.000000e-01 : f64} : tensor<4xbf16>
  %13 = sinter.clamp %x {lower = -1.0 : f64, upper = 0.5 : f64} : tensor<4xbf16>
  return
}

// CHECK-LABEL: func.func @activations
func.func @activations(%x: tensor<5xf64>) {
  // CHECK: sinter.relu %{{.*}} : tensor<5xf64>
  %0 = sinter.relu %x : tensor<5xf64>
  // CHECK: sinter.relu6
  %1 = sinter.relu6 %x : tensor<5xf64>
  // CHECK: sinter.leaky_relu %{{[^{]*}} : tensor<5xf64>
  %2 = sinter.leaky_relu %x : tensor<5xf64>
  // CHECK: sinter.leaky_relu %{{.*}} {slope = 2.000000e-01 : f64} : tensor<5xf64>
  %3 = sinter.leaky_relu %x {slope = 0.2 : f64} : tensor<5xf64>
  // CHECK: sinter.elu %{{.*}} {alpha = 5.000000e-01 : f64} : tensor<5xf64>
  %4 = sinter.elu %x {alpha = 0.5 : f64} : tensor<5xf64>
  // CHECK: sinter.gelu
  %5 = sinter.gelu %x : tensor<5xf64>
  // CHECK: sinter.gelu_tanh
  %6 = sinter.gelu_tanh %x : tensor<5xf64>
  // CHECK: sinter.sigmoid
  %7 = sinter.sigmoid %x : tensor<5xf64>
  // CHECK: sinter.tanh
  %8 = sinter.tanh %x : tensor<5xf64>
  // CHECK: sinter.silu
  %9 = sinter.silu %x : tensor<5xf64>
  // CHECK: sinter.softplus
  %10 = sinter.softplus %x : tensor<5xf64>
  // CHECK: sinter.mish
  %11 = sinter.mish %x : tensor<5xf64>
  // CHECK: sinter.softsign
  %12 = sinter.softsign %x : tensor<5xf64>
  // CHECK: sinter.hardswish
  %13 = sinter.hardswish %x : tensor<5xf64>
  return
}

// CHECK-LABEL: func.func @logic
func.func @logic(%a: tensor<3xui8>, %b: tensor<3xui8>, %x: tensor<3xf16>) -> tensor<3xf32> {
  // CHECK: sinter.eq %{{.*}}, %{{.*}} : tensor<3xui8>
  %0 = sinter.eq %a, %b : tensor<3xui8>
  // CHECK: sinter.ne
  %1 = sinter.ne %a, %b : tensor<3xui8>
  // CHECK: sinter.lt
  %2 = sinter.lt %a, %b : tensor<3xui8>
  // CHECK: sinter.le
  %3 = sinter.le %a, %b : tensor<3xui8>
  // CHECK: sinter.gt
  %4 = sinter.gt %a, %b : tensor<3xui8>
  // CHECK: sinter.ge
  %5 = sinter.ge %a, %b : tensor<3xui8>
  // CHECK: sinter.logical_and %{{.*}}, %{{.*}} : tensor<3xi1>
  %6 = sinter.logical_and %0, %1 : tensor<3xi1>
  // CHECK: sinter.logical_or
  %7 = sinter.logical_or %2, %3 : tensor<3xi1>
  // CHECK: sinter.logical_xor
  %8 = sinter.logical_xor %4, %5 : tensor<3xi1>
  // CHECK: sinter.logical_not %{{.*}} : tensor<3xi1>
  %9 = sinter.logical_not %8 : tensor<3xi1>
  // CHECK: sinter.where %{{.*}}, %{{.*}}, %{{.*}} : tensor<3xi1>, tensor<3xf16>
  %10 = sinter.where %9, %x, %x : tensor<3xi1>, tensor<3xf16>
  // CHECK: sinter.stop_gradient %{{.*}} : tensor<3xf16>
  %11 = sinter.stop_gradient %10 : tensor<3xf16>
  // CHECK: sinter.cast %{{.*}} : tensor<3xf16> to tensor<3xf32>
  %12 = sinter.cast %11 : tensor<3xf16> to tensor<3xf32>
  return %12 : tensor<3xf32>
}

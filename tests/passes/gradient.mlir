// RUN: sinter-opt %s --split-input-file --verify-diagnostics --sinter-gradient | FileCheck %s

// CHECK-LABEL: func.func @twice
// Both uses of %x add up; the forward value is used, not computed again.
// CHECK: %[[Y:.*]] = sinter.exp %arg0
// CHECK: %[[THROUGH:.*]] = sinter.mul %arg0, %[[Y]]
// CHECK: %[[SUM:.*]] = sinter.add %[[Y]], %[[THROUGH]]
// CHECK: return %[[SUM]]
func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = sinter.exp %x : tensor<4xf32>
  %1 = sinter.mul %0, %x : tensor<4xf32>
  %2 = sinter.gradients %1 wrt %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @seed_and_independent
// CHECK: %[[ZERO:.*]] = sinter.full 0.000000e+00 : f32 : tensor<3xf32>
// CHECK: return %arg1, %[[ZERO]]
func.func @seed_and_independent(%x: tensor<4xf32>, %seed: tensor<4xf32>, %z: tensor<3xf32>) -> (tensor<4xf32>, tensor<3xf32>) {
  %0 = sinter.add %x, %seed : tensor<4xf32>
  %1:2 = sinter.gradients %0 seed %seed wrt %x, %z : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3xf32>) -> (tensor<4xf32>, tensor<3xf32>)
  return %1#0, %1#1 : tensor<4xf32>, tensor<3xf32>
}

// -----

// Nothing flows through stop_gradient, rounding, comparisons and integers.
// CHECK-LABEL: func.func @stopped
// CHECK: %[[ZERO:.*]] = sinter.full 0.000000e+00
// CHECK: return %[[ZERO]]
func.func @stopped(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = sinter.stop_gradient %x : tensor<4xf32>
  %1 = sinter.floor %x : tensor<4xf32>
  %2 = sinter.lt %x, %0 : tensor<4xf32>
  %3 = sinter.cast %2 : tensor<4xi1> to tensor<4xf32>
  %4 = sinter.cast %x : tensor<4xf32> to tensor<4xi64>
  %5 = sinter.cast %4 : tensor<4xi64> to tensor<4xf32>
  %6 = sinter.add %0, %1 : tensor<4xf32>
  %7 = sinter.add %3, %5 : tensor<4xf32>
  %8 = sinter.add %6, %7 : tensor<4xf32>
  %9 = sinter.gradients %8 wrt %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %9 : tensor<4xf32>
}

// -----

// A later request differentiates what an earlier one built: d2(x^3) = 6x.
// CHECK-LABEL: func.func @second_order
// CHECK-NOT: sinter.gradients
func.func @second_order(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = sinter.mul %x, %x : tensor<4xf32>
  %1 = sinter.mul %0, %x : tensor<4xf32>
  %2 = sinter.gradients %1 wrt %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = sinter.gradients %2 wrt %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// -----

// An op without own gradient is replaced by its parts first; elsewhere it stays whole.
// CHECK-LABEL: func.func @parts
// CHECK-NOT: sinter.linear %arg0
// CHECK: sinter.matmul %arg0, %arg1 transposed
// CHECK: sinter.linear %arg2
// CHECK: sinter.matmul {{.*}} transposed, {{.*}} : tensor<2x4xf32>, tensor<2x3xf32> to tensor<4x3xf32>
func.func @parts(%x: tensor<2x3xf32>, %w: tensor<4x3xf32>, %z: tensor<2x3xf32>) -> (tensor<4x3xf32>, tensor<2x4xf32>) {
  %0 = sinter.linear %x, %w : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %1 = sinter.linear %z, %w : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %2 = sinter.gradients %0 wrt %w : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return %2, %1 : tensor<4x3xf32>, tensor<2x4xf32>
}

// -----

// Symbolic sizes stay symbolic.
// CHECK-LABEL: func.func @symbolic
// CHECK: sinter.sum %{{.*}} dims [0] keepdim : tensor<?x3xf32, #sinter.dims<s0, 3>> to tensor<1x3xf32>
module attributes {sinter.symbols = [{name = "n", lower = 1 : i64, upper = 64 : i64}]} {
  func.func @symbolic(%x: tensor<?x3xf32, #sinter.dims<s0, 3>>, %b: tensor<3xf32>) -> tensor<3xf32> {
    %0 = sinter.expand %b : tensor<3xf32> to tensor<?x3xf32, #sinter.dims<s0, 3>>
    %1 = sinter.mul %x, %0 : tensor<?x3xf32, #sinter.dims<s0, 3>>
    %2 = sinter.gradients %1 wrt %b : (tensor<?x3xf32, #sinter.dims<s0, 3>>, tensor<3xf32>) -> tensor<3xf32>
    return %2 : tensor<3xf32>
  }
}

// -----

func.func @no_gradient(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'sinter.group' op has no gradient; use stop_gradient on its input if none is meant to flow}}
  %0 = sinter.group "pointwise"(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %1 = sinter.exp %a : tensor<4xf32>
    sinter.yield %1 : tensor<4xf32>
  }
  // expected-note @below {{gradients asked for here}}
  %2 = sinter.gradients %0 wrt %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

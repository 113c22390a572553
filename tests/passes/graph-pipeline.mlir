// RUN: sinter-opt %s -sinter-graph | FileCheck %s

// The two negations cancel, but only once the gradient with respect to the value between them is known.
// CHECK-LABEL: func.func @between
func.func @between(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  // CHECK: %[[G:.*]] = sinter.full -1.000000e+00 : f32 : tensor<3xf32>
  // CHECK: return %arg0, %[[G]]
  %v = sinter.neg %x : tensor<3xf32>
  %y = sinter.neg %v : tensor<3xf32>
  %g = sinter.gradients %y wrt %v : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %y, %g : tensor<3xf32>, tensor<3xf32>
}

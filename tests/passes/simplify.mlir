// RUN: sinter-opt %s --sinter-simplify | FileCheck %s

// Forward and backward compute the same statistics; one of each stays. What nobody uses goes.
// CHECK-LABEL: func.func @once
// CHECK: %[[E:.*]] = sinter.exp %arg0
// CHECK: %[[Y:.*]] = sinter.mul %[[E]], %[[E]]
// CHECK-NOT: sinter.
// CHECK: return %[[Y]]
func.func @once(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = sinter.exp %x : tensor<4xf32>
  %1 = sinter.exp %x : tensor<4xf32>
  %2 = sinter.mul %0, %1 : tensor<4xf32>
  %3 = sinter.tanh %2 : tensor<4xf32>
  return %2 : tensor<4xf32>
}

// CHECK-LABEL: func.func @read_transposed
// CHECK-NEXT: %[[Y:.*]] = sinter.matmul %arg0 transposed, %arg1 :
// CHECK-NEXT: return %[[Y]]
func.func @read_transposed(%a: tensor<3x2xf32>, %b: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %0 = sinter.transpose %a [1, 0] : tensor<3x2xf32> to tensor<2x3xf32>
  %1 = sinter.transpose %b [1, 0] : tensor<3x4xf32> to tensor<4x3xf32>
  %2 = sinter.matmul %0, %1 transposed : tensor<2x3xf32>, tensor<4x3xf32> to tensor<2x4xf32>
  return %2 : tensor<2x4xf32>
}

// Assignments and probes stay, and what they need.
sinter.variable @v : tensor<4xf32>
// CHECK-LABEL: func.func @effects
// CHECK: %[[R:.*]] = sinter.read @v
// CHECK: %[[E:.*]] = sinter.exp %[[R]]
// CHECK: sinter.probe %[[E]]
// CHECK: sinter.assign @v, %[[E]]
func.func @effects() {
  %0 = sinter.read @v : tensor<4xf32>
  %1 = sinter.exp %0 : tensor<4xf32>
  sinter.probe %1, "e" : tensor<4xf32>
  sinter.assign @v, %1 : tensor<4xf32>
  return
}

// RUN: sinter-opt %s --split-input-file --sinter-fusion | FileCheck %s
// RUN: sinter-opt %s --split-input-file --sinter-fusion=fuse=false | FileCheck %s --check-prefix=NAIVE
// RUN: sinter-opt %s --split-input-file --sinter-fusion="report=true" 2>&1 >/dev/null | FileCheck %s --check-prefix=WHY

// A pointwise chain is one group over one long dimension; without fusion a group each.
// CHECK-LABEL: func.func @chain
// CHECK: sinter.group "pointwise"
// CHECK-SAME: (tensor<96xf32>, tensor<96xf32>) -> tensor<96xf32>
// CHECK-NOT: sinter.group
// NAIVE-LABEL: func.func @chain
// NAIVE-COUNT-3: sinter.group "pointwise"
func.func @chain(%a: tensor<2x6x8xf32>, %b: tensor<2x6x8xf32>) -> tensor<2x6x8xf32> {
  %0 = sinter.add %a, %b : tensor<2x6x8xf32>
  %1 = sinter.exp %0 : tensor<2x6x8xf32>
  %2 = sinter.mul %1, %a : tensor<2x6x8xf32>
  return %2 : tensor<2x6x8xf32>
}

// -----

// Softmax: both reductions and what follows them in one group, rows before columns.
// CHECK-LABEL: func.func @softmax
// CHECK: sinter.group "reduction"
// CHECK-SAME: (tensor<48x10xf32>) -> tensor<48x10xf32>
// CHECK: sinter.max
// CHECK: sinter.sum
// CHECK-NOT: sinter.group
func.func @softmax(%x: tensor<6x8x10xf32>) -> tensor<6x8x10xf32> {
  %m = sinter.max %x dims [2] keepdim : tensor<6x8x10xf32> to tensor<6x8x1xf32>
  %me = sinter.expand %m : tensor<6x8x1xf32> to tensor<6x8x10xf32>
  %d = sinter.sub %x, %me : tensor<6x8x10xf32>
  %e = sinter.exp %d : tensor<6x8x10xf32>
  %s = sinter.sum %e dims [2] keepdim : tensor<6x8x10xf32> to tensor<6x8x1xf32>
  %se = sinter.expand %s : tensor<6x8x1xf32> to tensor<6x8x10xf32>
  %y = sinter.div %e, %se : tensor<6x8x10xf32>
  return %y : tensor<6x8x10xf32>
}

// -----

// Bias and rectifier join the contraction; the next contraction reads a finished operand.
// CHECK-LABEL: func.func @epilogue
// CHECK: sinter.group "contraction"
// CHECK: sinter.matmul
// CHECK: sinter.add
// CHECK: sinter.relu
// CHECK: sinter.group "contraction"
// CHECK: sinter.matmul
// CHECK-NOT: sinter.group
func.func @epilogue(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = sinter.matmul %x, %w : tensor<4x8xf32>, tensor<8x8xf32> to tensor<4x8xf32>
  %1 = sinter.expand %b : tensor<8xf32> to tensor<4x8xf32>
  %2 = sinter.add %0, %1 : tensor<4x8xf32>
  %3 = sinter.relu %2 : tensor<4x8xf32>
  %4 = sinter.matmul %3, %w : tensor<4x8xf32>, tensor<8x8xf32> to tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// -----

// A column has to be finished before any of its elements is used: two groups.
// CHECK-LABEL: func.func @columns
// CHECK: sinter.group "reduction"
// CHECK: sinter.group "pointwise"
// WHY: fusion: sum {{.*}} not into sub: needs all of a column before any of its elements
func.func @columns(%x: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %s = sinter.sum %x dims [0] keepdim : tensor<64x32xf32> to tensor<1x32xf32>
  %e = sinter.expand %s : tensor<1x32xf32> to tensor<64x32xf32>
  %y = sinter.sub %x, %e : tensor<64x32xf32>
  return %y : tensor<64x32xf32>
}

// -----

// Reductions that read the same data over the same space share one pass.
// CHECK-LABEL: func.func @siblings
// CHECK: sinter.group "reduction"
// CHECK-SAME: -> (tensor<1x32xf32>, tensor<1x32xf32>)
// CHECK-NOT: sinter.group
func.func @siblings(%x: tensor<64x32xf32>) -> (tensor<32xf32>, tensor<32xf32>) {
  %q = sinter.mul %x, %x : tensor<64x32xf32>
  %s = sinter.sum %x dims [0] : tensor<64x32xf32> to tensor<32xf32>
  %t = sinter.sum %q dims [0] : tensor<64x32xf32> to tensor<32xf32>
  return %s, %t : tensor<32xf32>, tensor<32xf32>
}

// -----

// A chain per channel is not computed again for every element, however cheap each step.
// CHECK-LABEL: func.func @chain_per_channel
// CHECK: sinter.group "pointwise"
// CHECK-SAME: -> tensor<32xf32>
// CHECK: sinter.group "pointwise"
// CHECK-SAME: -> tensor<4096x32xf32>
func.func @chain_per_channel(%x: tensor<4096x32xf32>, %v: tensor<32xf32>) -> tensor<4096x32xf32> {
  %0 = sinter.mul %v, %v : tensor<32xf32>
  %1 = sinter.add %0, %v : tensor<32xf32>
  %2 = sinter.mul %1, %v : tensor<32xf32>
  %3 = sinter.add %2, %v : tensor<32xf32>
  %4 = sinter.mul %3, %v : tensor<32xf32>
  %5 = sinter.add %4, %v : tensor<32xf32>
  %6 = sinter.expand %5 : tensor<32xf32> to tensor<4096x32xf32>
  %7 = sinter.mul %x, %6 : tensor<4096x32xf32>
  return %7 : tensor<4096x32xf32>
}

// -----

// Results of different rank, one of them behind a reshape that is no mere size of 1.
// CHECK-LABEL: func.func @reshaped_result
// CHECK: sinter.group
// CHECK: sinter.reshape {{.*}} to tensor<12x16xf32>
func.func @reshaped_result(%x: tensor<3x4x16xf32>, %w: tensor<16x16xf32>) -> (tensor<12x16xf32>, tensor<1x16xf32>) {
  %0 = sinter.exp %x : tensor<3x4x16xf32>
  %1 = sinter.reshape %0 : tensor<3x4x16xf32> to tensor<12x16xf32>
  %2 = sinter.sum %1 dims [0] keepdim : tensor<12x16xf32> to tensor<1x16xf32>
  %3 = sinter.matmul %1, %w : tensor<12x16xf32>, tensor<16x16xf32> to tensor<12x16xf32>
  return %3, %2 : tensor<12x16xf32>, tensor<1x16xf32>
}

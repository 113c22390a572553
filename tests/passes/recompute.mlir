// RUN: sinter-opt %s --split-input-file --sinter-recompute | FileCheck %s

// The mask of a rectifier in front of a pooling is made again from the normalised value's origin: the result of the
// convolution, which is written anyway.
// CHECK-LABEL: func.func @late_use
// CHECK: %[[C:.*]] = sinter.matmul %arg0, %arg1
// CHECK: sinter.mul %[[C]], %arg2
// CHECK: sinter.matmul
// CHECK: %[[AGAIN:.*]] = sinter.mul %[[C]], %arg2
// CHECK: sinter.mul %{{.*}}, %[[AGAIN]]
func.func @late_use(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>, %s: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %c = sinter.matmul %x, %w : tensor<64x64xf32>, tensor<64x64xf32> to tensor<64x64xf32>
  %n = sinter.mul %c, %s : tensor<64x64xf32>
  %e = sinter.exp %n : tensor<64x64xf32>
  %m = sinter.add %c, %e : tensor<64x64xf32>
  %d = sinter.matmul %m, %w : tensor<64x64xf32>, tensor<64x64xf32> to tensor<64x64xf32>
  %r = sinter.mul %d, %n : tensor<64x64xf32>
  return %r, %m : tensor<64x64xf32>, tensor<64x64xf32>
}

// -----

// What a contraction reads is in memory anyway.
// CHECK-LABEL: func.func @read_by_contraction
// CHECK-COUNT-1: sinter.relu
// CHECK-NOT: sinter.relu
func.func @read_by_contraction(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %h = sinter.relu %x : tensor<64x64xf32>
  %d = sinter.matmul %h, %w : tensor<64x64xf32>, tensor<64x64xf32> to tensor<64x64xf32>
  %r = sinter.mul %d, %h : tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}

// -----

// A contraction keeps its epilogue: the sum is written by it, and read late.
// CHECK-LABEL: func.func @epilogue
// CHECK-COUNT-1: sinter.add
// CHECK-NOT: sinter.add
func.func @epilogue(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> (tensor<64x64xf32>) {
  %c = sinter.matmul %x, %w : tensor<64x64xf32>, tensor<64x64xf32> to tensor<64x64xf32>
  %h = sinter.add %c, %b : tensor<64x64xf32>
  %s = sinter.sum %h dims [1] keepdim : tensor<64x64xf32> to tensor<64x1xf32>
  %d = sinter.matmul %w, %s : tensor<64x64xf32>, tensor<64x1xf32> to tensor<64x1xf32>
  %e = sinter.expand %d : tensor<64x1xf32> to tensor<64x64xf32>
  %r = sinter.mul %e, %h : tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}

// -----

// Two large values would have to be kept for one; small ones are not worth it; costly ones neither.
// CHECK-LABEL: func.func @refused
// CHECK-COUNT-1: sinter.div
// CHECK-NOT: sinter.div
// CHECK: return
func.func @refused(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>, %v: tensor<8xf32>) -> (tensor<64x64xf32>, tensor<64x8xf32>) {
  %a = sinter.matmul %x, %w : tensor<64x64xf32>, tensor<64x64xf32> to tensor<64x64xf32>
  %b = sinter.matmul %w, %x : tensor<64x64xf32>, tensor<64x64xf32> to tensor<64x64xf32>
  %h = sinter.div %a, %b : tensor<64x64xf32>
  %s = sinter.sum %h dims [1] keepdim : tensor<64x64xf32> to tensor<64x1xf32>
  %d = sinter.matmul %w, %s : tensor<64x64xf32>, tensor<64x1xf32> to tensor<64x1xf32>
  %e = sinter.expand %d : tensor<64x1xf32> to tensor<64x64xf32>
  %r = sinter.mul %e, %h : tensor<64x64xf32>
  %n = sinter.exp %v : tensor<8xf32>
  %f = sinter.expand %n : tensor<8xf32> to tensor<64x8xf32>
  %g = sinter.expand %d : tensor<64x1xf32> to tensor<64x8xf32>
  %q = sinter.mul %f, %g : tensor<64x8xf32>
  return %r, %q : tensor<64x64xf32>, tensor<64x8xf32>
}

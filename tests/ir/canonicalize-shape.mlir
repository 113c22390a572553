// RUN: sinter-opt %s -canonicalize | FileCheck %s

// CHECK-LABEL: func.func @identities
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>)
func.func @identities(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // CHECK-NEXT: return %[[X]]
  %0 = sinter.expand %x : tensor<2x3xf32> to tensor<2x3xf32>
  %1 = sinter.reshape %0 : tensor<2x3xf32> to tensor<2x3xf32>
  %2 = sinter.transpose %1 [0, 1] : tensor<2x3xf32> to tensor<2x3xf32>
  %3 = sinter.slice %2 [0, 0] strides [1, 1] : tensor<2x3xf32> to tensor<2x3xf32>
  %4 = sinter.pad %3 low [0, 0] high [0, 0] interior [0, 0] value 0.0 : tensor<2x3xf32> to tensor<2x3xf32>
  %5 = sinter.concat %4 dim 0 : tensor<2x3xf32> to tensor<2x3xf32>
  return %5 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @pairs
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x4xf32>)
func.func @pairs(%x: tensor<2x3x4xf32>) -> (tensor<24xf32>, tensor<4x2x3xf32>, tensor<2x3x4xf32>, tensor<1x1x2xf32>) {
  // CHECK: %[[A:.*]] = sinter.reshape %[[X]] : tensor<2x3x4xf32> to tensor<24xf32>
  %0 = sinter.reshape %x : tensor<2x3x4xf32> to tensor<6x4xf32>
  %1 = sinter.reshape %0 : tensor<6x4xf32> to tensor<24xf32>
  // CHECK: %[[B:.*]] = sinter.transpose %[[X]] [2, 0, 1] : tensor<2x3x4xf32> to tensor<4x2x3xf32>
  %2 = sinter.transpose %x [0, 2, 1] : tensor<2x3x4xf32> to tensor<2x4x3xf32>
  %3 = sinter.transpose %2 [1, 0, 2] : tensor<2x4x3xf32> to tensor<4x2x3xf32>
  %4 = sinter.transpose %2 [0, 2, 1] : tensor<2x4x3xf32> to tensor<2x3x4xf32>
  // CHECK: %[[C:.*]] = sinter.slice %[[X]] [1, 1, 1] strides [1, 1, 2] : tensor<2x3x4xf32> to tensor<1x1x2xf32>
  %5 = sinter.slice %x [1, 0, 1] strides [1, 1, 1] : tensor<2x3x4xf32> to tensor<1x3x3xf32>
  %6 = sinter.slice %5 [0, 1, 0] strides [1, 1, 2] : tensor<1x3x3xf32> to tensor<1x1x2xf32>
  // CHECK: return %[[A]], %[[B]], %[[X]], %[[C]]
  return %1, %3, %4, %6 : tensor<24xf32>, tensor<4x2x3xf32>, tensor<2x3x4xf32>, tensor<1x1x2xf32>
}

// CHECK-LABEL: func.func @expand
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[S:.*]]: tensor<?x4xf32, #sinter.dims<s0, 4>>)
func.func @expand(%x: tensor<4xf32>, %s: tensor<?x4xf32, #sinter.dims<s0, 4>>) -> (tensor<5x3x4xf32>, tensor<2x4xf32>, tensor<2x4x2xf32>) {
  // CHECK: %[[A:.*]] = sinter.expand %[[X]] : tensor<4xf32> to tensor<5x3x4xf32>
  %0 = sinter.expand %x : tensor<4xf32> to tensor<3x4xf32>
  %1 = sinter.expand %0 : tensor<3x4xf32> to tensor<5x3x4xf32>
  // Dimensions of size 1 in front make no difference.
  // CHECK: %[[B:.*]] = sinter.expand %[[X]] : tensor<4xf32> to tensor<2x4xf32>
  %2 = sinter.reshape %x : tensor<4xf32> to tensor<1x4xf32>
  %3 = sinter.expand %2 : tensor<1x4xf32> to tensor<2x4xf32>
  // CHECK: %[[C:.*]] = sinter.reshape %[[X]] : tensor<4xf32> to tensor<4x1xf32>
  // CHECK: %[[D:.*]] = sinter.expand %[[C]] : tensor<4x1xf32> to tensor<2x4x2xf32>
  %4 = sinter.reshape %x : tensor<4xf32> to tensor<4x1xf32>
  %5 = sinter.expand %4 : tensor<4x1xf32> to tensor<2x4x2xf32>
  // CHECK: return %[[A]], %[[B]], %[[D]]
  return %1, %3, %5 : tensor<5x3x4xf32>, tensor<2x4xf32>, tensor<2x4x2xf32>
}

// CHECK-LABEL: func.func @unitTranspose
func.func @unitTranspose(%x: tensor<?x1x4xf32, #sinter.dims<s0, 1, 4>>) -> tensor<1x?x4xf32, #sinter.dims<1, s0, 4>> {
  // CHECK: sinter.reshape %{{.*}} : tensor<?x1x4xf32, #sinter.dims<s0, 1, 4>> to tensor<1x?x4xf32, #sinter.dims<1, s0, 4>>
  %0 = sinter.transpose %x [1, 0, 2] : tensor<?x1x4xf32, #sinter.dims<s0, 1, 4>> to tensor<1x?x4xf32, #sinter.dims<1, s0, 4>>
  return %0 : tensor<1x?x4xf32, #sinter.dims<1, s0, 4>>
}

// CHECK-LABEL: func.func @concat
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>, %[[Y:.*]]: tensor<4x3xf32>, %[[E:.*]]: tensor<0x3xf32>)
func.func @concat(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>, %e: tensor<0x3xf32>) -> (tensor<8x3xf32>, tensor<2x2xf32>, tensor<2x3xf32>) {
  // CHECK: %[[A:.*]] = sinter.concat %[[X]], %[[Y]], %[[X]] dim 0
  %0 = sinter.concat %x, %e, %y dim 0 : tensor<2x3xf32>, tensor<0x3xf32>, tensor<4x3xf32> to tensor<6x3xf32>
  %1 = sinter.concat %0, %x dim 0 : tensor<6x3xf32>, tensor<2x3xf32> to tensor<8x3xf32>
  // CHECK: %[[B:.*]] = sinter.slice %[[Y]] [1, 1] strides [2, 1] : tensor<4x3xf32> to tensor<2x2xf32>
  %2 = sinter.slice %1 [3, 1] strides [2, 1] : tensor<8x3xf32> to tensor<2x2xf32>
  %3 = sinter.slice %1 [6, 0] strides [1, 1] : tensor<8x3xf32> to tensor<2x3xf32>
  // CHECK: return %[[A]], %[[B]], %[[X]]
  return %1, %2, %3 : tensor<8x3xf32>, tensor<2x2xf32>, tensor<2x3xf32>
}

// A slice that spans two inputs stays.
// CHECK-LABEL: func.func @span
func.func @span(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>) -> tensor<2x3xf32> {
  // CHECK: sinter.concat
  // CHECK: sinter.slice %{{.*}} [1, 0] strides [1, 1]
  %0 = sinter.concat %x, %y dim 0 : tensor<2x3xf32>, tensor<4x3xf32> to tensor<6x3xf32>
  %1 = sinter.slice %0 [1, 0] strides [1, 1] : tensor<6x3xf32> to tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @matmul
// CHECK-SAME: (%[[A:.*]]: tensor<5x3x2xf32>, %[[B:.*]]: tensor<5x4x3xf32>, %[[C:.*]]: tensor<3x5x2xf32>)
func.func @matmul(%a: tensor<5x3x2xf32>, %b: tensor<5x4x3xf32>, %c: tensor<3x5x2xf32>) -> (tensor<5x2x4xf32>, tensor<5x3x4xf32>, tensor<5x2x2xf32>) {
  %0 = sinter.transpose %a [0, 2, 1] : tensor<5x3x2xf32> to tensor<5x2x3xf32>
  %1 = sinter.transpose %b [0, 2, 1] : tensor<5x4x3xf32> to tensor<5x3x4xf32>
  // CHECK: sinter.matmul %[[A]] transposed, %[[B]] transposed
  %2 = sinter.matmul %0, %1 : tensor<5x2x3xf32>, tensor<5x3x4xf32> to tensor<5x2x4xf32>
  // CHECK: sinter.matmul %[[A]], %[[A]] transposed
  %3 = sinter.matmul %0 transposed, %0 : tensor<5x2x3xf32>, tensor<5x2x3xf32> to tensor<5x3x3xf32>
  // CHECK: sinter.matmul %{{.*}}, %[[B]] transposed
  %4 = sinter.matmul %3, %1 : tensor<5x3x3xf32>, tensor<5x3x4xf32> to tensor<5x3x4xf32>
  // Another permutation is no transposed operand.
  // CHECK: %[[T:.*]] = sinter.transpose %[[C]] [1, 0, 2]
  // CHECK: sinter.matmul %[[A]] transposed, %[[T]]
  %5 = sinter.transpose %c [1, 0, 2] : tensor<3x5x2xf32> to tensor<5x3x2xf32>
  %6 = sinter.matmul %0, %5 : tensor<5x2x3xf32>, tensor<5x3x2xf32> to tensor<5x2x2xf32>
  return %2, %4, %6 : tensor<5x2x4xf32>, tensor<5x3x4xf32>, tensor<5x2x2xf32>
}

// CHECK-LABEL: func.func @transposedProduct
// CHECK-SAME: (%[[A:.*]]: tensor<2x3xf32>, %[[B:.*]]: tensor<4x3xf32>)
func.func @transposedProduct(%a: tensor<2x3xf32>, %b: tensor<4x3xf32>) -> (tensor<4x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) {
  // CHECK: sinter.matmul %[[B]], %[[A]] transposed : tensor<4x3xf32>, tensor<2x3xf32> to tensor<4x2xf32>
  %0 = sinter.matmul %a, %b transposed : tensor<2x3xf32>, tensor<4x3xf32> to tensor<2x4xf32>
  %1 = sinter.transpose %0 [1, 0] : tensor<2x4xf32> to tensor<4x2xf32>
  // Another use keeps the product.
  // CHECK: %[[P:.*]] = sinter.matmul
  // CHECK: %[[T:.*]] = sinter.transpose %[[P]]
  // CHECK: return %{{.*}}, %[[P]], %[[T]]
  %2 = sinter.matmul %a, %a transposed : tensor<2x3xf32>, tensor<2x3xf32> to tensor<2x2xf32>
  %3 = sinter.transpose %2 [1, 0] : tensor<2x2xf32> to tensor<2x2xf32>
  return %1, %2, %3 : tensor<4x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}

// CHECK-LABEL: func.func @reduceOne
// CHECK-SAME: (%[[X:.*]]: tensor<?x1xf32, #sinter.dims<s0, 1>>)
func.func @reduceOne(%x: tensor<?x1xf32, #sinter.dims<s0, 1>>)
    -> (tensor<?xf32, #sinter.dims<s0>>, tensor<?x1xf32, #sinter.dims<s0, 1>>, tensor<?xi64, #sinter.dims<s0>>) {
  // CHECK-DAG: %[[Z:.*]] = sinter.full 0 : i64 : tensor<?xi64, #sinter.dims<s0>>
  // CHECK-DAG: %[[R:.*]] = sinter.reshape %[[X]] : tensor<?x1xf32, #sinter.dims<s0, 1>> to tensor<?xf32, #sinter.dims<s0>>
  // CHECK: return %[[R]], %[[X]], %[[Z]]
  %0 = sinter.sum %x dims [1] : tensor<?x1xf32, #sinter.dims<s0, 1>> to tensor<?xf32, #sinter.dims<s0>>
  %1 = sinter.max %x dims [1] keepdim : tensor<?x1xf32, #sinter.dims<s0, 1>> to tensor<?x1xf32, #sinter.dims<s0, 1>>
  %2 = sinter.argmax %x dims [1] : tensor<?x1xf32, #sinter.dims<s0, 1>> to tensor<?xi64, #sinter.dims<s0>>
  return %0, %1, %2 : tensor<?xf32, #sinter.dims<s0>>, tensor<?x1xf32, #sinter.dims<s0, 1>>, tensor<?xi64, #sinter.dims<s0>>
}

sinter.variable @w : tensor<2xf32>
// CHECK-LABEL: func.func @assignSame
func.func @assignSame() {
  // CHECK-NEXT: return
  %0 = sinter.read @w : tensor<2xf32>
  sinter.assign @w, %0 : tensor<2xf32>
  return
}

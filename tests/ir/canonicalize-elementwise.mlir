// RUN: sinter-opt %s -canonicalize | FileCheck %s

// CHECK-LABEL: func.func @neutral
// CHECK-SAME: (%[[X:.*]]: tensor<?x3xf32, #sinter.dims<s0, 3>>)
func.func @neutral(%x: tensor<?x3xf32, #sinter.dims<s0, 3>>) -> tensor<?x3xf32, #sinter.dims<s0, 3>> {
  // CHECK-NEXT: return %[[X]]
  %zero = sinter.full 0.0 : f32 : tensor<?x3xf32, #sinter.dims<s0, 3>>
  %one = sinter.full 1.0 : f32 : tensor<?x3xf32, #sinter.dims<s0, 3>>
  %0 = sinter.add %x, %zero : tensor<?x3xf32, #sinter.dims<s0, 3>>
  %1 = sinter.add %zero, %0 : tensor<?x3xf32, #sinter.dims<s0, 3>>
  %2 = sinter.sub %1, %zero : tensor<?x3xf32, #sinter.dims<s0, 3>>
  %3 = sinter.mul %one, %2 : tensor<?x3xf32, #sinter.dims<s0, 3>>
  %4 = sinter.div %3, %one : tensor<?x3xf32, #sinter.dims<s0, 3>>
  %5 = sinter.pow %4, %one : tensor<?x3xf32, #sinter.dims<s0, 3>>
  %6 = sinter.neg %5 : tensor<?x3xf32, #sinter.dims<s0, 3>>
  %7 = sinter.neg %6 : tensor<?x3xf32, #sinter.dims<s0, 3>>
  %8 = sinter.maximum %7, %7 : tensor<?x3xf32, #sinter.dims<s0, 3>>
  %9 = sinter.minimum %8, %8 : tensor<?x3xf32, #sinter.dims<s0, 3>>
  return %9 : tensor<?x3xf32, #sinter.dims<s0, 3>>
}

// A product with zero is zero of integers; of floats it may be NaN.
// CHECK-LABEL: func.func @annihilate
// CHECK-SAME: (%[[X:.*]]: tensor<4xi32>, %[[Y:.*]]: tensor<4xf32>)
func.func @annihilate(%x: tensor<4xi32>, %y: tensor<4xf32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK-DAG: %[[I:.*]] = sinter.full 0 : i32 : tensor<4xi32>
  // CHECK-DAG: %[[F:.*]] = sinter.full 0.000000e+00 : f32 : tensor<4xf32>
  // CHECK: %[[P:.*]] = sinter.mul %[[Y]], %[[F]]
  // CHECK: %[[D:.*]] = sinter.sub %[[Y]], %[[Y]]
  // CHECK: return %[[I]], %[[I]], %[[P]], %[[D]]
  %i = sinter.full 0 : i32 : tensor<4xi32>
  %f = sinter.full 0.0 : f32 : tensor<4xf32>
  %0 = sinter.mul %x, %i : tensor<4xi32>
  %1 = sinter.sub %x, %x : tensor<4xi32>
  %2 = sinter.mul %y, %f : tensor<4xf32>
  %3 = sinter.sub %y, %y : tensor<4xf32>
  return %0, %1, %2, %3 : tensor<4xi32>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @signs
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>)
func.func @signs(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %n = sinter.neg %y : tensor<4xf32>
  // CHECK: %[[A:.*]] = sinter.sub %[[X]], %[[Y]]
  %0 = sinter.add %x, %n : tensor<4xf32>
  // CHECK: %[[B:.*]] = sinter.sub %[[X]], %[[Y]]
  %1 = sinter.add %n, %x : tensor<4xf32>
  // CHECK: %[[C:.*]] = sinter.add %[[X]], %[[Y]]
  %2 = sinter.sub %x, %n : tensor<4xf32>
  %zero = sinter.full 0.0 : f32 : tensor<4xf32>
  // CHECK: %[[D:.*]] = sinter.neg %[[X]]
  %3 = sinter.sub %zero, %x : tensor<4xf32>
  %minus = sinter.full -1.0 : f32 : tensor<4xf32>
  // CHECK: %[[E:.*]] = sinter.neg %[[Y]]
  %4 = sinter.mul %y, %minus : tensor<4xf32>
  // CHECK: return %[[A]], %[[B]], %[[C]], %[[D]], %[[E]]
  return %0, %1, %2, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @powers
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
func.func @powers(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK-DAG: %[[ONE:.*]] = sinter.full 1.0
  // CHECK-DAG: %[[THREE:.*]] = sinter.full 3.0
  // CHECK: %[[A:.*]] = sinter.mul %[[X]], %[[X]]
  // CHECK: %[[B:.*]] = sinter.reciprocal %[[X]]
  // CHECK: %[[C:.*]] = sinter.pow %[[X]], %[[THREE]]
  // CHECK: return %[[A]], %[[B]], %[[C]], %[[ONE]]
  %two = sinter.full 2.0 : f32 : tensor<4xf32>
  %minus = sinter.full -1.0 : f32 : tensor<4xf32>
  %three = sinter.full 3.0 : f32 : tensor<4xf32>
  %zero = sinter.full 0.0 : f32 : tensor<4xf32>
  %0 = sinter.pow %x, %two : tensor<4xf32>
  %1 = sinter.pow %x, %minus : tensor<4xf32>
  %2 = sinter.pow %x, %three : tensor<4xf32>
  %3 = sinter.pow %x, %zero : tensor<4xf32>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Only a power of two has an exact inverse, and only within the type's range.
// CHECK-LABEL: func.func @quotients
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[H:.*]]: tensor<4xf16>)
func.func @quotients(%x: tensor<4xf32>, %h: tensor<4xf16>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf16>) {
  // CHECK-DAG: %[[QUARTER:.*]] = sinter.full 2.500000e-01 : f32 : tensor<4xf32>
  // CHECK-DAG: %[[BYTE:.*]] = sinter.full 2.550000e+02 : f32 : tensor<4xf32>
  // CHECK-DAG: %[[TINY:.*]] = sinter.full {{.*}} : tensor<4xf16>
  // CHECK: %[[A:.*]] = sinter.mul %[[X]], %[[QUARTER]]
  // CHECK: %[[B:.*]] = sinter.div %[[X]], %[[BYTE]]
  // CHECK: %[[C:.*]] = sinter.reciprocal %[[X]]
  // CHECK: %[[D:.*]] = sinter.div %[[H]], %[[TINY]]
  // CHECK: return %[[A]], %[[B]], %[[C]], %[[D]]
  %four = sinter.full 4.0 : f32 : tensor<4xf32>
  %byte = sinter.full 255.0 : f32 : tensor<4xf32>
  %one = sinter.full 1.0 : f32 : tensor<4xf32>
  %tiny = sinter.full 5.9604644775390625e-08 : f16 : tensor<4xf16>
  %0 = sinter.div %x, %four : tensor<4xf32>
  %1 = sinter.div %x, %byte : tensor<4xf32>
  %2 = sinter.div %one, %x : tensor<4xf32>
  %3 = sinter.div %h, %tiny : tensor<4xf16>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf16>
}

// CHECK-LABEL: func.func @idempotent
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[C:.*]]: tensor<4xi1>)
func.func @idempotent(%x: tensor<4xf32>, %c: tensor<4xi1>) -> (tensor<4xf32>, tensor<4xi1>, tensor<4xf32>) {
  // CHECK-NEXT: %[[R:.*]] = sinter.relu %[[X]]
  // CHECK-NEXT: %[[S:.*]] = sinter.stop_gradient %[[X]]
  // CHECK-NEXT: return %[[R]], %[[C]], %[[S]]
  %0 = sinter.relu %x : tensor<4xf32>
  %1 = sinter.relu %0 : tensor<4xf32>
  %2 = sinter.logical_not %c : tensor<4xi1>
  %3 = sinter.logical_not %2 : tensor<4xi1>
  %4 = sinter.stop_gradient %x : tensor<4xf32>
  %5 = sinter.stop_gradient %4 : tensor<4xf32>
  return %1, %3, %5 : tensor<4xf32>, tensor<4xi1>, tensor<4xf32>
}

// CHECK-LABEL: func.func @where
// CHECK-SAME: (%[[C:.*]]: tensor<4xi1>, %[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>)
func.func @where(%c: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: return %[[X]], %[[Y]], %[[X]]
  %true = sinter.full true : tensor<4xi1>
  %false = sinter.full false : tensor<4xi1>
  %0 = sinter.where %true, %x, %y : tensor<4xi1>, tensor<4xf32>
  %1 = sinter.where %false, %x, %y : tensor<4xi1>, tensor<4xf32>
  %2 = sinter.where %c, %x, %x : tensor<4xi1>, tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// A cast that loses nothing can be left out before another.
// CHECK-LABEL: func.func @casts
// CHECK-SAME: (%[[H:.*]]: tensor<4xf16>, %[[F:.*]]: tensor<4xf32>, %[[U:.*]]: tensor<4xui8>, %[[I:.*]]: tensor<4xi32>)
func.func @casts(%h: tensor<4xf16>, %f: tensor<4xf32>, %u: tensor<4xui8>, %i: tensor<4xi32>)
    -> (tensor<4xf16>, tensor<4xf64>, tensor<4xf32>, tensor<4xi64>, tensor<4xi64>, tensor<4xi8>) {
  %0 = sinter.cast %h : tensor<4xf16> to tensor<4xf32>
  %1 = sinter.cast %0 : tensor<4xf32> to tensor<4xf16>
  // CHECK: %[[A:.*]] = sinter.cast %[[H]] : tensor<4xf16> to tensor<4xf64>
  %2 = sinter.cast %0 : tensor<4xf32> to tensor<4xf64>
  // CHECK: %[[B:.*]] = sinter.cast %[[F]] : tensor<4xf32> to tensor<4xbf16>
  // CHECK: %[[C:.*]] = sinter.cast %[[B]] : tensor<4xbf16> to tensor<4xf32>
  %3 = sinter.cast %f : tensor<4xf32> to tensor<4xbf16>
  %4 = sinter.cast %3 : tensor<4xbf16> to tensor<4xf32>
  // CHECK: %[[D:.*]] = sinter.cast %[[U]] : tensor<4xui8> to tensor<4xi64>
  %5 = sinter.cast %u : tensor<4xui8> to tensor<4xf32>
  %6 = sinter.cast %5 : tensor<4xf32> to tensor<4xi64>
  // CHECK: %[[E:.*]] = sinter.cast %[[I]] : tensor<4xi32> to tensor<4xf32>
  // CHECK: %[[G:.*]] = sinter.cast %[[E]] : tensor<4xf32> to tensor<4xi64>
  %7 = sinter.cast %i : tensor<4xi32> to tensor<4xf32>
  %8 = sinter.cast %7 : tensor<4xf32> to tensor<4xi64>
  // CHECK: %[[J:.*]] = sinter.cast %[[U]] : tensor<4xui8> to tensor<4xi8>
  %9 = sinter.cast %u : tensor<4xui8> to tensor<4xi16>
  %10 = sinter.cast %9 : tensor<4xi16> to tensor<4xi8>
  // CHECK: return %[[H]], %[[A]], %[[C]], %[[D]], %[[G]], %[[J]]
  return %1, %2, %4, %6, %8, %10 : tensor<4xf16>, tensor<4xf64>, tensor<4xf32>, tensor<4xi64>, tensor<4xi64>, tensor<4xi8>
}

// CHECK-LABEL: func.func @unchanged
// CHECK-SAME: (%[[X:.*]]: tensor<?xf32, #sinter.dims<s0>>
func.func @unchanged(%x: tensor<?xf32, #sinter.dims<s0>>) -> tensor<?xf32, #sinter.dims<s0>> {
  // CHECK-NEXT: return %[[X]]
  %0 = sinter.cast %x : tensor<?xf32, #sinter.dims<s0>> to tensor<?xf32, #sinter.dims<s0>>
  return %0 : tensor<?xf32, #sinter.dims<s0>>
}

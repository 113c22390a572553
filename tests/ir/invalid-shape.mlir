// RUN: sinter-opt %s -verify-diagnostics -split-input-file

func.func @encodingRank(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{#sinter.dims has 1 sizes for a tensor of rank 2}}
  %y = sinter.reshape %x : tensor<2x3xf32> to tensor<?x3xf32, #sinter.dims<s0>>
  return
}

// -----

func.func @encodingSize(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{#sinter.dims disagrees with the tensor's shape}}
  %y = sinter.reshape %x : tensor<2x3xf32> to tensor<?x3xf32, #sinter.dims<2, 3>>
  return
}

// -----

func.func @unknownSize(%x: tensor<?x3xf32>) {
  // expected-error @+1 {{with every dynamic size given by #sinter.dims}}
  %y = sinter.exp %x : tensor<?x3xf32>
  return
}

// -----

func.func @needlessEncoding(%x: tensor<2x3xf32, #sinter.dims<2, 3>>) {
  // expected-error @+1 {{with every dynamic size given by #sinter.dims}}
  %y = sinter.exp %x : tensor<2x3xf32, #sinter.dims<2, 3>>
  return
}

// -----

func.func @elementwise(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %y = "sinter.add"(%a, %b) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @differentSymbols(%a: tensor<?xf32, #sinter.dims<s0>>, %b: tensor<?xf32, #sinter.dims<s1>>) {
  // expected-error @+1 {{requires the same encoding for all operands and results}}
  %y = "sinter.add"(%a, %b) : (tensor<?xf32, #sinter.dims<s0>>, tensor<?xf32, #sinter.dims<s1>>) -> tensor<?xf32, #sinter.dims<s0>>
  return
}

// -----

func.func @element(%x: tensor<2xi32>) {
  // expected-error @+1 {{must be ranked tensor of 16-bit float or bfloat16 type or 32-bit float or 64-bit float values}}
  %y = sinter.exp %x : tensor<2xi32>
  return
}

// -----

func.func @where(%c: tensor<2xi1>, %a: tensor<3xf32>) {
  // expected-error @+1 {{shapes differ: the condition is [2], the values are [3]}}
  %y = sinter.where %c, %a, %a : tensor<2xi1>, tensor<3xf32>
  return
}

// -----

func.func @cast(%x: tensor<?xf32, #sinter.dims<s0>>) {
  // expected-error @+1 {{shapes differ: [s0] is cast to [s1]}}
  %y = sinter.cast %x : tensor<?xf32, #sinter.dims<s0>> to tensor<?xf16, #sinter.dims<s1>>
  return
}

// -----

func.func @full() {
  // expected-error @+1 {{the value dense<1.000000e+00> : tensor<2xf32> is neither a float nor an integer}}
  %y = sinter.full dense<1.0> : tensor<2xf32> : tensor<2xf32>
  return
}

// -----

func.func @arange() {
  // expected-error @+1 {{the result needs 1 dimensions, not [2, 3]}}
  %y = sinter.arange 0.0, 1.0 : tensor<2x3xf32>
  return
}

// -----

func.func @expand(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{[3, 4] doesn't broadcast to [2, 5]}}
  %y = sinter.expand %x : tensor<3x4xf32> to tensor<2x5xf32>
  return
}

// -----

func.func @expandRank(%x: tensor<1x4xf32>) {
  // expected-error @+1 {{[1, 4] doesn't broadcast to [4]}}
  %y = sinter.expand %x : tensor<1x4xf32> to tensor<4xf32>
  return
}

// -----

func.func @expandSymbol(%x: tensor<?xf32, #sinter.dims<s0>>) {
  // expected-error @+1 {{[s0] doesn't broadcast to [s1]}}
  %y = sinter.expand %x : tensor<?xf32, #sinter.dims<s0>> to tensor<?xf32, #sinter.dims<s1>>
  return
}

// -----

func.func @expandElement(%x: tensor<4xf32>) {
  // expected-error @+1 {{element types differ: [4] of 'f32' and [2, 4] of 'f64'; cast one of them}}
  %y = sinter.expand %x : tensor<4xf32> to tensor<2x4xf64>
  return
}

// -----

func.func @reshape(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{numbers of elements differ: [3, 4] can't be seen as [5, 2]}}
  %y = sinter.reshape %x : tensor<3x4xf32> to tensor<5x2xf32>
  return
}

// -----

func.func @transpose(%x: tensor<3x4xf32>) {
  // expected-error @+2 {{[1, 1] is not a permutation of the dimensions of [3, 4]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = sinter.transpose %x [1, 1] : tensor<3x4xf32> to tensor<4x3xf32>
  return
}

// -----

func.func @transposeType(%x: tensor<3x4xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<4x3xf32>' are incompatible with return type(s) of operation 'tensor<3x4xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = sinter.transpose %x [1, 0] : tensor<3x4xf32> to tensor<3x4xf32>
  return
}

// -----

func.func @sliceRank(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{[3, 4] and its slice [3] differ in rank}}
  %y = sinter.slice %x [0, 0] strides [1, 1] : tensor<3x4xf32> to tensor<3xf32>
  return
}

// -----

func.func @sliceStarts(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{starts [0] has 1 values where 2 are needed}}
  %y = sinter.slice %x [0] strides [1, 1] : tensor<3x4xf32> to tensor<3x2xf32>
  return
}

// -----

func.func @sliceStride(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{starts [0, 0] must be 0 or more, strides [1, 0] 1 or more}}
  %y = sinter.slice %x [0, 0] strides [1, 0] : tensor<3x4xf32> to tensor<3x2xf32>
  return
}

// -----

func.func @sliceEnd(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{2 elements from 2 on, 2 apart, run past the end of dimension 1 of [3, 4]}}
  %y = sinter.slice %x [0, 2] strides [1, 2] : tensor<3x4xf32> to tensor<3x2xf32>
  return
}

// -----

module attributes {sinter.symbols = [{name = "n", lower = 1 : i64, upper = 64 : i64}]} {
  func.func @sliceSymbol(%x: tensor<?xf32, #sinter.dims<s0>>) {
    // expected-error @+1 {{2 elements from 0 on, 1 apart, run past the end of dimension 0 of [s0]}}
    %y = sinter.slice %x [0] strides [1] : tensor<?xf32, #sinter.dims<s0>> to tensor<2xf32>
    return
  }
}

// -----

func.func @padCount(%x: tensor<3x4xf32>) {
  // expected-error @+2 {{high [0] has 1 values where 2 are needed}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = "sinter.pad"(%x) {low = array<i64: 0, 0>, high = array<i64: 0>, interior = array<i64: 0, 0>, value = 0.0 : f64} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @padNegative(%x: tensor<3x4xf32>) {
  // expected-error @+2 {{padding [-1, 0] of [3, 4] must not be negative; slice to crop}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = sinter.pad %x low [-1, 0] high [0, 0] interior [0, 0] value 0.0 : tensor<3x4xf32> to tensor<2x4xf32>
  return
}

// -----

func.func @concatNothing() {
  // expected-error @+2 {{there is nothing to join}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = "sinter.concat"() {dim = 0 : i64} : () -> tensor<0xf32>
  return
}

// -----

func.func @concatDim(%x: tensor<3x4xf32>) {
  // expected-error @+2 {{dimension 2 is out of range for [3, 4], which has 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = sinter.concat %x, %x dim 2 : tensor<3x4xf32>, tensor<3x4xf32> to tensor<3x4xf32>
  return
}

// -----

func.func @concatShape(%x: tensor<3x4xf32>, %y: tensor<3x5xf32>) {
  // expected-error @+2 {{shapes differ outside dimension 0: [3, 4] and [3, 5]}}
  // expected-error @+1 {{failed to infer returned types}}
  %z = sinter.concat %x, %y dim 0 : tensor<3x4xf32>, tensor<3x5xf32> to tensor<6x4xf32>
  return
}

// -----

func.func @concatElement(%x: tensor<3x4xf32>, %y: tensor<3x4xf64>) {
  // expected-error @+2 {{element types differ: [3, 4] of 'f32' and [3, 4] of 'f64'; cast one of them}}
  // expected-error @+1 {{failed to infer returned types}}
  %z = sinter.concat %x, %y dim 0 : tensor<3x4xf32>, tensor<3x4xf64> to tensor<6x4xf32>
  return
}

// -----

func.func @reduceRange(%x: tensor<3x4xf32>) {
  // expected-error @+2 {{dimension 2 is out of range for [3, 4], which has 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = sinter.sum %x dims [2] : tensor<3x4xf32> to tensor<3x4xf32>
  return
}

// -----

func.func @reduceOrder(%x: tensor<3x4xf32>) {
  // expected-error @+2 {{the dimensions [1, 0] of [3, 4] must ascend, each named once}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = sinter.argmax %x dims [1, 0] : tensor<3x4xf32> to tensor<i64>
  return
}

// -----

func.func @argType(%x: tensor<3x4xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<3xi64>' are incompatible with return type(s) of operation 'tensor<3xi32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = sinter.argmin %x dims [1] : tensor<3x4xf32> to tensor<3xi32>
  return
}

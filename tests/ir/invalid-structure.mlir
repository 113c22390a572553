// RUN: sinter-opt %s -verify-diagnostics -split-input-file

func.func @embedding(%w: tensor<10xf32>, %i: tensor<2xi64>) {
  // expected-error @+2 {{the weight needs 2 dimensions, not [10]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = sinter.embedding %w, %i : (tensor<10xf32>, tensor<2xi64>) -> tensor<2xf32>
  return
}

// -----

func.func @embeddingGrad(%dy: tensor<2x5xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{dy is [2, 5] where rows of [10, 4] picked by index [2] are [2, 4]}}
  %y = sinter.embedding_grad %dy, %i : (tensor<2x5xf32>, tensor<2xi64>) -> tensor<10x4xf32>
  return
}

// -----

func.func @gather(%x: tensor<2x5xf32>, %i: tensor<3x3xi64>) {
  // expected-error @+2 {{index [3, 3] must have the rank of [2, 5] and be no larger outside dimension 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = sinter.gather %x, %i dim 1 : (tensor<2x5xf32>, tensor<3x3xi64>) -> tensor<3x3xf32>
  return
}

// -----

func.func @gatherDim(%x: tensor<2x5xf32>, %i: tensor<2x3xi64>) {
  // expected-error @+2 {{dimension 2 is out of range for [2, 5], which has 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = sinter.gather %x, %i dim 2 : (tensor<2x5xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @scatterAdd(%x: tensor<2x5xf32>, %i: tensor<2x3xi64>, %s: tensor<2x4xf32>) {
  // expected-error @+2 {{shapes differ: src [2, 4] and index [2, 3]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = sinter.scatter_add %x, %i, %s dim 1 : (tensor<2x5xf32>, tensor<2x3xi64>, tensor<2x4xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @oneHot(%i: tensor<2xi64>) {
  // expected-error @+2 {{classes is 0, not 1 or more}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = sinter.one_hot %i classes 0 {type = f32} : tensor<2xi64> to tensor<2x0xf32>
  return
}

// -----

func.func @oneHotType(%i: tensor<2xi64>) {
  // expected-error @+2 {{the element type 'i1' is not a number's}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = sinter.one_hot %i classes 3 {type = i1} : tensor<2xi64> to tensor<2x3xf32>
  return
}

// -----

func.func @state(%s: tensor<3xi64>) {
  // expected-error @+1 {{state [3] must be the two numbers seed and step}}
  %y = sinter.random_uniform %s id 0 : tensor<3xi64> to tensor<2xf32>
  return
}

// -----

func.func @bernoulli(%s: tensor<2xi64>) {
  // expected-error @+1 {{probability is -0.500000, not within [0, 1]}}
  %y = sinter.random_bernoulli %s id 0 {probability = -0.5 : f64} : tensor<2xi64> to tensor<2xi1>
  return
}

// -----

func.func @dropout(%x: tensor<2xf32>, %s: tensor<2xi64>) {
  // expected-error @+1 {{probability is 2.000000, not within [0, 1]}}
  %y = sinter.dropout %x, %s id 0 probability 2.0 : (tensor<2xf32>, tensor<2xi64>) -> tensor<2xf32>
  return
}

// -----

// expected-error @+1 {{variable 'w' needs a tensor type of static shape, not 'tensor<?xf32, #sinter.dims<s0>>'}}
sinter.variable @w : tensor<?xf32, #sinter.dims<s0>>

// -----

func.func @read() {
  // expected-error @+1 {{there is no variable 'w'}}
  %y = sinter.read @w : tensor<2xf32>
  return
}

// -----

sinter.variable @w : tensor<2xf32>
func.func @readType() {
  // expected-error @+1 {{variable 'w' is 'tensor<2xf32>', not 'tensor<3xf32>'}}
  %y = sinter.read @w : tensor<3xf32>
  return
}

// -----

sinter.variable @w : tensor<2xf32>
func.func @assignTwice(%x: tensor<2xf32>) {
  sinter.assign @w, %x : tensor<2xf32>
  // expected-error @+1 {{variable 'w' is assigned a second time}}
  sinter.assign @w, %x : tensor<2xf32>
  return
}

// -----

func.func @gradientsSeed(%x: tensor<2xf32>, %s: tensor<3xf32>) {
  // expected-error @+1 {{seed is 'tensor<3xf32>' where y is 'tensor<2xf32>'}}
  %g = sinter.gradients %x seed %s wrt %x : (tensor<2xf32>, tensor<3xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @gradientsType(%x: tensor<2xf32>) {
  // expected-error @+1 {{each gradient has the type of the value it belongs to: 'tensor<2xf32>' give not 'tensor<3xf32>'}}
  %g = sinter.gradients %x wrt %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @groupKind(%x: tensor<2xf32>) {
  // expected-error @+1 {{kind is "fast", not pointwise, reduction, contraction or scatter}}
  %y = sinter.group "fast"(%x) : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%a: tensor<2xf32>):
    sinter.yield %a : tensor<2xf32>
  }
  return
}

// -----

func.func @groupArguments(%x: tensor<2xf32>) {
  // expected-error @+1 {{the body takes 'tensor<3xf32>' where the inputs are 'tensor<2xf32>'}}
  %y = sinter.group "pointwise"(%x) : (tensor<2xf32>) -> tensor<3xf32> {
  ^bb0(%a: tensor<3xf32>):
    sinter.yield %a : tensor<3xf32>
  }
  return
}

// -----

func.func @groupResults(%x: tensor<2xf32>) {
  // expected-error @+1 {{the body yields 'tensor<2xf32>' where the results are 'tensor<3xf32>'}}
  %y = sinter.group "pointwise"(%x) : (tensor<2xf32>) -> tensor<3xf32> {
  ^bb0(%a: tensor<2xf32>):
    sinter.yield %a : tensor<2xf32>
  }
  return
}

// -----

// expected-error @+1 {{sinter.symbols must be a list of at most 16 symbols}}
module attributes {sinter.symbols = "n"} {}

// -----

// expected-error @+1 {{symbol 0 of sinter.symbols has no name}}
module attributes {sinter.symbols = [{lower = 1 : i64, upper = 2 : i64}]} {}

// -----

// expected-error @+1 {{symbol 1 of sinter.symbols lacks the bounds `lower` and `upper`, of i64}}
module attributes {sinter.symbols = [{name = "n", lower = 1 : i64, upper = 2 : i64}, {name = "m", lower = 1 : i64}]} {}

// -----

// expected-error @+1 {{symbol 0 of sinter.symbols needs 0 <= lower <= upper}}
module attributes {sinter.symbols = [{name = "n", lower = 3 : i64, upper = 2 : i64}]} {}

// -----

func.func @groupEnd(%x: tensor<2xf32>) {
  // expected-error @+1 {{the body must end in sinter.yield}}
  %y = sinter.group "pointwise"(%x) : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%a: tensor<2xf32>):
    %0 = sinter.exp %a : tensor<2xf32>
  }
  return
}

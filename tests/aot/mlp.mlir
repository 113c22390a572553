// A two-layer net over one weight set: inference of any batch, and a step of gradient descent.
!x = tensor<?x8xf32, #sinter.dims<s0, 8>>
!h = tensor<?x16xf32, #sinter.dims<s0, 16>>
!y = tensor<?x4xf32, #sinter.dims<s0, 4>>

module attributes {sinter.symbols = [{name = "n", lower = 1 : i64, upper = 64 : i64}], sinter.weights = "mlp.safetensors"} {
  sinter.variable trainable @hidden.weight : tensor<16x8xf32>
  sinter.variable trainable @hidden.bias : tensor<16xf32>
  sinter.variable trainable @head.weight : tensor<4x16xf32>
  sinter.variable trainable @head.bias : tensor<4xf32>

  func.func @classify(%x: !x {sinter.name = "x"}) -> (!y {sinter.name = "probability"}) {
    %w0 = sinter.read @hidden.weight : tensor<16x8xf32>
    %b0 = sinter.read @hidden.bias : tensor<16xf32>
    %w1 = sinter.read @head.weight : tensor<4x16xf32>
    %b1 = sinter.read @head.bias : tensor<4xf32>
    %0 = sinter.linear %x, %w0, %b0 : (!x, tensor<16x8xf32>, tensor<16xf32>) -> !h
    %1 = sinter.relu %0 : !h
    %2 = sinter.linear %1, %w1, %b1 : (!h, tensor<4x16xf32>, tensor<4xf32>) -> !y
    %3 = sinter.softmax %2 dim 1 : !y
    return %3 : !y
  }

  func.func @train(%x: tensor<12x8xf32> {sinter.name = "x"}, %label: tensor<12xi64> {sinter.name = "label"})
      -> (tensor<f32> {sinter.name = "loss"}) {
    %w0 = sinter.read @hidden.weight : tensor<16x8xf32>
    %b0 = sinter.read @hidden.bias : tensor<16xf32>
    %w1 = sinter.read @head.weight : tensor<4x16xf32>
    %b1 = sinter.read @head.bias : tensor<4xf32>
    %0 = sinter.linear %x, %w0, %b0 : (tensor<12x8xf32>, tensor<16x8xf32>, tensor<16xf32>) -> tensor<12x16xf32>
    %1 = sinter.relu %0 : tensor<12x16xf32>
    %2 = sinter.linear %1, %w1, %b1 : (tensor<12x16xf32>, tensor<4x16xf32>, tensor<4xf32>) -> tensor<12x4xf32>
    %loss = sinter.cross_entropy %2, %label : (tensor<12x4xf32>, tensor<12xi64>) -> tensor<f32>
    %g:4 = sinter.gradients %loss wrt %w0, %b0, %w1, %b1
      : (tensor<f32>, tensor<16x8xf32>, tensor<16xf32>, tensor<4x16xf32>, tensor<4xf32>)
      -> (tensor<16x8xf32>, tensor<16xf32>, tensor<4x16xf32>, tensor<4xf32>)
    %rate = sinter.full 0.5 : f32 : tensor<f32>
    %r0 = sinter.expand %rate : tensor<f32> to tensor<16x8xf32>
    %r1 = sinter.expand %rate : tensor<f32> to tensor<16xf32>
    %r2 = sinter.expand %rate : tensor<f32> to tensor<4x16xf32>
    %r3 = sinter.expand %rate : tensor<f32> to tensor<4xf32>
    %d0 = sinter.mul %g#0, %r0 : tensor<16x8xf32>
    %d1 = sinter.mul %g#1, %r1 : tensor<16xf32>
    %d2 = sinter.mul %g#2, %r2 : tensor<4x16xf32>
    %d3 = sinter.mul %g#3, %r3 : tensor<4xf32>
    %n0 = sinter.sub %w0, %d0 : tensor<16x8xf32>
    %n1 = sinter.sub %b0, %d1 : tensor<16xf32>
    %n2 = sinter.sub %w1, %d2 : tensor<4x16xf32>
    %n3 = sinter.sub %b1, %d3 : tensor<4xf32>
    sinter.assign @hidden.weight, %n0 : tensor<16x8xf32>
    sinter.assign @hidden.bias, %n1 : tensor<16xf32>
    sinter.assign @head.weight, %n2 : tensor<4x16xf32>
    sinter.assign @head.bias, %n3 : tensor<4xf32>
    return %loss : tensor<f32>
  }
}

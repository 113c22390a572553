// A convolution net for 28 x 28 images, as an inference artifact: what cold start and size are measured on.
!image = tensor<?x1x28x28xf32, #sinter.dims<s0, 1, 28, 28>>
!conv0 = tensor<?x32x28x28xf32, #sinter.dims<s0, 32, 28, 28>>
!pool0 = tensor<?x32x14x14xf32, #sinter.dims<s0, 32, 14, 14>>
!conv1 = tensor<?x64x14x14xf32, #sinter.dims<s0, 64, 14, 14>>
!pool1 = tensor<?x64x7x7xf32, #sinter.dims<s0, 64, 7, 7>>
!flat = tensor<?x3136xf32, #sinter.dims<s0, 3136>>
!score = tensor<?x10xf32, #sinter.dims<s0, 10>>

module attributes {sinter.symbols = [{name = "n", lower = 1 : i64, upper = 64 : i64}]} {
  sinter.variable trainable @conv0.weight : tensor<32x1x3x3xf32>
  sinter.variable trainable @conv1.weight : tensor<64x32x3x3xf32>
  sinter.variable trainable @head.weight : tensor<10x3136xf32>
  sinter.variable trainable @head.bias : tensor<10xf32>

  func.func @classify(%x: !image {sinter.name = "image"}) -> (!score {sinter.name = "probability"}) {
    %w0 = sinter.read @conv0.weight : tensor<32x1x3x3xf32>
    %w1 = sinter.read @conv1.weight : tensor<64x32x3x3xf32>
    %w2 = sinter.read @head.weight : tensor<10x3136xf32>
    %b2 = sinter.read @head.bias : tensor<10xf32>
    %0 = sinter.conv2d %x, %w0 {dilation = array<i64: 1, 1>, groups = 1, padding = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>}
      : (!image, tensor<32x1x3x3xf32>) -> !conv0
    %1 = sinter.relu %0 : !conv0
    %2 = sinter.max_pool2d %1 {dilation = array<i64: 1, 1>, kernel = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>}
      : (!conv0) -> !pool0
    %3 = sinter.conv2d %2, %w1 {dilation = array<i64: 1, 1>, groups = 1, padding = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>}
      : (!pool0, tensor<64x32x3x3xf32>) -> !conv1
    %4 = sinter.relu %3 : !conv1
    %5 = sinter.max_pool2d %4 {dilation = array<i64: 1, 1>, kernel = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>}
      : (!conv1) -> !pool1
    %6 = sinter.reshape %5 : !pool1 to !flat
    %7 = sinter.linear %6, %w2, %b2 : (!flat, tensor<10x3136xf32>, tensor<10xf32>) -> !score
    %8 = sinter.softmax %7 dim 1 : !score
    return %8 : !score
  }
}

// Classifies MNIST's test digits with the compiled artifact, in C++17 without exceptions and RTTI.
// usage: classify IMAGES LABELS   prints the accuracy
#include "idx.h"
#include "mnist.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace {

struct Free {
  void operator()(void *memory) const { std::free(memory); }
};
struct Destroy {
  void operator()(sinter_instance *instance) const { mnist_api()->destroy(instance); }
};
using Bytes = std::unique_ptr<unsigned char, Free>;
using Model = std::unique_ptr<sinter_instance, Destroy>;

int fail(const char *message) {
  std::fprintf(stderr, "%s\n", message);
  return 1;
}

} // namespace

int main(int argc, char **argv) {
  constexpr int64_t kBatch = 100;
  const sinter_artifact_api *mnist = mnist_api();
  if (argc != 3)
    return fail("usage: classify IMAGES LABELS");
  int64_t dims[3], labelCount;
  Bytes images(read_idx(argv[1], 3, -1, dims)), labels(read_idx(argv[2], 1, -1, &labelCount));
  if (!images || !labels || labelCount != dims[0])
    return fail("as many labels as images are needed");
  sinter_options options = SINTER_OPTIONS_INIT;
  options.threads = -1;
  sinter_instance *created = nullptr;
  if (mnist->create(mnist, &options, &created) != SINTER_OK)
    return fail(mnist->last_error());
  Model model(created);

  int64_t right = 0;
  for (int64_t i = 0; i < dims[0]; i += kBatch) {
    int64_t n = std::min(kBatch, dims[0] - i);
    std::vector<float> logits(size_t(n) * 10);
    std::vector<int64_t> digits(static_cast<size_t>(n));
    int64_t imageDims[] = {n, 1, 28, 28}, logitDims[] = {n, 10};
    sinter_tensor input = {images.get() + i * 28 * 28, imageDims, 4, SINTER_U8};
    sinter_tensor outputs[] = {{logits.data(), logitDims, 2, SINTER_F32},
                               {digits.data(), &n, 1, SINTER_I64}};
    if (mnist->run(model.get(), MNIST_CLASSIFY, &input, 1, outputs, 2) != SINTER_OK)
      return fail(mnist->last_error());
    for (int64_t j = 0; j < n; ++j)
      right += digits[size_t(j)] == labels.get()[i + j];
  }
  std::printf("accuracy %.4f\n", double(right) / double(dims[0]));
  return 0;
}

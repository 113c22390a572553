/* Trains on the artifact's "train" entry, in C99, and prints the bits of each step's loss.
 *
 * usage: train IMAGES LABELS STEPS   the batches are taken from the idx files in their order */
#include "idx.h"
#include "mnist.h"

#include <string.h>

/* One step on the n samples from `images` and `labels` on; `wide` has room for n labels. */
static int step(sinter_instance *model, int64_t n, unsigned char *images,
                const unsigned char *labels, int64_t *wide) {
  const sinter_artifact_api *mnist = mnist_api();
  int64_t image_dims[] = {0, 1, 28, 28}, i;
  sinter_tensor inputs[2], outputs[2];
  float loss, accuracy;
  uint32_t bits;
  for (i = 0; i < n; ++i)
    wide[i] = labels[i];
  image_dims[0] = n;
  inputs[MNIST_TRAIN_IN_IMAGE] = (sinter_tensor){images, image_dims, 4, SINTER_U8};
  inputs[MNIST_TRAIN_IN_LABEL] = (sinter_tensor){wide, &n, 1, SINTER_I64};
  outputs[MNIST_TRAIN_OUT_LOSS] = (sinter_tensor){&loss, NULL, 0, SINTER_F32};
  outputs[MNIST_TRAIN_OUT_ACCURACY] = (sinter_tensor){&accuracy, NULL, 0, SINTER_F32};
  if (mnist->run(model, MNIST_TRAIN, inputs, 2, outputs, 2) != SINTER_OK)
    return fprintf(stderr, "%s\n", mnist->last_error()), 1;
  memcpy(&bits, &loss, sizeof bits);
  printf("%08lx\n", (unsigned long)bits);
  return 0;
}

int main(int argc, char **argv) {
  const sinter_artifact_api *mnist = mnist_api();
  sinter_options options = SINTER_OPTIONS_INIT;
  sinter_instance *model = NULL;
  int64_t dims[3], label_dims[1], batch, steps, i;
  unsigned char *images, *labels;
  int64_t *wide;
  int failed;
  if (argc != 4)
    return fprintf(stderr, "usage: train IMAGES LABELS STEPS\n"), 2;
  options.threads = -1;
  if (mnist->create(mnist, &options, &model) != SINTER_OK)
    return fprintf(stderr, "%s\n", mnist->last_error()), 1;
  batch = mnist->input(mnist, MNIST_TRAIN, MNIST_TRAIN_IN_IMAGE)->dims[0].size;
  steps = strtol(argv[3], NULL, 10);
  images = read_idx(argv[1], 3, steps * batch, dims);
  labels = read_idx(argv[2], 1, steps * batch, label_dims);
  wide = malloc((size_t)batch * sizeof *wide);
  failed = !images || !labels || !wide || steps < 1;
  if (!failed && (dims[0] < steps * batch || label_dims[0] < steps * batch)) {
    fprintf(stderr, "the files hold fewer than %s batches of %ld samples\n", argv[3], (long)batch);
    failed = 1;
  }
  for (i = 0; !failed && i < steps; ++i)
    failed = step(model, batch, images + i * batch * 28 * 28, labels + i * batch, wide);
  free(wide);
  free(labels);
  free(images);
  mnist->destroy(model);
  return failed;
}

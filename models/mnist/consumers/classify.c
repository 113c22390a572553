/* Classifies MNIST's test digits with the compiled artifact, in C99.
 *
 * usage: classify IMAGES LABELS [LOGITS.npy DIGITS.npy]   prints the accuracy
 *        classify --first IMAGES                          prints the first image's digit */
#include "idx.h"
#include "mnist.h"

#include <string.h>

enum { BATCH = 100, CLASSES = 10 };

/* Runs n images through the artifact; 0 if it went well. */
static int classify(sinter_instance *model, unsigned char *images, int64_t n, float *logits,
                    int64_t *digits) {
  const sinter_artifact_api *mnist = mnist_api();
  int64_t image_dims[] = {n, 1, 28, 28}, logit_dims[] = {n, CLASSES};
  sinter_tensor input = {images, image_dims, 4, SINTER_U8};
  sinter_tensor outputs[2] = {{logits, logit_dims, 2, SINTER_F32}, {digits, &n, 1, SINTER_I64}};
  if (mnist->run(model, MNIST_CLASSIFY, &input, 1, outputs, 2) == SINTER_OK)
    return 0;
  fprintf(stderr, "%s\n", mnist->last_error());
  return 1;
}

/* Little-endian machines only, as the artifact's own. */
static int write_npy(const char *path, const char *type, const char *shape, const void *data,
                     size_t bytes) {
  char text[119]; /* with the 10 bytes before it a multiple of 64 */
  int ok;
  FILE *file = fopen(path, "wb");
  if (!file)
    return perror(path), 1;
  snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", type,
           shape);
  ok = fwrite("\x93NUMPY\x01\x00\x76", 1, 10, file) == 10;
  ok = ok && fprintf(file, "%-117s\n", text) == 118 && fwrite(data, 1, bytes, file) == bytes;
  if (fclose(file) || !ok)
    return perror(path), 1;
  return 0;
}

static int write_results(char **paths, int64_t n, const float *logits, const int64_t *digits) {
  char shape[40];
  snprintf(shape, sizeof shape, "(%ld, %d)", (long)n, CLASSES);
  if (write_npy(paths[0], "<f4", shape, logits, (size_t)n * CLASSES * sizeof *logits))
    return 1;
  snprintf(shape, sizeof shape, "(%ld,)", (long)n);
  return write_npy(paths[1], "<i8", shape, digits, (size_t)n * sizeof *digits);
}

static int first(sinter_instance *model, const char *path) {
  int64_t dims[3], digit;
  float logits[CLASSES];
  unsigned char *image = read_idx(path, 3, 1, dims);
  int failed = !image || classify(model, image, 1, logits, &digit);
  if (!failed)
    printf("digit %d\n", (int)digit);
  free(image);
  return failed;
}

static int all(sinter_instance *model, char **paths, int write) {
  int64_t dims[3], label_dims[1], i, n = 0, right = 0;
  unsigned char *images = read_idx(paths[0], 3, -1, dims);
  unsigned char *labels = read_idx(paths[1], 1, -1, label_dims);
  float *logits = NULL;
  int64_t *digits = NULL;
  int failed = !images || !labels;
  if (!failed) {
    n = dims[0];
    logits = malloc((size_t)n * CLASSES * sizeof *logits);
    digits = malloc((size_t)n * sizeof *digits);
    failed = !logits || !digits || label_dims[0] != n;
    if (failed)
      fprintf(stderr, "as many labels as images are needed, and memory for the results\n");
  }
  for (i = 0; !failed && i < n; i += BATCH)
    failed = classify(model, images + i * 28 * 28, n - i < BATCH ? n - i : BATCH,
                      logits + i * CLASSES, digits + i);
  for (i = 0; !failed && i < n; ++i)
    right += digits[i] == labels[i];
  if (!failed && write)
    failed = write_results(paths + 2, n, logits, digits);
  if (!failed)
    printf("accuracy %.4f\n", (double)right / (double)n);
  free(digits);
  free(logits);
  free(labels);
  free(images);
  return failed;
}

int main(int argc, char **argv) {
  const sinter_artifact_api *mnist = mnist_api();
  sinter_instance *model = NULL;
  int failed;
  if (argc != 3 && argc != 5)
    return fprintf(stderr, "usage: classify IMAGES LABELS [LOGITS.npy DIGITS.npy]\n"), 2;
  if (mnist->create(mnist, NULL, &model) != SINTER_OK)
    return fprintf(stderr, "%s\n", mnist->last_error()), 1;
  failed = argc == 3 && !strcmp(argv[1], "--first") ? first(model, argv[2])
                                                    : all(model, argv + 1, argc == 5);
  mnist->destroy(model);
  return failed;
}

/* Reads MNIST's idx files, unpacked, for the consumers beside it; C99 and C++. The caller frees
 * what read_idx returns. Any thread. */
#ifndef MNIST_IDX_H
#define MNIST_IDX_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The bytes of the first `limit` samples (negative: all) of a file of `rank` dimensions, which go
 * to `dims`. NULL after a line on stderr. */
static unsigned char *read_idx(const char *path, int rank, int64_t limit, int64_t *dims) {
  unsigned char word[4];
  unsigned char *bytes = NULL;
  size_t size = 1;
  int i, ok;
  FILE *file = fopen(path, "rb");
  if (!file) {
    perror(path);
    return NULL;
  }
  ok = fread(word, 1, 4, file) == 4 && word[2] == 8 && word[3] == rank;
  for (i = 0; ok && i < rank; ++i) {
    ok = fread(word, 1, 4, file) == 4;
    dims[i] = (int64_t)word[0] << 24 | word[1] << 16 | word[2] << 8 | word[3];
    if (i == 0 && limit >= 0 && dims[0] > limit)
      dims[0] = limit;
    size *= (size_t)dims[i];
  }
  if (ok) {
    bytes = (unsigned char *)malloc(size);
    ok = bytes && fread(bytes, 1, size, file) == size;
  }
  fclose(file);
  if (!ok) {
    fprintf(stderr, "%s: no unpacked idx file of bytes in %d dimensions\n", path, rank);
    free(bytes);
    return NULL;
  }
  return bytes;
}

#endif

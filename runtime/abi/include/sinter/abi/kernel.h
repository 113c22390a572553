/* The contract between compiled kernels and the runtime that launches them.
 *
 * Plain C, no dependency. A kernel is a pure function over [begin, end) of its
 * tasks; tasks are cut by shape alone, so any assignment of tasks to threads
 * gives the same bits. A kernel allocates nothing and calls nothing but libm.
 */
#ifndef SINTER_ABI_KERNEL_H
#define SINTER_ABI_KERNEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* buffers: one pointer an operand, in the order of the command's buffer list
 *          (aligned to the element; the runtime's own storage to 64 bytes).
 * symbols: the values of the program's symbolic dimensions, in table order.
 * scratch: `scratchBytes` of the command for the calling worker alone,
 *          64-byte aligned, contents undefined; null when the size is 0.
 * begin, end: the half-open range of tasks to do. */
typedef void (*sinter_kernel)(void *const *buffers, const int64_t *symbols, void *scratch,
                              int64_t begin, int64_t end);

#ifdef __cplusplus
}
#endif
#endif

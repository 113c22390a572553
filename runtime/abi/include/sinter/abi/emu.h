/* The contract between GPU kernels compiled for the CPU and the runtime that plays the device.
 *
 * Plain C, no dependency. A kernel is one function that does the work of one GPU thread; whatever
 * a thread shares with others (barriers, shuffles, checked memory) it asks of a table of functions,
 * so that an object of such kernels needs no symbol but libm's. Each kernel k is described by an
 * exported constant `sinter_emu_k` of type sinter_emu_kernel.
 *
 * Addresses. Device memory starts at SINTER_EMU_GLOBAL, which no host mapping can have (x86-64
 * faults on it): the host cannot touch device memory, nor a kernel the host's. A kernel adds
 * `global_delta` to get at the bytes. Shared memory is addressed by offsets from 0; its generic
 * addresses start at SINTER_EMU_SHARED. Local and constant memory has host addresses.
 */
#ifndef SINTER_ABI_EMU_H
#define SINTER_ABI_EMU_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised whenever anything below changes. */
#define SINTER_EMU_ABI_VERSION 1u

#define SINTER_EMU_GLOBAL 0xE000000000000000u
#define SINTER_EMU_SHARED 0xD000000000000000u
#define SINTER_EMU_WARP 32u
/* "sinter_emu_" and the kernel's name. */
#define SINTER_EMU_PREFIX "sinter_emu_"

enum { /* address spaces, numbered as in NVVM IR */
       SINTER_EMU_SPACE_GENERIC = 0,
       SINTER_EMU_SPACE_GLOBAL = 1,
       SINTER_EMU_SPACE_SHARED = 3,
       SINTER_EMU_SPACE_CONSTANT = 4
};

enum { /* what an instruction is, for counts; vectors count an element each */
       SINTER_EMU_FP32,
       SINTER_EMU_FP64,
       SINTER_EMU_FP16, /* and bf16 */
       SINTER_EMU_INTEGER,
       SINTER_EMU_CONVERT,
       SINTER_EMU_SPECIAL, /* the special function unit, and calls of libm */
       SINTER_EMU_GLOBAL_LOAD,
       SINTER_EMU_GLOBAL_STORE,
       SINTER_EMU_SHARED_LOAD,
       SINTER_EMU_SHARED_STORE,
       SINTER_EMU_LOCAL, /* loads and stores of local and constant memory */
       SINTER_EMU_ATOMIC,
       SINTER_EMU_BARRIER,
       SINTER_EMU_WARP_OP, /* shuffle, vote, redux, match */
       SINTER_EMU_BRANCH,
       SINTER_EMU_OTHER,
       SINTER_EMU_CLASSES
};

enum { /* sinter_emu_site.flags */
       SINTER_EMU_READS = 1,
       SINTER_EMU_WRITES = 2,
       SINTER_EMU_ATOMICALLY = 4
};

/* A place in a kernel that calls a service. */
typedef struct sinter_emu_site {
  const char *file; /* of the source line, "" if unknown */
  uint32_t line;
  uint8_t flags;
  uint8_t space;
  uint16_t bytes; /* of one access; 0 for anything else */
  uint16_t align; /* what the instruction asks for; also the width of the pieces it is done in */
  int16_t param;  /* the parameter that the address comes from; -1: not known */
} sinter_emu_site;

/* How many instructions of each class a basic block has. */
typedef struct sinter_emu_mix {
  uint16_t count[SINTER_EMU_CLASSES];
} sinter_emu_mix;

typedef struct sinter_emu_param {
  uint32_t bytes;
  uint32_t is_pointer; /* to device memory */
} sinter_emu_param;

/* A variable of the module, in global or constant memory. */
typedef struct sinter_emu_variable {
  const char *name;
  const void *data;
  uint64_t bytes;
} sinter_emu_variable;

typedef struct sinter_emu_services sinter_emu_services;

typedef struct sinter_emu_block {
  uint32_t ntid[3], ctaid[3], nctaid[3];
  uint32_t dynamic_shared; /* bytes */
  uint64_t global_delta;
  unsigned char *shared;
  const void *const *params; /* one pointer to a value a parameter */
  uint64_t *block_counts;    /* one a basic block; only instrumented kernels use it */
  const sinter_emu_services *services;
} sinter_emu_block;

typedef struct sinter_emu_thread {
  const sinter_emu_block *block;
  uint32_t tid[3];
  uint32_t index; /* in the block, x fastest; its lane is index % 32 */
} sinter_emu_thread;

enum {
  SINTER_EMU_SHUFFLE_UP,
  SINTER_EMU_SHUFFLE_DOWN,
  SINTER_EMU_SHUFFLE_BFLY,
  SINTER_EMU_SHUFFLE_IDX
};
enum { /* operations of `reduce` */
       SINTER_EMU_ADD,
       SINTER_EMU_AND,
       SINTER_EMU_OR,
       SINTER_EMU_XOR,
       SINTER_EMU_MIN,
       SINTER_EMU_MAX,
       SINTER_EMU_UMIN,
       SINTER_EMU_UMAX,
       SINTER_EMU_FMIN,
       SINTER_EMU_FMAX
};

/* `site` is an index into the kernel's sites. `mask` names lanes of the thread's warp. */
struct sinter_emu_services {
  /* Waits for `threads` threads (0: all live ones of the block) at barrier `id`; the number of
   * those that gave a value other than 0. */
  uint32_t (*barrier)(const sinter_emu_thread *, uint32_t id, uint32_t threads, uint32_t value,
                      uint32_t site);
  /* As above, without waiting. */
  void (*barrier_arrive)(const sinter_emu_thread *, uint32_t id, uint32_t threads, uint32_t site);
  void (*warp_barrier)(const sinter_emu_thread *, uint32_t mask, uint32_t site);
  /* The value in the low half, the predicate above. `lane` and `clamp` are PTX's b and c. */
  uint64_t (*shuffle)(const sinter_emu_thread *, uint32_t mode, uint32_t mask, uint32_t value,
                      uint32_t lane, uint32_t clamp, uint32_t site);
  /* Lanes that gave true in the low half, those that took part above. */
  uint64_t (*ballot)(const sinter_emu_thread *, uint32_t mask, uint32_t value, uint32_t site);
  uint32_t (*reduce)(const sinter_emu_thread *, uint32_t operation, uint32_t mask, uint32_t value,
                     uint32_t site);
  /* Lanes with the same value in the low half, those that took part above. */
  uint64_t (*match)(const sinter_emu_thread *, uint32_t mask, uint64_t value, uint32_t site);
  /* The host address of what an instrumented access at `address` may touch; never fails. */
  void *(*access)(const sinter_emu_thread *, uint64_t address, uint32_t site);
  /* The thread stops, for `reason` (NULL: a trap); the kernel returns after it. */
  void (*trap)(const sinter_emu_thread *, const char *reason, uint32_t site);
};

typedef struct sinter_emu_kernel {
  uint32_t abi_version;
  uint32_t instrumented; /* 1: calls `access`, counts basic blocks */
  uint32_t communicates; /* 1: threads meet at barriers or in warps, so they must be interleaved */
  uint32_t max_threads;  /* a block; 0: no limit of its own */
  const char *name;
  void (*run)(const sinter_emu_thread *thread);
  const sinter_emu_param *params;
  const sinter_emu_site *sites;
  const sinter_emu_mix *basic_blocks;
  const sinter_emu_variable *variables;
  uint32_t param_count, site_count, basic_block_count, variable_count;
  uint32_t static_shared; /* bytes; dynamic shared memory starts there */
  uint32_t local_bytes;   /* of a thread's own variables */
} sinter_emu_kernel;

#ifdef __cplusplus
}
#endif
#endif

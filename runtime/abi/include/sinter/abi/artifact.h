/* What a compiled model exports, in plain C without dependencies.
 *
 * An artifact `mnist` has one visible function, `mnist_api()`, which returns a
 * table of functions; it never fails and its result lives as long as the
 * artifact is loaded:
 *
 *   const sinter_artifact_api *mnist = mnist_api();
 *   sinter_instance *model = NULL;
 *   if (mnist->create(mnist, NULL, &model) != SINTER_OK)
 *     return fprintf(stderr, "%s\n", mnist->last_error()), 1;
 *   sinter_tensor image = {pixels, (int64_t[]){1, 1, 28, 28}, 4, SINTER_F32};
 *   sinter_tensor probability = {result, (int64_t[]){1, 10}, 2, SINTER_F32};
 *   mnist->run(model, mnist->find_entry(mnist, "classify"), &image, 1, &probability, 1);
 *   mnist->destroy(model);
 *
 * Functions that return `int` return a sinter_code; after anything but SINTER_OK
 * `last_error` has one sentence that says what, where and how to mend it.
 *
 * Threads: functions that take the table may be called by any thread at any
 * time. An instance has its own variables and memory: one caller at a time each,
 * any number of instances at once, but on a CUDA card one caller at a time for
 * all of them. Nothing here prints, installs a signal handler or throws; `run`
 * with shapes seen before allocates nothing.
 */
#ifndef SINTER_ABI_ARTIFACT_H
#define SINTER_ABI_ARTIFACT_H

#include "sinter/abi/kernel.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised whenever a struct below changes other than by appending. */
#define SINTER_ABI_VERSION 3u

typedef enum sinter_code {
  SINTER_OK,
  SINTER_INVALID_ARGUMENT,
  SINTER_NOT_FOUND,
  SINTER_ALREADY_EXISTS,
  SINTER_OUT_OF_MEMORY,
  SINTER_IO,
  SINTER_CORRUPT,
  SINTER_UNSUPPORTED,
  SINTER_FAILED_PRECONDITION,
  SINTER_INTERNAL
} sinter_code;

typedef enum sinter_dtype {
  SINTER_F64,
  SINTER_F32,
  SINTER_F16,
  SINTER_BF16,
  SINTER_I64,
  SINTER_I32,
  SINTER_I16,
  SINTER_I8,
  SINTER_U8,
  SINTER_BOOL /* one byte, 0 or 1 */
} sinter_dtype;

/* The caller's array: dense, row-major, aligned to its element. */
typedef struct sinter_tensor {
  void *data;
  const int64_t *dims;
  int32_t rank;
  int32_t dtype; /* a sinter_dtype */
} sinter_tensor;

typedef struct sinter_dim {
  int64_t size;         /* -1: depends on the inputs */
  const char *symbol;   /* then its name or formula, e.g. "n"; else NULL */
  int64_t lower, upper; /* bounds of a symbol; upper -1: none */
} sinter_dim;

/* An input or output of an entry. */
typedef struct sinter_port {
  const char *name;
  const sinter_dim *dims;
  int32_t rank;
  int32_t dtype;
} sinter_port;

typedef struct sinter_variable {
  const char *name; /* dotted path, e.g. "head.weight" */
  const int64_t *dims;
  int32_t rank;
  int32_t dtype;
  int32_t trainable;
} sinter_variable;

/* `sinter_options options = SINTER_OPTIONS_INIT;`, then set what matters. NULL
 * instead of a pointer to options means all defaults. */
typedef struct sinter_options {
  uint32_t size; /* sizeof(sinter_options), so that fields can be added */
  /* Threads that work on a call, the caller's among them. 0 or 1: the caller's
   * alone (default); negative: one for each hardware thread. */
  int32_t threads;
  /* safetensors file to take the variables from. NULL: the embedded weights, or
   * the file that was written beside the artifact. */
  const char *weights_path;
  /* Name of a compiled variant, e.g. "x86-64-v3". NULL: the best for this CPU. */
  const char *isa;
  /* Where it runs, if it was compiled for a device: "cuda:1" of artifacts for CUDA cards.
   * NULL: the first one. */
  const char *device;
} sinter_options;
#define SINTER_OPTIONS_INIT {sizeof(sinter_options), 0, NULL, NULL, NULL}

typedef struct sinter_instance sinter_instance;
typedef struct sinter_artifact_image sinter_artifact_image;
typedef struct sinter_artifact_api sinter_artifact_api;

/* Entries, ports and variables are numbered from 0; a number out of range gives
 * NULL or -1 and an error text. Strings and port tables belong to the artifact. */
struct sinter_artifact_api {
  uint32_t abi_version; /* SINTER_ABI_VERSION of the runtime inside */
  uint32_t size;        /* of this struct there */
  const sinter_artifact_image *image;

  /* Of the last call that failed on this thread; "" if none did. */
  const char *(*last_error)(void);
  const char *(*version)(void); /* of the runtime inside, "0.1.0" */

  /* -- What the artifact holds ------------------------------------------- */
  const char *(*name)(const sinter_artifact_api *api);
  int32_t (*entry_count)(const sinter_artifact_api *api);
  const char *(*entry_name)(const sinter_artifact_api *api, int32_t entry);
  int32_t (*find_entry)(const sinter_artifact_api *api, const char *name); /* -1: none */
  int32_t (*input_count)(const sinter_artifact_api *api, int32_t entry);
  int32_t (*output_count)(const sinter_artifact_api *api, int32_t entry);
  const sinter_port *(*input)(const sinter_artifact_api *api, int32_t entry, int32_t index);
  const sinter_port *(*output)(const sinter_artifact_api *api, int32_t entry, int32_t index);
  int32_t (*variable_count)(const sinter_artifact_api *api);
  const sinter_variable *(*variable)(const sinter_artifact_api *api, int32_t index);
  int32_t (*find_variable)(const sinter_artifact_api *api, const char *name); /* -1: none */
  int32_t (*variant_count)(const sinter_artifact_api *api);
  const char *(*variant)(const sinter_artifact_api *api, int32_t index);

  /* -- Instances ----------------------------------------------------------- */
  /* `options` may be NULL. On failure *instance is NULL. */
  int (*create)(const sinter_artifact_api *api, const sinter_options *options,
                sinter_instance **instance);
  void (*destroy)(sinter_instance *instance); /* NULL is fine */
  /* The variant it runs, or its device: "cuda:0". */
  const char *(*isa)(const sinter_instance *instance);

  /* Runs an entry. `outputs` have the dims that output_dims tells, and share no
   * memory with each other or the inputs. */
  int (*run)(sinter_instance *instance, int32_t entry, const sinter_tensor *inputs,
             int32_t input_count, const sinter_tensor *outputs, int32_t output_count);
  /* Writes the dims of output `output` for inputs of these shapes (their data
   * may be NULL) to dims[0 … rank - 1]; `capacity` is the room there. */
  int (*output_dims)(sinter_instance *instance, int32_t entry, const sinter_tensor *inputs,
                     int32_t input_count, int32_t output, int64_t *dims, int32_t capacity);

  /* -- Variables ----------------------------------------------------------- */
  /* Points `view` at the live storage, at a fixed address; only read it. On a device it is a copy
   * there, which the next call to get_variable renews. */
  int (*get_variable)(sinter_instance *instance, int32_t index, sinter_tensor *view);
  /* Copies `value`, which has the variable's type, into the storage. */
  int (*set_variable)(sinter_instance *instance, int32_t index, const sinter_tensor *value);
  /* All variables, as safetensors; written whole or not at all. */
  int (*save)(sinter_instance *instance, const char *path);
  /* The file must have every variable; the error lists all that do not fit, and
   * nothing is changed then. */
  int (*load)(sinter_instance *instance, const char *path);

  /* -- Insight; texts are valid until the next call that takes the instance -- */
  const char *(*memory_report)(sinter_instance *instance);
  int (*profile)(sinter_instance *instance, int32_t on); /* off at first; on starts anew */
  const char *(*profile_report)(sinter_instance *instance);
  int (*profile_trace)(sinter_instance *instance, const char *path); /* Chrome's JSON */
};

/* -- For generated code ------------------------------------------------------ */

/* The kernels compiled for one instruction set. */
typedef struct sinter_kernel_variant {
  const char *isa;              /* "x86-64-v3", "x86-64-v4", "x86-64-v4-bf16" */
  const sinter_kernel *kernels; /* one a kernel of the program, in its order */
  uint32_t count;
} sinter_kernel_variant;

/* NVIDIA: cuBLASLt and cuDNN. */
enum { SINTER_VENDOR_NONE = 0, SINTER_VENDOR_ONEDNN = 1, SINTER_VENDOR_NVIDIA = 2 };

/* What ptxas made of a kernel, a thread's or a block's. */
typedef struct sinter_kernel_usage {
  uint32_t registers, shared_bytes, stack_bytes, spill_store_bytes, spill_load_bytes;
} sinter_kernel_usage;

/* What a kernel moved when every entry was called once on an emulated card: the sum over its
 * launches of bytes between memory and cache, and of the bytes that it touched at all. */
typedef struct sinter_kernel_traffic {
  uint64_t launches, fetched_bytes, distinct_bytes;
} sinter_kernel_traffic;

enum { SINTER_CODE_CUBIN = 0, SINTER_CODE_PTX = 1, SINTER_CODE_EMULATED = 2 };

/* All kernels in one form that a device takes. */
typedef struct sinter_device_code {
  const char *architecture; /* "sm_90"; emulated: "emu" */
  uint32_t kind;            /* SINTER_CODE_… */
  uint32_t toolkit;         /* of a cubin: the CUDA version, 1000 major + 10 minor; 0: not known */
  const unsigned char *bytes; /* cubin or PTX */
  uint64_t size;
  const void *const *kernels;       /* emulated: one sinter_emu_kernel a kernel of the program */
  const sinter_kernel_usage *usage; /* likewise; NULL: not known */
} sinter_device_code;

typedef struct sinter_artifact_device sinter_artifact_device; /* of the C++ runtime */

/* What the compiler emits beside the kernels. Constant, and alive as long as the
 * artifact is loaded. */
struct sinter_artifact_image {
  uint32_t abi_version; /* SINTER_ABI_VERSION of the compiler */
  const char *name;
  const unsigned char *program; /* the serialised command list */
  uint64_t program_size;
  const sinter_kernel_variant *variants; /* in any order */
  uint32_t variant_count;
  const unsigned char *weights; /* safetensors; NULL: external */
  uint64_t weights_size;
  const char *weights_file; /* external: its name, relative to the artifact's folder */
  uint32_t vendor;          /* the library its calls need */
  uint32_t code_count;
  const sinter_device_code *codes; /* of a device; it then has no variants */
  /* Puts them on a device; the runtime's function for its kind. NULL: the CPU runs it. */
  void (*open_device)(const sinter_artifact_image *image, const char *device,
                      sinter_artifact_device *result);
  const sinter_kernel_traffic *traffic; /* one a kernel of the program; NULL: not counted */
  const char *traffic_sizes;            /* of the symbols then, "n=64"; "" without symbols */
};

/* The body of `<name>_api`: the same table for the same image, always. */
const sinter_artifact_api *sinter_artifact_open(const sinter_artifact_image *image);

#ifdef __cplusplus
}
#endif
#endif

/* gpu_device.h - a model on one GPU, and what the API of a kind of GPUs has to offer for it.
 *
 * All drivers of GPUs share gpu_device.c, gpu_batch.c and gpu_driver.c. What differs between
 * Vulkan, CUDA and others is behind gpu_api. */
#ifndef LUMEN_GPU_DEVICE_H
#define LUMEN_GPU_DEVICE_H

#include "gpu_launch.h"
#include "host_kernels.h"
#include "routing.h"

#include <stddef.h>

/* A piece of memory. */
typedef struct gpu_memory {
  void *buffer;  /* the API's: what commands refer to; NULL: there is none */
  void *memory;  /* likewise, where buffers lie in memory apart from them */
  char *address; /* where the host sees it; NULL: it does not */
} gpu_memory;

/* Memory of the device under addresses of the host's: those of its bytes where it is mapped,
 * else those of its twin or of a reservation as large, whose bytes are valid only where they
 * were copied. */
typedef struct gpu_block {
  gpu_memory own, twin; /* the twin is mapped memory, for copies from and to */
  char *address;
  uint64_t size;
  bool is_reserved; /* the addresses are a reservation */
  bool is_valid;    /* the bytes there are always those of the device */
} gpu_block;

/* Constants, in as many blocks as the device wants: their addresses are those of the host's
 * own bytes. One that is larger than a block may be is in none; the host runs what needs it. */
typedef struct gpu_constants {
  const char *base; /* of their region */
  gpu_block *blocks;
  uint32_t num_blocks;
  uint64_t size; /* of all blocks */
} gpu_constants;

/* Where the memory of a block shall be. */
typedef enum gpu_place {
  gpu_of_device, /* near the device; mapped where the host sees it there */
  gpu_of_host,   /* mapped */
  gpu_of_both    /* as of_device, with a twin where that is not mapped */
} gpu_place;

/* A kernel of the model, as it is launched there. */
typedef struct gpu_kernel {
  const lumen_abi_variant *variant;   /* NULL: the file has none that fits */
  const lumen_abi_gpu_launch *launch; /* likewise */
  uint32_t num_bindings;
  bool is_loaded; /* else the host runs it */
} gpu_kernel;

struct gpu_context;
struct gpu_dispatch;

typedef struct gpu_device {
  const struct gpu_api *api;
  const model *model;
  gpu_limits limits;
  lumen_host_kernels host;
  gpu_kernel *kernels;                /* by kernel */
  const lumen_abi_variant **variants; /* likewise: that launches get their grids from */
  uint32_t level;                     /* of the kernels' variants; num_levels: none has one */
  bool *has_code;                     /* likewise: the device runs it */
  lumen_routing routing;
  gpu_constants weights, init;
  char *init_bytes; /* the host's */
} gpu_device;

/* An API. Codes are those of lumen.h, and a failure has written the status. Its device begins
 * with a gpu_device, its context with a gpu_context, both zeroed before they are opened; after
 * a failure closing is due. */
typedef struct gpu_api {
  uint32_t target; /* lumen_abi_target */
  size_t device_size, context_size;
  gpu_place parameters; /* where launches read their parameters, which the host writes */
  /* Whether devices like this run code of a level. NULL: there is one level. */
  bool (*fits)(const gpu_limits *limits, const lumen_abi_level *level);

  /* Opens the `index`-th device, and tells its limits, and rates as far as nothing was
   * measured, in routing.device. */
  int (*open)(gpu_device *device, uint32_t index, lumen_status *status);
  void (*close)(gpu_device *device);
  /* Loads the kernels that have a variant. One that the device's compiler refuses is no
   * failure. */
  int (*load)(gpu_device *device, lumen_status *status);

  /* Memory near the device, mapped where limits.is_mapped says so, or of the host, always
   * mapped. False: there is none left; what was made is in `memory`, and closing is due. */
  bool (*memory_open)(const gpu_device *device, uint64_t size, bool is_host, gpu_memory *memory);
  void (*memory_close)(const gpu_device *device, gpu_memory *memory);
  /* Fills memory of the device that is not mapped. */
  int (*upload)(gpu_device *device, const void *bytes, uint64_t size, const gpu_block *block,
                lumen_status *status);

  /* What a context records its batches with. */
  int (*stream_open)(struct gpu_context *context, uint32_t max_launches, uint32_t max_bindings,
                     lumen_status *status);
  void (*stream_close)(struct gpu_context *context);
  /* The next four record, between `begin` and `end`; `begin` again forgets what there is. */
  int (*begin)(struct gpu_context *context, lumen_status *status);
  void (*clear)(struct gpu_context *context, const gpu_block *block);
  /* Buffers and offsets in bytes; the twins of blocks are buffers too. */
  void (*copy)(struct gpu_context *context, void *to, uint64_t to_offset, void *from,
               uint64_t from_offset, uint64_t size);
  int (*dispatch)(struct gpu_context *context, const struct gpu_dispatch *dispatch,
                  lumen_status *status);
  /* All that comes before is done, and seen, by what follows, be it the host. */
  void (*barrier)(struct gpu_context *context);
  int (*end)(struct gpu_context *context, lumen_status *status);
  /* Starts what was recorded, the first time or again. */
  int (*submit)(struct gpu_context *context, lumen_status *status);
  /* Waits for the end of what was started, and whether that would take time. */
  int (*wait)(struct gpu_context *context, lumen_status *status);
  bool (*is_done)(struct gpu_context *context);
} gpu_api;

/* False: out of memory, and nothing is left behind. */
bool gpu_block_open(const gpu_device *device, uint64_t size, gpu_place place, gpu_block *block);
void gpu_block_close(const gpu_device *device, gpu_block *block);

/* The device itself, the kernels and the weights. After a failure closing is due. */
int gpu_open(gpu_device *device, const gpu_api *api, const model *model, uint32_t index,
             lumen_status *status);
void gpu_close(gpu_device *device);

/* Expected speed of the model on a device of these limits, as lumen_routed_speed says. 0: none
 * of its kernels fits; then `reason` says so. `rates` hold where nothing was measured. */
double gpu_score(const lumen_abi_model *abi, const struct gpu_api *api, const gpu_limits *limits,
                 const lumen_device_info *info, const lumen_choice *choice,
                 const lumen_device_rates *rates, lumen_status *reason);

/* "<model>: <what>: no memory". */
int gpu_fail_memory(const gpu_device *device, const char *what, lumen_status *status);

#endif

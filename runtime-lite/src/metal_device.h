/* metal_device.h - a model on one of Apple's devices, behind gpu_api. */
#ifndef LUMEN_METAL_DEVICE_H
#define LUMEN_METAL_DEVICE_H

#include "gpu_batch.h"
#include "gpu_commands.h"
#include "metal.h"

/* Read-only once open. */
typedef struct mtl_device {
  gpu_device base; /* first: a gpu_device is cast to it */
  const lumen_metal *metal;
  metal_id device;
  metal_id *pipelines; /* by kernel */
} mtl_device;

typedef struct mtl_context {
  gpu_context base; /* first: a gpu_context is cast to it */
  metal_id queue;
  metal_id running; /* the command buffer that was committed last; NULL: none */
  gpu_commands commands;
} mtl_context;

extern const gpu_api mtl_api;

/* What devices can take, and how fast they are where nothing was measured. */
void mtl_measure(const lumen_metal *metal, metal_id device, gpu_limits *limits,
                 lumen_device_rates *rates);

/* "<model>: <what> (Metal says <reason>)" */
int mtl_fail(const mtl_device *device, metal_id error, const char *what, lumen_status *status);

/* metal_stream.c: the part of mtl_api that contexts use. */
int mtl_upload(gpu_device *device, const void *bytes, uint64_t size, const gpu_block *block,
               lumen_status *status);
int mtl_stream_open(gpu_context *context, uint32_t max_launches, uint32_t max_bindings,
                    lumen_status *status);
void mtl_stream_close(gpu_context *context);
int mtl_begin(gpu_context *context, lumen_status *status);
void mtl_clear(gpu_context *context, const gpu_block *block);
void mtl_copy(gpu_context *context, void *to, uint64_t to_offset, void *from, uint64_t from_offset,
              uint64_t size);
int mtl_dispatch(gpu_context *context, const gpu_dispatch *dispatch, lumen_status *status);
void mtl_barrier(gpu_context *context);
int mtl_end(gpu_context *context, lumen_status *status);
int mtl_submit(gpu_context *context, lumen_status *status);
int mtl_wait(gpu_context *context, lumen_status *status);
bool mtl_is_done(gpu_context *context);

#endif

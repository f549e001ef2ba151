/* cuda_stream.h - what a context records its batches with on devices of CUDA and HIP. */
#ifndef LUMEN_CUDA_STREAM_H
#define LUMEN_CUDA_STREAM_H

#include "cuda_device.h"
#include "gpu_commands.h"

/* A batch is a list, which goes to the stream when it is submitted. One that is submitted again
 * becomes a graph. */
typedef struct cu_context {
  gpu_context base; /* first: a gpu_context is cast to it */
  CUstream stream;
  CUgraphExec graph; /* NULL: none yet */
  bool was_submitted;
  gpu_commands commands;
  void **arguments, **pointers; /* of one launch: addresses, and where these are */
} cu_context;

/* For gpu_api. */
int cu_stream_open(gpu_context *context, uint32_t max_launches, uint32_t max_bindings,
                   lumen_status *status);
void cu_stream_close(gpu_context *context);
int cu_begin(gpu_context *context, lumen_status *status);
void cu_record_clear(gpu_context *context, const gpu_block *block);
void cu_record_copy(gpu_context *context, void *to, uint64_t to_offset, void *from,
                    uint64_t from_offset, uint64_t size);
int cu_dispatch(gpu_context *context, const gpu_dispatch *dispatch, lumen_status *status);
void cu_barrier(gpu_context *context);
int cu_end(gpu_context *context, lumen_status *status);
int cu_submit(gpu_context *context, lumen_status *status);
int cu_wait(gpu_context *context, lumen_status *status);
bool cu_is_done(gpu_context *context);

/* Of a gpu_api: all but what tells CUDA from HIP. */
#define CU_API_FUNCTIONS                                                                           \
  .open = cu_open, .close = cu_close, .load = cu_load, .memory_open = cu_memory_open,              \
  .memory_close = cu_memory_close, .upload = cu_upload, .stream_open = cu_stream_open,             \
  .stream_close = cu_stream_close, .begin = cu_begin, .clear = cu_record_clear,                    \
  .copy = cu_record_copy, .dispatch = cu_dispatch, .barrier = cu_barrier, .end = cu_end,           \
  .submit = cu_submit, .wait = cu_wait, .is_done = cu_is_done

#endif

/* cuda_stream.c - see cuda_stream.h. */
#include "cuda_stream.h"

#include <stdlib.h>

/* ---- Streams ------------------------------------------------------------ */

int cu_stream_open(gpu_context *base, uint32_t max_launches, uint32_t max_bindings,
                   lumen_status *status) {
  cu_context *state = (cu_context *)base;
  const cu_device *device = (const cu_device *)base->device;
  bool has_memory = gpu_commands_open(&state->commands, max_launches, max_bindings);
  state->arguments = lumen_allocate(max_bindings * sizeof(*state->arguments));
  state->pointers = lumen_allocate(max_bindings * sizeof(*state->pointers));
  if (!has_memory || !state->arguments || !state->pointers)
    return gpu_fail_memory(base->device, "a context", status);
  for (uint32_t i = 0; i < max_bindings; ++i)
    state->pointers[i] = &state->arguments[i];
  cu_scope scope = cu_enter(device);
  CUresult result = scope.result;
  if (result == CUDA_SUCCESS)
    result = device->cuda->StreamCreate(&state->stream, CU_STREAM_NON_BLOCKING);
  cu_leave(&scope);
  if (result == CUDA_SUCCESS)
    return LUMEN_OK;
  state->stream = NULL;
  return cu_fail(device, result, "a context", status);
}

static void forget_graph(cu_context *state) {
  const cu_device *device = (const cu_device *)state->base.device;
  if (!state->graph)
    return;
  cu_scope scope = cu_enter(device);
  device->cuda->GraphExecDestroy(state->graph);
  cu_leave(&scope);
  state->graph = NULL;
}

void cu_stream_close(gpu_context *base) {
  cu_context *state = (cu_context *)base;
  const cu_device *device = (const cu_device *)base->device;
  forget_graph(state);
  if (state->stream) {
    cu_scope scope = cu_enter(device);
    device->cuda->StreamDestroy(state->stream);
    cu_leave(&scope);
  }
  gpu_commands_close(&state->commands);
  free(state->arguments);
  free(state->pointers);
}

/* ---- Recording ---------------------------------------------------------- */

int cu_begin(gpu_context *base, lumen_status *status) {
  (void)status;
  cu_context *state = (cu_context *)base;
  forget_graph(state);
  state->was_submitted = false;
  gpu_commands_begin(&state->commands);
  return LUMEN_OK;
}

void cu_record_clear(gpu_context *base, const gpu_block *block) {
  gpu_commands_clear(&((cu_context *)base)->commands, block);
}

void cu_record_copy(gpu_context *base, void *to, uint64_t to_offset, void *from,
                    uint64_t from_offset, uint64_t size) {
  gpu_commands_copy(&((cu_context *)base)->commands, to, to_offset, from, from_offset, size);
}

int cu_dispatch(gpu_context *base, const gpu_dispatch *dispatch, lumen_status *status) {
  (void)status;
  gpu_commands_launch(&((cu_context *)base)->commands, dispatch);
  return LUMEN_OK;
}

/* Commands of a stream follow each other. */
void cu_barrier(gpu_context *base) { (void)base; }

int cu_end(gpu_context *base, lumen_status *status) {
  return gpu_commands_end(&((const cu_context *)base)->commands, base->device, status);
}

/* ---- Submitting --------------------------------------------------------- */

static CUresult launch(const cu_context *state, const gpu_command *command) {
  const cu_device *device = (const cu_device *)state->base.device;
  const gpu_binding *bindings = &state->commands.bindings[command->first_binding];
  for (uint32_t i = 0; i < command->num_bindings; ++i)
    state->arguments[i] = (char *)bindings[i].buffer + bindings[i].offset;
  return device->cuda->LaunchKernel(device->functions[command->kernel], command->workgroups, 1, 1,
                                    device->base.kernels[command->kernel].launch->block, 1, 1, 0,
                                    state->stream, state->pointers, NULL);
}

static CUresult play(const cu_context *state) {
  const lumen_cuda *cuda = ((const cu_device *)state->base.device)->cuda;
  CUresult result = CUDA_SUCCESS;
  for (uint32_t i = 0; i < state->commands.count && result == CUDA_SUCCESS; ++i) {
    const gpu_command *command = &state->commands.list[i];
    switch (command->kind) {
    case gpu_command_clear:
      result = cuda->MemsetD32Async(command->to, 0, command->size / 4, state->stream);
      break;
    case gpu_command_copy:
      result = cu_copy(cuda, (char *)command->to + command->to_offset,
                       (char *)command->from + command->from_offset, command->size, state->stream);
      break;
    case gpu_command_launch:
      result = launch(state, command);
    }
  }
  return result;
}

/* Failing leaves no graph, and the commands as they are. */
static void make_graph(cu_context *state) {
  const lumen_cuda *cuda = ((const cu_device *)state->base.device)->cuda;
  CUgraph graph = NULL;
  if (cuda->StreamBeginCapture(state->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) != CUDA_SUCCESS)
    return;
  CUresult result = play(state);
  if (cuda->StreamEndCapture(state->stream, &graph) != CUDA_SUCCESS || !graph)
    return;
  if (result != CUDA_SUCCESS || cuda->GraphInstantiate(&state->graph, graph, 0) != CUDA_SUCCESS)
    state->graph = NULL;
  cuda->GraphDestroy(graph);
}

int cu_submit(gpu_context *base, lumen_status *status) {
  cu_context *state = (cu_context *)base;
  const cu_device *device = (const cu_device *)base->device;
  const lumen_cuda *cuda = device->cuda;
  cu_scope scope = cu_enter(device);
  CUresult result = scope.result;
  if (result == CUDA_SUCCESS && state->was_submitted && !state->graph)
    make_graph(state);
  /* What the launches read of the host: it stays the same when they are submitted again. */
  const gpu_block *parameters = &base->parameters;
  if (result == CUDA_SUCCESS && !state->was_submitted && parameters->twin.buffer &&
      base->num_recorded)
    result = cu_copy(cuda, parameters->own.buffer, parameters->twin.buffer,
                     base->num_recorded * base->parameter_stride, state->stream);
  if (result == CUDA_SUCCESS)
    result = state->graph ? cuda->GraphLaunch(state->graph, state->stream) : play(state);
  /* What was started before it failed uses memory that is written next. */
  if (result != CUDA_SUCCESS && scope.result == CUDA_SUCCESS)
    (void)cuda->StreamSynchronize(state->stream);
  cu_leave(&scope);
  state->was_submitted = true;
  return result == CUDA_SUCCESS ? LUMEN_OK : cu_fail(device, result, "a run failed", status);
}

int cu_wait(gpu_context *base, lumen_status *status) {
  const cu_context *state = (const cu_context *)base;
  const cu_device *device = (const cu_device *)base->device;
  cu_scope scope = cu_enter(device);
  CUresult result = scope.result;
  if (result == CUDA_SUCCESS)
    result = device->cuda->StreamSynchronize(state->stream);
  cu_leave(&scope);
  return result == CUDA_SUCCESS ? LUMEN_OK : cu_fail(device, result, "a run failed", status);
}

bool cu_is_done(gpu_context *base) {
  const cu_context *state = (const cu_context *)base;
  const cu_device *device = (const cu_device *)base->device;
  cu_scope scope = cu_enter(device);
  bool is_done = scope.result != CUDA_SUCCESS ||
                 device->cuda->StreamQuery(state->stream) != CUDA_ERROR_NOT_READY;
  cu_leave(&scope);
  return is_done;
}

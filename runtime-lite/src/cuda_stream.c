/* cuda_stream.c - see cuda_stream.h. */
#include "cuda_stream.h"

#include <stdlib.h>

/* ---- Streams ------------------------------------------------------------ */

int cu_stream_open(gpu_context *base, uint32_t max_launches, uint32_t max_bindings,
                   lumen_status *status) {
  cu_context *state = (cu_context *)base;
  const cu_device *device = (const cu_device *)base->device;
  state->command_capacity = 2 * max_launches + 16;
  state->argument_capacity = max_launches * max_bindings;
  state->commands = lumen_allocate(state->command_capacity * sizeof(*state->commands));
  state->arguments = lumen_allocate(state->argument_capacity * sizeof(*state->arguments));
  state->pointers = lumen_allocate(max_bindings * sizeof(*state->pointers));
  if (!state->commands || !state->arguments || !state->pointers)
    return gpu_fail_memory(base->device, "a context", status);
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
  free(state->commands);
  free(state->arguments);
  free(state->pointers);
}

/* ---- Recording ---------------------------------------------------------- */

int cu_begin(gpu_context *base, lumen_status *status) {
  (void)status;
  cu_context *state = (cu_context *)base;
  forget_graph(state);
  state->was_submitted = state->is_full = false;
  state->num_commands = state->num_arguments = 0;
  return LUMEN_OK;
}

/* The next command; NULL: there is no memory for it, which `cu_end` tells. */
static cu_command *add_command(cu_context *state) {
  if (state->num_commands == state->command_capacity) {
    uint32_t capacity = 2 * state->command_capacity;
    cu_command *more = realloc(state->commands, capacity * sizeof(*more));
    if (!more) {
      state->is_full = true;
      return NULL;
    }
    state->commands = more;
    state->command_capacity = capacity;
  }
  return &state->commands[state->num_commands++];
}

void cu_record_clear(gpu_context *base, const gpu_block *block) {
  cu_command *command = add_command((cu_context *)base);
  if (command)
    *command = (cu_command){.kind = cu_command_clear, .to = block->own.buffer, .size = block->size};
}

void cu_record_copy(gpu_context *base, void *to, uint64_t to_offset, void *from,
                    uint64_t from_offset, uint64_t size) {
  cu_command *command = add_command((cu_context *)base);
  if (command)
    *command = (cu_command){.kind = cu_command_copy,
                            .to = (char *)to + to_offset,
                            .from = (char *)from + from_offset,
                            .size = size};
}

int cu_dispatch(gpu_context *base, const gpu_dispatch *dispatch, lumen_status *status) {
  (void)status;
  cu_context *state = (cu_context *)base;
  cu_command *command = add_command(state);
  if (!command)
    return LUMEN_OK;
  *command = (cu_command){.kind = cu_command_launch,
                          .kernel = dispatch->kernel,
                          .workgroups = dispatch->workgroups,
                          .first_argument = state->num_arguments,
                          .num_arguments = dispatch->num_bindings};
  for (uint32_t i = 0; i < dispatch->num_bindings; ++i)
    state->arguments[state->num_arguments++] =
        (char *)dispatch->bindings[i].buffer + dispatch->bindings[i].offset;
  return LUMEN_OK;
}

/* Commands of a stream follow each other. */
void cu_barrier(gpu_context *base) { (void)base; }

int cu_end(gpu_context *base, lumen_status *status) {
  const cu_context *state = (const cu_context *)base;
  return state->is_full ? gpu_fail_memory(base->device, "a run", status) : LUMEN_OK;
}

/* ---- Submitting --------------------------------------------------------- */

static CUresult play(cu_context *state) {
  const cu_device *device = (const cu_device *)state->base.device;
  const lumen_cuda *cuda = device->cuda;
  CUresult result = CUDA_SUCCESS;
  for (uint32_t i = 0; i < state->num_commands && result == CUDA_SUCCESS; ++i) {
    const cu_command *command = &state->commands[i];
    switch (command->kind) {
    case cu_command_clear:
      result = cuda->MemsetD32Async(command->to, 0, command->size / 4, state->stream);
      break;
    case cu_command_copy:
      result = cu_copy(cuda, command->to, command->from, command->size, state->stream);
      break;
    case cu_command_launch:
      for (uint32_t a = 0; a < command->num_arguments; ++a)
        state->pointers[a] = &state->arguments[command->first_argument + a];
      result = cuda->LaunchKernel(device->functions[command->kernel], command->workgroups, 1, 1,
                                  state->base.device->kernels[command->kernel].launch->block, 1, 1,
                                  0, state->stream, state->pointers, NULL);
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

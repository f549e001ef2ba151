/* metal_stream.c - the commands of a context on one of Apple's devices.
 *
 * A command buffer can be committed once, so that a batch is a list, which is encoded each time
 * that it is submitted. */
#include "metal_device.h"

#include <string.h>

static const lumen_metal *functions(const gpu_context *context) {
  return ((const mtl_device *)context->device)->metal;
}

/* ---- Streams ------------------------------------------------------------ */

int mtl_stream_open(gpu_context *base, uint32_t max_launches, uint32_t max_bindings,
                    lumen_status *status) {
  mtl_context *state = (mtl_context *)base;
  const mtl_device *device = (const mtl_device *)base->device;
  bool has_memory = gpu_commands_open(&state->commands, max_launches, max_bindings);
  state->queue = metal_get(device->metal, device->device, device->metal->new_queue);
  return has_memory && state->queue ? LUMEN_OK : gpu_fail_memory(base->device, "a context", status);
}

static void forget_run(mtl_context *state) {
  metal_release(functions(&state->base), state->running);
  state->running = NULL;
}

void mtl_stream_close(gpu_context *base) {
  mtl_context *state = (mtl_context *)base;
  forget_run(state);
  metal_release(functions(base), state->queue);
  gpu_commands_close(&state->commands);
}

/* ---- Recording ---------------------------------------------------------- */

int mtl_begin(gpu_context *base, lumen_status *status) {
  (void)status;
  gpu_commands_begin(&((mtl_context *)base)->commands);
  return LUMEN_OK;
}

void mtl_clear(gpu_context *base, const gpu_block *block) {
  gpu_commands_clear(&((mtl_context *)base)->commands, block);
}

void mtl_copy(gpu_context *base, void *to, uint64_t to_offset, void *from, uint64_t from_offset,
              uint64_t size) {
  gpu_commands_copy(&((mtl_context *)base)->commands, to, to_offset, from, from_offset, size);
}

int mtl_dispatch(gpu_context *base, const gpu_dispatch *dispatch, lumen_status *status) {
  (void)status;
  gpu_commands_launch(&((mtl_context *)base)->commands, dispatch);
  return LUMEN_OK;
}

/* Encoders of a queue follow each other, and so do the launches of one, which are serial: Metal
 * keeps track of the buffers that they use. */
void mtl_barrier(gpu_context *base) { (void)base; }

int mtl_end(gpu_context *base, lumen_status *status) {
  return gpu_commands_end(&((const mtl_context *)base)->commands, base->device, status);
}

/* ---- Submitting --------------------------------------------------------- */

static void encode_copy(const lumen_metal *metal, metal_id encoder, const gpu_command *command) {
  if (command->kind == gpu_command_clear)
    METAL_SEND(metal, void, void *, metal_range, uint8_t)(encoder, metal->fill, command->to,
                                                          (metal_range){0, command->size}, 0);
  else
    METAL_SEND(metal, void, void *, uint64_t, void *, uint64_t,
               uint64_t)(encoder, metal->copy, command->from, command->from_offset, command->to,
                         command->to_offset, command->size);
}

static void encode_launch(const mtl_context *state, metal_id encoder, const gpu_command *command) {
  const mtl_device *device = (const mtl_device *)state->base.device;
  const lumen_metal *metal = device->metal;
  METAL_SEND(metal, void, metal_id)(encoder, metal->set_pipeline,
                                    device->pipelines[command->kernel]);
  for (uint32_t i = 0; i < command->num_bindings; ++i) {
    const gpu_binding *binding = &state->commands.bindings[command->first_binding + i];
    METAL_SEND(metal, void, void *, uint64_t, uint64_t)(encoder, metal->set_buffer, binding->buffer,
                                                        binding->offset, i);
  }
  metal_size groups = {command->workgroups, 1, 1};
  metal_size threads = {state->base.device->kernels[command->kernel].launch->block, 1, 1};
  METAL_SEND(metal, void, metal_size, metal_size)(encoder, metal->dispatch, groups, threads);
}

/* One encoder for neighbours of a kind. */
static bool encode(const mtl_context *state, metal_id buffer) {
  const lumen_metal *metal = functions(&state->base);
  metal_id encoder = NULL;
  bool is_launch = false;
  for (uint32_t i = 0; i < state->commands.count; ++i) {
    const gpu_command *command = &state->commands.list[i];
    bool wants_launch = command->kind == gpu_command_launch;
    if (encoder && is_launch != wants_launch) {
      metal_do(metal, encoder, metal->end_encoding);
      encoder = NULL;
    }
    is_launch = wants_launch;
    if (!encoder)
      encoder = metal_get(metal, buffer, is_launch ? metal->compute_encoder : metal->blit_encoder);
    if (!encoder)
      return false;
    if (is_launch)
      encode_launch(state, encoder, command);
    else
      encode_copy(metal, encoder, command);
  }
  if (encoder)
    metal_do(metal, encoder, metal->end_encoding);
  return true;
}

int mtl_submit(gpu_context *base, lumen_status *status) {
  mtl_context *state = (mtl_context *)base;
  const lumen_metal *metal = functions(base);
  forget_run(state);
  void *pool = metal->push_pool();
  metal_id buffer = metal_get(metal, state->queue, metal->command_buffer);
  bool is_encoded = buffer && encode(state, buffer);
  if (is_encoded) {
    state->running = metal->retain(buffer);
    metal_do(metal, buffer, metal->commit);
  }
  metal->pop_pool(pool);
  return is_encoded ? LUMEN_OK : gpu_fail_memory(base->device, "a run", status);
}

int mtl_wait(gpu_context *base, lumen_status *status) {
  mtl_context *state = (mtl_context *)base;
  const mtl_device *device = (const mtl_device *)base->device;
  const lumen_metal *metal = device->metal;
  if (!state->running)
    return LUMEN_OK;
  void *pool = metal->push_pool();
  metal_do(metal, state->running, metal->wait);
  int code = LUMEN_OK;
  if (metal_number(metal, state->running, metal->status) == metal_status_error)
    code = mtl_fail(device, metal_get(metal, state->running, metal->error), "a run failed", status);
  forget_run(state);
  metal->pop_pool(pool);
  return code;
}

bool mtl_is_done(gpu_context *base) {
  const mtl_context *state = (const mtl_context *)base;
  const lumen_metal *metal = functions(base);
  return !state->running ||
         metal_number(metal, state->running, metal->status) >= metal_status_completed;
}

int mtl_upload(gpu_device *base, const void *bytes, uint64_t size, const gpu_block *block,
               lumen_status *status) {
  const mtl_device *device = (const mtl_device *)base;
  const lumen_metal *metal = device->metal;
  gpu_block staging;
  if (!gpu_block_open(base, size, gpu_of_host, &staging))
    return gpu_fail_memory(base, "weights", status);
  memcpy(staging.address, bytes, size);
  void *pool = metal->push_pool();
  metal_id queue = metal_get(metal, device->device, metal->new_queue);
  metal_id buffer = queue ? metal_get(metal, queue, metal->command_buffer) : NULL;
  metal_id encoder = buffer ? metal_get(metal, buffer, metal->blit_encoder) : NULL;
  int code = encoder ? LUMEN_OK : gpu_fail_memory(base, "weights", status);
  if (!code) {
    gpu_command copy = {.kind = gpu_command_copy,
                        .to = block->own.buffer,
                        .from = staging.own.buffer,
                        .size = size};
    encode_copy(metal, encoder, &copy);
    metal_do(metal, encoder, metal->end_encoding);
    metal_do(metal, buffer, metal->commit);
    metal_do(metal, buffer, metal->wait);
    if (metal_number(metal, buffer, metal->status) == metal_status_error)
      code = mtl_fail(device, metal_get(metal, buffer, metal->error), "weights", status);
  }
  metal_release(metal, queue);
  metal->pop_pool(pool);
  gpu_block_close(base, &staging);
  return code;
}

/* gpu_commands.h - a batch as a list, for APIs whose own recordings cannot be submitted twice
 * or cost more than they save. */
#ifndef LUMEN_GPU_COMMANDS_H
#define LUMEN_GPU_COMMANDS_H

#include "gpu_batch.h"

typedef struct gpu_command {
  enum { gpu_command_clear, gpu_command_copy, gpu_command_launch } kind;
  void *to, *from; /* buffers */
  uint64_t to_offset, from_offset, size;
  uint32_t kernel, workgroups;
  uint32_t first_binding, num_bindings; /* of gpu_commands.bindings */
} gpu_command;

typedef struct gpu_commands {
  gpu_command *list;
  gpu_binding *bindings;
  uint32_t count, capacity, num_bindings;
  bool is_full; /* there was no memory for one of them */
} gpu_commands;

/* False: out of memory; closing is due all the same. */
bool gpu_commands_open(gpu_commands *commands, uint32_t max_launches, uint32_t max_bindings);
void gpu_commands_close(gpu_commands *commands);

/* Forgets what there is. */
void gpu_commands_begin(gpu_commands *commands);
void gpu_commands_clear(gpu_commands *commands, const gpu_block *block);
void gpu_commands_copy(gpu_commands *commands, void *to, uint64_t to_offset, void *from,
                       uint64_t from_offset, uint64_t size);
void gpu_commands_launch(gpu_commands *commands, const gpu_dispatch *dispatch);
/* Whether they are all there. */
int gpu_commands_end(const gpu_commands *commands, const gpu_device *device, lumen_status *status);

#endif

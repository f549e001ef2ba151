/* gpu_commands.c - see gpu_commands.h. */
#include "gpu_commands.h"

#include <stdlib.h>
#include <string.h>

bool gpu_commands_open(gpu_commands *commands, uint32_t max_launches, uint32_t max_bindings) {
  /* Beside the launches a few copies; more where steps want them. */
  commands->capacity = 2 * max_launches + 16;
  commands->list = lumen_allocate(commands->capacity * sizeof(*commands->list));
  commands->bindings =
      lumen_allocate((uint64_t)max_launches * max_bindings * sizeof(*commands->bindings));
  return commands->list && commands->bindings;
}

void gpu_commands_close(gpu_commands *commands) {
  free(commands->list);
  free(commands->bindings);
}

void gpu_commands_begin(gpu_commands *commands) {
  commands->count = commands->num_bindings = 0;
  commands->is_full = false;
}

static void add(gpu_commands *commands, gpu_command command) {
  if (commands->count == commands->capacity) {
    uint32_t capacity = 2 * commands->capacity;
    gpu_command *more = realloc(commands->list, capacity * sizeof(*more));
    if (!more) {
      commands->is_full = true;
      return;
    }
    commands->list = more;
    commands->capacity = capacity;
  }
  commands->list[commands->count++] = command;
}

void gpu_commands_clear(gpu_commands *commands, const gpu_block *block) {
  add(commands,
      (gpu_command){.kind = gpu_command_clear, .to = block->own.buffer, .size = block->size});
}

void gpu_commands_copy(gpu_commands *commands, void *to, uint64_t to_offset, void *from,
                       uint64_t from_offset, uint64_t size) {
  add(commands, (gpu_command){.kind = gpu_command_copy,
                              .to = to,
                              .from = from,
                              .to_offset = to_offset,
                              .from_offset = from_offset,
                              .size = size});
}

void gpu_commands_launch(gpu_commands *commands, const gpu_dispatch *dispatch) {
  add(commands, (gpu_command){.kind = gpu_command_launch,
                              .kernel = dispatch->kernel,
                              .workgroups = dispatch->workgroups,
                              .first_binding = commands->num_bindings,
                              .num_bindings = dispatch->num_bindings});
  memcpy(&commands->bindings[commands->num_bindings], dispatch->bindings,
         dispatch->num_bindings * sizeof(*dispatch->bindings));
  commands->num_bindings += dispatch->num_bindings;
}

int gpu_commands_end(const gpu_commands *commands, const gpu_device *device, lumen_status *status) {
  return commands->is_full ? gpu_fail_memory(device, "a run", status) : LUMEN_OK;
}

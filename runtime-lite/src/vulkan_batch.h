/* vulkan_batch.h - a context on a Vulkan device: the command buffer that launches and copies
 * are recorded into, and submitted where the host has to see something. */
#ifndef LUMEN_VULKAN_BATCH_H
#define LUMEN_VULKAN_BATCH_H

#include "schedule.h"
#include "vulkan_device.h"

typedef struct vk_context {
  lumen_schedule schedule; /* first: see schedule.h */
  vk_device *device;
  lumen_host_workers workers;
  vk_block *blocks; /* that the schedule has asked for, and the inputs' */
  uint32_t num_blocks, block_capacity;
  uint64_t generation;  /* of the blocks: counts their changes */
  vk_block *inputs;     /* by input */
  void **given_outputs; /* memory of the caller's, which outputs are copied to */
  vk_block parameters, faults, scratch, staging;
  VkCommandPool commands_pool;
  VkCommandBuffer commands;
  VkFence fence;
  VkDescriptorPool descriptors;
  uint32_t batch_capacity; /* launches */
  uint64_t parameter_stride, fault_stride;
  uint32_t num_recorded; /* launches in the batch */
  uint32_t *recorded;    /* which */
  bool is_recording;
  lumen_status failure; /* of the last batch: nothing can be read of it */
  /* Of the batch that can be submitted again. */
  uint64_t replay_plan, replay_generation;
  uint32_t replay_launches;
} vk_context;

extern const lumen_schedule_ops vk_schedule_ops;

/* All that a batch needs besides the memory of values. After a failure closing is due. */
int vk_batches_open(context *context, lumen_status *status);
void vk_batches_close(context *context);

/* Memory of the context's, as lumen_schedule_ops says. */
void *vk_allocate(context *context, uint64_t size, bool is_result);
void vk_release(context *context, void *memory);
/* The block that an address lies in; NULL: none. */
const vk_block *vk_block_of(const vk_context *state, const void *address);

/* Copies between a block and its twin, as part of the batch. */
int vk_record_carry(context *context, const vk_block *block, uint64_t offset, uint64_t size,
                    bool is_fetch, lumen_status *status);
int vk_fetch(context *context, const void *memory, uint64_t size, lumen_status *status);
/* Submits what is recorded, and waits for it. */
int vk_flush(context *context, lumen_status *status);
/* Submits what was recorded once more. */
int vk_submit_batch(context *context, lumen_status *status);

#endif

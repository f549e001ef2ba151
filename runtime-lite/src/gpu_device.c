/* gpu_device.c - see gpu_device.h. */
#define _GNU_SOURCE
#include "gpu_device.h"

#include "gpu_batch.h"
#include "rates.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int gpu_fail_memory(const gpu_device *device, const char *what, lumen_status *status) {
  return lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY, "%s: %s: no memory",
                    device->model->abi->name, what);
}

/* ---- Memory ------------------------------------------------------------- */

void gpu_block_close(const gpu_device *device, gpu_block *block) {
  if (block->is_reserved)
    munmap(block->address, block->size);
  device->api->memory_close(device, &block->own);
  device->api->memory_close(device, &block->twin);
  memset(block, 0, sizeof(*block));
}

bool gpu_block_open(const gpu_device *device, uint64_t size, gpu_place place, gpu_block *block) {
  const gpu_api *api = device->api;
  memset(block, 0, sizeof(*block));
  block->size = size = (size + LUMEN_ALIGNMENT) & ~(uint64_t)(LUMEN_ALIGNMENT - 1);
  bool ok = api->memory_open(device, size, place == gpu_of_host, &block->own);
  if (ok && place == gpu_of_both && !block->own.address)
    ok = api->memory_open(device, size, /*is_host=*/true, &block->twin);
  if (ok && block->own.address) {
    block->address = block->own.address;
    block->is_valid = true;
  } else if (ok && block->twin.address) {
    block->address = block->twin.address;
  } else if (ok) {
    void *reserved = mmap(NULL, size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    block->is_reserved = reserved != MAP_FAILED;
    block->address = block->is_reserved ? reserved : NULL;
  }
  if (!block->address)
    gpu_block_close(device, block);
  return block->address != NULL;
}

/* ---- What runs there ---------------------------------------------------- */

/* The form of a kernel for devices like this; NULL: there is none that fits. */
static const lumen_abi_variant *find_variant(const lumen_abi_model *abi, uint32_t kernel,
                                             const gpu_api *api, const gpu_limits *limits) {
  const lumen_abi_kernel *info = &abi->kernels[kernel];
  for (uint32_t v = 0; v < info->num_variants; ++v) {
    const lumen_abi_variant *variant = &info->variants[v];
    const lumen_abi_level *level = &abi->levels[variant->level];
    if (level->target == api->target && (!api->fits || api->fits(limits, level)) &&
        gpu_can_run(limits, info, variant))
      return variant;
  }
  return NULL;
}

double gpu_score(const lumen_abi_model *abi, const gpu_api *api, const gpu_limits *limits,
                 const lumen_device_info *info, const lumen_choice *choice,
                 const lumen_device_rates *rates, lumen_status *reason) {
  if (abi->guard) {
    (void)lumen_fail(reason, LUMEN_ERROR_UNSUPPORTED,
                     "%s: compiled with --sanitize=address, which checks the CPU's kernels",
                     abi->name);
    return 0;
  }
  lumen_routing routing = {.choice = *choice, .device = *rates, .is_shared = limits->is_mapped};
  bool *has_code = lumen_allocate(abi->num_kernels * sizeof(bool));
  if (!has_code) {
    (void)lumen_fail(reason, LUMEN_ERROR_OUT_OF_MEMORY, "%s: no memory to look at %s", abi->name,
                     info->name);
    return 0;
  }
  uint32_t fits = 0;
  for (uint32_t k = 0; k < abi->num_kernels; ++k)
    fits += has_code[k] = find_variant(abi, k, api, limits) != NULL;
  double speed = 0;
  if (!fits && abi->num_kernels) {
    (void)lumen_fail(reason, LUMEN_ERROR_UNSUPPORTED,
                     "%s: none of its %u kernels has code that %s can run", abi->name,
                     abi->num_kernels, info->name);
  } else {
    routing.has_code = has_code;
    lumen_rates_find(info->kind, info->name, &routing.device);
    lumen_host_rates(&routing.host);
    speed = lumen_routed_speed(abi, &routing);
  }
  free(has_code);
  return speed;
}

/* ---- Opening ------------------------------------------------------------ */

static int open_kernels(gpu_device *device, lumen_status *status) {
  const lumen_abi_model *abi = device->model->abi;
  device->kernels = calloc(abi->num_kernels + 1, sizeof(*device->kernels));
  device->variants = calloc(abi->num_kernels + 1, sizeof(*device->variants));
  device->has_code = lumen_allocate(abi->num_kernels * sizeof(bool));
  if (!device->kernels || !device->variants || !device->has_code)
    return gpu_fail_memory(device, "kernels", status);
  for (uint32_t k = 0; k < abi->num_kernels; ++k) {
    const lumen_abi_variant *variant = find_variant(abi, k, device->api, &device->limits);
    if (variant)
      device->kernels[k] =
          (gpu_kernel){.variant = variant,
                       .launch = variant->launch_info,
                       .num_bindings = gpu_count_bindings(&abi->kernels[k], variant)};
  }
  int code = device->api->load(device, status);
  device->level = abi->num_levels;
  uint32_t num_loaded = 0;
  for (uint32_t k = 0; k < abi->num_kernels; ++k) {
    const gpu_kernel *kernel = &device->kernels[k];
    num_loaded += kernel->is_loaded;
    if (kernel->is_loaded)
      device->level = kernel->variant->level;
    device->variants[k] = kernel->is_loaded ? kernel->variant : device->host.variants[k];
    device->has_code[k] = kernel->is_loaded;
  }
  if (!code && !num_loaded && abi->num_kernels)
    code = lumen_fail(status, LUMEN_ERROR_DEVICE,
                      "%s: the device's driver takes the code of none of its %u kernels", abi->name,
                      abi->num_kernels);
  return code;
}

static int by_offset(const void *a, const void *b) {
  const lumen_abi_storage *first = *(const lumen_abi_storage *const *)a;
  const lumen_abi_storage *second = *(const lumen_abi_storage *const *)b;
  return first->offset < second->offset ? -1 : first->offset > second->offset;
}

/* Appends a block of these bytes of the region. */
static int upload_block(gpu_device *device, gpu_constants *constants, uint64_t begin, uint64_t size,
                        lumen_status *status) {
  gpu_block *block = &constants->blocks[constants->num_blocks++];
  block->address = (char *)constants->base + begin;
  block->size = (size + LUMEN_ALIGNMENT - 1) & ~(uint64_t)(LUMEN_ALIGNMENT - 1);
  block->is_valid = true;
  if (!device->api->memory_open(device, block->size, /*is_host=*/false, &block->own))
    return gpu_fail_memory(device, "weights", status);
  constants->size += block->size;
  if (!block->own.address)
    return device->api->upload(device, block->address, size, block, status);
  memcpy(block->own.address, block->address, size);
  return LUMEN_OK;
}

/* Copies a region from the host, each storage to one block. */
static int upload(gpu_device *device, lumen_abi_region region, const char *base,
                  gpu_constants *constants, lumen_status *status) {
  const lumen_abi_model *abi = device->model->abi;
  const lumen_abi_storage **storages = calloc(abi->num_storages + 1, sizeof(*storages));
  uint32_t count = 0;
  for (uint32_t i = 0; storages && i < abi->num_storages; ++i)
    if (abi->storages[i].region == (uint32_t)region && abi->storages[i].size)
      storages[count++] = &abi->storages[i];
  constants->base = base;
  constants->blocks = calloc(count + 1, sizeof(*constants->blocks));
  int code = LUMEN_OK;
  if (!storages || !constants->blocks)
    code = gpu_fail_memory(device, "weights", status);
  else
    qsort(storages, count, sizeof(*storages), by_offset);
  for (uint32_t i = 0; i < count && !code;) {
    uint64_t begin = storages[i]->offset, end = begin;
    for (; i < count; ++i) {
      uint64_t after = storages[i]->offset + storages[i]->size;
      /* What is shared by two comes again. */
      if (after > end && after - begin > device->limits.max_allocation)
        break;
      end = after > end ? after : end;
    }
    if (end > begin)
      code = upload_block(device, constants, begin, end - begin, status);
    else
      ++i; /* too large */
  }
  free(storages);
  return code;
}

static void close_constants(const gpu_device *device, gpu_constants *constants) {
  for (uint32_t i = 0; i < constants->num_blocks; ++i)
    gpu_block_close(device, &constants->blocks[i]);
  free(constants->blocks);
}

/* What the model derives from its weights, made by the host. */
static int make_inits(gpu_device *device, lumen_status *status) {
  const lumen_abi_model *abi = device->model->abi;
  if (!abi->num_inits)
    return LUMEN_OK;
  device->init_bytes = lumen_allocate_large(abi->init_size);
  return device->init_bytes
             ? lumen_host_inits(device->model, &device->host, device->init_bytes, status)
             : gpu_fail_memory(device, "weights", status);
}

int gpu_open(gpu_device *device, const gpu_api *api, const model *model, uint32_t index,
             lumen_status *status) {
  device->api = api;
  device->model = model;
  int code = api->open(device, index, status);
  if (!code)
    code = lumen_host_kernels_open(&device->host, model, status);
  if (!code)
    code = open_kernels(device, status);
  if (!code)
    code = upload(device, LUMEN_ABI_WEIGHTS, model->weights, &device->weights, status);
  if (!code)
    code = make_inits(device, status);
  if (!code)
    code = upload(device, LUMEN_ABI_INIT, device->init_bytes, &device->init, status);
  return code;
}

void gpu_close(gpu_device *device) {
  close_constants(device, &device->weights);
  close_constants(device, &device->init);
  free(device->init_bytes);
  device->api->close(device);
  lumen_host_kernels_close(&device->host);
  free(device->kernels);
  free(device->variants);
  free(device->has_code);
}

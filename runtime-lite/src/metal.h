/* metal.h - Apple's Metal through the Objective-C runtime's C functions, so that the driver
 * builds without Apple's tools. 64-bit machines only.
 *
 * Selectors and numbers are those of Apple's "Metal" reference; how messages are sent is said
 * in "Objective-C Runtime", objc_msgSend: a call of the method's own type. No method here
 * returns a structure, which some machines want another function for. */
#ifndef LUMEN_METAL_H
#define LUMEN_METAL_H

#include "lumen.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct objc_object *metal_id;
typedef const struct objc_selector *metal_selector;

typedef struct metal_size {
  uint64_t width, height, depth;
} metal_size;
typedef struct metal_range {
  uint64_t begin, length;
} metal_range;

enum {
  metal_storage_shared = 0,        /* MTLResourceStorageModeShared */
  metal_storage_private = 2 << 4,  /* MTLResourceStorageModePrivate */
  metal_barrier_buffers = 1,       /* MTLBarrierScopeBuffers */
  metal_language_2_4 = 2 << 16 | 4 /* MTLLanguageVersion2_4 */
};
/* MTLCommandBufferStatus, MTLCommandBufferError */
enum { metal_status_completed = 4, metal_status_error = 5, metal_error_out_of_memory = 8 };

/* Every selector that is sent: X(name, text). */
#define LUMEN_METAL_SELECTORS(X)                                                                   \
  X(release, "release")                                                                            \
  X(count, "count")                                                                                \
  X(object_at, "objectAtIndex:")                                                                   \
  X(utf8, "UTF8String")                                                                            \
  X(string_of, "stringWithUTF8String:")                                                            \
  X(make, "new")                                                                                   \
  X(name, "name")                                                                                  \
  X(code, "code")                                                                                  \
  X(description, "localizedDescription")                                                           \
  X(has_unified_memory, "hasUnifiedMemory")                                                        \
  X(working_set, "recommendedMaxWorkingSetSize")                                                   \
  X(allocated, "currentAllocatedSize")                                                             \
  X(max_buffer, "maxBufferLength")                                                                 \
  X(max_shared, "maxThreadgroupMemoryLength")                                                      \
  X(set_language, "setLanguageVersion:")                                                           \
  X(set_fast_math, "setFastMathEnabled:")                                                          \
  X(new_library, "newLibraryWithSource:options:error:")                                            \
  X(new_function, "newFunctionWithName:")                                                          \
  X(new_pipeline, "newComputePipelineStateWithFunction:error:")                                    \
  X(max_threads, "maxTotalThreadsPerThreadgroup")                                                  \
  X(new_buffer, "newBufferWithLength:options:")                                                    \
  X(contents, "contents")                                                                          \
  X(new_queue, "newCommandQueue")                                                                  \
  X(command_buffer, "commandBuffer")                                                               \
  X(compute_encoder, "computeCommandEncoder")                                                      \
  X(blit_encoder, "blitCommandEncoder")                                                            \
  X(set_pipeline, "setComputePipelineState:")                                                      \
  X(set_buffer, "setBuffer:offset:atIndex:")                                                       \
  X(dispatch, "dispatchThreadgroups:threadsPerThreadgroup:")                                       \
  X(barrier, "memoryBarrierWithScope:")                                                            \
  X(copy, "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:")                          \
  X(fill, "fillBuffer:range:value:")                                                               \
  X(end_encoding, "endEncoding")                                                                   \
  X(commit, "commit")                                                                              \
  X(wait, "waitUntilCompleted")                                                                    \
  X(status, "status")                                                                              \
  X(error, "error")

typedef struct lumen_metal {
  bool is_open;
  metal_id devices;        /* an array of them; NULL: there is one, */
  metal_id default_device; /* this */
  void (*send)(void);
  metal_id (*get_class)(const char *);
  metal_id (*retain)(metal_id);
  void *(*push_pool)(void);
  void (*pop_pool)(void *);
#define X(name, text) metal_selector name;
  LUMEN_METAL_SELECTORS(X)
#undef X
} lumen_metal;

/* Opened at the first call, for good. NULL: `status` says what is missing. Thread-safe. */
const lumen_metal *lumen_metal_open(lumen_status *status);

/* The method that a message calls, of the type `result (arguments...)`. */
#define METAL_SEND(metal, result, ...)                                                             \
  ((result (*)(metal_id, metal_selector, ##__VA_ARGS__))(metal)->send)

/* Methods without arguments. */
static inline metal_id metal_get(const lumen_metal *metal, metal_id object, metal_selector what) {
  return METAL_SEND(metal, metal_id)(object, what);
}
static inline uint64_t metal_number(const lumen_metal *metal, metal_id object,
                                    metal_selector what) {
  return METAL_SEND(metal, uint64_t)(object, what);
}
static inline void metal_do(const lumen_metal *metal, metal_id object, metal_selector what) {
  METAL_SEND(metal, void)(object, what);
}
static inline void metal_release(const lumen_metal *metal, metal_id object) {
  if (object)
    metal_do(metal, object, metal->release);
}

/* Devices are there as long as the process. NULL: there are not so many. */
metal_id metal_device_at(const lumen_metal *metal, uint32_t index);

/* Until the pool that is open is popped. */
metal_id metal_string(const lumen_metal *metal, const char *text);
/* What an NSError says; never NULL. */
const char *metal_reason(const lumen_metal *metal, metal_id error);

#ifdef __cplusplus
}
#endif
#endif

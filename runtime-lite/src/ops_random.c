/* ops_random.c - keys of random numbers. */
#define _GNU_SOURCE
#include "call.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

/* Spreads each bit over all others. */
static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

static int first_state(const frame *frame, uint64_t *state) {
  const char *text = getenv("LUMEN_SEED");
  if (text && *text) {
    char *end;
    *state = mix(strtoull(text, &end, 0));
    if (*end)
      return lumen_call_fail(frame, LUMEN_ERROR_INVALID_ARGUMENT,
                             "LUMEN_SEED is '%s', expected a number", text);
    return LUMEN_OK;
  }
  if (getrandom(state, sizeof(*state), GRND_NONBLOCK) != (ssize_t)sizeof(*state)) {
    struct timespec now; /* before the system has any entropy */
    clock_gettime(CLOCK_REALTIME, &now);
    *state = mix((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
  }
  return LUMEN_OK;
}

int lumen_call_random_key(frame *frame) {
  lumen_storages *storages = frame->storages;
  if (!storages->has_random) {
    int code = first_state(frame, &storages->random);
    if (code)
      return code;
    storages->has_random = true;
  }
  lumen_reader reader = lumen_attributes(frame);
  uint64_t stream = (uint64_t)lumen_read_integer(&reader);
  uint64_t key = mix(++storages->random ^ mix(stream));
  void *memory;
  int code = lumen_return_memory(frame, 0, 0, NULL, &memory);
  if (!code)
    memcpy(memory, &key, sizeof(key));
  return code;
}

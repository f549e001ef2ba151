/* Continues a sequence of tokens, greedily, with a decoder whose caches of keys and
 * values grow by a token a run. The caches are this program's memory: a run reads
 * one half and writes the other.
 *
 *   lumenc gpt-kv.onnx -o model.so
 *   gcc main.c -o decoder && ./decoder 12 700 600 500 400
 */
#include "lumen.h"
#include <stdio.h>
#include <stdlib.h>

enum { kLayers = 2, kHeads = 4, kWidth = 32, kVocabulary = 1000, kMost = 256 };
enum { kCaches = 2 * kLayers }; /* keys and values of each layer */

static float caches[2][kCaches][kHeads * kMost * kWidth];

static int64_t largest(const float *values, int64_t count) {
  int64_t best = 0;
  for (int64_t i = 1; i < count; ++i)
    if (values[i] > values[best])
      best = i;
  return best;
}

int main(int argc, char **argv) {
  int64_t count = argc > 1 ? atoll(argv[1]) : 0;
  if (argc < 3 || count < 1 || count + argc > kMost)
    return fprintf(stderr, "usage: decoder COUNT TOKEN...\n"), 2;

  lumen_status status;
  lumen_model *model;
  lumen_context *context;
  if (lumen_open("./model.so", NULL, &model, &status) ||
      lumen_context_create(model, NULL, &context, &status))
    return fprintf(stderr, "%s\n", status.message), 1;

  int64_t tokens[kMost], mask[kMost], positions[kMost];
  int64_t length = 0, past = 0;
  for (int i = 2; i < argc; ++i)
    tokens[length++] = atoll(argv[i]);
  for (int64_t i = 0; i < kMost; ++i) {
    mask[i] = 1;
    positions[i] = i;
  }

  for (int turn = 0; count > 0; turn = !turn, --count) {
    /* The model sees what is not in its caches yet: all tokens, then one a run. */
    int64_t now[] = {1, length - past}, all[] = {1, length};
    int64_t before[] = {1, kHeads, past, kWidth};
    lumen_value in[3 + kCaches] = {lumen_tensor_value(tokens + past, LUMEN_I64, 2, now),
                                   lumen_tensor_value(mask, LUMEN_I64, 2, all),
                                   lumen_tensor_value(positions + past, LUMEN_I64, 2, now)};
    lumen_value out[1 + kCaches] = {{0}}; /* the first one is the context's */
    for (int i = 0; i < kCaches; ++i) {
      in[3 + i] = lumen_tensor_value(caches[turn][i], LUMEN_F32, 4, before);
      out[1 + i] = lumen_output_buffer(caches[!turn][i], sizeof caches[!turn][i]);
    }
    if (lumen_run(context, in, 3 + kCaches, out, 1 + kCaches, &status))
      return fprintf(stderr, "%s\n", status.message), 1;
    const float *logits = (const float *)out[0].u.tensor.data;
    int64_t next = largest(logits + (length - past - 1) * kVocabulary, kVocabulary);
    past = length;
    tokens[length++] = next;
    printf("%lld%c", (long long)next, count > 1 ? ' ' : '\n');
  }

  lumen_context_free(context);
  lumen_model_free(model);
}

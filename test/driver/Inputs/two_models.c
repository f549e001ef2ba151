/* Two models in one process, each run by two threads at once: every run must
 * give what the first, quiet run gave. With -DLINKED the models are linked in,
 * else the arguments name the files to load. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef LINKED
#include "mlp_small.h"
#include "small.h"
#else
#include "lumen.h"
#endif

enum { MODELS = 2, THREADS = 2, RUNS = 50, MAX = 1 << 20 };

static lumen_model *models[MODELS];
static float *input, *expected[MODELS];
static uint64_t sizes[MODELS]; /* bytes of the outputs */

static int run(lumen_context *context, lumen_model *model, lumen_value *output) {
  lumen_status status;
  uint32_t count;
  const lumen_value_info *info = lumen_inputs(model->module, &count);
  int64_t shape[8];
  for (int32_t i = 0; i < info->rank; ++i)
    shape[i] = info->dims[i].extent;
  lumen_value value = lumen_tensor_value(input, LUMEN_F32, info->rank, shape);
  if (lumen_run(context, &value, 1, output, 1, &status))
    return fprintf(stderr, "%s\n", status.message), 1;
  return 0;
}

static uint64_t bytes_of(const lumen_value *value) {
  uint64_t bytes = sizeof(float);
  for (int32_t i = 0; i < value->u.tensor.ndim; ++i)
    bytes *= (uint64_t)value->u.tensor.shape[i];
  return bytes;
}

static void *worker(void *argument) {
  int number = (int)(intptr_t)argument;
  lumen_status status;
  lumen_context *context;
  intptr_t wrong = lumen_context_create(models[number], NULL, &context, &status);
  for (int i = 0; i < RUNS && !wrong; ++i) {
    lumen_value output = {0};
    wrong = run(context, models[number], &output) ||
            memcmp(output.u.tensor.data, expected[number], sizes[number]) != 0;
  }
  lumen_context_free(context);
  return (void *)wrong;
}

int main(int argc, char **argv) {
  lumen_status status;
  input = malloc(MAX * sizeof(float));
  for (int i = 0; i < MAX; ++i)
    input[i] = (float)(i * 7919 % 2000) / 1000 - 1;
#ifdef LINKED
  (void)argc, (void)argv;
  int code = small_open(NULL, &models[0], &status);
  code = code ? code : mlp_small_open(NULL, &models[1], &status);
#else
  int code = argc == 3 ? lumen_open(argv[1], NULL, &models[0], &status) : -1;
  code = code ? code : lumen_open(argv[2], NULL, &models[1], &status);
#endif
  if (code)
    return fprintf(stderr, "%s\n", status.message), 1;

  for (int i = 0; i < MODELS; ++i) {
    lumen_context *context;
    lumen_value output = {0};
    if (lumen_context_create(models[i], NULL, &context, &status) ||
        run(context, models[i], &output))
      return 1;
    sizes[i] = bytes_of(&output);
    expected[i] = malloc(sizes[i]);
    memcpy(expected[i], output.u.tensor.data, sizes[i]);
    lumen_context_free(context);
  }

  pthread_t threads[MODELS * THREADS];
  for (int i = 0; i < MODELS * THREADS; ++i)
    pthread_create(&threads[i], NULL, worker, (void *)(intptr_t)(i % MODELS));
  intptr_t wrong = 0;
  for (int i = 0; i < MODELS * THREADS; ++i) {
    void *result;
    pthread_join(threads[i], &result);
    wrong |= (intptr_t)result;
  }
  for (int i = 0; i < MODELS; ++i) {
    lumen_model_free(models[i]);
    free(expected[i]);
  }
  free(input);
  printf("%s\n", wrong ? "different answers" : "same answers");
  return wrong != 0;
}

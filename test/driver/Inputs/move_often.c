/* Moves a model, one float input of 8x64, between the CPU and a Vulkan device 100 times, with
 * a run after each move; then two threads run a model each, on a device each. All runs must
 * give what the CPU gave, and memory must not grow. LUMEN_FALL_BACK is on. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lumen.h"

enum { ROWS = 8, COLUMNS = 64, COUNT = ROWS * COLUMNS, MOVES = 100, WARM_UP = 20, RUNS = 50 };

static float input[COUNT], expected[COUNT];

/* 0 where a run gives `expected`, within what rounding may change. */
static int check(lumen_context *context) {
  lumen_status status;
  int64_t shape[] = {ROWS, COLUMNS};
  lumen_value value = lumen_tensor_value(input, LUMEN_F32, 2, shape), output = {0};
  if (lumen_run(context, &value, 1, &output, 1, &status))
    return fprintf(stderr, "%s\n", status.message), 1;
  const float *found = output.u.tensor.data;
  for (int i = 0; i < COUNT; ++i)
    if (!(fabsf(found[i] - expected[i]) < 1e-4f))
      return fprintf(stderr, "%g, expected %g\n", found[i], expected[i]), 1;
  return 0;
}

static long resident_kib(void) {
  long all = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%ld %ld", &all, &resident) != 2)
    return 0;
  fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void *run_often(void *model) {
  lumen_status status;
  lumen_context *context = NULL;
  intptr_t wrong = lumen_context_create(model, NULL, &context, &status) != 0;
  for (int i = 0; i < RUNS && !wrong; ++i)
    wrong = check(context);
  lumen_context_free(context);
  return (void *)wrong;
}

int main(int argc, char **argv) {
  lumen_status status;
  lumen_model *models[2] = {NULL, NULL};
  lumen_model_options options = {.device = "cpu", .num_threads = 1, .flags = LUMEN_FALL_BACK};
  lumen_context *context = NULL;
  for (int i = 0; i < COUNT; ++i)
    input[i] = (float)(i * 7919 % 2000) / 1000 - 1;
  if (argc != 2 || lumen_open(argv[1], &options, &models[0], &status) ||
      lumen_open(argv[1], &options, &models[1], &status) ||
      lumen_context_create(models[0], NULL, &context, &status))
    return fprintf(stderr, "%s\n", argc == 2 ? status.message : "expected a model"), 1;
  int64_t shape[] = {ROWS, COLUMNS};
  lumen_value value = lumen_tensor_value(input, LUMEN_F32, 2, shape), output = {0};
  if (lumen_run(context, &value, 1, &output, 1, &status))
    return fprintf(stderr, "%s\n", status.message), 1;
  memcpy(expected, output.u.tensor.data, sizeof(expected));

  int wrong = 0, on_cpu = 0;
  long before = 0;
  for (int i = 0; i < MOVES && !wrong; ++i) {
    if (i == WARM_UP)
      before = resident_kib();
    lumen_model_info info;
    wrong = lumen_model_set_device(models[0], i % 2 ? "cpu" : "vulkan", &status);
    if (wrong)
      fprintf(stderr, "%s\n", status.message);
    else
      wrong = check(context);
    lumen_model_get_info(models[0], &info);
    on_cpu += strncmp(info.level, "vulkan", 6) != 0;
  }
  long growth = resident_kib() - before;
  printf("%d of %d runs ended on the CPU, memory %s\n", on_cpu, MOVES,
         growth > 2048 ? "grew" : "is flat");
  if (growth > 2048)
    fprintf(stderr, "by %ld KiB\n", growth);

  pthread_t threads[2];
  wrong |= lumen_model_set_device(models[1], "vulkan", &status) != 0;
  for (int i = 0; i < 2; ++i)
    pthread_create(&threads[i], NULL, run_often, models[i]);
  for (int i = 0; i < 2; ++i) {
    void *result;
    pthread_join(threads[i], &result);
    wrong |= result != NULL;
  }
  lumen_context_free(context);
  lumen_model_free(models[0]);
  lumen_model_free(models[1]);
  printf("%s\n", wrong ? "different answers" : "same answers");
  return wrong != 0;
}

/* Runs two models at the same time, each on two threads with a context of its
 * own. Also compiled as C++. With two arguments the artifacts are loaded from
 * these files, else they are linked in. Model `one` doubles, `two` triples. */
#include "one.h"
#include "two.h"

#include <pthread.h>
#include <stdio.h>

typedef struct task {
  lumen_model *model;
  float factor;
  int failed;
} task;

static void *run(void *argument) {
  task *t = (task *)argument;
  lumen_status status;
  lumen_context *context;
  t->failed = 1;
  if (lumen_context_create(t->model, NULL, &context, &status)) {
    fprintf(stderr, "%s\n", status.message);
    return NULL;
  }
  int wrong = 0;
  for (int i = 0; i < 1000 && !wrong; ++i) {
    float x[4] = {1, 2, -3, (float)i}, y[4] = {0, 0, 0, 0};
    lumen_value input = one_input_x(x), output = one_output_y(y);
    if (lumen_run(context, &input, ONE_NUM_INPUTS, &output, ONE_NUM_OUTPUTS, &status)) {
      fprintf(stderr, "%s\n", status.message);
      wrong = 1;
    }
    for (int k = 0; k < 4; ++k)
      wrong |= y[k] != x[k] * t->factor;
  }
  lumen_context_free(context);
  t->failed = wrong;
  return NULL;
}

int main(int argc, char **argv) {
  lumen_status status;
  lumen_model *models[2];
#ifdef LINKED
  (void)argc;
  (void)argv;
  if (one_open(NULL, &models[0], &status) || two_open(NULL, &models[1], &status))
#else
  if (argc != 3 || lumen_open(argv[1], NULL, &models[0], &status) ||
      lumen_open(argv[2], NULL, &models[1], &status))
#endif
    return fprintf(stderr, "%s\n", status.message), 1;
  if (models[0]->module == models[1]->module || models[0]->api == models[1]->api)
    return fprintf(stderr, "the models share a runtime\n"), 1;

  task tasks[4];
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) {
    tasks[i].model = models[i % 2];
    tasks[i].factor = i % 2 ? 3.0f : 2.0f;
    if (pthread_create(&threads[i], NULL, run, &tasks[i]))
      return fprintf(stderr, "no thread\n"), 1;
  }
  int failed = 0;
  for (int i = 0; i < 4; ++i) {
    pthread_join(threads[i], NULL);
    failed |= tasks[i].failed;
  }
  lumen_model_free(models[0]);
  lumen_model_free(models[1]);
  return failed;
}

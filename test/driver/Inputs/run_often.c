/* run_often MODEL.so: prints the allocations of a hundred runs after the first. */
#define _GNU_SOURCE
#include "lumen.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  lumen_status status;
  lumen_model *model;
  lumen_context *context;
  long (*allocation_count)(void) = (long (*)(void))dlsym(RTLD_DEFAULT, "allocation_count");
  if (argc != 2 || !allocation_count)
    return fprintf(stderr, "usage: LD_PRELOAD=count_allocations.so run_often MODEL.so\n"), 1;
  if (lumen_open(argv[1], NULL, &model, &status) ||
      lumen_context_create(model, NULL, &context, &status))
    return fprintf(stderr, "%s\n", status.message), 1;
  uint32_t count;
  const lumen_value_info *info = lumen_inputs(model->module, &count);
  int64_t shape[8], elements = 1;
  for (int32_t i = 0; i < info->rank; ++i)
    elements *= shape[i] = info->dims[i].extent;
  lumen_value input =
      lumen_tensor_value(calloc(elements, sizeof(float)), LUMEN_F32, info->rank, shape);
  lumen_value output = {0};
  long before = 0;
  for (int i = 0; i <= 100; ++i) {
    if (lumen_run(context, &input, 1, &output, 1, &status))
      return fprintf(stderr, "%s\n", status.message), 1;
    if (i == 0)
      before = allocation_count();
  }
  printf("counter works: %d\nallocations: %ld\n", before > 0, allocation_count() - before);
  return 0;
}

/* run_shapes MODEL.so INPUTS...: runs on each set of inputs, twice over. A set is the shapes
 * of the inputs, whose elements are all 1, and the values of scalars: 2x8,2x8,5. Prints the
 * allocations of the second round. */
#define _GNU_SOURCE
#include "lumen.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_VALUES = 16, MAX_RANK = 8 };

typedef struct {
  int64_t shape[MAX_RANK];
  void *data;
  lumen_value value;
} input_t;

static void set_element(void *data, uint32_t dtype, int64_t i, double value) {
  if (dtype == LUMEN_F32)
    ((float *)data)[i] = (float)value;
  else if (dtype == LUMEN_I64)
    ((int64_t *)data)[i] = (int64_t)value;
  else if (dtype == LUMEN_I32)
    ((int32_t *)data)[i] = (int32_t)value;
  else
    ((char *)data)[i] = (char)value;
}

/* Reads the shape or value of one input; returns where the next starts. */
static const char *parse(const char *text, const lumen_value_info *info, input_t *input) {
  int64_t elements = 1;
  double element = 1;
  for (int32_t d = 0; d < info->rank; ++d) {
    char *end;
    input->shape[d] = strtoll(text, &end, 10);
    elements *= input->shape[d];
    text = end + (*end == 'x');
  }
  if (info->rank == 0) {
    char *end;
    element = strtod(text, &end);
    text = end;
  }
  input->data = calloc(elements ? elements : 1, 8);
  for (int64_t i = 0; i < elements; ++i)
    set_element(input->data, info->dtype, i, element);
  input->value =
      lumen_tensor_value(input->data, (lumen_dtype)info->dtype, info->rank, input->shape);
  return text + (*text == ',');
}

int main(int argc, char **argv) {
  lumen_status status;
  lumen_model *model;
  lumen_context *context;
  long (*allocation_count)(void) = (long (*)(void))dlsym(RTLD_DEFAULT, "allocation_count");
  if (argc < 3 || !allocation_count)
    return fprintf(stderr, "usage: LD_PRELOAD=count_allocations.so run_shapes MODEL.so INPUTS\n"),
           1;
  if (lumen_open(argv[1], NULL, &model, &status) ||
      lumen_context_create(model, NULL, &context, &status))
    return fprintf(stderr, "%s\n", status.message), 1;
  uint32_t num_inputs, num_outputs;
  const lumen_value_info *infos = lumen_inputs(model->module, &num_inputs);
  lumen_outputs(model->module, &num_outputs);
  int num_sets = argc - 2;
  input_t(*sets)[MAX_VALUES] = calloc(num_sets, sizeof(*sets));
  for (int set = 0; set < num_sets; ++set) {
    const char *text = argv[2 + set];
    for (uint32_t i = 0; i < num_inputs; ++i)
      text = parse(text, &infos[i], &sets[set][i]);
  }
  lumen_value outputs[MAX_VALUES] = {0};
  long before = 0, first = 0;
  for (int round = 0; round < 2; ++round) {
    first = allocation_count() - before;
    before = allocation_count();
    for (int set = 0; set < num_sets; ++set) {
      lumen_value inputs[MAX_VALUES];
      for (uint32_t i = 0; i < num_inputs; ++i)
        inputs[i] = sets[set][i].value;
      if (lumen_run(context, inputs, num_inputs, outputs, num_outputs, &status))
        return fprintf(stderr, "%s: %s\n", argv[2 + set], status.message), 1;
    }
  }
  printf("counter works: %d\nallocations: %ld\n", first > 0, allocation_count() - before);
  return 0;
}

/* Runs a linked model on one input and prints the largest output. */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>

int main(void) {
  lumen_status status;
  lumen_model *model = NULL;
  lumen_context *context = NULL;
  if (model_open(NULL, &model, &status) || lumen_context_create(model, NULL, &context, &status))
    return fprintf(stderr, "%s\n", status.message), 1;

  uint32_t count;
  const lumen_value_info *info = lumen_inputs(model->module, &count);
  int64_t shape[8], elements = 1;
  for (int32_t i = 0; i < info->rank; ++i)
    elements *= shape[i] = info->dims[i].extent;
  float *data = malloc(elements * sizeof(float));
  for (int64_t i = 0; i < elements; ++i)
    data[i] = (float)(i % 17) / 8 - 1;

  lumen_value in = lumen_tensor_value(data, LUMEN_F32, info->rank, shape), out = {0};
  if (lumen_run(context, &in, 1, &out, 1, &status))
    return fprintf(stderr, "%s\n", status.message), 1;

  const float *result = out.u.tensor.data; /* the context's, until its next run */
  int64_t best = 0, size = 1;
  for (int32_t i = 0; i < out.u.tensor.ndim; ++i)
    size *= out.u.tensor.shape[i];
  for (int64_t i = 1; i < size; ++i)
    best = result[i] > result[best] ? i : best;
  printf("largest of %lld outputs: number %lld\n", (long long)size, (long long)best);
  free(data);
  lumen_context_free(context);
  lumen_model_free(model);
  return 0;
}

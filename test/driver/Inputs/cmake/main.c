/* Opens two models and prints the name of the first input of each. */
#include "image_classifier.h"
#ifdef SHARED
#include "shared_data.h"
#define data_open shared_data_open
#else
#include "with_data.h"
#define data_open with_data_open
#endif

#include <stdio.h>

int main(void) {
  lumen_status status;
  lumen_model *classifier = NULL, *data = NULL;
  uint32_t count;
  if (image_classifier_open(NULL, &classifier, &status) || data_open(NULL, &data, &status))
    return fprintf(stderr, "%s\n", status.message), 1;
  printf("inputs %s and %s\n", lumen_inputs(classifier->module, &count)->name,
         lumen_inputs(data->module, &count)->name);
  lumen_model_free(classifier);
  lumen_model_free(data);
  return 0;
}

/* The public headers, alone and twice. */
#include "lumen.h"
#include "lumen.h"
#include "lumen_abi.h"
#include "lumen_calls.h"

int main(void) {
  lumen_model *model = NULL;
#ifndef LUMEN_NO_DLOPEN
  if (lumen_open("model.so", NULL, &model, NULL))
    return 1;
#endif
  lumen_model_free(model);
  return 0;
}

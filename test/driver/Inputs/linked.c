/* Runs the linked model `small` on one input file and writes its output, as raw
 * f32: linked INPUT OUTPUT. Compiled as C and as C++. */
#include "small.h"

#include <stdio.h>

static float pixels[SMALL_INPUT_INPUT_BYTES / sizeof(float)];
static float scores[SMALL_OUTPUT_OUTPUT_BYTES / sizeof(float)];

int main(int argc, char **argv) {
  FILE *in = argc == 3 ? fopen(argv[1], "rb") : NULL;
  if (!in || fread(pixels, 1, sizeof(pixels), in) != sizeof(pixels))
    return fprintf(stderr, "usage: linked INPUT OUTPUT\n"), 1;
  fclose(in);

  lumen_status status;
  lumen_model *model = NULL;
  lumen_context *context = NULL;
  if (small_open(NULL, &model, &status) || lumen_context_create(model, NULL, &context, &status))
    return fprintf(stderr, "%s\n", status.message), 1;
  lumen_value input = small_input_input(pixels), output = small_output_output(scores);
  if (lumen_run(context, &input, 1, &output, 1, &status))
    return fprintf(stderr, "%s\n", status.message), 1;
  lumen_context_free(context);
  lumen_model_free(model);

  FILE *out = fopen(argv[2], "wb");
  return !out || fwrite(scores, 1, sizeof(scores), out) != sizeof(scores) || fclose(out);
}

/* A consumer of an artifact in C, as the header describes it; called by the test. */
#include "sinter/abi/artifact.h"

#include <stdio.h>
#include <string.h>

const sinter_artifact_api *step_api(void);

/* Runs the entry on three rows of ones; returns 0 and the last row on success. */
int runFromC(float last[4]) {
  const sinter_artifact_api *step = step_api();
  sinter_instance *model = NULL;
  if (step->create(step, NULL, &model) != SINTER_OK)
    return fprintf(stderr, "%s\n", step->last_error()), 1;
  float x[3][4], y[3][4], total[4];
  for (int i = 0; i < 12; ++i)
    x[i / 4][i % 4] = 1;
  sinter_tensor input = {x, (int64_t[]){3, 4}, 2, SINTER_F32};
  sinter_tensor outputs[] = {{y, (int64_t[]){3, 4}, 2, SINTER_F32},
                             {total, (int64_t[]){4}, 1, SINTER_F32}};
  int code = step->run(model, step->find_entry(step, "step"), &input, 1, outputs, 2);
  if (code != SINTER_OK)
    fprintf(stderr, "%s\n", step->last_error());
  memcpy(last, y[2], sizeof y[2]);
  step->destroy(model);
  return code;
}

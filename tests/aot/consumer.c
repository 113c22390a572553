/* A tiny consumer of the digits artifact, in C99: prints what it makes of one image. */
#include HEADER

#include <stdio.h>

#define JOIN(a, b) a##b
#define API(name) JOIN(name, _api)

int main(void) {
  const sinter_artifact_api *digits = API(NAME)();
  sinter_instance *model = NULL;
  float image[28 * 28], probability[10], sum = 0;
  int64_t image_dims[] = {1, 1, 28, 28}, probability_dims[] = {1, 10};
  sinter_tensor input = {image, image_dims, 4, SINTER_F32};
  sinter_tensor output = {probability, probability_dims, 2, SINTER_F32};
  int i, best = 0;
  if (digits->create(digits, NULL, &model) != SINTER_OK)
    return fprintf(stderr, "%s\n", digits->last_error()), 1;
  for (i = 0; i < 28 * 28; ++i)
    image[i] = (float)(i % 13) / 13;
  if (digits->run(model, digits->find_entry(digits, "classify"), &input, 1, &output, 1))
    return fprintf(stderr, "%s\n", digits->last_error()), 1;
  for (i = 0; i < 10; ++i) {
    sum += probability[i];
    if (probability[i] > probability[best])
      best = i;
  }
  printf("%d with probability %.3f, all together %.3f\n", best, probability[best], sum);
  digits->destroy(model);
  return 0;
}

/* Artifacts as other releases or for other processors would be: built with one of the names below.
 */
#include "sinter/abi/artifact.h"

static const unsigned char program[] = {0};

#ifdef OF_OLD_COMPILER
static const sinter_artifact_image image = {
    .abi_version = 77, .name = "old", .program = program, .program_size = sizeof program};
const sinter_artifact_api *old_api(void);
__attribute__((visibility("default"))) const sinter_artifact_api *old_api(void) {
  return sinter_artifact_open(&image);
}
#else /* a runtime of a later release inside */
static const sinter_artifact_api table = {.abi_version = 78, .size = sizeof table};
const sinter_artifact_api *later_api(void);
__attribute__((visibility("default"))) const sinter_artifact_api *later_api(void) {
  (void)program;
  return &table;
}
#endif

#ifndef JPEER_POLICY_PRESETS_H
#define JPEER_POLICY_PRESETS_H
/*
 * The presets (docs/policy.md, "Presets"): the files of presets/, embedded in the binary, as dangerous.yaml
 * is. The build makes the table from the list in policy/CMakeLists.txt and keeps its order. Constant: any
 * thread.
 */
#include "base/text.h"

#include <stdint.h>

struct policy_preset {
  const char *name;          /* "deny-unsafe" */
  const unsigned char *yaml; /* the file, byte for byte */
  size_t size;
};

extern const struct policy_preset policy_presets[]; /* at most 32: a set of them has 32 bits */
extern const size_t policy_preset_count;
extern const char policy_preset_names[]; /* "deny-unsafe, ...", for error messages */

/* dangerous.yaml, byte for byte; policy/dangerous.h reads it. */
extern const unsigned char policy_dangerous_yaml[];
extern const size_t policy_dangerous_size;

#endif

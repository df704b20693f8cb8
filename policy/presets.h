#ifndef JPEER_POLICY_PRESETS_H
#define JPEER_POLICY_PRESETS_H
/*
 * The presets: the files of presets/, carried in the binary (policy.md, "Presets"). The table is made at
 * build time from policy/CMakeLists.txt's list, whose order it keeps. Constant: any thread.
 */
#include "base/text.h"

#include <stdint.h>

struct policy_preset {
  const char *name;          /* "deny-unsafe" */
  const unsigned char *yaml; /* the file, byte for byte */
  size_t size;
};

extern const struct policy_preset policy_presets[]; /* at most 32, for sets of them are 32 bits */
extern const size_t policy_preset_count;
extern const char policy_preset_names[]; /* all of them, for error messages: "deny-unsafe, ..." */

/* The preset's index, or SIZE_MAX. */
size_t policy_preset_find(struct text name);

#endif

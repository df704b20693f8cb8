#include "policy/presets.h"

size_t policy_preset_find(struct text name)
{
  for (size_t i = 0; i < policy_preset_count; i++)
    if (text_equal(text_of(policy_presets[i].name), name))
      return i;
  return SIZE_MAX;
}

#include "policy/rules.h"
#include "policy/vocabulary.h"

uint32_t policy_combinations(unsigned category_set, unsigned visibility_set)
{
  uint32_t combinations = 0;
  for (unsigned category = 0; category < POLICY_CATEGORIES; category++)
    if ((category_set & 1u << category) != 0)
      combinations |= (visibility_set & POLICY_ALL_VISIBILITIES) << (category * POLICY_VISIBILITIES);
  return combinations;
}

#include "classfile/modifiers.h"

#include <stddef.h>
#include <string.h>

/* In the order of Modifier.toString. */
static const struct {
  uint16_t flag;
  const char *word;
} words[] = {{0x0001, "public"},       {0x0004, "protected"}, {0x0002, "private"},   {0x0400, "abstract"},
             {0x0008, "static"},       {0x0010, "final"},     {0x0080, "transient"}, {0x0040, "volatile"},
             {0x0020, "synchronized"}, {0x0100, "native"},    {0x0800, "strictfp"},  {0x0200, "interface"}};

/* A bit's meaning depends on the kind (0x0080: a transient field, a method of variable arity). */
static const uint16_t masks[] = {
    [MODIFIERS_OF_CLASS] = 0x0E1F,
    [MODIFIERS_OF_FIELD] = 0x00DF,
    [MODIFIERS_OF_METHOD] = 0x0D3F,
    [MODIFIERS_OF_PARAMETER] = 0x0010,
};

void modifiers_format(uint16_t access, enum modifiers_of of, char out[MODIFIERS_TEXT_MAX])
{
  char *end = out;
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if ((access & masks[of] & words[i].flag) == 0)
      continue;
    if (end > out)
      *end++ = ' ';
    end = stpcpy(end, words[i].word);
  }
  *end = '\0';
}

#include "op/outcome.h"

#include <stdarg.h>
#include <stdio.h>

void outcome_fail(struct outcome *outcome, struct arena *arena, enum outcome_failure failure,
                  const char *throwable_type, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  va_list again;
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  char *text = length < 0 ? NULL : arena_alloc(arena, (size_t)length + 1);
  if (text != NULL)
    vsnprintf(text, (size_t)length + 1, format, again);
  va_end(again);

  *outcome = (struct outcome){.kind = OUTCOME_ERROR, .failure = failure};
  outcome->message = text == NULL ? TEXT("out of memory") : (struct text){text, (size_t)length};
  outcome->throwable_type = throwable_type == NULL ? TEXT_ABSENT : text_of(throwable_type);
}

#include "op/outcome.h"

#include <stdarg.h>

void outcome_fail(struct outcome *outcome, struct arena *arena, enum outcome_failure failure,
                  const char *throwable_type, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  struct text message = arena_vprintf(arena, format, args);
  va_end(args);

  *outcome = (struct outcome){.kind = OUTCOME_ERROR, .failure = failure};
  outcome->message = message.data == NULL ? TEXT("out of memory") : message;
  outcome->throwable_type = throwable_type == NULL ? TEXT_ABSENT : text_of(throwable_type);
}

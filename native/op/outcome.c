#include "op/outcome.h"

#include <stdarg.h>

void outcome_fail(struct outcome *outcome, struct arena *arena, enum outcome_failure failure,
                  const char *throwable_type, const char *format, ...)
{
  char text[OUTCOME_MESSAGE_MAX + sizeof "..."];
  va_list args;
  va_start(args, format);
  size_t length = text_format_va(text, sizeof text, format, args);
  va_end(args);
  struct text message = arena_text(arena, (struct text){text, length});
  if (message.data == NULL) {
    outcome_fail_memory(outcome);
    return;
  }
  *outcome = (struct outcome){.kind = OUTCOME_ERROR, .failure = failure, .message = message};
  outcome->throwable_type = throwable_type == NULL ? TEXT_ABSENT : text_of(throwable_type);
}

enum jp_status outcome_fail_memory(struct outcome *outcome)
{
  *outcome =
      (struct outcome){.kind = OUTCOME_ERROR, .failure = FAILURE_INTERNAL, .message = TEXT("out of memory")};
  return JP_NO_MEMORY;
}

enum jp_status outcome_fail_error(struct outcome *outcome, struct arena *arena, const struct jp_error *error)
{
  bool is_internal = error->status == JP_NO_MEMORY || error->status == JP_INTERNAL;
  outcome_fail(outcome, arena, is_internal ? FAILURE_INTERNAL : FAILURE_SERVER, NULL, "%s", error->text);
  outcome->is_limit = error->status == JP_LIMIT;
  return error->status;
}

void outcome_fail_stale(struct outcome *outcome)
{
  *outcome = (struct outcome){
      .kind = OUTCOME_ERROR,
      .failure = FAILURE_SERVER,
      .message = TEXT("the request is for another epoch of this session: the peer was started "
                      "again, or the session is not the one that the refs are of"),
      .reason = TEXT("stale")};
}

#include "op/outcome.h"

#include <stdarg.h>
#include <stdio.h>

/* No more is formatted than is kept. */
static struct text format_message(struct arena *arena, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

static struct text format_message(struct arena *arena, const char *format, va_list args)
{
  va_list again;
  va_copy(again, args);
  int wanted = vsnprintf(NULL, 0, format, args);
  size_t length = wanted < 0 || wanted > OUTCOME_MESSAGE_MAX + 1 ? OUTCOME_MESSAGE_MAX + 1 : (size_t)wanted;
  char *text = wanted < 0 ? NULL : arena_alloc(arena, length + 1);
  if (text != NULL)
    vsnprintf(text, length + 1, format, again);
  va_end(again);
  return text == NULL ? TEXT_ABSENT : arena_shorten(arena, (struct text){text, length}, OUTCOME_MESSAGE_MAX);
}

void outcome_fail(struct outcome *outcome, struct arena *arena, enum outcome_failure failure,
                  const char *throwable_type, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  struct text message = format_message(arena, format, args);
  va_end(args);

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

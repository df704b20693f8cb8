#include "jni/internal/arguments.h"
#include "jni/internal/throwables.h"

#include <stdio.h>

enum { SHOWN_TEXT = 64 };

bool argument_fail_memory(struct conversion *conversion)
{
  outcome_fail(conversion->outcome, conversion->request->arena, FAILURE_SERVER, NULL, "out of memory");
  return false;
}

bool argument_take(struct conversion *conversion)
{
  const struct jvm_request *request = conversion->request;
  return throwable_take_outcome(conversion->thread, request->arena, request->limits->stack_frames_max,
                                conversion->outcome);
}

/* "argument 1", "argument 1[3][0]", "value[2]" */
static struct text describe_place(const struct conversion *conversion)
{
  struct arena *arena = conversion->request->arena;
  struct text place = TEXT("");
  const struct argument_path *path = conversion->path;
  for (; path != NULL && path->outer != NULL; path = path->outer)
    place = arena_printf(arena, "[%zu]%.*s", path->index, TEXT_ARGS(place));
  if (conversion->is_put || path == NULL)
    return arena_printf(arena, "value%.*s", TEXT_ARGS(place));
  return arena_printf(arena, "argument %zu%.*s", path->index, TEXT_ARGS(place));
}

static size_t cut_at(struct text text)
{
  size_t len = text.len < SHOWN_TEXT ? text.len : SHOWN_TEXT;
  while (len < text.len && len > 0 && ((unsigned char)text.data[len] & 0xC0) == 0x80)
    len--;
  return len;
}

static struct text describe_value(struct arena *arena, const struct op_value *value)
{
  struct text literal = value->literal;
  switch (value->kind) {
  case OP_NULL:
    return TEXT("null");
  case OP_BOOLEAN:
    return value->boolean ? TEXT("true") : TEXT("false");
  case OP_INTEGER:
    if (literal.data == NULL)
      return arena_printf(arena, "%lld", (long long)value->integer);
    /* fall through */
  case OP_NUMBER:
    return arena_printf(arena, "%.*s%s%.*s", (int)cut_at(literal), literal.data,
                        literal.len > SHOWN_TEXT ? "..." : "", value->suffix != 0, &value->suffix);
  case OP_TEXT:
    return arena_printf(arena, "\"%.*s\"%s", (int)cut_at(value->text), value->text.data,
                        value->text.len > SHOWN_TEXT ? "..." : "");
  case OP_REF:
    return arena_printf(arena, "ref %u", value->ref);
  case OP_MAP:
    return TEXT("a JSON object");
  default:
    return TEXT("an array");
  }
}

bool argument_fail(struct conversion *conversion, const struct op_value *value, const char *what, ...)
{
  struct arena *arena = conversion->request->arena;
  char text[512];
  va_list args;
  va_start(args, what);
  vsnprintf(text, sizeof text, what, args);
  va_end(args);
  struct text place = describe_place(conversion);
  struct text shown = describe_value(arena, value);
  if (place.data == NULL || shown.data == NULL)
    return argument_fail_memory(conversion);
  outcome_fail(conversion->outcome, arena, FAILURE_INVALID_PARAMS, NULL, "%.*s: %.*s: %s", TEXT_ARGS(place),
               TEXT_ARGS(shown), text);
  return false;
}

bool argument_fail_fit(struct conversion *conversion, const struct op_value *value, char letter,
                       enum scalar_fit fit)
{
  static const char *const reasons[] = {
      [SCALAR_FITS] = "",
      [SCALAR_NULL] = "a primitive cannot be null",
      [SCALAR_RANGE] = "out of range",
      [SCALAR_FRACTION] = "not an integer",
      [SCALAR_SUFFIX] = "its suffix is of another type",
      [SCALAR_KIND] = "of another kind",
  };
  return argument_fail(conversion, value, "%s for %s (%s)", reasons[fit], scalar_keyword(letter),
                       scalar_range(letter));
}

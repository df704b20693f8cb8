#include "jni/convert/arguments.h"

#include "base/decimal.h"
#include "base/primitives.h"
#include "jni/runtime/throwables.h"

#include <inttypes.h>

enum { SHOWN_TEXT = 64, SHOWN_LEVELS = 8 };

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

/* "[3][0]"; where there are more than SHOWN_LEVELS, the outermost ones and "...". */
static struct text describe_levels(struct arena *arena, const struct argument_path *path)
{
  size_t indexes[SHOWN_LEVELS];
  size_t depth = 0;
  /* The path goes outwards, so that the outermost levels overwrite the others. */
  for (; path != NULL && path->outer != NULL; path = path->outer)
    indexes[depth++ % SHOWN_LEVELS] = path->index;
  struct text levels = TEXT("");
  for (size_t shown = 0; shown < SHOWN_LEVELS && shown < depth; shown++)
    levels = arena_printf(arena, "%.*s[%zu]", TEXT_ARGS(levels), indexes[(depth - 1 - shown) % SHOWN_LEVELS]);
  return depth > SHOWN_LEVELS ? arena_printf(arena, "%.*s...", TEXT_ARGS(levels)) : levels;
}

/* "argument 1", "argument 1[3][0]", "value[2]", "instance" */
static struct text describe_place(const struct conversion *conversion)
{
  struct arena *arena = conversion->request->arena;
  struct text levels = describe_levels(arena, conversion->path);
  const struct argument_path *path = conversion->path;
  while (path != NULL && path->outer != NULL)
    path = path->outer;
  if (conversion->is_receiver)
    return arena_printf(arena, "instance%.*s", TEXT_ARGS(levels));
  if (conversion->is_put || path == NULL)
    return arena_printf(arena, "value%.*s", TEXT_ARGS(levels));
  return arena_printf(arena, "argument %zu%.*s", path->index, TEXT_ARGS(levels));
}

static struct text describe_value(struct arena *arena, const struct op_value *value)
{
  struct text cut;
  switch (value->kind) {
  case OP_NULL:
    return TEXT("null");
  case OP_BOOLEAN:
    return value->boolean ? TEXT("true") : TEXT("false");
  case OP_INTEGER:
  case OP_BIG_INTEGER:
  case OP_FLOAT:
  case OP_DOUBLE:
    cut = arena_shorten(arena, op_value_digits(value, arena), SHOWN_TEXT);
    return arena_printf(arena, "%.*s%.*s", TEXT_ARGS(cut), value->suffix != 0, &value->suffix);
  case OP_TEXT:
    cut = text_cut(value->text, SHOWN_TEXT);
    return arena_printf(arena, "\"%.*s\"%s", TEXT_ARGS(cut), cut.len < value->text.len ? "..." : "");
  case OP_REF:
    return arena_printf(arena, "ref %u", value->ref);
  case OP_CALLBACK:
    return arena_printf(arena, "callback %" PRId64, value->callback->id);
  case OP_MAP:
    return TEXT("a JSON object");
  default:
    return TEXT("an array");
  }
}

bool argument_fail(struct conversion *conversion, const struct op_value *value, const char *what, ...)
{
  struct arena *arena = conversion->request->arena;
  struct jp_error told; /* cut where it is long */
  va_list args;
  va_start(args, what);
  (void)jp_fail_va(&told, JP_INVALID, what, args);
  va_end(args);
  struct text place = describe_place(conversion);
  struct text shown = describe_value(arena, value);
  if (place.data == NULL || shown.data == NULL)
    return argument_fail_memory(conversion);
  bool is_key = conversion->path != NULL && conversion->path->is_key;
  outcome_fail(conversion->outcome, arena, FAILURE_INVALID_PARAMS, NULL, "%.*s: %s%.*s: %s", TEXT_ARGS(place),
               is_key ? "the key " : "", TEXT_ARGS(shown), told.text);
  conversion->outcome->is_misfit = conversion->is_put;
  return false;
}

bool argument_fail_fit(struct conversion *conversion, const struct op_value *value, char letter,
                       enum op_scalar_fit fit)
{
  const struct primitive *wanted = primitive_find_letter(letter);
  return argument_fail(conversion, value, "%s for %s (%s)", op_scalar_reason(fit), wanted->keyword.data,
                       wanted->range);
}

bool argument_check_digits(struct conversion *conversion, const struct op_value *value, struct text number)
{
  size_t digits_max = conversion->request->limits->number_digits_max;
  return decimal_is_within(number, digits_max) ||
         argument_fail(conversion, value, "more digits than the limit of %zu (number-digits-max)",
                       digits_max);
}

/* Pieces of arrays, Strings and InputStreams. */
#include "base/primitives.h"
#include "jni/fetch/fetch_state.h"
#include "jni/runtime/strings.h"

enum { PIECE_MAX = 1024 * 1024, LIST_MAX = 65536, UNIT_TEXT = 6 /* an escaped one, as \u0000 */ };

static bool fail_memory(struct fetch *fetch)
{
  return fetch_fail(fetch, FAILURE_SERVER, "out of memory");
}

static size_t smaller(size_t a, size_t b)
{
  return a < b ? a : b;
}

/* How many there are from `from` on, max at most. */
static bool find_count(struct fetch *fetch, size_t length, const char *throwable, size_t *count)
{
  size_t from = fetch->request->operation->fetch.from;
  if (from > length) {
    outcome_fail(fetch->outcome, fetch->request->arena, FAILURE_SERVER, throwable,
                 "'from' is %zu, and the length %zu", from, length);
    return false;
  }
  *count = smaller(fetch->max, length - from);
  return true;
}

/* ---- primitives ---- */

/* The most bytes of an element's text, with its comma. */
static size_t text_of_primitive(char letter)
{
  switch (letter) {
  case 'B':
    return 5;
  case 'Z':
    return 6;
  case 'S':
    return 7;
  case 'C':
    return UNIT_TEXT + 3;
  case 'I':
    return 12;
  default:
    return 28; /* a double; a long that is a text */
  }
}

/* How many elements are sure to have room in the answer. */
static size_t fit_primitives(const struct fetch *fetch, char letter)
{
  size_t fitting = fetch->request->operation->base64_result ? fetch->room / 4 * 3 / primitive_size(letter)
                                                            : fetch->room / text_of_primitive(letter);
  return smaller(fitting, PIECE_MAX);
}

static bool fill_primitives(struct fetch *fetch, char letter, jobject array, size_t from, size_t count)
{
  return result_read_range(fetch->request, letter, array, (jsize)from, (jsize)count, &fetch->elements) ||
         fail_memory(fetch);
}

/* ---- arrays ---- */

static bool fill_objects(struct fetch *fetch, size_t from, size_t count)
{
  if (!fetch_make_list(fetch, count))
    return false;
  bool goes_on = true;
  for (size_t i = 0; goes_on && i < count; i++) {
    jobject element = (*fetch->env)->GetObjectArrayElement(fetch->env, fetch->object, (jsize)(from + i));
    goes_on = fetch_add(fetch, element);
    (*fetch->env)->DeleteLocalRef(fetch->env, element);
  }
  if (fetch->elements.list.count > 0)
    fetch->outcome->kind = OUTCOME_VOID;
  return fetch->outcome->kind != OUTCOME_ERROR;
}

bool fetch_from_array(struct fetch *fetch)
{
  size_t length = (size_t)(*fetch->env)->GetArrayLength(fetch->env, fetch->object);
  size_t from = fetch->request->operation->fetch.from;
  char letter = fetch->class->component;
  bool is_primitive = letter != 'L' && letter != '[';
  size_t count;
  if (!judge_elements(fetch->request, fetch->class, fetch->outcome) ||
      !find_count(fetch, length, "java.lang.ArrayIndexOutOfBoundsException", &count))
    return false;
  if (is_primitive) {
    count = smaller(count, fit_primitives(fetch, letter));
    fetch->is_done = from + count == length;
    return fill_primitives(fetch, letter, fetch->object, from, count);
  }
  if (!fill_objects(fetch, from, smaller(count, LIST_MAX)))
    return false;
  fetch->is_done = from + fetch->elements.list.count == length;
  return true;
}

/* ---- Strings ---- */

static bool is_high(uint16_t unit)
{
  return (unit & 0xFC00) == 0xD800;
}

static bool is_low(uint16_t unit)
{
  return (unit & 0xFC00) == 0xDC00;
}

/* Whether units `at` - 1 and `at` of the String are one pair. */
static bool is_pair(struct fetch *fetch, size_t at, size_t length)
{
  uint16_t units[2];
  if (at == 0 || at >= length)
    return false;
  (*fetch->env)->GetStringRegion(fetch->env, fetch->object, (jsize)at - 1, 2, units);
  return is_high(units[0]) && is_low(units[1]);
}

static bool fill_text(struct fetch *fetch, size_t from, size_t count)
{
  struct arena *arena = fetch->request->arena;
  uint16_t *units = arena_calloc(arena, count, sizeof *units);
  if (units == NULL || !fetch_make_list(fetch, 1))
    return fail_memory(fetch);
  (*fetch->env)->GetStringRegion(fetch->env, fetch->object, (jsize)from, (jsize)count, units);
  struct text text = jvm_text_of_units(units, count, arena);
  fetch->elements.list.items[0] = (struct op_value){.kind = OP_TEXT, .text = text};
  fetch->elements.list.count = 1;
  return text.data != NULL || fail_memory(fetch);
}

/* Its text travels as results do, which the guard is not asked about. */
bool fetch_from_string(struct fetch *fetch)
{
  size_t length = (size_t)(*fetch->env)->GetStringLength(fetch->env, fetch->object);
  size_t from = fetch->request->operation->fetch.from;
  size_t count;
  if (!find_count(fetch, length, "java.lang.StringIndexOutOfBoundsException", &count))
    return false;
  if (is_pair(fetch, from, length))
    return fetch_fail(fetch, FAILURE_INVALID_PARAMS, "'from' is inside a surrogate pair");
  if (count == 1 && is_pair(fetch, from + 1, length))
    return fetch_fail(fetch, FAILURE_INVALID_PARAMS, "'max' is 1, and a surrogate pair begins at 'from'");
  count = smaller(count, smaller(fetch->room / UNIT_TEXT, PIECE_MAX));
  if (count > 0 && is_pair(fetch, from + count, length))
    count--;
  fetch->is_done = from + count == length;
  return fill_text(fetch, from, count);
}

/* ---- InputStreams ---- */

static bool read_input(struct fetch *fetch, jbyteArray bytes, jint count, jint *given)
{
  *given = (*fetch->env)
               ->CallIntMethod(fetch->env, fetch->object,
                               fetch->request->thread->jvm->known.method_input_stream_read, bytes, 0, count);
  if (fetch_take_exception(fetch))
    return false;
  if (*given >= -1 && *given <= count)
    return true;
  outcome_fail(fetch->outcome, fetch->request->arena, FAILURE_SERVER, NULL,
               "%.*s.read was asked for %d bytes and gave %d", TEXT_ARGS(fetch->class->name), count, *given);
  return false;
}

/* What it gives has room in the answer: no more is asked for. */
bool fetch_from_input(struct fetch *fetch)
{
  static const struct judged_member read = {"read", "([BII)I"};
  jclass declaring = fetch->request->thread->jvm->known.class_input_stream;
  jint count = (jint)smaller(fetch->max, fit_primitives(fetch, 'B'));
  if (!judge_call(fetch->request, fetch->class, declaring, read, fetch->outcome))
    return false;
  jbyteArray bytes = (*fetch->env)->NewByteArray(fetch->env, count);
  if (fetch_take_exception(fetch))
    return false;
  jint given = 0;
  if (count > 0 && !read_input(fetch, bytes, count, &given))
    return false;
  fetch->is_done = given == -1;
  return fill_primitives(fetch, 'B', bytes, 0, given < 0 ? 0 : (size_t)given);
}

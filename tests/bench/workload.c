#include "workload.h"

#define VOID_ANSWER         "{\"jsonrpc\":\"2.0\",\"id\":$i,\"result\":{\"void\":true}}"
#define VALUE_ANSWER(value) "{\"jsonrpc\":\"2.0\",\"id\":$i,\"result\":{\"void\":false,\"value\":" value "}}"
#define INT_ANSWER(hole)    VALUE_ANSWER("{\"type\":\"int\",\"null\":false,\"value\":\"" hole "\"}")
#define REF_ANSWER(hole)    VALUE_ANSWER("{\"type\":\"com.example.Calculator\",\"null\":false,\"ref\":" hole "}")
#define REQUEST(method, params)                                                                              \
  "{\"jsonrpc\":\"2.0\",\"id\":$i,\"method\":\"" method "\",\"params\":{" params "}}"
#define CALCULATOR   "\"type\":\"com.example.Calculator\""
#define INT_ARGUMENT "{\"type\":\"int\",\"value\":"
#define NEW_REQUEST  REQUEST("new", CALCULATOR)

const struct workload_row workload_rows[] = {
    {.name = "ping",
     .what = "control ping: no Java",
     .steps = {{REQUEST("control", "\"method\":\"ping\""), VOID_ANSWER}}},
    {.name = "add",
     .what = "static int add(int, int)",
     .steps = {{REQUEST("call",
                        CALCULATOR ",\"method\":\"add\",\"args\":[" INT_ARGUMENT "$a}," INT_ARGUMENT "$b}]"),
                INT_ANSWER("$s")}}},
    {.name = "instance",
     .what = "int accumulate(int) on an object of the session",
     .setup = {NEW_REQUEST, REF_ANSWER("$o")},
     .keeps_session = true,
     .steps = {{REQUEST("call", CALCULATOR
                        ",\"method\":\"accumulate\",\"instance\":$o,\"args\":[" INT_ARGUMENT "1}]"),
                INT_ANSWER("$n")}}},
    {.name = "new-delete",
     .what = "new, then control delete_object: two requests a call",
     .keeps_session = true,
     .steps = {{NEW_REQUEST, REF_ANSWER("$r")},
               {REQUEST("control", "\"method\":\"delete_object\",\"args\":[{\"ref\":$r}]"), VOID_ANSWER}}},
};

const unsigned workload_row_count = sizeof(workload_rows) / sizeof(workload_rows[0]);

static const struct workload_row *find_among(const struct workload_row *rows, unsigned count,
                                             const char *name)
{
  for (unsigned i = 0; i < count; i++)
    if (strcmp(rows[i].name, name) == 0)
      return &rows[i];
  return NULL;
}

const struct workload_row *workload_find(const char *name)
{
  const struct workload_row *found = find_among(workload_rows, workload_row_count, name);
  return found != NULL ? found : find_among(workload_rival_rows, workload_rival_row_count, name);
}

bool workload_text_parse(struct workload_text *text, const char *source)
{
  *text = (struct workload_text){0};
  const char *from = source;
  for (const char *hole = strchr(from, '$'); hole != NULL; hole = strchr(from, '$')) {
    if (text->hole_count == WORKLOAD_HOLES_MAX || hole[1] == '\0' || strchr("iabsnort", hole[1]) == NULL)
      return false;
    text->parts[text->hole_count] = (struct text){from, (size_t)(hole - from)};
    text->holes[text->hole_count++] = hole[1];
    from = hole + 2;
  }
  text->parts[text->hole_count] = text_of(from);
  return true;
}

enum { OPERAND_RANGE = 100000 };

static uint64_t first_operand(const struct workload_facts *facts)
{
  return facts->id % OPERAND_RANGE;
}

static uint64_t second_operand(const struct workload_facts *facts)
{
  return facts->id * 7 % OPERAND_RANGE;
}

static uint64_t value_of(char hole, const struct workload_facts *facts)
{
  switch (hole) {
  case 'i':
    return facts->id;
  case 'a':
    return first_operand(facts);
  case 'b':
    return second_operand(facts);
  case 's':
    return facts->canned ? WORKLOAD_CANNED_SUM : first_operand(facts) + second_operand(facts);
  case 'n':
    return facts->canned ? WORKLOAD_CANNED_SUM : facts->count;
  case 'o':
    return facts->receiver;
  case 't':
    return facts->time;
  default:
    return facts->object;
  }
}

enum { DIGITS_MAX = 20 };

/* The number's digits, in the last places of digits. */
static struct text digits_of(uint64_t number, char digits[DIGITS_MAX])
{
  size_t from = DIGITS_MAX;
  do {
    digits[--from] = (char)('0' + number % 10);
    number /= 10;
  } while (number != 0);
  return (struct text){digits + from, DIGITS_MAX - from};
}

void workload_write(const struct workload_text *text, const struct workload_facts *facts, struct buffer *out)
{
  char digits[DIGITS_MAX];
  for (unsigned i = 0; i < text->hole_count; i++) {
    buffer_append_text(out, text->parts[i]);
    buffer_append_text(out, digits_of(value_of(text->holes[i], facts), digits));
  }
  buffer_append_text(out, text->parts[text->hole_count]);
}

/* Where hole takes what the answer has there, for one a reference that is not known yet: the place to keep
 * it. */
static uint64_t *unknown_number(char hole, struct workload_facts *facts)
{
  if (hole == 't')
    return &facts->time;
  if (hole == 'o' && facts->receiver == 0)
    return &facts->receiver;
  if (hole == 'r' && facts->object == 0)
    return &facts->object;
  return NULL;
}

/* Takes the digits at the start of *rest. */
static bool take_number(struct text *rest, uint64_t *number)
{
  size_t length = 0;
  uint64_t value = 0;
  while (length < rest->len && length < DIGITS_MAX && rest->data[length] >= '0' && rest->data[length] <= '9')
    value = value * 10 + (uint64_t)(rest->data[length++] - '0');
  *number = value;
  *rest = text_slice(*rest, length, rest->len);
  return length > 0 && value != 0;
}

static bool take_text(struct text *rest, struct text expected)
{
  if (rest->len < expected.len || memcmp(rest->data, expected.data, expected.len) != 0)
    return false;
  *rest = text_slice(*rest, expected.len, rest->len);
  return true;
}

bool workload_match(const struct workload_text *text, struct workload_facts *facts, struct text answer)
{
  char digits[DIGITS_MAX];
  for (unsigned i = 0; i < text->hole_count; i++) {
    if (!take_text(&answer, text->parts[i]))
      return false;
    uint64_t *unknown = unknown_number(text->holes[i], facts);
    bool fits = unknown != NULL ? take_number(&answer, unknown)
                                : take_text(&answer, digits_of(value_of(text->holes[i], facts), digits));
    if (!fits)
      return false;
  }
  return text_equal(answer, text->parts[text->hole_count]);
}

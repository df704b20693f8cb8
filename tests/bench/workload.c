#include "workload.h"

#include "body.h"

#include <stdlib.h>

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

static const char hole_kinds[] = "iabsnort";

/* Appends one character of the source, or what a mark in it stands for. */
static bool append_mark(struct workload_text *text, const char **source, unsigned place)
{
  const char *mark = (*source)++;
  if (*mark != '$') {
    buffer_append_char(&text->words, *mark);
    return true;
  }
  char kind = *(*source)++;
  if (kind == '\0')
    return false;
  if (strchr(hole_kinds, kind) != NULL)
    text->holes[text->hole_count++] = (struct workload_hole){text->words.len, kind};
  else if (kind == 'k')
    buffer_printf(&text->words, "%02u", place);
  else
    return body_append(&text->words, kind);
  return true;
}

static bool append_element(struct workload_text *text, const char *source, unsigned place)
{
  bool good = true;
  while (good && *source != '\0')
    good = append_mark(text, &source, place);
  return good;
}

static unsigned marks_in(const char *source)
{
  unsigned count = 0;
  for (; *source != '\0'; source++)
    count += *source == '$';
  return count;
}

bool workload_text_parse(struct workload_text *text, const char *source, unsigned batch)
{
  *text = (struct workload_text){0};
  buffer_init(&text->words);
  text->holes = calloc((size_t)marks_in(source) * (batch == 0 ? 1 : batch) + 1, sizeof(*text->holes));
  if (text->holes == NULL || batch > WORKLOAD_BATCH_MAX)
    return false;
  if (batch == 0)
    return append_element(text, source, 0) && !text->words.failed;
  bool good = true;
  for (unsigned i = 0; good && i < batch; i++) {
    buffer_append_char(&text->words, i == 0 ? '[' : ',');
    good = append_element(text, source, i);
  }
  buffer_append_char(&text->words, ']');
  return good && !text->words.failed;
}

void workload_text_fini(struct workload_text *text)
{
  buffer_fini(&text->words);
  free(text->holes);
  *text = (struct workload_text){0};
}

struct text workload_text_part(const struct workload_text *text, unsigned index)
{
  size_t from = index == 0 ? 0 : text->holes[index - 1].at;
  size_t to = index == text->hole_count ? text->words.len : text->holes[index].at;
  return text_slice(buffer_text(&text->words), from, to);
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

static char *put_text(char *to, struct text from)
{
  memcpy(to, from.data, from.len);
  return to + from.len;
}

void workload_write(const struct workload_text *text, const struct workload_facts *facts, struct buffer *out)
{
  char digits[DIGITS_MAX];
  char *room = buffer_reserve(out, text->words.len + (size_t)text->hole_count * DIGITS_MAX);
  if (room == NULL)
    return;
  char *end = room;
  for (unsigned i = 0; i < text->hole_count; i++) {
    end = put_text(end, workload_text_part(text, i));
    end = put_text(end, digits_of(value_of(text->holes[i].kind, facts), digits));
  }
  end = put_text(end, workload_text_part(text, text->hole_count));
  out->len += (size_t)(end - room);
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
    char kind = text->holes[i].kind;
    if (!take_text(&answer, workload_text_part(text, i)))
      return false;
    uint64_t *unknown = unknown_number(kind, facts);
    bool fits = unknown != NULL ? take_number(&answer, unknown)
                                : take_text(&answer, digits_of(value_of(kind, facts), digits));
    if (!fits)
      return false;
  }
  return text_equal(answer, workload_text_part(text, text->hole_count));
}

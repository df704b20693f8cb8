#include "workload.h"

#include "body.h"
#include "workload_binary.h"

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
  if (found == NULL)
    found = find_among(workload_binary_rows, workload_binary_row_count, name);
  return found != NULL ? found : find_among(workload_rival_rows, workload_rival_row_count, name);
}

static const char hole_kinds[] = "iabsnort";

/* Appends one character of the source, or the replacement of a mark in it. */
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
    text->holes[text->hole_count++] = (struct workload_hole){.at = text->words.len, .kind = kind};
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

bool workload_step_parse(const struct workload_step *step, unsigned batch, struct workload_text *request,
                         struct workload_text *answer)
{
  *answer = (struct workload_text){0};
  if (step->call != NULL)
    return workload_call_parse(step->call, request, answer);
  return workload_text_parse(request, step->request, batch) &&
         workload_text_parse(answer, step->answer, batch);
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
  case 'p':
    return facts->id / WORKLOAD_IDS_PER_CONNECTION;
  default:
    return facts->object;
  }
}

/* The text that jpeer-bench-floor sends in place of the peer's UUID. The first byte is the length of the
 * rest, and the same as for a UUID. */
static const char unknown_text[] = "\044"
                                   "0b5e1c4e-93a7-4f5e-8d1c-2a6f8e7d4c3b";

/* Digits of a number, and bytes of a hole's content. */
enum { DIGITS_MAX = 20, FILLING_MAX = sizeof unknown_text - 1 };

/* Returns the text that replaces the hole. A number is written to the end of `room`, from which the text is
 * then borrowed. */
static inline struct text fill_hole(const struct workload_hole *hole, const struct workload_facts *facts,
                                    char room[FILLING_MAX])
{
  if (hole->kind == 'u')
    return TEXT(unknown_text);
  uint64_t number = value_of(hole->kind, facts);
  char *first = room + FILLING_MAX;
  do {
    *--first = (char)('0' + number % 10);
    number /= 10;
  } while (number != 0);
  while (room + FILLING_MAX - first < hole->width)
    *--first = '0';
  if (hole->is_counted) {
    ptrdiff_t length = room + FILLING_MAX - first;
    *--first = (char)length;
  }
  return (struct text){first, (size_t)(room + FILLING_MAX - first)};
}

size_t workload_id_at(const struct workload_text *text, unsigned *hole)
{
  size_t fillings = 0;
  for (*hole = 0; *hole < text->hole_count; ++*hole) {
    if (text->holes[*hole].kind == 'i')
      return text->holes[*hole].at + fillings;
    fillings += text->holes[*hole].width;
  }
  return SIZE_MAX;
}

static char *put_text(char *to, struct text from)
{
  memcpy(to, from.data, from.len);
  return to + from.len;
}

void workload_write(const struct workload_text *text, const struct workload_facts *facts, struct buffer *out)
{
  char filling[FILLING_MAX];
  char *room = buffer_reserve(out, text->words.len + (size_t)text->hole_count * FILLING_MAX);
  if (room == NULL)
    return;
  char *end = room;
  for (unsigned i = 0; i < text->hole_count; i++) {
    end = put_text(end, workload_text_part(text, i));
    end = put_text(end, fill_hole(&text->holes[i], facts, filling));
  }
  end = put_text(end, workload_text_part(text, text->hole_count));
  out->len += (size_t)(end - room);
}

/* Returns where to store the number that the answer has in place of the hole. NULL: the number is known
 * already, and the answer must have the same. */
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

/* Reads the digits at the start of *rest. */
static bool read_number(struct text *rest, uint64_t *number)
{
  size_t length = 0;
  uint64_t value = 0;
  while (length < rest->len && length < DIGITS_MAX && rest->data[length] >= '0' && rest->data[length] <= '9')
    value = value * 10 + (uint64_t)(rest->data[length++] - '0');
  *number = value;
  *rest = text_slice(*rest, length, rest->len);
  return length > 0 && value != 0;
}

static bool read_text(struct text *rest, struct text expected)
{
  if (rest->len < expected.len || memcmp(rest->data, expected.data, expected.len) != 0)
    return false;
  *rest = text_slice(*rest, expected.len, rest->len);
  return true;
}

/* Reads a text of any bytes, shorter than 128, after its length. */
static bool read_unknown_text(struct text *rest)
{
  size_t length = rest->len == 0 ? SIZE_MAX : (uint8_t)rest->data[0];
  if (length >= 128 || rest->len <= length)
    return false;
  *rest = text_slice(*rest, 1 + length, rest->len);
  return true;
}

static bool match_hole(const struct workload_hole *hole, struct workload_facts *facts, struct text *answer)
{
  char filling[FILLING_MAX];
  if (hole->kind == 'u')
    return read_unknown_text(answer);
  uint64_t *unknown = unknown_number(hole->kind, facts);
  return unknown != NULL ? read_number(answer, unknown) : read_text(answer, fill_hole(hole, facts, filling));
}

bool workload_match(const struct workload_text *text, struct workload_facts *facts, struct text answer)
{
  for (unsigned i = 0; i < text->hole_count; i++)
    if (!read_text(&answer, workload_text_part(text, i)) || !match_hole(&text->holes[i], facts, &answer))
      return false;
  return text_equal(answer, workload_text_part(text, text->hole_count));
}

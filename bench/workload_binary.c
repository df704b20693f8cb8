/* Binary messages as words and holes, and the rows of the messages for jpeer (docs/binary.md). */
#include "workload_binary.h"

#include "base/arena.h"
#include "body.h"

#include <stdlib.h>

/* Each row corresponds to the row of the same name in workload_rows.c. */
static const struct workload_call add_call = {
    "com.example.Calculator", "add", {{"int", "$a"}, {"int", "$b"}}, {"int", "$s"}};
static const struct workload_call echo_call = {
    "fixtures.Arguments", "echoString", {{"java.lang.String", "\"$E\""}}, {"java.lang.String", "\"$E\""}};
static const struct workload_call ints_call = {
    "fixtures.Workloads", "sum", {{"[I", "[$J]"}}, {"int", "-678781"}};

const struct workload_row workload_binary_rows[] = {
    {.name = "add-binary", .what = "add as a binary message", .steps = {{.call = &add_call}}},
    {.name = "echo-binary", .what = "echo as a binary message", .steps = {{.call = &echo_call}}},
    {.name = "ints-binary", .what = "ints as a binary message", .steps = {{.call = &ints_call}}},
};

const unsigned workload_binary_row_count = sizeof(workload_binary_rows) / sizeof(workload_binary_rows[0]);

static bool is_body(char mark)
{
  return mark >= 'A' && mark <= 'Z';
}

/* Returns the source with the bodies in place of their marks; the holes are still marks. */
static struct text make_bodies(struct arena *arena, const char *source)
{
  struct buffer made;
  buffer_init(&made);
  bool good = true;
  while (good && *source != '\0') {
    if (*source == '$' && is_body(source[1])) {
      good = body_append(&made, source[1]);
      source += 2;
    } else {
      buffer_append_char(&made, *source++);
    }
  }
  struct text text = good && !made.failed ? arena_text(arena, buffer_text(&made)) : TEXT_ABSENT;
  buffer_fini(&made);
  return text;
}

static bool make_value(struct arena *arena, const struct workload_value *source, struct binary_value *made)
{
  *made = (struct binary_value){text_of(source->type), make_bodies(arena, source->value)};
  return made->value.data != NULL;
}

/* The length of the mark at this place, including the dollar; 0: no mark is here. */
static size_t mark_length(const char *at, const char *end)
{
  if (end - at < 2 || at[0] != '$' || at[1] == '\0' || strchr("iabpsnu", at[1]) == NULL)
    return 0;
  size_t length = 2;
  while (at + length < end && at[length] == at[1])
    length++;
  return length;
}

/* If a mark is the whole text, the length before the text is part of the hole. If the mark has repeated letters, its
 * content is as wide as the mark. */
static void add_hole(struct workload_text *text, const char *mark, size_t length)
{
  struct workload_hole *hole = &text->holes[text->hole_count++];
  *hole = (struct workload_hole){.kind = mark[1]};
  if (length > 2)
    hole->width = (unsigned char)length;
  else
    hole->is_counted = true;
  buffer_truncate(&text->words, text->words.len - hole->is_counted);
  hole->at = text->words.len;
}

/* Finds the holes of an encoded message: the marks in the texts that it was made of. The byte of a length of
 * 36 is the code of a dollar. If a hole's letter followed this byte, both would be taken for a mark; no row
 * has such a text. */
static bool find_holes(struct workload_text *text, const struct buffer *message)
{
  const char *end = message->data + message->len;
  text->is_binary = true;
  buffer_init(&text->words);
  text->holes = calloc(message->len, sizeof(*text->holes));
  if (text->holes == NULL)
    return false;
  for (const char *at = message->data; at < end;) {
    size_t length = mark_length(at, end);
    if (length > 0)
      add_hole(text, at, length);
    else
      buffer_append_char(&text->words, *at);
    at += length > 0 ? length : 1;
  }
  return !text->words.failed;
}

/* The text of a message's id, which is as long as a UUID's text, and the bytes of a peer's UUID. */
#define MESSAGE_ID TEXT("d4e8a1b6-2f39-4c70-b5d1-$iiiiiiiiiii")
#define PEER_UUID  TEXT("the-bench-no-$pp")

static bool parse_call(const struct workload_call *source, struct arena *arena, struct workload_text *request,
                       struct workload_text *answer)
{
  struct binary_call call = {.peer = PEER_UUID,
                             .id = MESSAGE_ID,
                             .class_name = text_of(source->class_name),
                             .method = text_of(source->method)};
  struct binary_value result;
  struct buffer message;
  bool good = make_value(arena, &source->result, &result);
  for (; good && call.arg_count < BINARY_ARGS_MAX && source->args[call.arg_count].type != NULL;
       call.arg_count++)
    good = make_value(arena, &source->args[call.arg_count], &call.args[call.arg_count]);
  if (!good)
    return false;
  buffer_init(&message);
  binary_append_call(&call, &message);
  good = !message.failed && find_holes(request, &message);
  buffer_clear(&message);
  binary_append_return(&call, TEXT("$u"), &result, &message);
  good = good && !message.failed && find_holes(answer, &message);
  buffer_fini(&message);
  return good;
}

bool workload_call_parse(const struct workload_call *call, struct workload_text *request,
                         struct workload_text *answer)
{
  struct arena arena;
  *request = *answer = (struct workload_text){0};
  arena_init(&arena);
  bool good = parse_call(call, &arena, request, answer);
  arena_fini(&arena);
  return good;
}

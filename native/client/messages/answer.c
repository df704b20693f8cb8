#include "client/messages/answer.h"

#include <stdlib.h>

struct jp_answer *answer_create(void)
{
  struct jp_answer *answer = calloc(1, sizeof *answer);
  if (answer == NULL)
    return NULL;
  arena_init_small(&answer->arena);
  buffer_init(&answer->bytes);
  answer_clear(answer);
  return answer;
}

/* Those that the caller has taken are his. */
static void release_told(struct jp_answer *answer)
{
  for (size_t i = 0; i < answer->told_count; i++)
    jp_ref_release(answer->told[i]);
  answer->told_count = 0;
  answer->next_told = 0;
}

void answer_clear(struct jp_answer *answer)
{
  jp_ref_release(answer->ref);
  release_told(answer);
  arena_reset(&answer->arena);
  buffer_clear(&answer->bytes);
  answer->kind = JP_ANSWER_VOID;
  answer->type = "";
  answer->text = (struct jp_text){0};
  answer->json = (struct jp_json){0};
  answer->ref = NULL;
  answer->code = 0;
  answer->message = NULL;
  answer->throwable = NULL;
}

void answer_destroy(struct jp_answer *answer)
{
  if (answer == NULL)
    return;
  answer_clear(answer);
  arena_fini(&answer->arena);
  buffer_fini(&answer->bytes);
  free(answer->told);
  free(answer);
}

void jp_answer_free(struct jp_answer *answer)
{
  if (answer == NULL)
    return;
  answer_clear(answer);
  if (answer->give_back != NULL)
    answer->give_back(answer->owner, answer);
  else
    answer_destroy(answer);
}

/* ---- what it says ---- */

/* jp_chain_answer gives NULL for a name that no step has: that is an answer without anything. */
static const struct jp_answer NO_ANSWER = {.kind = JP_ANSWER_VOID, .type = ""};

static const struct jp_answer *or_none(const struct jp_answer *answer)
{
  return answer == NULL ? &NO_ANSWER : answer;
}

enum jp_answer_kind jp_answer_kind(const struct jp_answer *answer)
{
  return or_none(answer)->kind;
}

const char *jp_answer_type(const struct jp_answer *answer)
{
  return or_none(answer)->type;
}

struct jp_text jp_answer_text(const struct jp_answer *answer)
{
  return or_none(answer)->text;
}

bool jp_answer_boolean(const struct jp_answer *answer, bool *out)
{
  if (answer == NULL || answer->kind != JP_ANSWER_BOOLEAN)
    return false;
  *out = answer->scalar.boolean;
  return true;
}

bool jp_answer_integer(const struct jp_answer *answer, int64_t *out)
{
  if (answer == NULL || answer->kind != JP_ANSWER_INTEGER)
    return false;
  *out = answer->scalar.integer;
  return true;
}

bool jp_answer_number(const struct jp_answer *answer, double *out)
{
  if (answer == NULL || (answer->kind != JP_ANSWER_NUMBER && answer->kind != JP_ANSWER_INTEGER))
    return false;
  *out = answer->kind == JP_ANSWER_NUMBER ? answer->scalar.number : (double)answer->scalar.integer;
  return true;
}

struct jp_ref *jp_answer_ref(const struct jp_answer *answer)
{
  return or_none(answer)->ref;
}

struct jp_json jp_answer_json(const struct jp_answer *answer)
{
  return or_none(answer)->json;
}

/* The value's own `ref`; 0: it has none. */
static uint32_t read_ref(struct jp_json value)
{
  int64_t number;
  bool has = value.kind == JP_JSON_OBJECT && jp_json_integer(jp_json_member(value, "ref"), &number);
  return has && number > 0 && number <= INT32_MAX ? (uint32_t)number : 0;
}

struct jp_ref *jp_answer_take_ref(struct jp_answer *answer, struct jp_json value)
{
  uint32_t number = read_ref(value);
  for (size_t i = 0; answer != NULL && number != 0 && i < answer->told_count; i++) {
    size_t at = (answer->next_told + i) % answer->told_count;
    struct jp_ref *ref = answer->told[at];
    if (ref == NULL || jp_ref_number(ref) != number)
      continue;
    answer->told[at] = NULL;
    answer->next_told = at + 1;
    return ref;
  }
  return NULL;
}

int jp_answer_error_code(const struct jp_answer *answer)
{
  return or_none(answer)->code;
}

const char *jp_answer_error_message(const struct jp_answer *answer)
{
  const char *message = or_none(answer)->message;
  return message == NULL ? "" : message;
}

const struct jp_throwable *jp_answer_throwable(const struct jp_answer *answer)
{
  static const struct jp_throwable none = {0};
  const struct jp_throwable *throwable = or_none(answer)->throwable;
  return throwable == NULL ? &none : throwable;
}

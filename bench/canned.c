#include "canned.h"

static bool add_step(struct canned *canned, const struct workload_step *step, unsigned batch)
{
  struct canned_step *made = &canned->steps[canned->count++];
  if (!workload_step_parse(step, batch, &made->request, &made->answer))
    return false;
  made->id_at = workload_id_at(&made->request, &made->id_hole);
  return made->id_at != SIZE_MAX;
}

bool canned_init(struct canned *canned, const char *workload)
{
  const struct workload_row *row = workload_find(workload);
  *canned = (struct canned){0};
  if (row == NULL)
    return false;
  bool good = !workload_step_exists(&row->setup) || add_step(canned, &row->setup, 0);
  for (unsigned i = 0; good && i < WORKLOAD_STEPS_MAX && workload_step_exists(&row->steps[i]); i++)
    good = add_step(canned, &row->steps[i], row->batch);
  return good;
}

void canned_fini(struct canned *canned)
{
  for (unsigned i = 0; i < canned->count; i++) {
    workload_text_fini(&canned->steps[i].request);
    workload_text_fini(&canned->steps[i].answer);
  }
}

/* Reads the id, which is at the same place in all requests. Returns the text after the id. */
static struct text read_id(struct text message, size_t at, uint64_t *id)
{
  *id = 0;
  for (; at < message.len && message.data[at] >= '0' && message.data[at] <= '9'; at++)
    *id = *id * 10 + (uint64_t)(message.data[at] - '0');
  return at > message.len ? TEXT_ABSENT : text_slice(message, at, message.len);
}

void canned_answer(const struct canned *canned, struct text message, struct buffer *out)
{
  for (unsigned i = 0; i < canned->count; i++) {
    const struct canned_step *step = &canned->steps[i];
    struct workload_facts facts = {.count = 1, .receiver = 1, .object = 1, .time = 8, .canned = true};
    struct text rest = read_id(message, step->id_at, &facts.id);
    if (i + 1 == canned->count ||
        text_starts_with(rest, workload_text_part(&step->request, step->id_hole + 1))) {
      workload_write(&step->answer, &facts, out);
      return;
    }
  }
}

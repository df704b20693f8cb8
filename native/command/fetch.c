#include "command/fetch.h"

void fetch_begin(struct fetch *fetch, struct evaluator *evaluator, const struct value *object,
                 enum fetch_form form)
{
  *fetch =
      (struct fetch){.evaluator = evaluator, .object = object, .form = form, .at = jp_ref_keep(object->ref)};
}

bool fetch_page(struct fetch *fetch, size_t most, const struct failure **failure)
{
  static const struct jp_options with_types = {
      .size = sizeof with_types, .types = true, .longs_as_text = true};
  const bool is_array = value_is_array(fetch->object);
  struct jp_request request =
      jp_build_fetch(jp_object(fetch->at), (int64_t)most, is_array ? (int64_t)fetch->count : 0);
  request.options = fetch->form == FETCH_TYPED ? &with_types : NULL;
  jp_answer_free(fetch->answer);
  fetch->answer = NULL;
  if (!evaluator_request(fetch->evaluator, &request, &fetch->answer, failure))
    return false;
  struct jp_json page = jp_answer_json(fetch->answer);
  fetch->is_done = true;
  (void)jp_json_boolean(jp_json_member(page, "done"), &fetch->is_done);
  fetch->elements = jp_json_member(page, "elements");
  fetch->count += jp_json_count(fetch->elements);
  struct jp_ref *next = fetch->is_done || is_array ? NULL : jp_answer_take_ref(fetch->answer, page);
  if (next != NULL) {
    jp_ref_release(fetch->at);
    fetch->at = next;
  }
  return true;
}

struct value *fetch_value(struct fetch *fetch, struct value_pool *pool, struct jp_json element)
{
  return value_of_element(pool, fetch->answer, element, fetch->object);
}

void fetch_end(struct fetch *fetch)
{
  jp_answer_free(fetch->answer);
  jp_ref_release(fetch->at);
  *fetch = (struct fetch){0};
}

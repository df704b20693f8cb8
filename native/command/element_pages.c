#include "command/element_pages.h"

void fetch_begin(struct fetch *fetch, struct evaluator *evaluator, const struct value *object,
                 enum fetch_form form, enum fetch_reader reader)
{
  *fetch = (struct fetch){.evaluator = evaluator,
                          .object = object,
                          .form = form,
                          .reader = reader,
                          .at = jp_ref_keep(object->ref)};
}

bool fetch_page(struct fetch *fetch, size_t most, const struct failure **failure)
{
  const struct jp_options *wanted =
      fetch->reader == FETCH_FOR_PROGRAM ? evaluator_options(fetch->evaluator) : NULL;
  struct jp_options options = wanted != NULL ? *wanted : (struct jp_options){.size = sizeof options};
  options.types = options.longs_as_text = fetch->form == FETCH_TYPED;
  const bool is_array = value_is_array(fetch->object);
  struct jp_request request =
      jp_build_fetch(jp_object(fetch->at), (int64_t)most, is_array ? (int64_t)fetch->count : 0);
  request.options = &options;
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

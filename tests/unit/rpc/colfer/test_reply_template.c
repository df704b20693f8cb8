/* A template writes the bytes that the encoder writes. */
#include "rpc/colfer/exec_head.h"
#include "rpc/colfer/reply_template.h"
#include "sample_request.h"
#include "tests/unit/unit.h"

#include <stdio.h>

#define OWN_ID "00000000-1111-4222-8333-444444444444"

enum form { RETURNS_NUMBER, RETURNS_VOID, PUT_STATIC, PUT_FIELD, THROWS, FORMS };

struct reply {
  enum form form;
  const char *own_id;
  const char *request_id;
  const char *put_id; /* NULL: the request's */
  const char *number;
  const char *class_name; /* NULL: C */
};

static void write_reply(const struct reply *reply, struct buffer *out)
{
  static const uint8_t types[FORMS] = {COLFER_RETURNS, COLFER_RETURNS, COLFER_PUT_STATIC_DONE,
                                       COLFER_PUT_FIELD_DONE, COLFER_THROWS};
  struct colfer_class class = {text_of(reply->class_name == NULL ? "C" : reply->class_name)};
  struct colfer_class type = {TEXT("int")};
  struct colfer_method method = {.clazz = &class, .name = TEXT("m"), .modifiers = 9};
  struct colfer_reflectable from = {.method = &method};
  struct colfer_field field = {.clazz = &class, .name = TEXT("f")};
  struct colfer_obj object = {.value = text_of(reply->number), .clazz = &type};
  struct colfer_return_value returned = {.object = &object, .from = &from};
  struct text put_id = text_of(reply->put_id == NULL ? reply->request_id : reply->put_id);
  struct colfer_static_field_put_done put_static = {&field, put_id};
  struct colfer_instance_field_put_done put_field = {&field, put_id};
  struct colfer_raised_throwable raised = {.from = &from};
  struct colfer_exec_message exec = {.message_id = text_of(reply->own_id),
                                     .response_to_id = text_of(reply->request_id)};
  const struct colfer_message message = {.message_type = types[reply->form], .exec_message = &exec};
  if (reply->form == RETURNS_VOID)
    returned = (struct colfer_return_value){.is_void = true, .from = &from};
  exec.return_value = reply->form <= RETURNS_VOID ? &returned : NULL;
  exec.static_field_put_done = reply->form == PUT_STATIC ? &put_static : NULL;
  exec.instance_field_put_done = reply->form == PUT_FIELD ? &put_field : NULL;
  exec.raised_throwable = reply->form == THROWS ? &raised : NULL;
  colfer_encode(&colfer_message_type, &message, out);
}

static bool fill(struct reply_template *template, const struct reply *reply, const char *request_id)
{
  struct buffer bytes;
  struct sample_message read;
  buffer_init(&bytes);
  write_reply(reply, &bytes);
  sample_message_read(&read, buffer_text(&bytes));
  bool filled = reply_template_fill(template, read.bytes, &read.message, text_of(request_id));
  sample_message_fini(&read);
  buffer_fini(&bytes);
  return filled;
}

static void check_write(const struct reply_template *template, const struct reply *reply, int64_t number)
{
  struct buffer wanted;
  struct buffer out;
  buffer_init(&wanted);
  buffer_init(&out);
  BUFFER_LITERAL(&wanted, "before");
  BUFFER_LITERAL(&out, "before");
  write_reply(reply, &wanted);
  reply_template_write(template, reply->own_id, text_of(reply->request_id), number, &out);
  unit_assert_text(buffer_text(&out), buffer_text(&wanted), __FILE__, __LINE__);
  assert_true(out.len - 6 <= reply_template_length_max(template, strlen(reply->request_id)));
  buffer_fini(&wanted);
  buffer_fini(&out);
}

static void check_form(enum form form)
{
  static const int64_t numbers[] = {0, 8, -1, 12345678, 123456789, INT64_MAX, INT64_MIN};
  struct reply first = {form, OWN_ID, "first", NULL, "58597", NULL};
  struct reply_template template;
  assert_true(fill(&template, &first, "first"));
  assert_int_equal(template.has_number, form == RETURNS_NUMBER);
  char id[EXEC_SHORT_MAX + 1];
  for (size_t length = 1; length <= EXEC_SHORT_MAX; length++) {
    memset(id, 'x', length);
    id[length] = '\0';
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
      char number[32];
      snprintf(number, sizeof number, "%jd", (intmax_t)numbers[i]);
      const struct reply next = {form, "ffffffff-1111-4222-8333-44444444444f", id, NULL, number, NULL};
      check_write(&template, &next, numbers[i]);
    }
  }
}

static void replies_are_written_as_the_encoder_writes_them(void **state)
{
  (void)state;
  for (enum form form = 0; form < THROWS; form++)
    check_form(form);
}

static void other_replies_make_no_template(void **state)
{
  (void)state;
  char long_name[REPLY_BYTES_MAX + 1];
  char long_id[EXEC_SHORT_MAX + 2];
  memset(long_name, 'n', sizeof long_name - 1);
  long_name[sizeof long_name - 1] = '\0';
  memset(long_id, 'i', sizeof long_id - 1);
  long_id[sizeof long_id - 1] = '\0';
  const struct {
    struct reply reply;
    const char *request_id;
  } cases[] = {
      {{THROWS, OWN_ID, "id", NULL, "1", NULL}, "id"},
      {{RETURNS_NUMBER, "short", "id", NULL, "1", NULL}, "id"},
      {{RETURNS_NUMBER, OWN_ID, "other", NULL, "1", NULL}, "id"},
      {{PUT_STATIC, OWN_ID, "id", "other", "1", NULL}, "id"},
      {{PUT_FIELD, OWN_ID, "id", "other", "1", NULL}, "id"},
      {{RETURNS_NUMBER, OWN_ID, "id", NULL, "1", long_name}, "id"},
      {{RETURNS_NUMBER, OWN_ID, long_id, NULL, "1", NULL}, long_id},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct reply_template template;
    assert_false(fill(&template, &cases[i].reply, cases[i].request_id));
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(replies_are_written_as_the_encoder_writes_them),
      cmocka_unit_test(other_replies_make_no_template),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

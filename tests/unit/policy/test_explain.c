#include "policy/explain.h"

#include "tests/unit/temporary_file.h"

#include <stdio.h>

static char path[] = TEMPORARY_FILE;

static const char *file_name(void)
{
  return strrchr(path, '/') + 1;
}

static void write_policy(const char *yaml)
{
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(yaml, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

/* wanted: what is explained, with FILE for the file's name. */
static void check(const char *yaml, const struct policy_question *question, const char *wanted)
{
  write_policy(yaml);
  const struct policy_config config = {.file = path};
  struct policy *policy;
  struct jp_error error = {0};
  assert_int_equal(policy_create(&config, &policy, &error), JP_OK);
  struct buffer out;
  buffer_init(&out);
  policy_explain(policy, question, &out);
  buffer_append_char(&out, '\0');
  assert_false(out.failed);
  struct buffer expected;
  buffer_init(&expected);
  for (const char *at = wanted; *at != '\0';) {
    const char *name = strstr(at, "FILE");
    size_t length = name == NULL ? strlen(at) : (size_t)(name - at);
    buffer_append(&expected, at, length);
    at += length;
    if (name != NULL) {
      buffer_append_text(&expected, text_of(file_name()));
      at += strlen("FILE");
    }
  }
  buffer_append_char(&expected, '\0');
  assert_string_equal(out.data, expected.data);
  buffer_fini(&expected);
  buffer_fini(&out);
  policy_destroy(policy);
}

UNIT_TEST(what_decides_is_named)
{
  const struct policy_question question = {
      .channels = 1u << POLICY_WEBSOCKET, .class_name = TEXT("a.A"), .member_name = TEXT("get")};
  check("rules: [{class: a.*, members: [METHOD], visibility: [PUBLIC], action: ALLOW}]\n", &question,
        "a.A.get via WEBSOCKET_RPC\n"
        "  ALLOW         rule 1 (FILE:1)\n"
        "                  for METHOD: PUBLIC\n"
        "  DENY          default action\n"
        "                  for METHOD: PROTECTED, PACKAGE_PRIVATE, PRIVATE; STATIC_METHOD, FIELD_GET, "
        "FIELD_SET, CALLBACK: PUBLIC, PROTECTED, PACKAGE_PRIVATE, PRIVATE\n");
}

UNIT_TEST(channels_that_differ_are_told_apart)
{
  const struct policy_question question = {.channels =
                                               1u << POLICY_WEBSOCKET | 1u << POLICY_HTTP | 1u << POLICY_ZMQ,
                                           .class_name = TEXT("a.A"),
                                           .member_name = TEXT("<init>")};
  check("rules: [{class: a.*, channel: HTTP_RPC, action: LOG_AND_ALLOW}]\n", &question,
        "a.A.<init> via WEBSOCKET_RPC, ZMQ_SOCKET_RPC\n"
        "  DENY          default action\n"
        "                  for CONSTRUCTOR: PUBLIC, PROTECTED, PACKAGE_PRIVATE, PRIVATE\n"
        "a.A.<init> via HTTP_RPC\n"
        "  LOG_AND_ALLOW rule 1 (FILE:1)\n"
        "                  for CONSTRUCTOR: PUBLIC, PROTECTED, PACKAGE_PRIVATE, PRIVATE\n");
}

UNIT_TEST(a_class_of_the_object_can_deny)
{
  const struct text classes[] = {TEXT("b.Good"), TEXT("c.Bad")};
  const struct policy_question question = {.channels = 1u << POLICY_ZMQ,
                                           .class_name = TEXT("a.A"),
                                           .member_name = TEXT("get"),
                                           .object_classes = classes,
                                           .object_class_count = 2};
  check("rules: [{class: c.*, action: DENY}, {class: a.*, action: ALLOW}]\n", &question,
        "a.A.get via ZMQ_SOCKET_RPC\n"
        "  DENY          rule 1 (FILE:1), about the object's class c.Bad\n"
        "                  for METHOD, FIELD_GET, FIELD_SET: PUBLIC, PROTECTED, PACKAGE_PRIVATE, PRIVATE\n"
        "  ALLOW         rule 2 (FILE:1)\n"
        "                  for STATIC_METHOD, CALLBACK: PUBLIC, PROTECTED, PACKAGE_PRIVATE, PRIVATE\n");
}

static int make_file(void **state)
{
  (void)state;
  temporary_file_write(path, "", 0);
  return 0;
}

static int remove_file(void **state)
{
  (void)state;
  unlink(path);
  return 0;
}

UNIT_MAIN_WITH(make_file, remove_file)

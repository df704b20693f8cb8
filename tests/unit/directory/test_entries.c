#include "directory/entries.h"

#include "tests/unit/unit.h"

#define UUID_TEXT "0f81d4fa-7dec-41d0-a765-00a0c91e6bf6"

static struct arena arena;

static int set_up(void **state)
{
  (void)state;
  arena_init(&arena);
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  arena_fini(&arena);
  return 0;
}

static struct uuid uuid(void)
{
  struct uuid uuid;
  assert_true(uuid_parse(TEXT(UUID_TEXT), &uuid));
  return uuid;
}

UNIT_TEST(names_have_1_to_255_bytes_without_slash_and_controls)
{
  char longest[256];
  memset(longest, 'n', sizeof longest);
  struct jp_error error;
  assert_int_equal(directory_name_check((struct text){longest, 255}, &error), JP_OK);
  assert_int_equal(directory_name_check((struct text){longest, 256}, &error), JP_INVALID);
  static const struct text good[] = {TEXT("a"), TEXT("Grüße 世界"), TEXT("by-name2"), TEXT("..."),
                                     TEXT(" \"\\{}")};
  static const struct text bad[] = {TEXT(""),     TEXT("a/b"),      TEXT("/"),     TEXT("by-name"),
                                    TEXT("."),    TEXT(".."),       TEXT("a\0b"),  TEXT("a\nb"),
                                    TEXT("\x7f"), TEXT("\xc2\x85"), TEXT("a\xff"), TEXT("\xed\xa0\x80")};
  for (size_t i = 0; i < COUNT_OF(good); i++)
    assert_int_equal(directory_name_check(good[i], &error), JP_OK);
  for (size_t i = 0; i < COUNT_OF(bad); i++) {
    if (directory_name_check(bad[i], &error) != JP_INVALID || strncmp(error.text, "takes a name ", 13) != 0)
      fail_msg("%zu: %s", i, error.text);
  }
}

UNIT_TEST(keys_are_written_and_read)
{
  const struct text space = TEXT("pal");
  const struct uuid id = uuid();
  struct directory_key key;
  assert_text(directory_key_info(&arena, space, &id), "/pal/peers/" UUID_TEXT "/info");
  assert_text(directory_key_state(&arena, space, &id), "/pal/peers/" UUID_TEXT "/state");
  assert_text(directory_key_name(&arena, space, TEXT("n")), "/pal/peers/by-name/n");
  assert_text(directory_key_service(&arena, space, TEXT("s"), &id), "/pal/services/s/" UUID_TEXT);
  assert_text(directory_prefix_peers(&arena, space), "/pal/peers/");
  assert_text(directory_prefix_services(&arena, space), "/pal/services/");
  assert_text(directory_prefix_service(&arena, space, TEXT("s")), "/pal/services/s/");
  static const struct {
    struct text key;
    enum directory_key_kind kind;
  } rows[] = {{TEXT("/pal/peers/" UUID_TEXT "/info"), DIRECTORY_KEY_INFO},
              {TEXT("/pal/peers/" UUID_TEXT "/state"), DIRECTORY_KEY_STATE},
              {TEXT("/pal/peers/by-name/a b"), DIRECTORY_KEY_NAME},
              {TEXT("/pal/services/s/" UUID_TEXT), DIRECTORY_KEY_SERVICE},
              {TEXT("/pal/peers/by-name/"), DIRECTORY_KEY_OTHER},
              {TEXT("/pal/peers/by-name/a\0"), DIRECTORY_KEY_OTHER},
              {TEXT("/pal/peers/by-name/a/b"), DIRECTORY_KEY_OTHER},
              {TEXT("/pal/peers/" UUID_TEXT "/other"), DIRECTORY_KEY_OTHER},
              {TEXT("/pal/peers/" UUID_TEXT "/info/x"), DIRECTORY_KEY_OTHER},
              {TEXT("/pal/peers/no-uuid/info"), DIRECTORY_KEY_OTHER},
              {TEXT("/pal/services//" UUID_TEXT), DIRECTORY_KEY_OTHER},
              {TEXT("/pal/services/s/n"), DIRECTORY_KEY_OTHER},
              {TEXT("/pal/others/s/" UUID_TEXT), DIRECTORY_KEY_OTHER},
              {TEXT("/other/peers/" UUID_TEXT "/info"), DIRECTORY_KEY_OTHER},
              {TEXT("x/pal/peers/" UUID_TEXT "/info"), DIRECTORY_KEY_OTHER},
              {TEXT("/pal"), DIRECTORY_KEY_OTHER},
              {TEXT(""), DIRECTORY_KEY_OTHER}};
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    directory_key_read(rows[i].key, space, &key);
    if (key.kind != rows[i].kind)
      fail_msg("%.*s is of kind %d", TEXT_ARGS(rows[i].key), key.kind);
  }
  directory_key_read(TEXT("/pal/services/s/" UUID_TEXT), space, &key);
  assert_text(key.name, "s");
  assert_true(uuid_equal(&key.uuid, &id));
}

UNIT_TEST(values_are_written_as_the_layout_has_them)
{
  const struct directory_info info = {.uuid = uuid(), .name = TEXT("a\"b"), .ctime_ms = 1795805998812};
  const struct directory_info nameless = {.uuid = uuid()};
  const struct directory_state found = {
      .mtime_ms = 5, .json_rpc = TEXT("ws://h:1"), .zmq_curve = TEXT("key")};
  const struct directory_state nothing = {0};
  const struct directory_member member = {.uuid = uuid(), .zmq_rpc = TEXT("tcp://h:2")};
  assert_text(directory_info_write(&arena, &info),
              "{\"uuid\":\"" UUID_TEXT "\",\"name\":\"a\\\"b\",\"ctimeMillis\":1795805998812}");
  assert_text(directory_info_write(&arena, &nameless), "{\"uuid\":\"" UUID_TEXT "\"}");
  assert_text(directory_state_write(&arena, &found),
              "{\"mtimeMillis\":5,\"jsonRpc\":\"ws://h:1\",\"zmqCurve\":\"key\"}");
  assert_text(directory_state_write(&arena, &nothing), "{}");
  assert_text(directory_member_write(&arena, &member),
              "{\"uuid\":\"" UUID_TEXT "\",\"zmqRpc\":\"tcp://h:2\"}");
}

UNIT_TEST(values_of_others_are_read_and_unknown_members_passed_over)
{
  struct directory_info info;
  struct directory_state found;
  struct directory_member member;
  struct jp_error error = {0};
  assert_int_equal(directory_info_read(TEXT("{\"x\":[{}], \"uuid\":\"0F81D4FA-7DEC-41D0-A765-00A0C91E6BF6\","
                                            "\"name\":null,\"ctimeMillis\":12}"),
                                       &arena, &info, &error),
                   JP_OK);
  assert_true(info.name.data == NULL && info.ctime_ms == 12);
  assert_int_equal(
      directory_info_read(TEXT("{\"uuid\":\"" UUID_TEXT "\",\"name\":\"\\u00fc\"}"), &arena, &info, &error),
      JP_OK);
  assert_text(info.name, "ü");
  assert_int_equal(
      directory_state_read(TEXT("{\"mtimeMillis\":1,\"zmqRpc\":\"tcp://a:1\",\"jsonRpc\":\"wss://[::1]:2\","
                                "\"pub\":null,\"jmx\":null}"),
                           &arena, &found, &error),
      JP_OK);
  assert_text(found.json_rpc, "wss://[::1]:2");
  assert_text(found.zmq_rpc, "tcp://a:1");
  assert_int_equal(directory_member_read(TEXT("{\"uuid\":\"" UUID_TEXT "\"}"), &arena, &member, &error),
                   JP_OK);
  assert_true(member.json_rpc.data == NULL);
}

UNIT_TEST(values_of_another_form_are_refused_with_a_reason)
{
  static const struct {
    struct text value;
    const char *why;
  } infos[] = {
      {TEXT(""), "not JSON"},
      {TEXT("garbage"), "not JSON"},
      {TEXT("[]"), "an array, not an object"},
      {TEXT("{}"), "\"uuid\" is not a UUID"},
      {TEXT("{\"uuid\":1}"), "\"uuid\" is not a string"},
      {TEXT("{\"uuid\":\"x\"}"), "\"uuid\" is not a UUID"},
      {TEXT("{\"uuid\":\"" UUID_TEXT "\",\"name\":\"a/b\"}"), "\"name\" is not the name of a peer"},
      {TEXT("{\"uuid\":\"" UUID_TEXT "\",\"name\":\"\\u0007\"}"), "\"name\" is empty"},
      {TEXT("{\"uuid\":\"" UUID_TEXT "\",\"name\":\"\\ud800\"}"), "\"name\" is empty"},
      {TEXT("{\"uuid\":\"" UUID_TEXT "\",\"uuid\":\"" UUID_TEXT "\"}"), "\"uuid\" is given twice"},
      {TEXT("{\"uuid\":\"" UUID_TEXT "\",\"ctimeMillis\":\"1\"}"), "\"ctimeMillis\" is not a number"},
      {TEXT("{\"uuid\":\"" UUID_TEXT "\",\"ctimeMillis\":1.5}"), "\"ctimeMillis\" is not a number"},
      {TEXT("{\"uuid\":\"" UUID_TEXT "\",\"ctimeMillis\":-1}"), "\"ctimeMillis\" is not a number"}};
  static const struct text states[] = {
      TEXT("{\"jsonRpc\":\"http://h:1\"}"),  TEXT("{\"jsonRpc\":\"ws://\"}"),
      TEXT("{\"zmqRpc\":\"ws://h:1\"}"),     TEXT("{\"zmqRpc\":\"tcp://h:1 \"}"),
      TEXT("{\"zmqRpc\":\"tcp://h\\n:1\"}"), TEXT("{\"jsonRpc\":7}")};
  for (size_t i = 0; i < COUNT_OF(infos); i++) {
    struct directory_info info;
    struct jp_error error = {0};
    enum jp_status status = directory_info_read(infos[i].value, &arena, &info, &error);
    if (status != JP_INVALID || strstr(error.text, infos[i].why) == NULL)
      fail_msg("%.*s: %s", TEXT_ARGS(infos[i].value), error.text);
  }
  for (size_t i = 0; i < COUNT_OF(states); i++) {
    struct directory_state found;
    assert_int_equal(directory_state_read(states[i], &arena, &found, NULL), JP_INVALID);
  }
}

UNIT_MAIN_WITH(set_up, tear_down)

#include "client/messages/client_error.h"

#include "jpeer/client.h"
#include "tests/unit/unit.h"

UNIT_TEST(a_text_of_the_peer_cannot_control_a_terminal)
{
  struct jp_client_error error;
  assert_int_equal(client_fail(&error, JP_CLIENT_REMOTE, "a.B: %s",
                               "one\n\ttwo\r\x1B[2J\xC2\x9B"
                               "3\xE2\x80\xAE"),
                   JP_CLIENT_REMOTE);
  assert_string_equal(error.text, "a.B: one\n\ttwo\\x0d\\x1b[2J\\u009b3\\u202e");
}

UNIT_TEST(a_text_that_is_too_long_is_cut_at_the_end_of_a_character)
{
  struct jp_client_error error;
  char name[1401] = "";
  for (size_t i = 0; i + 1 < sizeof name; i += 2)
    memcpy(name + i, "\xC3\xA9", 2);
  assert_int_equal(client_fail(&error, JP_CLIENT_INVALID, "a%s", name), JP_CLIENT_INVALID);
  size_t length = strlen(error.text);
  assert_true(length < sizeof error.text && length > sizeof error.text - 4);
  assert_string_equal(error.text + length - 5, "\xC3\xA9...");
  assert_int_equal(client_fail(&error, JP_CLIENT_INVALID, "%999d", 1), JP_CLIENT_INVALID);
  assert_int_equal(strlen(error.text), 999);
  assert_int_equal(error.text[998], '1');
}

UNIT_TEST(a_prefix_that_leaves_no_room_cuts_the_text_at_the_end_of_a_character)
{
  for (size_t more = 0; more < 2; more++) {
    struct jp_client_error error;
    char name[981] = "";
    for (size_t i = 0; i + 1 < sizeof name; i += 2)
      memcpy(name + i, "\xC3\xA9", 2);
    assert_int_equal(client_fail(&error, JP_CLIENT_INVALID, "%s%s", more == 0 ? "" : "a", name),
                     JP_CLIENT_INVALID);
    client_error_prefix(&error, "in the connection of a test: %s", "");
    size_t length = strlen(error.text);
    assert_true(length < sizeof error.text && length > sizeof error.text - 4);
    assert_string_equal(error.text + length - 5, "\xC3\xA9...");
  }
}

UNIT_MAIN

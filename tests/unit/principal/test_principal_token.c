/* Tokens, and where their hashes are put into a principals file. */
#include "principal/principal_token.h"

#include "principal/principals.h"
#include "tests/unit/unit.h"

#define HASH "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OLD  "sha256:60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752"

UNIT_TEST(a_token_is_random_and_its_hash_is_that_of_its_text)
{
  char tokens[2][PRINCIPAL_TOKEN_LENGTH + 1];
  char hash[PRINCIPAL_HASH_LENGTH + 1];
  uint8_t listed[PRINCIPAL_DIGEST];
  uint8_t digest[PRINCIPAL_DIGEST];
  for (int i = 0; i < 2; i++)
    assert_int_equal(principal_token_make(tokens[i], hash, NULL), JP_OK);
  assert_string_not_equal(tokens[0], tokens[1]);
  assert_int_equal(strspn(tokens[1], "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
                   PRINCIPAL_TOKEN_LENGTH);
  principal_hash_token(text_of(tokens[1]), digest);
  assert_true(principal_read_digest(text_of(hash), listed));
  assert_memory_equal(digest, listed, sizeof digest);
}

UNIT_TEST(a_hash_is_added_and_the_rest_of_the_file_stays)
{
  static const struct {
    const char *before;
    const char *after;
  } cases[] = {
      {"# c\nprincipals:\n  - name: a # the reader\n    tokens: [\"" OLD "\"] # of May\n",
       "# c\nprincipals:\n  - name: a # the reader\n    tokens: [\"" HASH "\", \"" OLD "\"] # of May\n"},
      {"principals:\n  - name: a\n    tokens:\n      # comment\n      - \"" OLD "\"\n    admin: true\n",
       "principals:\n  - name: a\n    tokens:\n      # comment\n      - \"" HASH "\"\n      - \"" OLD
       "\"\n    admin: true\n"},
      {"principals:\n  - name: a\n    admin: true\n  - name: b\n",
       "principals:\n  - name: a\n    tokens: [\"" HASH "\"]\n    admin: true\n  - name: b\n"},
      {"principals:\n  - name: a # x\n    unix-users: [1]\n",
       "principals:\n  - name: a # x\n    tokens: [\"" HASH "\"]\n    unix-users: [1]\n"},
      {"principals:\n  - unix-users: [1]\n    name: a",
       "principals:\n  - unix-users: [1]\n    name: a\n    tokens: [\"" HASH "\"]\n"},
      {"principals: [{name: \xC3\xA9, unix-users: [1]}, {name: a, unix-users: [2], tokens: []}]\n",
       "principals: [{name: \xC3\xA9, unix-users: [1]}, {name: a, unix-users: [2], tokens: [\"" HASH
       "\"]}]\n"},
      {"principals:\n- {name: a, unix-users: [1]}\n",
       "principals:\n- {tokens: [\"" HASH "\"], name: a, unix-users: [1]}\n"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct buffer out;
    struct jp_error error = {0};
    buffer_init(&out);
    if (principal_token_insert(text_of(cases[i].before), "f", "a", HASH, &out, &error) != JP_OK)
      fail_msg("%s: %s", cases[i].before, error.text);
    buffer_append_char(&out, '\0');
    assert_string_equal(out.data, cases[i].after);
    buffer_fini(&out);
  }
}

UNIT_TEST(a_place_that_cannot_be_found_is_an_error)
{
  struct buffer out;
  struct jp_error error = {0};
  buffer_init(&out);
  static const char shared[] =
      "principals:\n  - {name: b, tokens: &t [\"" OLD "\"]}\n  - {name: a, unix-users: [1]}\n";
  assert_int_equal(principal_token_insert(TEXT(shared), "f", "c", HASH, &out, &error), JP_NOT_FOUND);
  static const char listed[] = "principals:\n  - {name: a, tokens: [\"" HASH "\"]}\n";
  buffer_clear(&out);
  assert_int_equal(principal_token_insert(TEXT(listed), "f", "a", HASH, &out, &error), JP_INVALID);
  assert_non_null(strstr(error.text, "this evidence is listed in line 2 already"));
  buffer_fini(&out);
}

UNIT_MAIN

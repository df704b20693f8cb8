/* base/web_origin.c: which texts are origins, which origins are the same, and which lists are refused. */
#include "base/web_origin.h"
#include "tests/unit/unit.h"

static const struct {
  const char *origin;
  const char *serialised;
} ORIGINS[] = {
    {"http://a.test", "http://a.test"},
    {"HTTP://A.Test", "http://a.test"},
    {"http://a.test:80", "http://a.test"},
    {"https://a.test:443", "https://a.test"},
    {"https://a.test:80", "https://a.test:80"},
    {"http://a.test:443", "http://a.test:443"},
    {"http://localhost:3000", "http://localhost:3000"},
    {"http://127.0.0.1:65535", "http://127.0.0.1:65535"},
    {"http://[::1]", "http://[::1]"},
    {"http://[::1]:80", "http://[::1]"},
    {"http://[2001:DB8::1]:8080", "http://[2001:db8::1]:8080"},
    {"https://xn--bcher-kva.test", "https://xn--bcher-kva.test"},
    {"chrome-extension://abcdefgh", "chrome-extension://abcdefgh"},
    {"tauri://localhost", "tauri://localhost"},
};

static const char no_origins[] =
    "* null a.test //a.test ://a.test 1http://a.test http:a.test http:// http://:80 http://a.test/ "
    "http://a.test/path http://a.test?x http://a.test#x http://user@a.test http://*.a.test "
    "http://a.test: http://a.test:0 http://a.test:080 http://a.test:65536 "
    "http://a.test:99999999999999999999 http://a.test:8x http://a.test:80:80 http://[::1 http://[] "
    "http://[::1]x http://[::g] http://::1"
    " http://b\xc3\xbc"
    "cher.test";

UNIT_TEST(origins_are_serialised)
{
  for (size_t i = 0; i < COUNT_OF(ORIGINS); i++) {
    char serialised[WEB_ORIGIN_SIZE];
    assert_null(web_origin_serialise(text_of(ORIGINS[i].origin), serialised));
    assert_string_equal(serialised, ORIGINS[i].serialised);
  }
}

UNIT_TEST(all_else_is_no_origin)
{
  static const char *const with_blanks[] = {"", "http://a b", " http://a.test", "http://a.test "};
  char origin[UNIT_WORD_MAX];
  char serialised[WEB_ORIGIN_SIZE];
  for (const char *at = no_origins; unit_next_word(&at, origin);)
    if (web_origin_serialise(text_of(origin), serialised) == NULL)
      fail_msg("%s: %s", origin, serialised);
  for (size_t i = 0; i < COUNT_OF(with_blanks); i++)
    assert_non_null(web_origin_serialise(text_of(with_blanks[i]), serialised));
}

UNIT_TEST(nul_ends_no_origin)
{
  char serialised[WEB_ORIGIN_SIZE];
  assert_non_null(web_origin_serialise((struct text){"http://a\0.b", 11}, serialised));
  assert_non_null(web_origin_serialise((struct text){"h\0tp://a", 8}, serialised));
}

UNIT_TEST(length_has_a_bound)
{
  char origin[WEB_ORIGIN_SIZE + 1] = "http://";
  char serialised[WEB_ORIGIN_SIZE];
  memset(origin + 7, 'a', sizeof origin - 8);
  assert_int_equal(strlen(origin), WEB_ORIGIN_SIZE);
  assert_non_null(web_origin_serialise(text_of(origin), serialised));
  origin[WEB_ORIGIN_SIZE - 1] = '\0';
  assert_null(web_origin_serialise(text_of(origin), serialised));
  assert_string_equal(serialised, origin);
}

UNIT_TEST(a_list_finds_an_equal_origin)
{
  struct web_origins *origins;
  struct jp_error error;
  assert_int_equal(web_origins_create(TEXT("https://App.test:443,http://localhost:3000"), &origins, &error),
                   JP_OK);
  assert_string_equal(web_origins_find(origins, TEXT("https://app.test")), "https://app.test");
  assert_string_equal(web_origins_find(origins, TEXT("HTTPS://APP.TEST:443")), "https://app.test");
  assert_string_equal(web_origins_find(origins, TEXT("http://localhost:3000")), "http://localhost:3000");
  static const char others[] =
      "http://app.test https://app.test:80 https://app.test.evil.test https://evil-app.test "
      "http://localhost http://localhost:30000 https://app.test@b.test https://app.test/x null * "
      "https://sub.app.test https://app.test,http://localhost:3000 https://app.tes";
  char other[UNIT_WORD_MAX];
  for (const char *at = others; unit_next_word(&at, other);)
    assert_null(web_origins_find(origins, text_of(other)));
  assert_null(web_origins_find(origins, TEXT("")));
  assert_null(web_origins_find(NULL, TEXT("https://app.test")));
  web_origins_destroy(origins);
  web_origins_destroy(NULL);
}

UNIT_TEST(a_list_has_no_wild_cards)
{
  static const char *const lists[] = {"*",
                                      "null",
                                      "NULL",
                                      "http://a.test,*",
                                      "http://a.test,",
                                      ",http://a.test",
                                      "",
                                      "http://a.test, http://b.test",
                                      "https://*.a.test"};
  for (size_t i = 0; i < COUNT_OF(lists); i++) {
    struct web_origins *origins;
    struct jp_error error;
    assert_int_equal(web_origins_create(text_of(lists[i]), &origins, &error), JP_INVALID);
    assert_memory_equal(error.text, "takes origins ", 14);
  }
}

UNIT_MAIN

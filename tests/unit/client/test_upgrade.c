/* What a peer answers to an HTTP Upgrade. */
#include "client/upgrade.h"

#include "tests/unit/unit.h"

#define HEAD                                                                                                 \
  "HTTP/1.1 101 Switching Protocols\r\nUpgrade: jpeer-shm/1\r\nconnection:  upgrade \r\nTwice: 1\r\nTWICE: " \
  "2\r\n\r\n"

static void test_whole(void **state)
{
  (void)state;
  struct upgrade_response response;
  for (size_t length = 1; length < sizeof HEAD - 1; length++) {
    assert_int_equal(upgrade_read_response((struct text){HEAD, length}, &response, NULL), JP_CLIENT_OK);
    assert_int_equal(response.length, 0);
  }
  assert_int_equal(upgrade_read_response(TEXT(HEAD "rest"), &response, NULL), JP_CLIENT_OK);
  assert_int_equal(response.length, sizeof HEAD - 1);
  assert_int_equal(response.status, 101);
  assert_true(text_equal(response.status_line, TEXT("101 Switching Protocols")));
  assert_true(text_equal(response.body, TEXT("rest")));
  assert_true(text_equal(upgrade_find_field(&response, TEXT("upgrade")), TEXT("jpeer-shm/1")));
  assert_null(upgrade_find_field(&response, TEXT("twice")).data);
  assert_null(upgrade_find_field(&response, TEXT("none")).data);
  assert_true(upgrade_speaks(&response, TEXT("jpeer-shm/1")));
  assert_false(upgrade_speaks(&response, TEXT("jpeer-shm/2")));
}

static void test_status(void **state)
{
  (void)state;
  static const struct {
    const char *head;
    unsigned status;
  } cases[] = {
      {"HTTP/1.1 503 Service Unavailable\r\n\r\n", 503},
      {"HTTP/1.1 503\r\n\r\n", 503},
      {"HTTP/1.1 5033 X\r\n\r\n", 0},
      {"HTTP/1.1 50\r\n\r\n", 0},
      {"HTTP/1.1 \r\n\r\n", 0},
      {"HTTP/1.1 1O1 X\r\n\r\n", 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct upgrade_response response;
    assert_int_equal(upgrade_read_response(text_of(cases[i].head), &response, NULL), JP_CLIENT_OK);
    assert_int_equal(response.status, cases[i].status);
  }
}

static void test_refusal(void **state)
{
  (void)state;
  struct upgrade_response response;
  struct jp_client_error error;
  assert_int_equal(
      upgrade_read_response(TEXT("HTTP/1.1 404 Not Found\r\n\r\nno such\r\nthing"), &response, NULL),
      JP_CLIENT_OK);
  assert_int_equal(upgrade_refuse(&response, "it", &error), JP_CLIENT_REFUSED);
  assert_string_equal(error.text, "the peer refuses it: 404 Not Found: no such");
}

static void test_no_http(void **state)
{
  (void)state;
  static char endless[UPGRADE_RESPONSE_MAX + 100];
  struct upgrade_response response;
  assert_int_equal(upgrade_read_response(TEXT("SSH-2.0-x\r\n"), &response, NULL), JP_CLIENT_PROTOCOL);
  assert_int_equal(upgrade_read_response(TEXT("HTTP/1.0 101 X\r\n\r\n"), &response, NULL),
                   JP_CLIENT_PROTOCOL);
  memset(endless, 'x', sizeof endless);
  memcpy(endless, "HTTP/1.1 ", 9);
  assert_int_equal(upgrade_read_response((struct text){endless, sizeof endless}, &response, NULL),
                   JP_CLIENT_PROTOCOL);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_whole),
      cmocka_unit_test(test_status),
      cmocka_unit_test(test_refusal),
      cmocka_unit_test(test_no_http),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

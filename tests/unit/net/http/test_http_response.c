#include "net/http/http_response.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void answers_to_pages_say_so(void **state)
{
  (void)state;
  struct buffer out;
  buffer_init(&out);
  struct http_response_mode mode = {.is_1_1 = true, .keeps_alive = true, .origin = "https://app.test"};
  http_write_reply_head(&out, mode, 200, 7, NULL);
  buffer_append_char(&out, '\0');
  assert_string_equal(out.data, "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\n"
                                "Access-Control-Allow-Origin: https://app.test\r\n"
                                "Access-Control-Expose-Headers: peer-id, jpeer-epoch\r\nVary: Origin\r\n"
                                "Content-Type: application/json\r\nContent-Length: 7\r\n\r\n");
  buffer_fini(&out);
}

static void the_accept_key_is_that_of_the_rfc(void **state)
{
  (void)state;
  struct buffer out;
  buffer_init(&out);
  http_write_upgrade(&out, TEXT("dGhlIHNhbXBsZSBub25jZQ=="), NULL);
  assert_non_null(
      memmem(out.data, out.len, "\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n", 55));
  buffer_fini(&out);
}

static void answers_have_what_they_need(void **state)
{
  (void)state;
  struct buffer out;
  buffer_init(&out);
  struct http_status_response response = {.status = 405, .reason = "why", .allow = "POST, OPTIONS"};
  http_write_status(&out, (struct http_response_mode){.is_1_1 = true, .is_head = true, .keeps_alive = true},
                    &response);
  buffer_append_char(&out, '\0');
  assert_string_equal(out.data, "HTTP/1.1 405 Method Not Allowed\r\nCache-Control: no-store\r\n"
                                "Allow: POST, OPTIONS\r\nContent-Type: text/plain; charset=utf-8\r\n"
                                "Content-Length: 4\r\n\r\n");
  buffer_clear(&out);
  response = (struct http_status_response){.status = 426, .reason = "why", .has_ws_version = true};
  http_write_status(&out, (struct http_response_mode){.is_1_1 = true, .keeps_alive = true}, &response);
  buffer_append_char(&out, '\0');
  assert_string_equal(out.data, "HTTP/1.1 426 Upgrade Required\r\nCache-Control: no-store\r\n"
                                "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                                "Content-Type: text/plain; charset=utf-8\r\nContent-Length: 4\r\n\r\nwhy\n");
  buffer_clear(&out);
  http_write_reply_head(&out, (struct http_response_mode){.is_1_1 = true, .keeps_alive = true}, 200, 120,
                        NULL);
  buffer_append_char(&out, '\0');
  assert_string_equal(out.data, "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\n"
                                "Content-Type: application/json\r\nContent-Length: 120\r\n\r\n");
  buffer_clear(&out);
  http_write_reply_head(&out, (struct http_response_mode){.is_1_1 = true}, 200, 7, NULL);
  buffer_append_char(&out, '\0');
  assert_string_equal(out.data, "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nConnection: close\r\n"
                                "Content-Type: application/json\r\nContent-Length: 7\r\n\r\n");
  buffer_fini(&out);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(answers_to_pages_say_so),
      cmocka_unit_test(the_accept_key_is_that_of_the_rfc),
      cmocka_unit_test(answers_have_what_they_need),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

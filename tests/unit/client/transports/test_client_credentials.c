/* Which tokens and header fields a client accepts, and what errors show of them: nothing. */
#include "client/transports/client_credentials.h"

#include "tests/unit/unit.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECRET "SECRET-0123456789"

static enum jp_client_status init(struct jp_client_config config, struct client_credentials *credentials,
                                  struct jp_client_error *error)
{
  config.size = sizeof config;
  return client_credentials_init(credentials, &config, error);
}

#define KEY "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"

static void expect(struct jp_client_config config, enum jp_client_status wanted, const char *words)
{
  struct client_credentials credentials;
  struct jp_client_error error = {0};
  enum jp_client_status status = init(config, &credentials, &error);
  if (status != wanted || strstr(error.text, words) == NULL || strstr(error.text, "SECRET") != NULL)
    fail_msg("%s: %d, %s", words, status, error.text);
  assert_int_equal(error.status, status);
  client_credentials_fini(&credentials);
}

UNIT_TEST(test_tokens)
{
  static const struct {
    const char *token, *words;
  } refused[] = {{"", "empty"},           {SECRET "\r\nHost: evil", "byte 18"},
                 {SECRET " ", "byte 18"}, {SECRET "=a", "byte 19"},
                 {"==", "byte 1 "},       {"\xc3\xa4" SECRET, "byte 1 "}};
  for (size_t i = 0; i < COUNT_OF(refused); i++)
    expect((struct jp_client_config){.token = refused[i].token}, JP_CLIENT_INVALID, refused[i].words);
  char token[JP_TOKEN_SIZE + 1];
  memset(token, 'a', JP_TOKEN_SIZE);
  token[JP_TOKEN_SIZE] = '\0';
  expect((struct jp_client_config){.token = token}, JP_CLIENT_INVALID, "longer than 8192 bytes");
  token[JP_TOKEN_SIZE - 1] = '\0';
  expect((struct jp_client_config){.token = token}, JP_CLIENT_OK, "");
  expect((struct jp_client_config){.token = "aB9-._~+/=="}, JP_CLIENT_OK, "");
}

static bool refuse_token(void *context, char token[JP_TOKEN_SIZE], struct jp_client_error *error)
{
  (void)token;
  snprintf(error->text, sizeof error->text, "%s", (const char *)context);
  return false;
}

static bool fill_token(void *context, char token[JP_TOKEN_SIZE], struct jp_client_error *error)
{
  (void)error;
  memset(token, *(const char *)context, JP_TOKEN_SIZE); /* without a NUL */
  return true;
}

static bool break_token(void *context, char token[JP_TOKEN_SIZE], struct jp_client_error *error)
{
  snprintf(error->text, sizeof error->text, "no use for %s", SECRET);
  snprintf(token, JP_TOKEN_SIZE, "%s%s", SECRET, (const char *)context);
  return *(const char *)context != '\0';
}

UNIT_TEST(test_token_functions)
{
  static const struct {
    jp_token_function *function;
    const char *context, *words;
  } cases[] = {{refuse_token, "the vault is closed", "has failed: the vault is closed"},
               {refuse_token, "", "the token function has failed"},
               {fill_token, "a", "longer than 8192"},
               {fill_token, "", "the token is empty"},
               {break_token, "\r\nx: y", "byte 18"},
               {break_token, "", "no use for ********"}};
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct client_credentials credentials;
    struct jp_client_error error;
    char token[JP_TOKEN_SIZE];
    struct jp_client_config config = {.token_function = cases[i].function,
                                      .token_context = (void *)cases[i].context};
    assert_int_equal(init(config, &credentials, &error), JP_CLIENT_OK);
    assert_true(client_credentials_have_token(&credentials) &&
                client_credentials_ask_for_token(&credentials));
    assert_int_equal(client_credentials_read_token(&credentials, token, &error), JP_CLIENT_NO_TOKEN);
    if (strstr(error.text, cases[i].words) == NULL || strstr(error.text, "SECRET") != NULL)
      fail_msg("%s", error.text);
    client_credentials_fini(&credentials);
  }
}

/* A file is read each time, also after the program has changed its folder. */
UNIT_TEST(test_token_files)
{
  static const struct {
    const char *content, *words; /* words NULL: it is SECRET */
  } cases[] = {
      {SECRET "\n", NULL}, {" \r\n" SECRET "\t", NULL}, {"", "empty"}, {SECRET " " SECRET, "byte 18"}};
  char folder[] = "/tmp/jpeer-test-XXXXXX";
  char before[4096];
  char token[JP_TOKEN_SIZE];
  struct client_credentials credentials;
  struct jp_client_error error;
  assert_non_null(getcwd(before, sizeof before));
  assert_non_null(mkdtemp(folder));
  assert_int_equal(chdir(folder), 0);
  assert_int_equal(init((struct jp_client_config){.token_file = "token"}, &credentials, &error),
                   JP_CLIENT_OK);
  assert_int_equal(chdir("/"), 0);
  assert_int_equal(client_credentials_read_token(&credentials, token, &error), JP_CLIENT_NO_TOKEN);
  assert_non_null(strstr(error.text, "No such file"));
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    FILE *file = fopen(credentials.token_file, "w");
    assert_non_null(file);
    fputs(cases[i].content, file);
    fclose(file);
    enum jp_client_status status = client_credentials_read_token(&credentials, token, &error);
    assert_int_equal(status, cases[i].words == NULL ? JP_CLIENT_OK : JP_CLIENT_NO_TOKEN);
    if (cases[i].words == NULL)
      assert_string_equal(token, SECRET);
    else if (strstr(error.text, cases[i].words) == NULL || strstr(error.text, "SECRET") != NULL)
      fail_msg("%s", error.text);
  }
  assert_int_equal(unlink(credentials.token_file), 0);
  assert_int_equal(mkfifo(credentials.token_file, 0600), 0); /* nobody writes */
  assert_int_equal(client_credentials_read_token(&credentials, token, &error), JP_CLIENT_NO_TOKEN);
  assert_non_null(strstr(error.text, "not a regular file"));
  assert_int_equal(unlink(credentials.token_file), 0);
  client_credentials_fini(&credentials);
  assert_int_equal(rmdir(folder), 0);
  assert_int_equal(chdir(before), 0);
}

UNIT_TEST(test_headers)
{
  static const struct {
    const char *line, *words;
  } refused[] = {{"SECRET", "not NAME: VALUE"},
                 {":SECRET", "not NAME: VALUE"},
                 {"X Y: SECRET", "\"X Y\" has an invalid character"},
                 {"X\r\nY: SECRET", "invalid character"},
                 {"X: SECRET\r\nY: z", "the value of X has a line break"},
                 {"X: SECRET\nY: z", "the value of X has a line break"},
                 {"X: SECRET\x7f", "control character"},
                 {"authorization: Bearer SECRET", "token_file"},
                 {"HOST: SECRET", "HOST is set by the library"},
                 {"Content-Length: 5", "set by the library"},
                 {"Transfer-Encoding: chunked", "set by the library"},
                 {"Sec-WebSocket-Protocol: a", "set by the library"},
                 {"peer-id: SECRET", "set by the library"},
                 {"jpeer-epoch: SECRET", "set by the library"},
                 {"Connection: close", "set by the library"}};
  for (size_t i = 0; i < COUNT_OF(refused); i++)
    expect((struct jp_client_config){.headers = (const char *[]){"A: b", refused[i].line, NULL}},
           JP_CLIENT_INVALID, refused[i].words);
  char large[5000] = "X: ";
  memset(large + 3, 'a', sizeof large - 4);
  expect((struct jp_client_config){.headers = (const char *[]){large, NULL}}, JP_CLIENT_INVALID,
         "4096 bytes");
  struct client_credentials credentials;
  struct buffer out = {0};
  struct jp_client_config config = {.headers = (const char *[]){"X-A:b", "Cookie: \tc=d; e", "Te-st:", NULL}};
  assert_int_equal(init(config, &credentials, NULL), JP_CLIENT_OK);
  client_credentials_write_fields(&credentials, "t", &out);
  buffer_append_char(&out, '\0');
  assert_string_equal(out.data, "Authorization: Bearer t\r\nX-A: b\r\nCookie: c=d; e\r\nTe-st: \r\n");
  buffer_fini(&out);
  client_credentials_fini(&credentials);
}

UNIT_TEST(test_members_that_exclude_each_other)
{
  expect((struct jp_client_config){.token = "SECRET", .token_file = "a"}, JP_CLIENT_INVALID, "exclude");
  expect((struct jp_client_config){.token = "SECRET", .token_function = fill_token}, JP_CLIENT_INVALID,
         "exclude");
  expect((struct jp_client_config){.key_file = "a"}, JP_CLIENT_INVALID, "without cert_file");
  expect((struct jp_client_config){.ca_file = ""}, JP_CLIENT_INVALID, "ca_file is an empty path");
  expect((struct jp_client_config){.server_key = KEY}, JP_CLIENT_INVALID, "server_key needs key_file");
  expect((struct jp_client_config){.server_key = KEY "0", .key_file = "a"}, JP_CLIENT_INVALID,
         "40 characters");
  expect((struct jp_client_config){.server_key = KEY, .key_file = "a", .cert_file = "a"}, JP_CLIENT_INVALID,
         "is for tcp: URLs");
  expect((struct jp_client_config){.server_key = KEY, .key_file = "a"}, JP_CLIENT_OK, "");
}

/* A peer may quote the request, and the end of a text may be cut off. */
UNIT_TEST(test_quoted_tokens)
{
  static const struct {
    const char *text, *wanted;
  } cases[] = {{"400 Bad: Bearer " SECRET " and " SECRET "!", "400 Bad: Bearer ******** and ********!"},
               {"400 Bad: SECRET-0123456...", "400 Bad: ********..."},
               {"400 Bad: SECRET-0123: more", "400 Bad: ********: more"},
               {"400 Bad: nothing", "400 Bad: nothing"},
               {"", ""}};
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct jp_client_error error;
    snprintf(error.text, sizeof error.text, "%s", cases[i].text);
    client_credentials_hide_token(SECRET, &error);
    assert_string_equal(error.text, cases[i].wanted);
  }
  client_credentials_hide_token(SECRET, NULL);
}

UNIT_MAIN

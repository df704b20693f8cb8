#ifndef JPEER_TESTS_UNIT_CLIENT_CLIENT_CALLS_H
#define JPEER_TESTS_UNIT_CLIENT_CLIENT_CALLS_H
/* Clients, and a call for tests in which the kind of call does not matter. */
#include "jpeer/client.h"
#include "tests/unit/unit.h"

#include <poll.h>

static inline struct jp_client *fixture_open_url(const char *url, const struct jp_client_config *config)
{
  struct jp_client *client;
  struct jp_client_error error;
  if (jp_client_open(url, config, &client, &error) != JP_CLIENT_OK)
    fail_msg("%s", error.text);
  return client;
}

static inline struct jp_request fixture_request(void)
{
  return jp_build_class_method_call("T", "m", JP_NO_ARGUMENTS);
}

/* JP_CLIENT_OK: the answer was the 8 of fake_serve. */
static inline enum jp_client_status fixture_call(struct jp_client *client, int timeout_ms,
                                                 struct jp_client_error *error)
{
  const struct jp_request request = fixture_request();
  struct jp_answer *answer;
  int64_t value = 8;
  enum jp_client_status status = jp_client_call(client, &request, timeout_ms, &answer, error);
  if (status == JP_CLIENT_OK && (!jp_answer_integer(answer, &value) || value != 8))
    status = JP_CLIENT_PROTOCOL;
  jp_answer_free(answer);
  return status;
}

static inline void fixture_assert_call(struct jp_client *client)
{
  struct jp_client_error error = {.text = "the answer is not 8"};
  if (fixture_call(client, 10000, &error) != JP_CLIENT_OK)
    fail_msg("%s", error.text);
}

/* Makes a call that fails, and checks that its error contains the words. */
static inline void fixture_assert_fails(struct jp_client *client, enum jp_client_status status,
                                        const char *words)
{
  const struct jp_request request = fixture_request();
  struct jp_answer *answer;
  struct jp_client_error error;
  enum jp_client_status got = jp_client_call(client, &request, 10000, &answer, &error);
  if (got != status || strstr(error.text, words) == NULL)
    fail_msg("wanted %d %s, got %d %s", status, words, got, error.text);
  assert_int_equal(error.status, got);
  assert_null(answer);
}

static inline bool fixture_is_readable(struct jp_client *client, int timeout_ms)
{
  struct pollfd polled = {.fd = jp_client_descriptor(client), .events = POLLIN};
  return poll(&polled, 1, timeout_ms) == 1;
}

/* Waits until there is something to process, and processes it. */
static inline void fixture_process(struct jp_client *client)
{
  assert_true(fixture_is_readable(client, 60000));
  assert_int_equal(jp_client_process(client, NULL), JP_CLIENT_OK);
}

/* Counts of completions, by status. */
struct tally {
  unsigned good;
  unsigned closed;
};

static inline void fixture_count(void *context, enum jp_client_status status, struct jp_answer *answer)
{
  struct tally *tally = context;
  tally->good += status == JP_CLIENT_OK;
  tally->closed += status == JP_CLIENT_CLOSED;
  jp_answer_free(answer);
}

static inline void fixture_send(struct jp_client *client, struct tally *tally, int count)
{
  const struct jp_request request = fixture_request();
  for (int i = 0; i < count; i++)
    assert_int_equal(jp_client_send(client, &request, 60000, fixture_count, tally, NULL), JP_CLIENT_OK);
}

static inline void fixture_process_until(struct jp_client *client, const struct tally *tally, unsigned count)
{
  while (tally->good + tally->closed < count) {
    if (!fixture_is_readable(client, 60000))
      fail_msg("nothing comes: %u of %u", tally->good, count);
    (void)!jp_client_process(client, NULL); /* the completions have counted the failure */
  }
}

/* The caller frees them. */
static inline char *fixture_letters(size_t length)
{
  char *letters = malloc(length + 1);
  assert_non_null(letters);
  memset(letters, 'a', length);
  letters[length] = '\0';
  return letters;
}

#endif

#ifndef JPEER_TESTS_UNIT_CLIENT_CLIENT_FIXTURE_H
#define JPEER_TESTS_UNIT_CLIENT_CLIENT_FIXTURE_H
/* Clients of a fake peer. */
#include "fake_peer.h"

#include "jpeer/client.h"

static inline struct jp_client *fixture_open(const struct fake_peer *peer,
                                             const struct jp_client_config *config)
{
  struct jp_client *client;
  struct jp_client_error error;
  if (jp_client_open(fake_peer_url(peer), config, &client, &error) != JP_CLIENT_OK)
    fail_msg("%s", error.text);
  return client;
}

static inline struct jp_request fixture_request(void)
{
  return jp_build_class_method_call("T", "m", JP_NO_ARGUMENTS);
}

/* JP_CLIENT_OK means that the answer was the 8 of fake_serve. */
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

#endif

#ifndef JPEER_TESTS_UNIT_CLIENT_CLIENT_FIXTURE_H
#define JPEER_TESTS_UNIT_CLIENT_CLIENT_FIXTURE_H
/* Clients of a fake peer. */
#include "client_calls.h"
#include "fake_peer.h"

static inline struct jp_client *fixture_open(const struct fake_peer *peer,
                                             const struct jp_client_config *config)
{
  return fixture_open_url(fake_peer_url(peer), config);
}

static inline void fixture_close(struct jp_client *client, struct fake_peer *peer)
{
  jp_client_close(client);
  fake_peer_stop(peer);
}

#endif

#ifndef JPEER_TESTS_UNIT_CLIENT_CLIENT_FIXTURE_H
#define JPEER_TESTS_UNIT_CLIENT_CLIENT_FIXTURE_H
/* Clients of a fake peer. */
#include "client_calls.h"
#include "fake_peer.h"

static struct fake_peer *fixture_peer __attribute__((unused)); /* of the last client, for fixture_end */

static inline struct jp_client *fixture_open(struct fake_peer *peer, const struct jp_client_config *config)
{
  fixture_peer = peer;
  return fixture_open_url(fake_peer_url(peer), config);
}

static inline void fixture_end(struct jp_client *client)
{
  jp_client_close(client);
  fake_peer_stop(fixture_peer);
}

#endif

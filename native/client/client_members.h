#ifndef JPEER_CLIENT_CLIENT_MEMBERS_H
#define JPEER_CLIENT_CLIENT_MEMBERS_H
/*
 * The peers that the clients of this process have found by a directory: how many connections each has, which have
 * failed, and at which peer each session lives. So that new connections go to the peer with fewer of them, and all
 * clients of a session to one peer. Knows neither directories nor connections.
 *
 * Any thread. The state is global, under a lock of its own, which is never held while something waits. A child of
 * fork(2) begins with empty tables.
 */
#include "base/text.h"
#include "base/uuid.h"

#include <stdbool.h>

struct member;
struct member_session;

/* A peer that a connection may go to. The texts are borrowed. */
struct member_candidate {
  struct text uuid;
  struct text url;
  bool was_tried; /* it is not chosen */
};

/* The session of a client, whose URL is dir:. Clients with the same session and URL share it. NULL: no memory. */
struct member_session *member_session_enter(const struct uuid *session, struct text dir_url);
/* The client has no place. NULL is fine. */
void member_session_leave(struct member_session *session);

/* A connection to a peer, or one that is being opened. All zero: none. */
struct member_place {
  struct member_session *session;
  struct member *member;
};

/* Takes a place at the peer where other clients of the session have connections. False: there are none. */
bool member_place_take_shared(struct member_place *place, struct member_session *session);
/*
 * Takes a place at one of the candidates, and sets its was_tried. The candidate where other clients of the session have
 * connections comes first. Of the others, two are chosen at random, and the one with fewer connections of this process
 * is taken; candidates that have failed within the last 30 seconds come last. Sets *index to the candidate.
 */
enum member_choice { MEMBER_CHOSEN, MEMBER_NONE_LEFT, MEMBER_NO_MEMORY };
enum member_choice member_place_choose(struct member_place *place, struct member_session *session,
                                       struct member_candidate *candidates, size_t count, size_t *index);
/* The peer's address and UUID; borrowed until the place is left. */
struct text member_place_url(const struct member_place *place);
struct text member_place_uuid(const struct member_place *place);
/* The peer has accepted the connection: earlier failures are forgotten. */
void member_place_confirm(const struct member_place *place);

enum member_end {
  MEMBER_LEFT,  /* nothing is known of the peer */
  MEMBER_FAILED /* the peer cannot be reached, or does not serve */
};

/* Also of a place that is all zero. */
void member_place_leave(struct member_place *place, enum member_end end);

#endif

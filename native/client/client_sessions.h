#ifndef JPEER_CLIENT_CLIENT_SESSIONS_H
#define JPEER_CLIENT_CLIENT_SESSIONS_H
/*
 * Sessions that outlive their clients: one client of a named session leaves objects in the peer, and a later client takes
 * them over by their numbers. For the commands, which keep the numbers in a file.
 *
 * The owner of the client calls these functions while no other thread uses it.
 */
#include "jpeer/client.h"

/* The epoch of the session; 0: unknown, because there was no answer yet. */
uint64_t client_session_epoch(struct jp_client *client);
/* Returns a handle for an object that an earlier client has left with client_leave_session. sent_count: the
 * earlier result of client_sent_count; 0: this client has adopted the object already, and needs another
 * handle. NULL: no memory, or the peer has ended since the earlier client. */
struct jp_ref *client_adopt_ref(struct jp_client *client, uint32_t number, const char *type, uint64_t epoch,
                                uint32_t sent_count);
/* The number of references that releasing the handle would release in the peer. */
uint32_t client_sent_count(struct jp_ref *ref);
/* As jp_client_close, but the objects that the program has handles of stay in the peer, until the session ends. */
void client_leave_session(struct jp_client *client);

#endif

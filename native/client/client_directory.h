#ifndef JPEER_CLIENT_CLIENT_DIRECTORY_H
#define JPEER_CLIENT_CLIENT_DIRECTORY_H
/*
 * Opens the connections of a client whose URL is dir:. Each time that one is opened, the directory is asked who has the name
 * now, or who the members of the service are.
 *
 * Used by the thread that opens a connection, and with the client's lock by the thread that ends one: never by two at
 * once.
 */
#include "client/client_members.h"
#include "client/transports/transport.h"

struct client_directory;

/* url: borrowed from now on; a dir: URL. session: the name of the client's session. JP_CLIENT_INVALID. */
enum jp_client_status client_directory_create(const struct client_url *url,
                                              const struct jp_directory_config *config,
                                              const struct uuid *session, struct client_directory **directory,
                                              struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* There is no connection. NULL is fine. */
void client_directory_destroy(struct client_directory *directory);

enum directory_connect {
  DIRECTORY_FIRST, /* the client has had no connection yet: it joins the other clients of its session */
  DIRECTORY_AGAIN  /* the last connection has ended: it goes to whoever has the name now */
};

/*
 * Opens a connection of that kind, at most options->timeout_ms. Peers of a service are tried one after the other. The
 * transport is used until client_directory_disconnect at most.
 */
enum jp_client_status client_directory_connect(struct client_directory *directory,
                                               const struct transport_kind *kind,
                                               const struct transport_options *options,
                                               enum directory_connect how,
                                               struct client_transport **transport,
                                               struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* The connection has ended. No effect if there is none. */
void client_directory_disconnect(struct client_directory *directory);
/* True if the last connection is to another peer than the connection before, as far as the directory knows. Only needed
 * of peers that name no epoch. */
bool client_directory_has_moved(const struct client_directory *directory);

/* Finds the address of one peer, ws: or wss:, without a connection. The caller frees it. timeout_ms: the most. */
enum jp_client_status client_directory_find_address(const char *url, int timeout_ms, char **address,
                                                    struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

#endif

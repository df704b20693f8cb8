#ifndef JPEER_CLIENT_DIRECTORY_LOOKUP_H
#define JPEER_CLIENT_DIRECTORY_LOOKUP_H
/*
 * Looks up peers in a directory (docs/directory.md). Knows no connections to peers. One thread at a time uses an access;
 * texts of results are in the caller's arena.
 *
 * Errors: JP_CLIENT_REFUSED (no endpoint answers in time, or the directory refuses the user), JP_CLIENT_UNSUPPORTED (no
 * libcurl, or no /v3 at the endpoint), JP_CLIENT_PROTOCOL (the answer is no directory's), JP_CLIENT_LIMIT,
 * JP_CLIENT_NO_MEMORY.
 */
#include "jpeer/client.h"

#include "base/arena.h"
#include "base/uuid.h"
#include "directory/etcd_client.h"

/* How a directory is reached. */
struct directory_access {
  struct etcd_options options; /* its texts belong to the access */
  char *space;
  int timeout_ms; /* of one look-up */
};

/* config: NULL: all from the environment (JPEER_DIR_CACERT and others), which also supplies what config leaves NULL.
 * dir_endpoints: the endpoints of a dir: URL, which are asked over TLS if there is a file of certificates; absent: those
 * of the configuration. JP_CLIENT_INVALID. On failure nothing is to be freed. */
enum jp_client_status directory_access_init(struct directory_access *access,
                                            const struct jp_directory_config *config,
                                            struct text dir_endpoints,
                                            struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
void directory_access_fini(struct directory_access *access);

/* A peer, as the directory has it. The texts are NUL-terminated; data is NULL where the peer has none. */
struct found_peer {
  struct uuid uuid;
  struct text name;
  struct text json_rpc;
  struct text zmq_rpc;
  struct text zmq_curve;
  int64_t since_ms; /* since 1970; 0: unknown */
  bool is_alive;    /* true of all that are found */
  bool has_name;    /* of directory_find_all */
};

struct found_peers {
  struct found_peer *items;
  size_t count;
  int64_t revision;   /* of the directory */
  size_t fault_count; /* entries that cannot be read */
  const char *fault;  /* of the first of them; NULL: none */
};

/* Fails as above. */
enum jp_client_status directory_open(const struct directory_access *access, struct etcd_client **etcd,
                                     struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* All peers that are alive: they have a state. *is_lost: no endpoint has answered, which may end by itself. */
enum jp_client_status directory_find_all(const struct directory_access *access, struct etcd_client *etcd,
                                         int64_t deadline_ms, struct arena *arena, struct found_peers *found,
                                         bool *is_lost, struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* The peer with a name or a UUID. Also JP_CLIENT_REFUSED: there is none. */
enum jp_client_status directory_find_peer(const struct directory_access *access, struct text target,
                                          int timeout_ms, struct arena *arena, struct found_peers *found,
                                          struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* The members of a service, by UUID. Also JP_CLIENT_REFUSED: there are none. */
enum jp_client_status directory_find_service(const struct directory_access *access, struct text service,
                                             int timeout_ms, struct arena *arena, struct found_peers *found,
                                             struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Fails with the client's status for a failure of native/directory. */
enum jp_client_status directory_fail(struct jp_client_error *error, const struct jp_error *why);

#endif

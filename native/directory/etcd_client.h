#ifndef JPEER_DIRECTORY_ETCD_CLIENT_H
#define JPEER_DIRECTORY_ETCD_CLIENT_H
/*
 * A small client of etcd 3.4 and later, by its JSON gateway (/v3/...): reads, transactions, leases, watches.
 * libcurl, which is loaded when the first client is made, speaks HTTP. Knows neither Java nor peers.
 *
 * One thread at a time uses a client; etcd_client_stop may be called from any thread. Whoever watches and
 * asks at the same time makes two clients. A client is not used after a fork.
 *
 * Each call has a deadline (clock_now_ms), within which it tries one endpoint after the other, beginning with
 * the one that answered last. The errors of all calls:
 *   JP_IO         no endpoint can be reached, or no whole answer came before the deadline. A change may have
 *                 been made all the same: read to learn it.
 *   JP_DENIED     user, password, certificate or permission
 *   JP_NOT_FOUND  the lease, or the revision of a watch, exists no more
 *   JP_INVALID    etcd refuses the request, or the answer is not etcd's (/v3 is not served, for example)
 *   JP_LIMIT      an answer is longer than ETCD_ANSWER_MAX
 *   JP_CLOSED     etcd_client_stop was called
 *   JP_NO_MEMORY
 * The texts name the endpoint and the reason. Texts of results are in the caller's arena.
 */
#include "base/arena.h"
#include "base/status.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

enum { ETCD_ENDPOINTS_MAX = 16, ETCD_ANSWER_MAX = 16 << 20 };

struct etcd_options {
  const char *endpoints; /* "a:2379,https://b:2379,[::1]:2379"; without a scheme it is http:// */
  const char *ca_file;   /* PEM; NULL: the system's authorities, for https:// */
  const char *cert_file; /* PEM, together with key_file; NULL: none */
  const char *key_file;
  const char *user_file; /* a line USER:PASSWORD, which only its owner may read; NULL: without a user */
};

/* What the texts of the options say, without any file or network. */
struct etcd_endpoint_facts {
  bool all_tls;      /* every endpoint is https:// */
  bool any_tls;      /* at least one endpoint is https:// */
  bool all_loopback; /* every host is localhost, 127.x.x.x or ::1 */
};

/* JP_INVALID: the text begins with "takes ...". facts may be NULL. */
enum jp_status etcd_endpoints_check(const char *endpoints, struct etcd_endpoint_facts *facts,
                                    struct jp_error *error) JP_MUST_CHECK;

struct etcd_client;

/* Loads libcurl and reads the user file; connects to nothing. Copies the options. Also JP_NOT_FOUND: no
 * libcurl; JP_INVALID: endpoints or user file. */
enum jp_status etcd_client_create(const struct etcd_options *options, struct etcd_client **client,
                                  struct jp_error *error) JP_MUST_CHECK;
void etcd_client_destroy(struct etcd_client *client);
/* Any thread. The call in progress, and all later ones, end at once with JP_CLOSED, until etcd_client_resume. */
void etcd_client_stop(struct etcd_client *client);
/* The client's thread. */
void etcd_client_resume(struct etcd_client *client);
/* The endpoint that the last call used, "http://a:2379"; borrowed from the client. */
const char *etcd_client_endpoint(const struct etcd_client *client);

/* ---- reads ---- */

struct etcd_pair {
  struct text key;
  struct text value;
  int64_t create_revision;
  int64_t mod_revision; /* of its last change */
  int64_t lease;        /* 0: none */
};

struct etcd_pairs {
  struct etcd_pair *items; /* in the order of the keys */
  size_t count;
  size_t capacity;
  int64_t revision; /* of the whole store when this was read: a watch continues at the next */
};

enum etcd_span {
  ETCD_ONE_KEY,
  ETCD_PREFIX /* all keys that begin with the text */
};

/* Reads a key, or all keys with a prefix as they were at one revision. *pairs is overwritten. If etcd compacts that
 * revision between two pages, the read begins anew, a few times; then JP_IO. */
enum jp_status etcd_read(struct etcd_client *client, struct text key, enum etcd_span span,
                         int64_t deadline_ms, struct arena *arena, struct etcd_pairs *pairs,
                         struct jp_error *error) JP_MUST_CHECK;

/* ---- transactions ---- */

struct etcd_condition {
  struct text key;
  int64_t mod_revision; /* of the key; 0: the key does not exist */
};

enum etcd_change_kind { ETCD_PUT, ETCD_DELETE };

struct etcd_change {
  enum etcd_change_kind kind;
  struct text key;
  struct text value; /* of a PUT */
  int64_t lease;     /* of a PUT; 0: none */
};

struct etcd_txn {
  const struct etcd_condition *conditions; /* all must hold */
  size_t condition_count;
  const struct etcd_change *changes; /* made if they hold */
  size_t change_count;
  const struct text *reads; /* keys that are read if they do not */
  size_t read_count;
};

struct etcd_txn_result {
  bool succeeded;
  struct etcd_pairs pairs; /* of the reads: keys that do not exist are left out */
};

/* Sent to another endpoint only if the first was not reached. JP_NOT_FOUND: the lease of a PUT. */
enum jp_status etcd_commit(struct etcd_client *client, const struct etcd_txn *txn, int64_t deadline_ms,
                           struct arena *arena, struct etcd_txn_result *result,
                           struct jp_error *error) JP_MUST_CHECK;

/* ---- leases ---- */

/* *granted_s may be longer than asked for. */
enum jp_status etcd_lease_grant(struct etcd_client *client, int64_t ttl_s, int64_t deadline_ms,
                                int64_t *lease, int64_t *granted_s, struct jp_error *error) JP_MUST_CHECK;
/* Its time begins anew. JP_NOT_FOUND: the lease has ended. */
enum jp_status etcd_lease_keep(struct etcd_client *client, int64_t lease, int64_t deadline_ms,
                               struct jp_error *error) JP_MUST_CHECK;
/* Removes its keys, too. JP_NOT_FOUND: the lease has ended. */
enum jp_status etcd_lease_revoke(struct etcd_client *client, int64_t lease, int64_t deadline_ms,
                                 struct jp_error *error) JP_MUST_CHECK;
/* The time that it has left, and the time that it was granted. JP_NOT_FOUND: the lease has ended. */
enum jp_status etcd_lease_look(struct etcd_client *client, int64_t lease, int64_t deadline_ms,
                               int64_t *left_s, int64_t *granted_s, struct jp_error *error) JP_MUST_CHECK;

/* ---- watches ---- */

struct etcd_event {
  bool is_delete;        /* the key is gone, and the pair has no value */
  struct etcd_pair pair; /* valid during the call */
};

/* Called on the watching thread: once with count 0 when the watch has begun, then for each answer of etcd.
 * The events are all up to the revision. False ends the watch. */
typedef bool etcd_watcher(void *context, const struct etcd_event *events, size_t count, int64_t revision);

/*
 * Watches a key or a prefix from a revision on (the `revision` of an etcd_pairs, plus one), until the watcher
 * returns false or the deadline has passed: JP_OK. JP_NOT_FOUND: etcd has forgotten the revision, so read
 * again. JP_IO: the connection is lost: read or watch again. A server that hangs is noticed by nothing except
 * the deadline: choose one of about a minute and watch again from the last revision + 1.
 */
enum jp_status etcd_watch(struct etcd_client *client, struct text key, enum etcd_span span,
                          int64_t from_revision, int64_t deadline_ms, etcd_watcher *watcher, void *context,
                          struct jp_error *error) JP_MUST_CHECK;

#endif

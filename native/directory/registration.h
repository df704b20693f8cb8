#ifndef JPEER_DIRECTORY_REGISTRATION_H
#define JPEER_DIRECTORY_REGISTRATION_H
/*
 * The peer's entries in the directory: registers them, keeps their lease alive, and withdraws them.
 *
 * A thread of its own does all this. It never touches a request, holds no lock while it waits for etcd, and
 * blocks all signals, so that an etcd that hangs slows nothing in the peer. docs/internals/directory.md has
 * the states.
 */
#include "base/status.h"
#include "base/uuid.h"
#include "directory/etcd_client.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REGISTRATION_SERVICES_MAX = 32 };

/* What to do if another peer has the name at the start. */
enum registration_patience {
  REGISTRATION_WAITS, /* until the lease of that peer can have ended: it may have been killed */
  REGISTRATION_FAILS_AT_ONCE
};

/* What to do if the directory cannot be used at the start. */
enum registration_need {
  REGISTRATION_REQUIRED, /* registration_begin fails */
  REGISTRATION_OPTIONAL  /* registration_begin succeeds, and the thread goes on trying */
};

/* All texts are borrowed as long as the registration. Names are those of directory_name_check. */
struct registration_config {
  struct etcd_options etcd;
  const char *space; /* the namespace */
  struct uuid uuid;
  const char *name; /* NULL: the peer is listed by its UUID alone */
  /* NULL: not served */
  const char *json_url;
  const char *zmq_url;
  const char *zmq_curve;
  const char *const *services;
  size_t service_count; /* at most REGISTRATION_SERVICES_MAX */
  int64_t ttl_s;
  int64_t timeout_ms; /* how long etcd may take to answer, and how long it may be unreachable at the start */
  enum registration_patience patience;
  enum registration_need need;
};

struct registration;

/* Loads libcurl and reads the user file, and asks etcd nothing yet. JP_NOT_FOUND: libcurl is missing; JP_IO,
 * JP_INVALID: the user file. */
enum jp_status registration_create(const struct registration_config *config,
                                   struct registration **registration, struct jp_error *error) JP_MUST_CHECK;
/*
 * Starts the thread, and waits until the entries are in the directory. Called once.
 * JP_CLOSED: registration_withdraw was called during that time, or before. JP_DENIED: another peer has the name; the
 * text says its UUID and addresses. JP_IO and others of directory/etcd_client.h: the directory cannot be used.
 */
enum jp_status registration_begin(struct registration *registration, struct jp_error *error) JP_MUST_CHECK;
/* Removes the entries, and ends the thread. Returns after at most half a second, whatever etcd does; the lease
 * ends entries that could not be removed. Any thread, also again; NULL is fine. */
void registration_withdraw(struct registration *registration);
/* Withdraws it first. */
void registration_destroy(struct registration *registration);

#endif

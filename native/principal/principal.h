#ifndef JPEER_PRINCIPAL_PRINCIPAL_H
#define JPEER_PRINCIPAL_PRINCIPAL_H
/*
 * A principal: a name with rights (docs/security.md, "Principals"). Clients, sessions and connections hold the principal
 * that they belong to. Without --principals there is none: the pointer is NULL, and means `owner`, whose rights are those
 * of the command line.
 *
 * When the file is loaded again, the principal of an entry with the same name stays the same object, so that its
 * connections, sessions and objects still count. A principal without an entry is gone: its policy denies everything, and a
 * later entry of the name makes a new principal.
 *
 * Any thread.
 */
#include "base/quota.h"
#include "policy/policy_source.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PRINCIPAL_NAME_MAX = 64 };

/* What `limits` bounds, by its keys. */
enum principal_limit {
  PRINCIPAL_CONNECTIONS,
  PRINCIPAL_SESSIONS, /* with objects */
  PRINCIPAL_OBJECTS,  /* in all its sessions together */
  PRINCIPAL_CALLS,
  PRINCIPAL_LIMITS
};

extern const char *const principal_limit_names[PRINCIPAL_LIMITS];

/* Only principals.c writes it, except the quotas. */
struct principal {
  atomic_size_t holders;
  uint32_t number; /* unique in the life of the process; not 0 */
  char name[PRINCIPAL_NAME_MAX + 1];
  struct policy_source *policies; /* the pointer is constant; a reload replaces the policy in it */
  struct quota quotas[PRINCIPAL_LIMITS];
  atomic_bool is_admin;
  atomic_bool sees_metrics;
  atomic_bool is_gone;
};

/* With one holder, and without limits. Takes the policy, even on failure. The name is valid. JP_NO_MEMORY. */
enum jp_status principal_create(const char *name, struct policy *policy, struct principal **principal,
                                struct jp_error *error) JP_MUST_CHECK;
/* NULL is fine for both. The last release frees the principal. */
struct principal *principal_retain(struct principal *principal);
void principal_release(struct principal *principal);

static inline uint32_t principal_number(const struct principal *principal)
{
  return principal == NULL ? 0 : principal->number;
}

static inline bool principal_is_gone(const struct principal *principal)
{
  return principal != NULL && atomic_load_explicit(&principal->is_gone, memory_order_relaxed);
}

/* `owner` is one, too. */
static inline bool principal_is_admin(const struct principal *principal)
{
  return principal == NULL || atomic_load_explicit(&principal->is_admin, memory_order_relaxed);
}

/* May read the figures of the peer (GET /metrics). */
static inline bool principal_sees_metrics(const struct principal *principal)
{
  return principal_is_admin(principal) ||
         atomic_load_explicit(&principal->sees_metrics, memory_order_relaxed);
}

/* Counts one more. False: the limit is reached, and nothing was counted. NULL has no limits, and is not counted. */
bool principal_enter(struct principal *principal, enum principal_limit limit) JP_MUST_CHECK;
void principal_leave(struct principal *principal, enum principal_limit limit);
/* JP_LIMIT, with a text that names the limit. */
enum jp_status principal_fail_limit(const struct principal *principal, enum principal_limit limit,
                                    struct jp_error *error);

/* What a client was known by. */
enum principal_proof_kind {
  PRINCIPAL_BY_NOTHING, /* anonymous; or there are no principals */
  PRINCIPAL_BY_TOKEN,
  PRINCIPAL_BY_CERTIFICATE,
  PRINCIPAL_BY_COMMON_NAME,
  PRINCIPAL_BY_CURVE_KEY,
  PRINCIPAL_BY_USER,
  PRINCIPAL_BY_GROUP
};

struct principal_proof {
  enum principal_proof_kind kind;
  /* Of a user or group. For a token or certificate, the first four bytes of its digest, the first one highest. */
  uint32_t number;
};

#endif

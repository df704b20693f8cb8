#include "principal/principal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const principal_limit_names[PRINCIPAL_LIMITS] = {[PRINCIPAL_CONNECTIONS] = "connections",
                                                             [PRINCIPAL_SESSIONS] = "sessions",
                                                             [PRINCIPAL_OBJECTS] = "objects",
                                                             [PRINCIPAL_CALLS] = "calls"};

static atomic_uint_fast32_t last_number;

enum jp_status principal_create(const char *name, struct policy *policy, struct principal **principal,
                                struct jp_error *error)
{
  struct policy_source *policies;
  enum jp_status status = policy_source_create_of(policy, &policies, error);
  if (status != JP_OK)
    return status;
  struct principal *made = calloc(1, sizeof *made);
  if (made == NULL) {
    policy_source_destroy(policies);
    return jp_fail_memory(error, NULL);
  }
  assert(strlen(name) <= PRINCIPAL_NAME_MAX);
  atomic_init(&made->holders, 1);
  made->number = (uint32_t)atomic_fetch_add(&last_number, 1) + 1;
  snprintf(made->name, sizeof made->name, "%s", name);
  made->policies = policies;
  for (size_t i = 0; i < PRINCIPAL_LIMITS; i++)
    atomic_init(&made->quotas[i].max, SIZE_MAX);
  *principal = made;
  return JP_OK;
}

struct principal *principal_retain(struct principal *principal)
{
  if (principal != NULL)
    atomic_fetch_add_explicit(&principal->holders, 1, memory_order_relaxed);
  return principal;
}

void principal_release(struct principal *principal)
{
  if (principal == NULL || atomic_fetch_sub_explicit(&principal->holders, 1, memory_order_acq_rel) > 1)
    return;
  policy_source_destroy(principal->policies);
  free(principal);
}

bool principal_enter(struct principal *principal, enum principal_limit limit)
{
  return principal == NULL || quota_enter(&principal->quotas[limit]);
}

void principal_leave(struct principal *principal, enum principal_limit limit)
{
  if (principal != NULL)
    quota_leave(&principal->quotas[limit]);
}

enum jp_status principal_fail_limit(const struct principal *principal, enum principal_limit limit,
                                    struct jp_error *error)
{
  return jp_fail(error, JP_LIMIT, "the limit of %zu %s of the principal %s is reached (limits.%s)",
                 atomic_load(&principal->quotas[limit].max), principal_limit_names[limit], principal->name,
                 principal_limit_names[limit]);
}

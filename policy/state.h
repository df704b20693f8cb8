#ifndef JPEER_POLICY_STATE_H
#define JPEER_POLICY_STATE_H
/*
 * The inside of a policy, for policy.c, which builds it, and evaluate.c, which asks it. Constant once built,
 * except for the number of holders.
 */
#include "policy/loader.h"

#include <stdatomic.h>

enum policy_fixed_reason {
  POLICY_REASON_DEFAULT,
  POLICY_REASON_INTERNALS,
  POLICY_REASON_WITHHELD,
  POLICY_REASON_EXEMPT,
  POLICY_REASON_PRIMITIVE,
  POLICY_REASON_NO_DENIAL, /* policy_check_other found nothing against it */
  POLICY_REASON_RULES      /* the first rule; rule i is POLICY_REASON_RULES + i */
};

struct policy {
  atomic_uint holders;
  struct arena arena; /* owns what the members below point to */
  uint64_t generation;
  struct policy_pattern internals;
  struct policy_pattern withheld;
  bool has_withheld;
  struct policy_rule *rules; /* the file's, then those of the presets and of --rpc-allow */
  size_t rule_count;
  struct policy_verdict default_verdict;
  const struct policy_member_pattern *idempotent;
  size_t idempotent_count;
  const char *notice;
  bool absent; /* the peer was given no policy at all */
};

#endif

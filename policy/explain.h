#ifndef JPEER_POLICY_EXPLAIN_H
#define JPEER_POLICY_EXPLAIN_H
/*
 * Describes a policy's decision about a member, and names the rule or preset that decides. `jpeer policy
 * explain` prints it. Any thread.
 */
#include "policy/policy.h"

#include "base/buffer.h"

struct policy_question {
  unsigned channels; /* set of 1 << enum policy_channel; not empty */
  struct text class_name;
  struct text member_name; /* "<init>" for a constructor */
  /* The classes of an object: its own class, and the classes between it and the class that declares the
   * member. */
  const struct text *object_classes;
  size_t object_class_count;
};

/*
 * Appends a paragraph for each group of channels that have the same verdicts for the same reasons:
 *
 *   com.example.Api.add via WEBSOCKET_RPC, HTTP_RPC
 *     ALLOW         rule 1 (policy.yaml:2)
 *                     for METHOD, STATIC_METHOD: PUBLIC
 *     DENY          default action
 *                     for METHOD, STATIC_METHOD: PROTECTED, PACKAGE_PRIVATE, PRIVATE
 *
 * Each verdict and reason has two lines. The second lists the categories and visibilities that the verdict is
 * for, in the words of a policy file. A denial for a class of the object names that class.
 */
void policy_explain(const struct policy *policy, const struct policy_question *question, struct buffer *out);

#endif

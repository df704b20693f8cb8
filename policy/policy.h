#ifndef JPEER_POLICY_POLICY_H
#define JPEER_POLICY_POLICY_H
/*
 * The policy engine decides what a caller may do. It uses only names and facts about members. It knows
 * neither JNI nor sockets. docs/policy.md, "How an operation is judged", has the order of evaluation.
 *
 * A struct policy is constant once it is built: any number of threads may ask it. Each policy has a
 * generation number that is unique in the process, so that a verdict that was kept from an older policy is
 * recognized as stale.
 */
#include "base/arena.h"
#include "base/status.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

/* Each constant of these three enumerations has a row in policy/vocabulary.c. */
enum policy_channel {
  POLICY_WEBSOCKET,
  POLICY_HTTP,
  POLICY_ZMQ,
  POLICY_LOG,
  POLICY_CLI,
  POLICY_REPLAY,
  POLICY_CHANNELS
};
/* The kind of the operation and of the member. */
enum policy_category {
  POLICY_METHOD,
  POLICY_STATIC_METHOD,
  POLICY_CONSTRUCTOR,
  POLICY_FIELD_GET,
  POLICY_FIELD_SET,
  POLICY_CALLBACK, /* a client implements the method of an interface */
  POLICY_CATEGORIES
};
enum policy_visibility {
  POLICY_PUBLIC,
  POLICY_PROTECTED,
  POLICY_PACKAGE_PRIVATE,
  POLICY_PRIVATE,
  POLICY_VISIBILITIES
};
enum policy_action { POLICY_UNSET, POLICY_ALLOW, POLICY_DENY, POLICY_LOG_AND_ALLOW, POLICY_LOG_AND_DENY };

/* The member that an operation is about. class_name is a binary name with dots ("java.util.Map$Entry"); for
 * an array, the name of the element class. member_name is "<init>" for a constructor. */
struct policy_query {
  enum policy_channel channel;
  enum policy_category category;
  enum policy_visibility visibility;
  struct text class_name;
  struct text member_name;
};

struct policy_verdict {
  bool allow;
  bool log;        /* write one line for each operation */
  bool observed;   /* a rule or the default action denies, and the policy observes: it is allowed */
  uint32_t reason; /* for policy_reason: the rule, preset or default that decided */
};

struct policy;

/* The default action is default_action, if given. Otherwise it is DENY if `allow` is given; else the file's
 * default action (DENY if the file names none); else ALLOW if only presets are given; else DENY. */
struct policy_config {
  const char *file;    /* path of the YAML file; NULL: none */
  const char *presets; /* "deny-unsafe,deny-nonpublic" from the command line; NULL: none */
  const char *allow; /* "com.example.**,java.util.*": classes whose public members are allowed; NULL: none */
  enum policy_action default_action; /* from the command line; POLICY_UNSET: not given */
  const char *idempotent; /* "com.example.Calculator.add,...", added to the file's list; NULL: none. It must
                             outlive the policy */
  const char *withheld;   /* a pattern of further classes that nobody may use; NULL: none */
  /* further presets, as `presets`, which do not count for the default action: they only take away; NULL: none */
  const char *more_presets;
  bool observes; /* only presets, the peer's own classes and `withheld` deny (--policy-mode observe) */
  const char *allow_name; /* of `allow` in errors and reasons; NULL: "--rpc-allow" */
};

/* Loads and compiles a policy. JP_INVALID: the error's text names file, line and word (or the preset). JP_IO:
 * the file cannot be read. Caller frees with policy_destroy. */
enum jp_status policy_create(const struct policy_config *config, struct policy **policy,
                             struct jp_error *error) JP_MUST_CHECK;
/* Removes a holder. Removing the last holder frees the policy. NULL is fine. Any thread. */
void policy_destroy(struct policy *policy);
/* Adds a holder and returns the policy. The holder calls policy_destroy. Called by any thread that holds the
 * policy already. */
struct policy *policy_retain(struct policy *policy);
uint64_t policy_generation(const struct policy *policy);
bool policy_observes(const struct policy *policy);
/* The log line at start: the default and its reason, or how to allow something. NULL: none is needed. */
const char *policy_notice(const struct policy *policy);
/* True if the class is denied only because the peer was given no policy at all, so that its operator could
 * allow the class. The peer's own classes and withheld classes cannot be allowed. */
bool policy_lacks_rules_for(const struct policy *policy, struct text class_name);

/*
 * Judges the class that the caller named. The peer's own classes (package jpeer.peer) and the classes of
 * config.withheld are denied, exempt channels (policy/vocabulary.h) and primitive types (the element type of
 * an int[]) are allowed. Other names are decided by the file's rules, the presets, the rules of --rpc-allow,
 * and the default action, in this order.
 */
struct policy_verdict policy_check(const struct policy *policy, const struct policy_query *query);
/*
 * Judges the class that declares the member, if it is not the named class. It denies only if the first rule
 * or preset that matches this class denies. Rules for every class and the default action do not apply, and
 * only a denial requests a log line.
 *
 * A rule for every class has a class pattern that matches every name: "**" or a longer spelling of it (but
 * not "*", which means the default package). Such a rule decides the same for both classes, because the
 * member, channel, category and visibility are the same; policy_check has applied it to the named class.
 */
struct policy_verdict policy_check_other(const struct policy *policy, const struct policy_query *query);
/*
 * Judges the classes of the object in the same way: its own class, the class whose method runs, and the
 * classes between these two. The preset deny-jdk-internals does not apply, because objects of the JDK often
 * have internal classes: Path.of(..) returns a sun.nio.fs.UnixPath, whose public members are the platform's
 * interface.
 */
struct policy_verdict policy_check_object(const struct policy *policy, const struct policy_query *query);

enum policy_early { POLICY_EARLY_DENY, POLICY_EARLY_ASK };

/*
 * Decides by the names, before the class is looked up: DENY if every combination of a category in
 * `categories` (a set of 1 << enum policy_category) and a visibility would be denied, otherwise ASK. With
 * DENY, *verdict comes from the first rule that denies one of them and logs, or, if no such rule logs, from
 * the first rule that denies. An empty set of categories is ASK.
 */
enum policy_early policy_check_names(const struct policy *policy, enum policy_channel channel,
                                     unsigned categories, struct text class_name, struct text member_name,
                                     struct policy_verdict *verdict);

/* The same as policy_check_names, without a member: DENY if every possible member of the class would be
 * denied. */
enum policy_early policy_check_class(const struct policy *policy, enum policy_channel channel,
                                     unsigned categories, struct text class_name,
                                     struct policy_verdict *verdict);

/* False if every possible member of the class is denied on this channel; interfaces for callbacks do not
 * count. A metadata query then leaves the class out without reading its members. */
bool policy_shows_class(const struct policy *policy, enum policy_channel channel, struct text class_name);

/* True if the list of idempotent members has the member. Whether it may be called is decided by
 * policy_check. */
bool policy_is_idempotent(const struct policy *policy, struct text class_name, struct text member_name);
/* The same for a write of the field, or of an array's element "[]". A pattern with a wildcard for members means methods, so
 * it does not count. */
bool policy_names_idempotent_write(const struct policy *policy, struct text class_name,
                                   struct text field_name);

/* "rule 3 (policy.yaml:12)", "preset deny-unsafe", "--rpc-allow 'com.example.**'", "default action".
 * Borrowed: valid as long as the policy. */
const char *policy_reason(const struct policy *policy, uint32_t reason);
const char *policy_channel_name(enum policy_channel channel); /* "WEBSOCKET_RPC" */

#endif

#ifndef JPEER_POLICY_POLICY_H
#define JPEER_POLICY_POLICY_H
/*
 * The policy engine: decides what a caller may do, from names and facts alone. Pure C: no JNI, no sockets.
 * Facts and order of evaluation: policy.md ("Evaluation", "Presets").
 *
 * A struct policy is built once, then constant: any number of threads may ask it. Each has a generation
 * number of its own, never used twice in a process, so that a cached verdict can be told from a stale one.
 */
#include "base/arena.h"
#include "base/status.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

/* Each constant of these three has a row in policy/vocabulary.c. */
enum policy_channel {
  POLICY_WEBSOCKET,
  POLICY_HTTP,
  POLICY_ZMQ,
  POLICY_LOG,
  POLICY_CLI,
  POLICY_REPLAY,
  POLICY_CHANNELS
};
/* What is done with a member, and of which kind the member is. */
enum policy_category {
  POLICY_METHOD,
  POLICY_STATIC_METHOD,
  POLICY_CONSTRUCTOR,
  POLICY_FIELD_GET,
  POLICY_FIELD_SET,
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

/* What an operation is about. class_name is binary with dots ("java.util.Map$Entry"); of an array its element
 * class; member is the method's or field's name, "<init>" for a constructor. */
struct policy_query {
  enum policy_channel channel;
  enum policy_category category;
  enum policy_visibility visibility;
  struct text class_name;
  struct text member_name;
};

struct policy_verdict {
  bool allow;
  bool log;        /* write one line an operation */
  uint32_t reason; /* for policy_reason: which rule, preset or default decided */
};

struct policy;

/* The default action is default_action; else a denial where there is `allow`; else the file's (DENY where it
 * has none); else ALLOW where there are only presets; else DENY. */
struct policy_config {
  const char *file;    /* path of the YAML file; NULL: none */
  const char *presets; /* "deny-unsafe,deny-nonpublic" from the command line; NULL: none */
  const char *allow; /* "com.example.**,java.util.*": classes whose public members are allowed; NULL: none */
  enum policy_action default_action; /* from the command line; POLICY_UNSET: not given */
  const char *idempotent; /* "com.example.Calculator.add,..." beside the file's list; borrowed as long as the
                             policy; NULL: none */
  const char *withheld;   /* a pattern of classes that nobody may use, beside the peer's own; NULL: none */
};

/* Loads and compiles. JP_INVALID: the text names file, line and word (or the preset). JP_IO: the file cannot
 * be read. Caller frees with policy_destroy. */
enum jp_status policy_create(const struct policy_config *config, struct policy **policy,
                             struct jp_error *error) JP_MUST_CHECK;
/* Lets go of a policy; who does it last frees it. NULL is fine. Any thread. */
void policy_destroy(struct policy *policy);
/* One more holder, who lets go with policy_destroy. Gives the policy. Any thread that holds it already. */
struct policy *policy_retain(struct policy *policy);
uint64_t policy_generation(const struct policy *policy);
/* One line for the log at start: what the default is and why, how to allow something; NULL: nothing to say.
 */
const char *policy_notice(const struct policy *policy);
/* True where the class is denied because nobody gave the peer any policy, so that the operator of the peer
 * can allow it; the peer's own classes and withheld ones nobody can allow. */
bool policy_lacks_rules_for(const struct policy *policy, struct text class_name);

/*
 * The whole evaluation for the class that the caller named: the peer's own classes (package jpeer.peer) and
 * those of config.withheld are denied; the channels POLICY_CLI and POLICY_REPLAY are exempt; a primitive
 * keyword as class_name (the element class of an int[]) is allowed; then the file's rules in order, the
 * presets, what --rpc-allow names, the default action.
 */
struct policy_verdict policy_check(const struct policy *policy, const struct policy_query *query);
/*
 * The second half of an operation whose member is declared in another class: denies only where the first rule
 * or preset that matches that class denies; rules for every class and the default action are not asked. Such
 * a verdict asks for a log line only where it denies.
 *
 * A rule for every class is one whose class pattern matches every name there can be: "**", and what says the
 * same, such as "**.*" or "*.**" ("*" alone does not: it means the default package). What such a rule narrows
 * by member, channel, category or visibility is the same for both classes, so the named class's evaluation
 * has decided it: deny-nonpublic is such a rule, and the member's visibility is what it is under either name.
 */
struct policy_verdict policy_check_other(const struct policy *policy, const struct policy_query *query);
/*
 * The same for the classes that the object brings in: its own, the one whose method runs, and those between.
 * The preset deny-jdk-internals is not asked about them: Path.of(..) gives a sun.nio.fs.UnixPath, whose
 * public members are the JDK's interface.
 */
struct policy_verdict policy_check_object(const struct policy *policy, const struct policy_query *query);

enum policy_early { POLICY_EARLY_DENY, POLICY_EARLY_ASK };

/*
 * What the names alone decide, before the class is looked up: DENY where every combination of `categories` (a
 * set of 1 << enum policy_category) and of visibility would be denied, ASK otherwise. With DENY *verdict says
 * why (the first rule that denies any of them; one that logs comes before one that does not) and whether to
 * log. An empty set of categories is ASK: nothing is decided about it.
 */
enum policy_early policy_check_names(const struct policy *policy, enum policy_channel channel,
                                     unsigned categories, struct text class_name, struct text member_name,
                                     struct policy_verdict *verdict);

/* False where no member of the class can be allowed on this channel, whatever its name: lets a metadata query
 * leave the class out without looking at it. */
bool policy_shows_class(const struct policy *policy, enum policy_channel channel, struct text class_name);

/* Is the member in the file's `idempotent` list? Whether it may be called at all is another question. */
bool policy_is_idempotent(const struct policy *policy, struct text class_name, struct text member_name);

/* "rule 3 (policy.yaml:12)", "preset deny-unsafe", "--rpc-allow 'com.example.**'", "default action":
 * borrowed, as long as the policy. */
const char *policy_reason(const struct policy *policy, uint32_t reason);
const char *policy_channel_name(enum policy_channel channel); /* "WEBSOCKET_RPC" */

#endif

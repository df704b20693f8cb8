#ifndef JPEER_POLICY_ALLOW_H
#define JPEER_POLICY_ALLOW_H
/*
 * Turns the patterns of --rpc-allow into rules. Each rule allows the public members of the classes that its
 * pattern matches, in every category and on every channel. One thread; the rules live as long as the arena.
 */
#include "policy/loader.h"

/* The word "jdk:" before a pattern permits a wildcard that matches classes of the JDK. It changes nothing about the rule:
 * only policy_allow_check uses it.
 *
 * patterns is a list such as "com.example.**,java.util.*", without blanks; name is what errors and reasons call it (NULL:
 * "--rpc-allow"). Fills the document's rules and
 * their reasons; they have no line numbers. JP_INVALID: the error's text names the option and the pattern. JP_LIMIT:
 * the list is longer than POLICY_RULES_MAX. */
enum jp_status policy_allow_compile(struct text patterns, const char *name, struct arena *arena,
                                    struct policy_document *document, struct jp_error *error) JP_MUST_CHECK;

/*
 * Whether a wildcard without "jdk:" matches a class of the JDK. Most of the JDK's packages have members that
 * give a client access to everything, so a peer refuses such a wildcard if it matches any class of the JDK. The caller passes
 * the names of the JDK's classes, in any order, until policy_allow_see_class returns false.
 */
struct policy_allow_check {
  struct policy_pattern *wildcards; /* patterns without "jdk:" */
  struct text *sources;
  size_t count;               /* 0: nothing can be refused; no name is needed */
  const struct text *refused; /* NULL: none so far */
  struct text class_name;     /* a class that it matches, in the arena */
  const char *name;           /* of the list in the error */
  struct arena *arena;
};

/* Borrows patterns, name and arena. policy_allow_compile must have accepted the patterns with this name. */
enum jp_status policy_allow_check_begin(struct policy_allow_check *check, struct text patterns,
                                        const char *name, struct arena *arena,
                                        struct jp_error *error) JP_MUST_CHECK;
/* False once the answer is known. context is the struct policy_allow_check. */
bool policy_allow_see_class(struct text class_name, void *context);
/* JP_INVALID if a pattern is refused: the error's text names the pattern, a class that it matches, and
 * dangerous members that it would allow. */
enum jp_status policy_allow_check_end(const struct policy_allow_check *check,
                                      struct jp_error *error) JP_MUST_CHECK;

#endif

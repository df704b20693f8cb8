#ifndef JPEER_POLICY_ALLOW_H
#define JPEER_POLICY_ALLOW_H
/*
 * Turns the patterns of --rpc-allow into rules. Each rule allows the public members of the classes that its
 * pattern matches, in every category and on every channel. One thread; the rules live as long as the arena.
 */
#include "policy/loader.h"

/* patterns is a list such as "com.example.**,java.util.*", without blanks. Fills the document's rules and
 * their reasons; they have no line numbers. JP_INVALID: the text names the option and the pattern. JP_LIMIT:
 * the list is longer than POLICY_RULES_MAX. */
enum jp_status policy_allow_compile(struct text patterns, struct arena *arena,
                                    struct policy_document *document, struct jp_error *error) JP_MUST_CHECK;

#endif

#ifndef JPEER_POLICY_ALLOW_H
#define JPEER_POLICY_ALLOW_H
/*
 * The patterns of --rpc-allow as rules: each allows the public members of every category, on every channel,
 * of the classes that it matches. One thread; what it gives lives as long as the arena.
 */
#include "policy/loader.h"

/* patterns is "com.example.**,java.util.*", without blanks. Fills the document's rules, with their reasons
 * and without line numbers. JP_INVALID: the text names the option and the pattern; JP_LIMIT: there are more
 * than POLICY_RULES_MAX. */
enum jp_status policy_allow_compile(struct text patterns, struct arena *arena,
                                    struct policy_document *document, struct jp_error *error) JP_MUST_CHECK;

#endif

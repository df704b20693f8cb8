#ifndef JPEER_POLICY_LINT_H
#define JPEER_POLICY_LINT_H
/*
 * Warns of rules of a policy file that decide nothing, or do not mean what they seem to mean (docs/policy.md,
 * "Warnings"). `jpeer policy check` prints the warnings. One thread.
 *
 * A rule is called unreachable only if that is certain. Warnings that depend on naming conventions (a package
 * begins with a small letter, a class with a capital) are worded as conditions.
 */
#include "base/buffer.h"
#include "policy/loader.h"

/* Appends a line "path:LINE: warning: text" for each warning. JP_NO_MEMORY. */
enum jp_status policy_lint(const struct policy_document *document, const char *path, struct buffer *out,
                           size_t *count, struct jp_error *error) JP_MUST_CHECK;

#endif

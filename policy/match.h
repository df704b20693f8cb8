#ifndef JPEER_POLICY_MATCH_H
#define JPEER_POLICY_MATCH_H
/*
 * Ant-style patterns over names whose segments are separated by '.' (docs/policy.md, "Patterns").
 *
 *   ?   one character, which is not '.'
 *   *   zero or more characters within a segment
 *   **  as a whole segment: zero or more segments; inside a segment the same as *
 *
 * So "com.example.**" matches com.example.A and com.example.sub.B, and "**" matches every name. The case of
 * letters does not matter: a letter outside ASCII equals its simple lower-case form (Unicode), but never an
 * ASCII letter. '$' is an ordinary character: nested classes are "Outer$Inner". A name must not have an empty
 * segment (no class has an empty segment).
 *
 * A compiled pattern is constant: any thread may match with it. It is valid as long as the arena in which it
 * was made. Matching allocates nothing and needs at most (length of name) * (length of pattern) steps.
 */
#include "base/arena.h"
#include "base/status.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { POLICY_PATTERN_MAX = 1024 }; /* bytes of one pattern */

struct policy_segment;

struct policy_pattern {
  struct text prefix;                    /* the leading segments without wildcards, in lower case (ASCII) */
  const struct policy_segment *segments; /* the segments after the prefix */
  size_t segment_count;
  uint64_t tail; /* the prefix's last eight bytes, if it is that long and all ASCII */
  bool has_tail;
  bool ascii; /* the prefix is all ASCII */
  /* Matches every name that has at least one character: "**" and its longer spellings "**.*", "*.**",
   * "**.?*". "*" is not among these patterns: it matches names of one segment only. */
  bool every_name;
};

/* Compiles a class pattern. JP_INVALID: the text describes the fault, and does not repeat the pattern. */
enum jp_status policy_pattern_compile(struct text source, struct arena *arena, struct policy_pattern *pattern,
                                      struct jp_error *error) JP_MUST_CHECK;
/* Compiles a member pattern. A member pattern has one segment, or is "[]", an element of an array. "*" sets every_name, too: no member's name has
 * a '.'. */
enum jp_status policy_pattern_compile_member(struct text source, struct arena *arena,
                                             struct policy_pattern *pattern,
                                             struct jp_error *error) JP_MUST_CHECK;

/* source: a pattern as written. */
bool policy_pattern_has_wildcard(struct text source);

bool policy_pattern_matches(const struct policy_pattern *pattern, struct text name);

/*
 * True only if `general` matches every name that `specific` matches; both are patterns of classes, or both of
 * members. The answer is exact, except that it is false if the comparison takes too many steps. It allocates,
 * so it is for warnings, not for requests.
 */
bool policy_pattern_covers(const struct policy_pattern *general, const struct policy_pattern *specific);
/* A cheap test before policy_pattern_covers: false means that `general` does not cover `specific`. */
bool policy_pattern_may_cover(const struct policy_pattern *general, const struct policy_pattern *specific);

/*
 * A cheap test before the match: false means that the pattern does not match. It compares the last eight
 * bytes of the prefix with the name's bytes at the same place, except the bit of upper and lower case.
 * Packages mostly begin alike, so the end of the prefix differs more often than its start.
 */
static inline bool policy_pattern_may_match(const struct policy_pattern *pattern, struct text name)
{
  const uint64_t case_bits = 0x2020202020202020u;
  uint64_t bytes;
  if (!pattern->has_tail)
    return true;
  if (name.len < pattern->prefix.len || (pattern->segment_count == 0 && name.len != pattern->prefix.len))
    return false;
  memcpy(&bytes, name.data + pattern->prefix.len - sizeof bytes, sizeof bytes);
  return ((bytes ^ pattern->tail) & ~case_bits) == 0;
}

#endif

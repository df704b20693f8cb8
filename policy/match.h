#ifndef JPEER_POLICY_MATCH_H
#define JPEER_POLICY_MATCH_H
/*
 * Ant-style patterns over names whose segments are separated by '.' (policy.md, "File").
 *
 *   ?   one character, which is not '.'
 *   *   any number of characters within a segment, none included
 *   **  as a whole segment: any number of segments, none included; inside a segment the same as *
 *
 * So "com.example.**" matches com.example.A and com.example.sub.B, and "**" every name. The case of letters
 * does not matter: a letter outside ASCII equals its simple lower-case form (Unicode), except that it never
 * equals an ASCII letter. '$' is an ordinary character: nested classes are "Outer$Inner". Names are taken to
 * have no empty segment; no class has one.
 *
 * A compiled pattern is constant; any thread may match with it. It lives as long as the arena it was made in.
 * Matching allocates nothing and takes at most (length of name) * (length of pattern) steps.
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
  const struct policy_segment *segments; /* what follows the prefix */
  size_t segment_count;
  uint64_t tail; /* the prefix's last eight bytes, where it is that long and of ASCII alone */
  bool has_tail;
  bool ascii; /* the prefix has ASCII characters only */
  /* Matches every name that has at least one character: "**", and what says the same, such as "**.*", "*.**"
   * and "**.?*". "*" does not: it matches names of one segment only. */
  bool every_name;
};

/* A class pattern. JP_INVALID: the text tells what is wrong with it, without naming it. */
enum jp_status policy_pattern_compile(struct text source, struct arena *arena, struct policy_pattern *pattern,
                                      struct jp_error *error) JP_MUST_CHECK;
/* A member pattern: one segment; every_name is set for "*" as well, for no member's name has a '.'. */
enum jp_status policy_pattern_compile_member(struct text source, struct arena *arena,
                                             struct policy_pattern *pattern,
                                             struct jp_error *error) JP_MUST_CHECK;

bool policy_pattern_matches(const struct policy_pattern *pattern, struct text name);

/*
 * False where a look at eight bytes tells that the pattern does not match: nearly always where it does not,
 * for names differ less in their packages' beginnings than where a pattern's prefix ends. What is ASCII
 * stands at the same place in the name, and letters that differ in more than the one bit of their case are
 * different.
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

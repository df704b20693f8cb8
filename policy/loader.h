#ifndef JPEER_POLICY_LOADER_H
#define JPEER_POLICY_LOADER_H
/*
 * Reads a policy's YAML into compiled rules (docs/policy.md, "The file"). The presets are read by the same
 * functions. One thread; the rules live as long as the arena.
 *
 * A file is refused for unknown or repeated keys, unknown words, patterns that can match nothing, and more
 * than POLICY_RULES_MAX rules. Such an error is JP_INVALID; its text begins with "name:line: " and quotes the
 * word.
 */
#include "policy/rules.h"

enum { POLICY_RULES_MAX = 10000 };

/* A pattern "Class.member" of the file's `idempotent` list. */
struct policy_member_pattern {
  struct policy_pattern class_pattern;
  struct policy_pattern member_pattern;
  struct text source; /* as in the file; absent: from the command line */
  int line;
};

/* A rule's patterns as in the file, for warnings. */
struct policy_rule_source {
  struct text class_pattern;
  struct text member_pattern; /* "**" if the rule has no pattern for members */
  bool is_split;              /* both are parts of one `pattern` */
};

struct policy_document {
  enum policy_action default_action; /* POLICY_UNSET: the file has no default action */
  uint32_t presets;                  /* set of 1 << index in policy_presets */
  struct policy_rule *rules;         /* in the file's order */
  size_t rule_count;
  struct policy_rule_source *sources; /* one for each rule */
  struct policy_member_pattern *idempotent;
  size_t idempotent_count;
};

/* The index in policy_presets of the preset with this name, or SIZE_MAX. */
size_t policy_preset_find(struct text name);

/* name is the file's name in errors. */
enum jp_status policy_load_text(struct text yaml, const char *name, struct arena *arena,
                                struct policy_document *document, struct jp_error *error) JP_MUST_CHECK;
/* JP_IO: the file cannot be read. */
enum jp_status policy_load_file(const char *path, struct arena *arena, struct policy_document *document,
                                struct jp_error *error) JP_MUST_CHECK;

#endif

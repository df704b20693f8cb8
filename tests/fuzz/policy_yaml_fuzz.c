/* Any bytes as a policy file: it loads, or the error has a place; a loaded policy can judge, and warnings can be made
 * of it. */
#include "policy/lint.h"

#include "tests/fuzz/fuzz.h"

static void check_error(const struct jp_error *error)
{
  require(error->status == JP_INVALID && strncmp(error->text, "f:", 2) == 0);
}

static void ask(const struct policy_document *document)
{
  for (size_t i = 0; i < document->rule_count; i++) {
    const struct policy_rule *rule = &document->rules[i];
    require(rule->line >= 1 && rule->channels != 0 && rule->combinations != 0);
    for (unsigned channel = 0; channel < POLICY_CHANNELS; channel++)
      (void)policy_rule_applies(rule, channel, rule->combinations, TEXT("com.example.A$B"), TEXT("<init>"));
  }
}

static void warn(const struct policy_document *document)
{
  struct buffer out;
  size_t count;
  size_t lines = 0;
  buffer_init(&out);
  require(policy_lint(document, "f", &out, &count, NULL) == JP_OK);
  /* A pattern may have a line feed. */
  for (size_t i = 0; i < out.len; i++)
    lines += out.data[i] == '\n';
  require(lines >= count);
  buffer_fini(&out);
}

FUZZ_TARGET(input)
{
  struct arena arena;
  arena_init(&arena);
  struct policy_document document;
  struct jp_error error = {0};
  if (policy_load_text(input, "f", &arena, &document, &error) == JP_OK) {
    ask(&document);
    warn(&document);
  } else {
    check_error(&error);
  }
  arena_fini(&arena);
}

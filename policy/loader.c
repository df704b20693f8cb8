#include "policy/loader.h"

#include "base/buffer.h"
#include "policy/presets.h"
#include "policy/tree.h"
#include "policy/vocabulary.h"

#include <errno.h>
#include <stdio.h>

enum {
  WORDS_MAX = 32, /* in one list: an alias can repeat a long list in each of many rules */
  ADVICE_MAX = 400
};

struct loader {
  const char *name;
  struct arena *arena;
  struct policy_document *document;
  struct jp_error *error;
};

/* A key of a map, and the function that reads its value into `target`. */
struct key_reader {
  const char *key;
  enum jp_status (*read)(struct loader *loader, const struct policy_node *value, void *target);
};

/* A rule while it is read. */
struct rule_draft {
  const struct policy_node *class_pattern;
  const struct policy_node *pattern;
  const struct policy_node *method;
  unsigned action; /* POLICY_UNSET until given */
  unsigned channels;
  unsigned categories;
  unsigned visibilities;
};

static enum jp_status fail_at(struct loader *loader, int line, const char *format, ...) JP_PRINTF(3, 4);

static enum jp_status fail_at(struct loader *loader, int line, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  jp_fail_va(loader->error, JP_INVALID, format, args);
  va_end(args);
  jp_error_prefix(loader->error, "%s:%d", loader->name, line);
  return JP_INVALID;
}

static enum jp_status fail_unknown_word(struct loader *loader, int line, const char *what, struct text word,
                                        const char *known)
{
  struct text shown = policy_shortened(word);
  return fail_at(loader, line, "unknown %s '%.*s': known are %s", what, TEXT_ARGS(shown), known);
}

static enum jp_status want_kind(struct loader *loader, const struct policy_node *node,
                                enum policy_node_kind kind, const char *what)
{
  static const char *const names[] = {
      [POLICY_SCALAR] = "a word", [POLICY_LIST] = "a list", [POLICY_MAP] = "a map"};
  if (node->kind == kind && !node->null)
    return JP_OK;
  return fail_at(loader, node->line, "%s has to be %s, not %s", what, names[kind],
                 node->null ? "empty" : names[node->kind]);
}

static enum jp_status read_map(struct loader *loader, const struct policy_node *node, const char *what,
                               const struct key_reader *readers, size_t count, void *target)
{
  uint32_t seen = 0;
  enum jp_status status = want_kind(loader, node, POLICY_MAP, what);
  for (const struct policy_item *item = node->first; status == JP_OK && item != NULL; item = item->next) {
    size_t i = 0;
    while (i < count && !text_equal(item->key, text_of(readers[i].key)))
      i++;
    if (i == count) {
      char known[ADVICE_MAX] = "";
      for (size_t at = 0, used = 0; at < count; at++, used = strlen(known))
        snprintf(known + used, sizeof known - used, "%s%s", used == 0 ? "" : ", ", readers[at].key);
      return fail_unknown_word(loader, item->key_line, "key", item->key, known);
    }
    if ((seen & 1u << i) != 0)
      return fail_at(loader, item->key_line, "key '%s' is given twice", readers[i].key);
    seen |= 1u << i;
    status = readers[i].read(loader, item->value, target);
  }
  return status;
}

static enum jp_status read_word(struct loader *loader, const struct policy_node *node,
                                const struct policy_vocabulary *vocabulary, unsigned *value)
{
  enum jp_status status = want_kind(loader, node, POLICY_SCALAR, vocabulary->what);
  if (status != JP_OK || policy_word_find(vocabulary, node->text, value))
    return status;
  char known[ADVICE_MAX];
  policy_words_list(vocabulary, ", ", known, sizeof known);
  return fail_unknown_word(loader, node->line, vocabulary->what, node->text, known);
}

/* Reads one word or a list of words as a set. */
static enum jp_status read_words(struct loader *loader, const struct policy_node *node,
                                 const struct policy_vocabulary *vocabulary, unsigned *set)
{
  *set = 0;
  if (node->kind != POLICY_LIST)
    return read_word(loader, node, vocabulary, set);
  if (node->count == 0)
    return fail_at(loader, node->line, "%s is an empty list: leave the key out to mean all",
                   vocabulary->what);
  if (node->count > WORDS_MAX)
    return fail_at(loader, node->line, "%s has more than %d words", vocabulary->what, WORDS_MAX);
  for (const struct policy_item *item = node->first; item != NULL; item = item->next) {
    unsigned value = 0;
    enum jp_status status = read_word(loader, item->value, vocabulary, &value);
    if (status != JP_OK)
      return status;
    *set |= value;
  }
  return JP_OK;
}

static enum jp_status read_class(struct loader *loader, const struct policy_node *value, void *target)
{
  ((struct rule_draft *)target)->class_pattern = value;
  return want_kind(loader, value, POLICY_SCALAR, "class");
}

static enum jp_status read_pattern(struct loader *loader, const struct policy_node *value, void *target)
{
  ((struct rule_draft *)target)->pattern = value;
  return want_kind(loader, value, POLICY_SCALAR, "pattern");
}

static enum jp_status read_method(struct loader *loader, const struct policy_node *value, void *target)
{
  ((struct rule_draft *)target)->method = value;
  return want_kind(loader, value, POLICY_SCALAR, "method");
}

static enum jp_status read_action(struct loader *loader, const struct policy_node *value, void *target)
{
  return read_word(loader, value, &policy_action_words, &((struct rule_draft *)target)->action);
}

static enum jp_status read_channel(struct loader *loader, const struct policy_node *value, void *target)
{
  return read_words(loader, value, &policy_channel_words, &((struct rule_draft *)target)->channels);
}

static enum jp_status read_categories(struct loader *loader, const struct policy_node *value, void *target)
{
  return read_words(loader, value, &policy_category_words, &((struct rule_draft *)target)->categories);
}

static enum jp_status read_visibility(struct loader *loader, const struct policy_node *value, void *target)
{
  return read_words(loader, value, &policy_visibility_words, &((struct rule_draft *)target)->visibilities);
}

typedef enum jp_status compile_function(struct text source, struct arena *arena,
                                        struct policy_pattern *pattern, struct jp_error *error);

/* Adds the place and the pattern to an error. */
static enum jp_status compile_pattern(struct loader *loader, int line, struct text source,
                                      compile_function *function, struct policy_pattern *pattern)
{
  struct text shown = policy_shortened(source);
  enum jp_status status = function(source, loader->arena, pattern, loader->error);
  if (status == JP_INVALID)
    jp_error_prefix(loader->error, "%s:%d: pattern '%.*s'", loader->name, line, TEXT_ARGS(shown));
  return status;
}

static enum jp_status compile_pair(struct loader *loader, int line, struct text class_source,
                                   struct text member_source, struct policy_pattern *class_pattern,
                                   struct policy_pattern *member_pattern)
{
  enum jp_status status = compile_pattern(loader, line, class_source, policy_pattern_compile, class_pattern);
  if (status != JP_OK)
    return status;
  return compile_pattern(loader, line, member_source, policy_pattern_compile_member, member_pattern);
}

static enum jp_status check_draft(struct loader *loader, int line, const struct rule_draft *draft)
{
  if (draft->class_pattern == NULL && draft->pattern == NULL)
    return fail_at(loader, line, "the rule has neither 'class' nor 'pattern'");
  if (draft->class_pattern != NULL && draft->pattern != NULL)
    return fail_at(loader, line, "the rule has both 'class' and 'pattern'");
  if (draft->pattern != NULL && draft->method != NULL)
    return fail_at(loader, line, "the rule has both 'pattern' and 'method'; 'method' goes with 'class'");
  if (draft->action == POLICY_UNSET)
    return fail_at(loader, line, "the rule has no 'action'");
  return JP_OK;
}

static enum jp_status compile_draft(struct loader *loader, const struct rule_draft *draft,
                                    struct policy_rule *rule, struct policy_rule_source *source)
{
  struct text class_source;
  struct text member_source = TEXT("**");
  int line;
  if (draft->pattern != NULL) {
    class_source = draft->pattern->text;
    line = draft->pattern->line;
    size_t dot = text_find_last(class_source, '.');
    if (dot != SIZE_MAX) {
      member_source = text_slice(class_source, dot + 1, class_source.len);
      class_source.len = dot;
    }
  } else {
    class_source = draft->class_pattern->text;
    line = draft->class_pattern->line;
    if (draft->method != NULL)
      member_source = draft->method->text;
  }
  enum jp_status status =
      compile_pair(loader, line, class_source, member_source, &rule->class_pattern, &rule->member_pattern);
  if (status != JP_OK)
    return status;
  /* The lengths of the texts were checked, because an alias can repeat a long text in each of many rules. */
  *source = (struct policy_rule_source){.class_pattern = arena_text(loader->arena, class_source),
                                        .member_pattern = arena_text(loader->arena, member_source),
                                        .is_split = draft->pattern != NULL};
  return source->class_pattern.data == NULL || source->member_pattern.data == NULL
             ? jp_fail_memory(loader->error, NULL)
             : JP_OK;
}

static enum jp_status read_rule(struct loader *loader, const struct policy_node *node,
                                struct policy_rule *rule, struct policy_rule_source *source)
{
  static const struct key_reader readers[] = {
      {"class", read_class},           {"pattern", read_pattern}, {"method", read_method},
      {"action", read_action},         {"channel", read_channel}, {"members", read_categories},
      {"visibility", read_visibility},
  };
  struct rule_draft draft = {.channels = POLICY_ALL_CHANNELS,
                             .categories = POLICY_ALL_CATEGORIES,
                             .visibilities = POLICY_ALL_VISIBILITIES};
  enum jp_status status =
      read_map(loader, node, "a rule", readers, sizeof readers / sizeof readers[0], &draft);
  if (status == JP_OK)
    status = check_draft(loader, node->line, &draft);
  if (status != JP_OK)
    return status;
  rule->line = node->line;
  rule->channels = draft.channels;
  rule->combinations = policy_combinations(draft.categories, draft.visibilities);
  rule->allow = draft.action == POLICY_ALLOW || draft.action == POLICY_LOG_AND_ALLOW;
  rule->log = draft.action == POLICY_LOG_AND_ALLOW || draft.action == POLICY_LOG_AND_DENY;
  return compile_draft(loader, &draft, rule, source);
}

static enum jp_status read_version(struct loader *loader, const struct policy_node *value, void *target)
{
  (void)target;
  enum jp_status status = want_kind(loader, value, POLICY_SCALAR, "version");
  if (status != JP_OK || text_equal(value->text, TEXT("1")))
    return status;
  return fail_unknown_word(loader, value->line, "version", value->text, "1");
}

static enum jp_status read_default_action(struct loader *loader, const struct policy_node *value,
                                          void *target)
{
  unsigned action = POLICY_UNSET;
  enum jp_status status = read_word(loader, value, &policy_action_words, &action);
  ((struct policy_document *)target)->default_action = (enum policy_action)action;
  return status;
}

static bool parse_flag(struct text word, bool *flag)
{
  static const struct {
    const char *word;
    bool flag;
  } flags[] = {{"true", true},   {"True", true},   {"TRUE", true},
               {"false", false}, {"False", false}, {"FALSE", false}};
  for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
    if (text_equal(word, text_of(flags[i].word))) {
      *flag = flags[i].flag;
      return true;
    }
  }
  return false;
}

size_t policy_preset_find(struct text name)
{
  for (size_t i = 0; i < policy_preset_count; i++)
    if (text_equal(text_of(policy_presets[i].name), name))
      return i;
  return SIZE_MAX;
}

static enum jp_status read_preset(struct loader *loader, const struct policy_item *item, uint32_t *seen)
{
  size_t preset = policy_preset_find(item->key);
  if (preset == SIZE_MAX)
    return fail_unknown_word(loader, item->key_line, "preset", item->key, policy_preset_names);
  if ((*seen & 1u << preset) != 0)
    return fail_at(loader, item->key_line, "preset '%s' is given twice", policy_presets[preset].name);
  *seen |= 1u << preset;
  enum jp_status status = want_kind(loader, item->value, POLICY_SCALAR, policy_presets[preset].name);
  if (status != JP_OK)
    return status;
  bool on;
  if (!parse_flag(item->value->text, &on))
    return fail_unknown_word(loader, item->value->line, "value of a preset", item->value->text,
                             "true, false");
  if (on)
    loader->document->presets |= 1u << preset;
  return JP_OK;
}

static enum jp_status read_presets(struct loader *loader, const struct policy_node *value, void *target)
{
  (void)target;
  if (value->null)
    return JP_OK;
  uint32_t seen = 0;
  enum jp_status status = want_kind(loader, value, POLICY_MAP, "presets");
  for (const struct policy_item *item = value->first; status == JP_OK && item != NULL; item = item->next)
    status = read_preset(loader, item, &seen);
  return status;
}

/* Checks the list and allocates its elements. *elements remains NULL if there is nothing to read. */
static enum jp_status begin_list(struct loader *loader, const struct policy_node *value, const char *what,
                                 size_t element_size, void **elements)
{
  *elements = NULL;
  if (value->null)
    return JP_OK;
  enum jp_status status = want_kind(loader, value, POLICY_LIST, what);
  if (status != JP_OK)
    return status;
  if (value->count > POLICY_RULES_MAX)
    return fail_at(loader, value->line, "%s has more than %d entries", what, POLICY_RULES_MAX);
  *elements = arena_calloc(loader->arena, value->count, element_size);
  return *elements == NULL ? jp_fail_memory(loader->error, NULL) : JP_OK;
}

static enum jp_status read_rules(struct loader *loader, const struct policy_node *value, void *target)
{
  struct policy_document *document = target;
  void *elements;
  enum jp_status status = begin_list(loader, value, "rules", sizeof *document->rules, &elements);
  if (elements == NULL)
    return status;
  document->rules = elements;
  document->sources = arena_calloc(loader->arena, value->count, sizeof *document->sources);
  if (document->sources == NULL)
    return jp_fail_memory(loader->error, NULL);
  for (const struct policy_item *item = value->first; status == JP_OK && item != NULL; item = item->next) {
    size_t rule = document->rule_count++;
    status = read_rule(loader, item->value, &document->rules[rule], &document->sources[rule]);
  }
  return status;
}

static enum jp_status read_member_pattern(struct loader *loader, const struct policy_node *node,
                                          struct policy_member_pattern *pattern)
{
  enum jp_status status = want_kind(loader, node, POLICY_SCALAR, "an idempotent member");
  if (status != JP_OK)
    return status;
  struct text shown = policy_shortened(node->text);
  size_t dot = text_find_last(node->text, '.');
  if (dot == SIZE_MAX)
    return fail_at(loader, node->line, "idempotent '%.*s' has to be Class.member", TEXT_ARGS(shown));
  status = compile_pair(loader, node->line, text_slice(node->text, 0, dot),
                        text_slice(node->text, dot + 1, node->text.len), &pattern->class_pattern,
                        &pattern->member_pattern);
  if (status != JP_OK)
    return status;
  pattern->line = node->line;
  pattern->source = arena_text(loader->arena, node->text);
  return pattern->source.data == NULL ? jp_fail_memory(loader->error, NULL) : JP_OK;
}

static enum jp_status read_idempotent(struct loader *loader, const struct policy_node *value, void *target)
{
  struct policy_document *document = target;
  void *elements;
  enum jp_status status = begin_list(loader, value, "idempotent", sizeof *document->idempotent, &elements);
  if (elements == NULL)
    return status;
  document->idempotent = elements;
  for (const struct policy_item *item = value->first; status == JP_OK && item != NULL; item = item->next)
    status = read_member_pattern(loader, item->value, &document->idempotent[document->idempotent_count++]);
  return status;
}

enum jp_status policy_load_text(struct text yaml, const char *name, struct arena *arena,
                                struct policy_document *document, struct jp_error *error)
{
  static const struct key_reader readers[] = {
      {"version", read_version}, {"defaultAction", read_default_action}, {"presets", read_presets},
      {"rules", read_rules},     {"idempotent", read_idempotent},
  };
  *document = (struct policy_document){0};
  struct loader loader = {name, arena, document, error};
  struct arena nodes;
  arena_init(&nodes);
  const struct policy_node *root;
  enum jp_status status = policy_tree_parse(yaml, name, POLICY_LINES, &nodes, &root, error);
  if (status == JP_OK && (root == NULL || root->null))
    status = fail_at(&loader, 1, "the file holds no policy; the least one is 'version: 1'");
  else if (status == JP_OK)
    status = read_map(&loader, root, "a policy", readers, sizeof readers / sizeof readers[0], document);
  arena_fini(&nodes);
  return status;
}

/* Reads at most one byte more than the limit, which is enough to detect a file that is too large or
 * endless. */
static enum jp_status read_whole(const char *path, struct buffer *bytes, struct jp_error *error)
{
  FILE *file = fopen(path, "rb");
  if (file == NULL)
    return jp_fail(error, JP_IO, "%s: %s", path, strerror(errno));
  enum jp_status status = JP_OK;
  char *room = buffer_reserve(bytes, POLICY_TREE_BYTES + 1);
  if (room == NULL) {
    status = jp_fail_memory(error, NULL);
  } else {
    errno = 0;
    bytes->len += fread(room, 1, POLICY_TREE_BYTES + 1, file);
    if (ferror(file))
      status = jp_fail(error, JP_IO, "%s: %s", path, strerror(errno));
  }
  fclose(file);
  return status;
}

enum jp_status policy_load_file(const char *path, struct arena *arena, struct policy_document *document,
                                struct jp_error *error)
{
  struct buffer bytes;
  buffer_init(&bytes);
  enum jp_status status = read_whole(path, &bytes, error);
  if (status == JP_OK)
    status = policy_load_text(buffer_text(&bytes), path, arena, document, error);
  buffer_fini(&bytes);
  return status;
}

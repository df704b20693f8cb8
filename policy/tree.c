#include "policy/tree.h"

#include <yaml.h>

struct anchor {
  struct text name;
  const struct policy_node *node;
  struct anchor *next;
};

struct builder {
  yaml_parser_t parser;
  struct text yaml;
  const char *name;
  enum policy_places places;
  struct arena *arena;
  struct anchor *anchors; /* latest first, because the latest anchor of a name counts */
  int anchor_count;
  struct jp_error *error;
};

enum {
  QUOTED_MAX = 60,
  ANCHORS_MAX = 256, /* they are searched one by one */
  TAG_NAMES_MAX = 16 /* libyaml compares each name with all earlier names, within one event */
};

static struct text take_yaml_text(const yaml_char_t *string)
{
  return text_of((const char *)string);
}

struct text policy_shortened(struct text word)
{
  if (word.len > QUOTED_MAX)
    word.len = text_valid_utf8(text_slice(word, 0, QUOTED_MAX));
  return word;
}

/* Puts the place before an error's text. */
static enum jp_status place_error(const struct builder *builder, int line, int column)
{
  if (builder->places == POLICY_LINES)
    jp_error_prefix(builder->error, "%s:%d", builder->name, line);
  else
    jp_error_prefix(builder->error, "%s:%d:%d", builder->name, line, column);
  return JP_INVALID;
}

/* libyaml's reader and the checks of bytes know only the offset. */
static enum jp_status place_error_at(const struct builder *builder, size_t offset)
{
  int line = 1;
  size_t start = 0;
  for (size_t i = 0; i < offset && i < builder->yaml.len; i++) {
    if (builder->yaml.data[i] == '\n') {
      line++;
      start = i + 1;
    }
  }
  return place_error(builder, line, (int)(offset - start) + 1);
}

/* The text of a line, shortened, without the white space before it. *tabbed: that white space has a tab. */
static struct text read_line(struct text yaml, int line, bool *tabbed)
{
  size_t start = 0;
  for (int i = 1; i < line && start < yaml.len; start++)
    i += yaml.data[start] == '\n';
  *tabbed = false;
  while (start < yaml.len && (yaml.data[start] == ' ' || yaml.data[start] == '\t'))
    *tabbed |= yaml.data[start++] == '\t';
  size_t end = start;
  while (end < yaml.len && yaml.data[end] != '\n' && yaml.data[end] != '\r')
    end++;
  return policy_shortened(text_slice(yaml, start, end));
}

static enum jp_status fail_parse(struct builder *builder)
{
  const yaml_parser_t *parser = &builder->parser;
  if (parser->error == YAML_MEMORY_ERROR)
    return jp_fail_memory(builder->error, NULL);
  const char *problem = parser->problem == NULL ? "cannot be read" : parser->problem;
  if (parser->error == YAML_READER_ERROR) {
    jp_fail(builder->error, JP_INVALID, "not YAML: %s", problem);
    return place_error_at(builder, parser->problem_offset);
  }
  int line = (int)parser->problem_mark.line + 1;
  bool tabbed;
  struct text near = read_line(builder->yaml, line, &tabbed);
  const char *hint = "";
  if (tabbed)
    hint = " (YAML is indented with spaces; here is a tab)";
  else if (parser->context != NULL && strcmp(parser->context, "while scanning an alias") == 0)
    hint = " (a pattern that begins with '*' needs quotes)";
  jp_fail(builder->error, JP_INVALID, "not YAML: %s, at '%.*s'%s", problem, TEXT_ARGS(near), hint);
  return place_error(builder, line, (int)parser->problem_mark.column + 1);
}

static enum jp_status next_event(struct builder *builder, yaml_event_t *event)
{
  return yaml_parser_parse(&builder->parser, event) ? JP_OK : fail_parse(builder);
}

static int find_event_line(const yaml_event_t *event)
{
  return (int)event->start_mark.line + 1;
}

static int find_event_column(const yaml_event_t *event)
{
  return (int)event->start_mark.column + 1;
}

static enum jp_status fail_at_event(struct builder *builder, const yaml_event_t *event, const char *problem,
                                    struct text word)
{
  struct text shown = policy_shortened(word);
  jp_fail(builder->error, JP_INVALID, "%s '%.*s'", problem, TEXT_ARGS(shown));
  return place_error(builder, find_event_line(event), find_event_column(event));
}

static bool is_null_word(struct text t)
{
  static const char *const words[] = {"", "~", "null", "Null", "NULL"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    if (text_equal(t, text_of(words[i])))
      return true;
  return false;
}

static enum jp_status add_anchor(struct builder *builder, const yaml_event_t *event, const yaml_char_t *name,
                                 const struct policy_node *node)
{
  if (name == NULL)
    return JP_OK;
  if (builder->anchor_count++ == ANCHORS_MAX)
    return fail_at_event(builder, event, "too many anchors: one more is", take_yaml_text(name));
  struct anchor *anchor = arena_alloc(builder->arena, sizeof *anchor);
  struct text copy = arena_text(builder->arena, take_yaml_text(name));
  if (anchor == NULL || copy.data == NULL)
    return jp_fail_memory(builder->error, NULL);
  *anchor = (struct anchor){copy, node, builder->anchors};
  builder->anchors = anchor;
  return JP_OK;
}

static enum jp_status find_anchor(struct builder *builder, const yaml_event_t *event,
                                  const struct policy_node **node)
{
  struct text name = take_yaml_text(event->data.alias.anchor);
  for (const struct anchor *anchor = builder->anchors; anchor != NULL; anchor = anchor->next) {
    if (text_equal(anchor->name, name)) {
      *node = anchor->node;
      return JP_OK;
    }
  }
  return fail_at_event(builder, event, "no anchor before this line has the name", name);
}

static enum jp_status read_node(struct builder *builder, const yaml_event_t *event, int depth,
                                const struct policy_node **node);

static enum jp_status read_scalar(struct builder *builder, const yaml_event_t *event,
                                  const struct policy_node **node)
{
  struct policy_node *scalar = arena_calloc(builder->arena, 1, sizeof *scalar);
  struct text raw = {(const char *)event->data.scalar.value, event->data.scalar.length};
  struct text copy = arena_text(builder->arena, raw);
  if (scalar == NULL || copy.data == NULL)
    return jp_fail_memory(builder->error, NULL);
  if (event->data.scalar.tag != NULL)
    return fail_at_event(builder, event, "tags are not used here:", take_yaml_text(event->data.scalar.tag));
  *scalar = (struct policy_node){.kind = POLICY_SCALAR,
                                 .line = find_event_line(event),
                                 .column = find_event_column(event),
                                 .text = copy};
  scalar->null = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && is_null_word(copy);
  *node = scalar;
  return add_anchor(builder, event, event->data.scalar.anchor, scalar);
}

/* Reads a key, whose first event is *event, into item. */
static enum jp_status read_key(struct builder *builder, const yaml_event_t *event, struct policy_item *item)
{
  if (event->type != YAML_SCALAR_EVENT)
    return fail_at_event(builder, event, "a key has to be a plain word, not", TEXT("a list, map or alias"));
  const struct policy_node *key;
  enum jp_status status = read_scalar(builder, event, &key);
  if (status != JP_OK)
    return status;
  item->key = key->text;
  item->key_line = key->line;
  item->key_column = key->column;
  return JP_OK;
}

/* Reads one entry of a list or map, whose first event is *event, and deletes the event. */
static enum jp_status read_item(struct builder *builder, yaml_event_t *event, int depth, bool keyed,
                                struct policy_item **item)
{
  enum jp_status status = JP_OK;
  *item = arena_calloc(builder->arena, 1, sizeof **item);
  if (*item == NULL)
    status = jp_fail_memory(builder->error, NULL);
  if (status == JP_OK && keyed) {
    status = read_key(builder, event, *item);
    yaml_event_delete(event);
    if (status == JP_OK)
      status = next_event(builder, event);
  }
  if (status == JP_OK)
    status = read_node(builder, event, depth, &(*item)->value);
  yaml_event_delete(event);
  return status;
}

static enum jp_status read_items(struct builder *builder, struct policy_node *node, int depth,
                                 yaml_event_type_t end)
{
  struct policy_item **tail = &node->first;
  for (;;) {
    yaml_event_t event = {0};
    enum jp_status status = next_event(builder, &event);
    if (status != JP_OK)
      return status;
    if (event.type == end) {
      yaml_event_delete(&event);
      return JP_OK;
    }
    status = read_item(builder, &event, depth, node->kind == POLICY_MAP, tail);
    if (status != JP_OK)
      return status;
    tail = &(*tail)->next;
    node->count++;
  }
}

static enum jp_status read_collection(struct builder *builder, const yaml_event_t *event, int depth,
                                      const struct policy_node **node)
{
  bool is_map = event->type == YAML_MAPPING_START_EVENT;
  const yaml_char_t *tag = is_map ? event->data.mapping_start.tag : event->data.sequence_start.tag;
  const yaml_char_t *anchor = is_map ? event->data.mapping_start.anchor : event->data.sequence_start.anchor;
  if (tag != NULL)
    return fail_at_event(builder, event, "tags are not used here:", take_yaml_text(tag));
  if (depth == POLICY_TREE_DEPTH)
    return fail_at_event(builder, event, "nested too deeply:", is_map ? TEXT("a map") : TEXT("a list"));
  struct policy_node *collection = arena_calloc(builder->arena, 1, sizeof *collection);
  if (collection == NULL)
    return jp_fail_memory(builder->error, NULL);
  collection->kind = is_map ? POLICY_MAP : POLICY_LIST;
  collection->line = find_event_line(event);
  collection->column = find_event_column(event);
  enum jp_status status =
      read_items(builder, collection, depth + 1, is_map ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT);
  if (status != JP_OK)
    return status;
  *node = collection;
  /* The anchor is added last, so that no node can contain itself. */
  return add_anchor(builder, event, anchor, collection);
}

static enum jp_status read_node(struct builder *builder, const yaml_event_t *event, int depth,
                                const struct policy_node **node)
{
  switch (event->type) {
  case YAML_SCALAR_EVENT:
    return read_scalar(builder, event, node);
  case YAML_ALIAS_EVENT:
    return find_anchor(builder, event, node);
  case YAML_MAPPING_START_EVENT:
  case YAML_SEQUENCE_START_EVENT:
    return read_collection(builder, event, depth, node);
  default:
    return jp_fail(builder->error, JP_INTERNAL, "%s:%d: unexpected YAML event %d", builder->name,
                   find_event_line(event), (int)event->type);
  }
}

static enum jp_status read_stream(struct builder *builder, const struct policy_node **root)
{
  *root = NULL;
  bool done = false;
  enum jp_status status = JP_OK;
  while (!done && status == JP_OK) {
    yaml_event_t event = {0};
    status = next_event(builder, &event);
    if (status != JP_OK)
      break;
    switch (event.type) {
    case YAML_STREAM_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
      break;
    case YAML_STREAM_END_EVENT:
      done = true;
      break;
    case YAML_DOCUMENT_START_EVENT:
      if (*root != NULL)
        status =
            fail_at_event(builder, &event, "a file holds one document; another begins with", TEXT("---"));
      break;
    default:
      status = read_node(builder, &event, 0, root);
    }
    yaml_event_delete(&event);
  }
  return status;
}

/* Counts each "%TAG" in the bytes, also in comments and texts, because a policy needs no "%TAG". */
static enum jp_status check_tag_names(const struct builder *builder)
{
  static const char directive[] = "%TAG";
  struct text rest = builder->yaml;
  for (int count = 0;; count++) {
    const char *found = memmem(rest.data, rest.len, directive, sizeof directive - 1);
    if (found == NULL)
      return JP_OK;
    size_t offset = (size_t)(found - builder->yaml.data);
    if (count == TAG_NAMES_MAX) {
      jp_fail(builder->error, JP_INVALID, "more than %d times '%s'", TAG_NAMES_MAX, directive);
      return place_error_at(builder, offset);
    }
    rest = text_slice(builder->yaml, offset + sizeof directive - 1, builder->yaml.len);
  }
}

static enum jp_status check_bytes(const struct builder *builder)
{
  struct text yaml = builder->yaml;
  if (yaml.len > POLICY_TREE_BYTES)
    return jp_fail(builder->error, JP_INVALID, "%s: larger than %d KiB", builder->name,
                   POLICY_TREE_BYTES / 1024);
  size_t valid = text_valid_utf8(yaml);
  if (valid < yaml.len) {
    jp_fail(builder->error, JP_INVALID, "invalid UTF-8: byte 0x%02X", (unsigned char)yaml.data[valid]);
    return place_error_at(builder, valid);
  }
  return yaml.len == 0 ? JP_OK : check_tag_names(builder);
}

enum jp_status policy_tree_parse(struct text yaml, const char *name, enum policy_places places,
                                 struct arena *arena, const struct policy_node **root, struct jp_error *error)
{
  struct builder builder = {.yaml = yaml, .name = name, .places = places, .arena = arena, .error = error};
  enum jp_status status = check_bytes(&builder);
  if (status != JP_OK)
    return status;
  if (!yaml_parser_initialize(&builder.parser))
    return jp_fail_memory(builder.error, NULL);
  yaml_parser_set_encoding(&builder.parser, YAML_UTF8_ENCODING);
  const char *input = yaml.len == 0 ? "" : yaml.data;
  yaml_parser_set_input_string(&builder.parser, (const unsigned char *)input, yaml.len);
  status = read_stream(&builder, root);
  yaml_parser_delete(&builder.parser);
  return status;
}

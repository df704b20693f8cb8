#include "policy/dangerous.h"

#include "policy/presets.h"
#include "policy/tree.h"

static const struct policy_node *find_value(const struct policy_node *map, struct text key)
{
  if (map != NULL && map->kind == POLICY_MAP)
    for (const struct policy_item *item = map->first; item != NULL; item = item->next)
      if (text_equal(item->key, key))
        return item->value;
  return NULL;
}

/* Collects the members of all kinds; only counts them if dangers is NULL. */
static size_t collect_dangers(const struct policy_node *kinds, const struct policy_node *effects,
                              struct policy_danger *dangers)
{
  size_t count = 0;
  for (const struct policy_item *kind = kinds->first; kind != NULL; kind = kind->next) {
    const struct policy_node *effect = find_value(effects, kind->key);
    for (const struct policy_item *class = kind->value->first; class != NULL; class = class->next)
      for (const struct policy_item *member = class->value->first; member != NULL;
           member = member->next, count++)
        if (dangers != NULL)
          dangers[count] = (struct policy_danger){class->key, member->value->text, kind->key,
                                                  effect == NULL ? TEXT("") : effect->text};
  }
  return count;
}

enum jp_status policy_dangers_read(struct arena *arena, struct policy_danger **dangers, size_t *count,
                                   struct jp_error *error)
{
  const struct policy_node *root;
  struct text yaml = {(const char *)policy_dangerous_yaml, policy_dangerous_size};
  enum jp_status status = policy_tree_parse(yaml, "dangerous.yaml", POLICY_LINES, arena, &root, error);
  if (status != JP_OK)
    return status;
  const struct policy_node *kinds = find_value(root, TEXT("members"));
  if (kinds == NULL)
    return jp_fail(error, JP_INTERNAL, "dangerous.yaml has no members");
  *count = collect_dangers(kinds, NULL, NULL);
  *dangers = arena_calloc(arena, *count, sizeof **dangers);
  if (*dangers == NULL)
    return jp_fail_memory(error, NULL);
  collect_dangers(kinds, find_value(root, TEXT("kinds")), *dangers);
  return JP_OK;
}

static size_t measure_name(const struct policy_danger *danger)
{
  return danger->class_name.len + danger->member.len;
}

size_t policy_dangers_list(const struct policy_danger *dangers, size_t count, policy_danger_filter *filter,
                           void *context, struct buffer *out)
{
  size_t accepted = 0;
  const struct policy_danger *shortest = NULL;
  const char *separator = "";
  for (size_t i = 0; i < count; i++) {
    const struct policy_danger *danger = &dangers[i];
    if (filter(danger, context)) {
      accepted++;
      if (shortest == NULL || measure_name(danger) < measure_name(shortest))
        shortest = danger;
    }
    bool is_last_of_kind = i + 1 == count || !text_equal(danger->kind, dangers[i + 1].kind);
    if (is_last_of_kind && shortest != NULL) {
      buffer_printf(out, "%s%.*s.%.*s (%.*s)", separator, TEXT_ARGS(shortest->class_name),
                    TEXT_ARGS(shortest->member), TEXT_ARGS(shortest->effect));
      separator = ", ";
      shortest = NULL;
    }
  }
  return accepted;
}

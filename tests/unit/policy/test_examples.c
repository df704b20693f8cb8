/*
 * The policies in README and docs/ allow no member of policy/dangerous.yaml: the YAML blocks, and the values of
 * --rpc-allow. tests/integration/test_examples.py attacks the same examples through the binary.
 */
#include "policy/dangerous.h"
#include "policy/policy.h"
#include "policy/tree.h"

#include "base/buffer.h"
#include "tests/unit/temporary_file.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <stdio.h>

enum { CHANNELS = POLICY_ZMQ + 1 };

struct walk {
  struct policy_danger *dangers;
  size_t danger_count;
  size_t examples;
  size_t wrong;
};

static bool is_allowed(const struct policy_danger *danger, const struct policy *policy)
{
  static const enum policy_category categories[] = {POLICY_METHOD, POLICY_STATIC_METHOD};
  for (unsigned channel = 0; channel < CHANNELS; channel++)
    for (size_t i = 0; i < COUNT_OF(categories); i++) {
      struct policy_query query = {.channel = (enum policy_channel)channel,
                                   .category = categories[i],
                                   .visibility = POLICY_PUBLIC,
                                   .class_name = danger->class_name,
                                   .member_name = danger->member};
      if (text_equal(danger->member, TEXT("<init>")))
        query.category = POLICY_CONSTRUCTOR;
      if (policy_check(policy, &query).allow)
        return true;
    }
  return false;
}

static void walk_policy(struct walk *walk, const struct policy_config *config, const char *place)
{
  struct policy *policy;
  struct jp_error error;
  walk->examples++;
  if (policy_create(config, &policy, &error) != JP_OK)
    fail_msg("%s: %s", place, error.text);
  for (size_t i = 0; i < walk->danger_count; i++) {
    const struct policy_danger *danger = &walk->dangers[i];
    if (!is_allowed(danger, policy))
      continue;
    print_error("%s allows %.*s.%.*s (%.*s)\n", place, TEXT_ARGS(danger->class_name),
                TEXT_ARGS(danger->member), TEXT_ARGS(danger->effect));
    walk->wrong++;
  }
  policy_destroy(policy);
}

static const struct policy_node *find_value(const struct policy_node *map, struct text key)
{
  const struct policy_item *item = map->first;
  while (item != NULL && !text_equal(item->key, key))
    item = item->next;
  return item == NULL ? NULL : item->value;
}

/* The `allow` of each entry of a principals file, whose users need not exist here. */
static void walk_principals(struct walk *walk, struct text yaml, const char *place)
{
  struct arena arena;
  const struct policy_node *root;
  arena_init(&arena);
  assert_int_equal(policy_tree_parse(yaml, place, POLICY_LINES, &arena, &root, NULL), JP_OK);
  const struct policy_item *entry = find_value(root, TEXT("principals"))->first;
  for (; entry != NULL; entry = entry->next) {
    const struct policy_node *allow = find_value(entry->value, TEXT("allow"));
    for (const struct policy_item *item = allow == NULL ? NULL : allow->first; item != NULL;
         item = item->next) {
      struct text pattern = arena_printf(&arena, "%.*s", TEXT_ARGS(item->value->text));
      const struct policy_config config = {.allow = pattern.data};
      walk_policy(walk, &config, place);
    }
  }
  arena_fini(&arena);
}

static void walk_yaml(struct walk *walk, struct text yaml, const char *place)
{
  if (text_starts_with(yaml, TEXT("principals:"))) {
    walk_principals(walk, yaml, place);
    return;
  }
  if (text_starts_with(yaml, TEXT("scrape_configs:"))) /* a file of Prometheus */
    return;
  char path[] = TEMPORARY_FILE;
  temporary_file_write(path, yaml.data, yaml.len);
  const struct policy_config config = {.file = path};
  walk_policy(walk, &config, place);
  unlink(path);
}

/* The values after each "--rpc-allow " or "--rpc-allow=" of a line. In quotes, or up to a blank or the end of a code
 * span; a value in capitals is a placeholder. */
static void walk_options(struct walk *walk, const char *line, const char *place)
{
  static const char option[] = "--rpc-allow";
  for (const char *at = strstr(line, option); at != NULL; at = strstr(at, option)) {
    at += sizeof option - 1;
    if (*at != ' ' && *at != '=')
      continue;
    at++;
    bool is_quoted = *at == '\'';
    at += is_quoted;
    size_t length = strcspn(at, is_quoted ? "'" : " `\\\n");
    if (length == 0 || (*at >= 'A' && *at <= 'Z') || strspn(at, "abcdefghijklmnopqrstuvwxyz") < 2)
      continue;
    char value[512];
    snprintf(value, sizeof value, "%.*s", (int)length, at);
    const struct policy_config config = {.allow = value};
    walk_policy(walk, &config, place);
  }
}

static void walk_page(struct walk *walk, const char *path)
{
  FILE *page = fopen(path, "re");
  assert_non_null(page);
  struct buffer yaml;
  buffer_init(&yaml);
  char line[4096];
  char place[4200];
  bool is_yaml = false;
  for (int number = 1; fgets(line, sizeof line, page) != NULL; number++) {
    snprintf(place, sizeof place, "%s:%d", path, number);
    walk_options(walk, line, place);
    if (strcmp(line, "```yaml\n") == 0) {
      is_yaml = true;
      buffer_clear(&yaml);
    } else if (is_yaml && strcmp(line, "```\n") == 0) {
      is_yaml = false;
      walk_yaml(walk, buffer_text(&yaml), place);
    } else if (is_yaml) {
      buffer_append(&yaml, line, strlen(line));
    }
  }
  buffer_fini(&yaml);
  fclose(page);
}

UNIT_TEST(test_examples_open_nothing_dangerous)
{
  struct walk walk = {0};
  struct arena arena;
  arena_init(&arena);
  assert_int_equal(policy_dangers_read(&arena, &walk.dangers, &walk.danger_count, NULL), JP_OK);
  assert_true(walk.danger_count > 500);
  walk_page(&walk, ROOT "/README.md");
  DIR *pages = opendir(ROOT "/docs");
  assert_non_null(pages);
  for (const struct dirent *entry; (entry = readdir(pages)) != NULL;) {
    char path[4096];
    size_t length = strlen(entry->d_name);
    snprintf(path, sizeof path, ROOT "/docs/%s", entry->d_name);
    if (length > 3 && strcmp(entry->d_name + length - 3, ".md") == 0)
      walk_page(&walk, path);
  }
  closedir(pages);
  arena_fini(&arena);
  assert_true(walk.examples > 10);
  assert_int_equal(walk.wrong, 0);
}

/* Well-known members, so that an empty list is noticed. */
UNIT_TEST(test_the_list_has_well_known_dangers)
{
  static const struct {
    const char *kind;
    const char *class_name;
    const char *member;
  } known[] = {{"files", "java.util.Formatter", "<init>"},
               {"files", "java.io.PrintWriter", "<init>"},
               {"files", "java.nio.file.Files", "delete"},
               {"files", "javax.xml.parsers.DocumentBuilder", "parse"},
               {"processes", "java.lang.Runtime", "exec"},
               {"classes", "java.util.ResourceBundle", "getBundle"},
               {"classes", "java.util.ServiceLoader", "load"},
               {"classes", "javax.swing.UIManager", "setLookAndFeel"},
               {"natives", "java.lang.System", "load"},
               {"reflection", "java.beans.Statement", "execute"},
               {"deserialization", "java.security.SignedObject", "getObject"}};
  struct policy_danger *dangers;
  size_t count;
  struct arena arena;
  arena_init(&arena);
  assert_int_equal(policy_dangers_read(&arena, &dangers, &count, NULL), JP_OK);
  for (size_t i = 0; i < COUNT_OF(known); i++) {
    bool found = false;
    for (size_t j = 0; j < count && !found; j++)
      found = text_equal(dangers[j].kind, text_of(known[i].kind)) &&
              text_equal(dangers[j].class_name, text_of(known[i].class_name)) &&
              text_equal(dangers[j].member, text_of(known[i].member)) && dangers[j].effect.len > 0;
    if (!found)
      fail_msg("%s %s.%s is not in dangerous.yaml", known[i].kind, known[i].class_name, known[i].member);
  }
  arena_fini(&arena);
}

UNIT_MAIN

/*
 * Usage: test_presets JAVA_HOME. The members of a JDK's classes that the presets deny and allow, by the lists in
 * presets/:
 *
 *   denied.txt    PRESET CLASS MEMBER: denied by that preset alone, in every class that inherits it, too
 *   allowed.txt   CLASS MEMBER: allowed with all presets on
 *   reviewed.txt  CLASS MEMBER...: looks as if a preset should deny it, is allowed, and was reviewed
 *   dangerous.txt CLASS MEMBER...: is in policy/dangerous.yaml, no preset denies it, and was reviewed
 *
 * A suspicious member of an exported package (suspicious_names, suspicious_types, suspicious_bases) that is
 * neither denied nor reviewed makes the test fail with its name, so that a new JDK cannot add such a member
 * unnoticed. A developer then adds a line to a preset and to denied.txt, or a line to reviewed.txt.
 */
#include "classfile/catalog.h"
#include "policy/dangerous.h"
#include "policy/presets.h"
#include "policy/rules.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

enum {
  ACC_PUBLIC = 1,
  ACC_PRIVATE = 2,
  ACC_PROTECTED = 4,
  ACC_STATIC = 8,
  WORDS_MAX = 32,
  REVIEWED_MAX = 2000
};

/* The beginning of a name; with a blank at the end, the whole name. */
static const char *const suspicious_names[] = {
    "abort",       "addExports",  "addOpens",       "addReads",      "addShutdown", "attach",
    "createMBean", "createValue", "define",         "deserial",      "destroy",     "doLookup ",
    "eval",        "exec",        "exit",           "forName",       "getObject ",  "halt",
    "instantiate", "interrupt",   "invoke",         "kill",          "launch",      "load",
    "lookup ",     "newFactory",  "newInstance",    "newNSInstance", "newProxy",    "raise",
    "readObject",  "register",    "removeShutdown", "resume",        "setContext",  "setDefaultUncaught",
    "setSecurity", "shutdown",    "spawn",          "stop",          "suspend",     "terminate",
};
static const char *const suspicious_types[] = {
    "Ljava/lang/ClassLoader;", "Ljava/lang/reflect/",         "Ljava/lang/invoke/",
    "Ljava/io/ObjectInput;",   "Ljava/io/ObjectInputStream;", "Ljava/rmi/MarshalledObject;",
    "Ljava/lang/ModuleLayer",  "Ljava/lang/Module;",          "Ljava/security/ProtectionDomain;",
    "Ljava/lang/Process;",
};
static const char *const suspicious_bases[] = {
    "java.lang.ClassLoader",
    "java.lang.Process",
    "java.lang.Thread",
    "java.io.ObjectInput",
    "java.io.ObjectInputStream",
    "java.lang.reflect.InvocationHandler",
    "javax.swing.UIDefaults$LazyValue",
};

static const char *java_home;
static struct catalog *catalog;
static const struct catalog_tables *tables;
static struct policy *all_presets;

static struct policy *policy_with(const char *presets)
{
  struct policy *policy;
  struct jp_error error;
  const struct policy_config config = {.presets = presets};
  if (policy_create(&config, &policy, &error) != JP_OK)
    fail_msg("%s", error.text);
  return policy;
}

static int open_all(void **state)
{
  (void)state;
  struct jp_error error;
  const struct catalog_config config = {.class_path = "/nowhere", .java_home = java_home};
  if (catalog_create(&config, &catalog, &error) != JP_OK || catalog_load(catalog, &tables, &error) != JP_OK) {
    print_error("%s\n", error.text);
    return 1;
  }
  char names[256];
  size_t length = 0;
  for (const char *at = policy_preset_names; *at != '\0'; at++) /* "a, b" is shown, "a,b" is accepted */
    if (*at != ' ')
      names[length++] = *at;
  names[length] = '\0';
  all_presets = policy_with(names);
  return 0;
}

static int close_all(void **state)
{
  (void)state;
  policy_destroy(all_presets);
  catalog_destroy(catalog);
  return 0;
}

/* ---- the JDK's members ---- */

static struct text name_of(const struct catalog_class *class)
{
  return catalog_text(tables, class->name);
}

static enum policy_visibility visibility_of(unsigned access)
{
  if ((access & ACC_PUBLIC) != 0)
    return POLICY_PUBLIC;
  if ((access & ACC_PROTECTED) != 0)
    return POLICY_PROTECTED;
  return (access & ACC_PRIVATE) != 0 ? POLICY_PRIVATE : POLICY_PACKAGE_PRIVATE;
}

static bool is_constructor(const struct catalog_method *method)
{
  return text_equal(catalog_text(tables, method->name), TEXT("<init>"));
}

static bool allows(const struct policy *policy, const struct catalog_class *class,
                   const struct catalog_method *method)
{
  struct policy_query query = {.channel = POLICY_WEBSOCKET,
                               .category =
                                   (method->access & ACC_STATIC) != 0 ? POLICY_STATIC_METHOD : POLICY_METHOD,
                               .visibility = visibility_of(method->access),
                               .class_name = name_of(class),
                               .member_name = catalog_text(tables, method->name)};
  if (is_constructor(method))
    query.category = POLICY_CONSTRUCTOR;
  return policy_check(policy, &query).allow;
}

static bool is_below(const struct catalog_class *class, const struct catalog_class *base)
{
  if (class == base)
    return true;
  uint32_t super = class->superclass.class_index;
  if (super != CATALOG_NONE && is_below(&tables->classes[super], base))
    return true;
  for (size_t i = 0; i < class->interface_count; i++) {
    uint32_t index = tables->links[class->first_interface + i].class_index;
    if (index != CATALOG_NONE && is_below(&tables->classes[index], base))
      return true;
  }
  return false;
}

static const struct catalog_class *find_class(struct text name)
{
  uint32_t index = catalog_find(tables, name);
  return index == CATALOG_NONE ? NULL : &tables->classes[index];
}

static bool declares(const struct catalog_class *class, uint32_t method_name)
{
  for (size_t i = 0; i < class->method_count; i++) {
    const struct catalog_method *method = &tables->methods[class->first_method + i];
    if (method->name == method_name && (method->access & (ACC_STATIC | ACC_PRIVATE)) == 0)
      return true;
  }
  return false;
}

static void say(const struct catalog_class *class, const struct catalog_method *method, const char *what)
{
  struct text class_name = name_of(class);
  struct text member = catalog_text(tables, method->name);
  print_error("%.*s %.*s %s\n", TEXT_ARGS(class_name), TEXT_ARGS(member), what);
}

/* ---- the lists ---- */

struct line {
  int number;
  char *words[WORDS_MAX];
  size_t count;
};

typedef size_t line_function(const struct line *line, void *context);

static size_t read_line(char *text, int number, line_function *function, void *context)
{
  struct line line = {.number = number};
  char *rest = text;
  for (char *word; (word = strsep(&rest, " \n")) != NULL;) {
    if (*word == '\0')
      continue;
    if (*word == '#')
      break;
    assert_true(line.count < WORDS_MAX);
    line.words[line.count++] = word;
  }
  return line.count == 0 ? 0 : function(&line, context);
}

/* The sum of the function's results for each line: the number of faults. */
static size_t read_list(const char *name, line_function *function, void *context)
{
  char path[4096];
  snprintf(path, sizeof path, LISTS "/%s", name);
  FILE *in = fopen(path, "r");
  assert_non_null(in);
  size_t wrong = 0;
  char text[4096];
  for (int number = 1; fgets(text, sizeof text, in) != NULL; number++)
    wrong += read_line(text, number, function, context);
  fclose(in);
  return wrong;
}

/* ---- denied.txt ---- */

struct denial {
  struct policy *policy;
  struct arena arena;
  struct policy_pattern class_pattern;
  struct policy_pattern member_pattern;
  size_t found;
  size_t wrong;
};

static void check_class(struct denial *denial, const struct catalog_class *class)
{
  for (size_t i = 0; i < class->method_count; i++) {
    const struct catalog_method *method = &tables->methods[class->first_method + i];
    if (method->hidden ||
        !policy_pattern_matches(&denial->member_pattern, catalog_text(tables, method->name)))
      continue;
    denial->found++;
    if (allows(denial->policy, class, method)) {
      say(class, method, "is not denied");
      denial->wrong++;
    }
  }
}

static void check_heir(struct denial *denial, const struct catalog_class *base,
                       const struct catalog_class *class)
{
  for (size_t i = 0; i < class->method_count; i++) {
    const struct catalog_method *method = &tables->methods[class->first_method + i];
    if (!method->hidden && !is_constructor(method) &&
        policy_pattern_matches(&denial->member_pattern, catalog_text(tables, method->name)) &&
        declares(base, method->name) && allows(denial->policy, class, method)) {
      say(class, method, "overrides a denied member");
      denial->wrong++;
    }
  }
}

static void check_heirs(struct denial *denial, struct text name)
{
  const struct catalog_class *base = find_class(name);
  for (size_t i = 0; base != NULL && i < tables->class_count; i++)
    if (&tables->classes[i] != base && is_below(&tables->classes[i], base))
      check_heir(denial, base, &tables->classes[i]);
}

static size_t check_denied_line(const struct line *line, void *context)
{
  struct denial denial = {.policy = policy_with(line->words[0])};
  struct text class_name = text_of(line->words[1]);
  (void)context;
  arena_init(&denial.arena);
  assert_int_equal(policy_pattern_compile(class_name, &denial.arena, &denial.class_pattern, NULL), JP_OK);
  assert_int_equal(
      policy_pattern_compile_member(text_of(line->words[2]), &denial.arena, &denial.member_pattern, NULL),
      JP_OK);
  for (size_t i = 0; i < tables->class_count; i++)
    if (policy_pattern_matches(&denial.class_pattern, name_of(&tables->classes[i])))
      check_class(&denial, &tables->classes[i]);
  const char *mark = line->count > 3 ? line->words[3] : "";
  if (memchr(class_name.data, '*', class_name.len) == NULL && *mark != '=')
    check_heirs(&denial, class_name);
  if (denial.found == 0 && *mark != '?') {
    print_error("denied.txt:%d: no such member\n", line->number);
    denial.wrong++;
  }
  if (denial.wrong > 0)
    print_error("  denied.txt:%d: %s %s %s\n", line->number, line->words[0], line->words[1], line->words[2]);
  arena_fini(&denial.arena);
  policy_destroy(denial.policy);
  return denial.wrong;
}

UNIT_TEST(test_denials_of_each_preset)
{
  assert_int_equal(read_list("denied.txt", check_denied_line, NULL), 0);
}

/* ---- allowed.txt ---- */

static size_t check_allowed_line(const struct line *line, void *context)
{
  (void)context;
  const struct catalog_class *class = find_class(text_of(line->words[0]));
  size_t found = 0;
  size_t wrong = 0;
  for (size_t i = 0; class != NULL && i < class->method_count; i++) {
    const struct catalog_method *method = &tables->methods[class->first_method + i];
    if (!text_equal(catalog_text(tables, method->name), text_of(line->words[1])) || method->hidden ||
        (method->access & ACC_PUBLIC) == 0)
      continue;
    found++;
    if (!allows(all_presets, class, method)) {
      say(class, method, "is denied");
      wrong++;
    }
  }
  if (found == 0) {
    print_error("allowed.txt:%d: no such public member\n", line->number);
    wrong++;
  }
  return wrong;
}

UNIT_TEST(test_members_that_the_presets_allow)
{
  assert_int_equal(read_list("allowed.txt", check_allowed_line, NULL), 0);
}

/* ---- reviewed.txt ---- */

struct reviewed {
  struct {
    char *class_name;
    char *member;
  } entries[REVIEWED_MAX];
  size_t count;
};

static size_t keep_reviewed_line(const struct line *line, void *context)
{
  struct reviewed *reviewed = context;
  for (size_t i = 1; i < line->count; i++) {
    assert_true(reviewed->count < REVIEWED_MAX);
    reviewed->entries[reviewed->count].class_name = strdup(line->words[0]);
    reviewed->entries[reviewed->count++].member = strdup(line->words[i]);
  }
  return line->count < 2;
}

static bool is_reviewed(const struct reviewed *reviewed, struct text class_name, struct text member)
{
  for (size_t i = 0; i < reviewed->count; i++)
    if (text_equal(text_of(reviewed->entries[i].class_name), class_name) &&
        text_equal(text_of(reviewed->entries[i].member), member))
      return true;
  return false;
}

static bool contains(struct text haystack, const char *needle)
{
  return memmem(haystack.data, haystack.len, needle, strlen(needle)) != NULL;
}

static bool is_built_as(const struct catalog_class *class)
{
  for (size_t i = 0; i < COUNT_OF(suspicious_bases); i++) {
    const struct catalog_class *base = find_class(text_of(suspicious_bases[i]));
    if (base != NULL && is_below(class, base))
      return true;
  }
  return false;
}

static bool begins_as(struct text name, struct text pattern)
{
  if (pattern.data[pattern.len - 1] != ' ')
    return text_starts_with(name, pattern);
  pattern.len--;
  return text_equal(name, pattern);
}

static bool is_suspicious(const struct catalog_class *class, const struct catalog_method *method)
{
  struct text name = catalog_text(tables, method->name);
  struct text descriptor = catalog_text(tables, method->descriptor);
  if (is_constructor(method) && is_built_as(class))
    return true;
  for (size_t i = 0; i < COUNT_OF(suspicious_names); i++)
    if (begins_as(name, text_of(suspicious_names[i])))
      return true;
  for (size_t i = 0; i < COUNT_OF(suspicious_types); i++)
    if (contains(descriptor, suspicious_types[i]))
      return true;
  return contains(descriptor, ")Ljava/lang/Class;") && contains(descriptor, "Ljava/lang/String;");
}

static size_t check_members(const struct catalog_class *class, const struct reviewed *reviewed)
{
  size_t unseen = 0;
  for (size_t i = 0; i < class->method_count; i++) {
    const struct catalog_method *method = &tables->methods[class->first_method + i];
    if (method->hidden || (method->access & ACC_PUBLIC) == 0 || !allows(all_presets, class, method) ||
        !is_suspicious(class, method) ||
        is_reviewed(reviewed, name_of(class), catalog_text(tables, method->name)))
      continue;
    say(class, method, "is allowed, and nobody has reviewed it");
    unseen++;
  }
  return unseen;
}

/* A denied member needs no review, so a line for it would mislead. */
static size_t check_entry(const char *class_name, const char *member)
{
  const struct catalog_class *class = find_class(text_of(class_name));
  bool found = false;
  for (size_t i = 0; class != NULL && i < class->method_count; i++) {
    const struct catalog_method *method = &tables->methods[class->first_method + i];
    if (!text_equal(catalog_text(tables, method->name), text_of(member)))
      continue;
    found = true;
    if (allows(all_presets, class, method) && is_suspicious(class, method))
      return 0;
  }
  if (found)
    print_error("reviewed.txt: %s %s needs no review\n", class_name, member);
  return found;
}

UNIT_TEST(test_nothing_is_left_unseen)
{
  static struct reviewed reviewed;
  size_t wrong = read_list("reviewed.txt", keep_reviewed_line, &reviewed);
  for (size_t i = 0; i < tables->class_count; i++)
    if (tables->classes[i].origin == CATALOG_JDK_EXPORTED && !tables->classes[i].hidden)
      wrong += check_members(&tables->classes[i], &reviewed);
  for (size_t i = 0; i < reviewed.count; i++) {
    wrong += check_entry(reviewed.entries[i].class_name, reviewed.entries[i].member);
    free(reviewed.entries[i].class_name);
    free(reviewed.entries[i].member);
  }
  assert_int_equal(wrong, 0);
}

/* ---- dangerous.yaml ---- */

static bool declares_allowed(const struct policy *policy, const struct catalog_class *class,
                             struct text member)
{
  for (size_t i = 0; i < class->method_count; i++) {
    const struct catalog_method *method = &tables->methods[class->first_method + i];
    if (!method->hidden && (method->access & ACC_PUBLIC) != 0 &&
        text_equal(catalog_text(tables, method->name), member) && allows(policy, class, method))
      return true;
  }
  return false;
}

/* No preset is about these (docs/policy.md, "Presets"); presets/reach.txt has what others deny of them. */
static bool is_for_no_preset(const struct policy_danger *danger)
{
  return text_equal(danger->kind, TEXT("threads")) || text_equal(danger->kind, TEXT("network"));
}

/* The preset deny-files, without the others, denies every member that accesses files. Other dangerous members
 * are denied by one of the presets. */
UNIT_TEST(test_dangerous_members_are_denied)
{
  static struct reviewed reviewed;
  struct arena arena;
  struct policy_danger *dangers;
  size_t count;
  arena_init(&arena);
  assert_int_equal(policy_dangers_read(&arena, &dangers, &count, NULL), JP_OK);
  size_t wrong = read_list("dangerous.txt", keep_reviewed_line, &reviewed);
  struct policy *files = policy_with("deny-files");
  size_t found = 0;
  for (size_t i = 0; i < count; i++) {
    const struct catalog_class *class = find_class(dangers[i].class_name);
    bool is_file = text_equal(dangers[i].kind, TEXT("files"));
    if (class == NULL || is_for_no_preset(&dangers[i]))
      continue;
    found++;
    bool is_allowed = declares_allowed(is_file ? files : all_presets, class, dangers[i].member);
    if (is_allowed && !is_reviewed(&reviewed, dangers[i].class_name, dangers[i].member)) {
      print_error("%.*s %.*s (%.*s) is not denied\n", TEXT_ARGS(dangers[i].class_name),
                  TEXT_ARGS(dangers[i].member), TEXT_ARGS(dangers[i].kind));
      wrong++;
    }
  }
  assert_true(found > 500);
  for (size_t i = 0; i < reviewed.count; i++) {
    free(reviewed.entries[i].class_name);
    free(reviewed.entries[i].member);
  }
  policy_destroy(files);
  arena_fini(&arena);
  assert_int_equal(wrong, 0);
}

int main(int argc, char **argv)
{
  if (argc != 2) {
    fprintf(stderr, "usage: %s JAVA_HOME\n", argv[0]);
    return 2;
  }
  java_home = argv[1];
  return UNIT_RUN(open_all, close_all);
}

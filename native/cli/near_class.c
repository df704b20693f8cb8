#include "cli/near_class.h"

#include "base/near_name.h"
#include "classfile/catalog.h"
#include "classfile/class_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The enumerators are ordered from the best kind of match to the worst. */
enum nearness { SAME_NAME, SAME_SIMPLE_NAME, NEAR_NAME, NEAR_SIMPLE_NAME, NEARNESSES };

struct search {
  struct text wanted;
  struct text wanted_simple;
  struct text exact[2]; /* indexed by SAME_NAME and SAME_SIMPLE_NAME */
  struct near_name near;
  struct near_name near_simple;
  struct text of_near_simple; /* the whole name of near_simple.best */
};

static struct text simple_name(struct text name)
{
  size_t dot = text_find_last(name, '.');
  return dot == SIZE_MAX ? name : text_slice(name, dot + 1, name.len);
}

/* True for any main method that Java 25 runs (JEP 512); an older Java reports a main method that it cannot
 * run. */
static bool has_main(const struct catalog_tables *tables, const struct catalog_class *class)
{
  for (size_t i = 0; i < class->method_count; i++) {
    const struct catalog_method *method = &tables->methods[class->first_method + i];
    struct text descriptor = catalog_text(tables, method->descriptor);
    if ((method->access & ACCESS_PRIVATE) == 0 &&
        text_equal(catalog_text(tables, method->name), TEXT("main")) &&
        (text_equal(descriptor, TEXT("([Ljava/lang/String;)V")) || text_equal(descriptor, TEXT("()V"))))
      return true;
  }
  return false;
}

static void offer_class(struct search *search, struct text name)
{
  struct text simple = simple_name(name);
  if (text_equal(name, search->wanted))
    search->exact[SAME_NAME] = name;
  if (text_equal_ignore_case(simple, search->wanted_simple) && search->exact[SAME_SIMPLE_NAME].data == NULL)
    search->exact[SAME_SIMPLE_NAME] = name;
  near_name_offer(&search->near, name);
  unsigned before = search->near_simple.distance;
  near_name_offer(&search->near_simple, simple);
  if (search->near_simple.distance < before)
    search->of_near_simple = name;
}

/* "a/b/Main.class" and "a.b.Main.java" are a.b.Main. Caller frees. */
static char *make_class_name(const char *name)
{
  static const char *const endings[] = {".class", ".java"};
  char *copy = strdup(name);
  if (copy == NULL)
    return NULL;
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    if (text_ends_with(text_of(copy), text_of(endings[i])))
      copy[strlen(copy) - strlen(endings[i])] = '\0';
  }
  for (char *at = copy; *at != '\0'; at++) {
    if (*at == '/')
      *at = '.';
  }
  return copy;
}

static struct text find_nearest(const struct catalog_tables *tables, struct text wanted)
{
  struct search search = {.wanted = wanted, .wanted_simple = simple_name(wanted)};
  near_name_init(&search.near, wanted);
  near_name_init(&search.near_simple, search.wanted_simple);
  for (size_t i = 0; i < tables->class_count; i++) {
    const struct catalog_class *class = &tables->classes[i];
    if (!class->hidden && has_main(tables, class))
      offer_class(&search, catalog_text(tables, class->name));
  }
  const struct text found[NEARNESSES] = {search.exact[SAME_NAME], search.exact[SAME_SIMPLE_NAME],
                                         search.near.best, search.of_near_simple};
  for (size_t i = 0; i < NEARNESSES; i++) {
    if (found[i].data != NULL)
      return found[i];
  }
  return TEXT_ABSENT;
}

void near_class_suggest(const char *class_path, const char *name, struct jp_error *error)
{
  /* The JDK's classes are left out, because no user wants to run one of them, and reading them takes long. */
  const struct catalog_config config = {.class_path = class_path};
  struct catalog *catalog = NULL;
  const struct catalog_tables *tables;
  char *wanted = make_class_name(name);
  if (wanted != NULL && catalog_create(&config, &catalog, NULL) == JP_OK &&
      catalog_load(catalog, &tables, NULL) == JP_OK) {
    struct text found = find_nearest(tables, text_of(wanted));
    size_t length = strlen(error->text);
    /* A suggestion that is cut off would not help. */
    if (found.data != NULL && strlen(": did you mean ?") + found.len < sizeof error->text - length)
      snprintf(error->text + length, sizeof error->text - length, ": did you mean %.*s?", TEXT_ARGS(found));
  }
  catalog_destroy(catalog);
  free(wanted);
}

#include "classfile/class_path.h"

#include "classfile/manifest.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ELEMENTS_MAX = 100 * 1000, DEPTH_MAX = 256 };

/* ---- texts ---- */

bool class_path_next(struct text *rest, struct text *element)
{
  if (rest->data == NULL)
    return false;
  const char *end = rest->len == 0 ? NULL : memchr(rest->data, ':', rest->len);
  if (end == NULL) {
    *element = *rest;
    *rest = TEXT_ABSENT;
  } else {
    size_t length = (size_t)(end - rest->data);
    *element = text_slice(*rest, 0, length);
    *rest = text_slice(*rest, length + 1, rest->len);
  }
  if (element->len == 0)
    *element = TEXT(".");
  return true;
}

bool class_path_is_wildcard(struct text element, struct text *folder)
{
  if (!text_equal(element, TEXT("*")) && !text_ends_with(element, TEXT("/*")))
    return false;
  *folder = text_slice(element, 0, element.len - 1);
  return true;
}

static int is_jar_name(const struct dirent *entry)
{
  struct text name = text_of(entry->d_name);
  return text_ends_with(name, TEXT(".jar")) || text_ends_with(name, TEXT(".JAR"));
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
  return strcmp((*a)->d_name, (*b)->d_name);
}

/* Appends the jars of a wildcard. prefix is the wildcard without its star: "" or "lib/". Returns the number
 * of jars. */
static int append_jars(struct text prefix, struct buffer *out)
{
  struct dirent **names = NULL;
  char *folder = prefix.len == 0 ? strdup(".") : strndup(prefix.data, prefix.len);
  int count = folder == NULL ? -1 : scandir(folder, &names, is_jar_name, compare_names);
  free(folder);
  for (int i = 0; i < count; i++) {
    if (i > 0)
      buffer_append_char(out, ':');
    buffer_append_text(out, prefix);
    buffer_append_text(out, text_of(names[i]->d_name));
    free(names[i]);
  }
  free(names);
  return count;
}

void class_path_expand(struct text class_path, struct buffer *out)
{
  struct text element;
  for (bool first = true; class_path_next(&class_path, &element); first = false) {
    if (!first)
      buffer_append_char(out, ':');
    struct text folder;
    if (!class_path_is_wildcard(element, &folder) || append_jars(folder, out) <= 0)
      buffer_append_text(out, element);
  }
}

static bool is_exploded_module(const char *folder)
{
  char path[PATH_MAX];
  int length = snprintf(path, sizeof path, "%s/module-info.class", folder);
  return length > 0 && (size_t)length < sizeof path && access(path, F_OK) == 0;
}

static void append_entry(const char *path, struct buffer *out)
{
  if (out->len > 0)
    buffer_append_char(out, ':');
  buffer_append_text(out, text_of(path));
}

static int is_visible_name(const struct dirent *entry)
{
  return entry->d_name[0] != '.';
}

static void append_modules(const char *folder, struct buffer *out)
{
  struct dirent **names = NULL;
  int count = scandir(folder, &names, is_visible_name, compare_names);
  for (int i = 0; i < count; i++) {
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
    if (length > 0 && (size_t)length < sizeof path && (is_jar_name(names[i]) || is_exploded_module(path)))
      append_entry(path, out);
    free(names[i]);
  }
  free(names);
}

void module_path_expand(struct text module_path, struct buffer *out)
{
  struct text element;
  while (class_path_next(&module_path, &element)) {
    char *path = strndup(element.data, element.len);
    if (path == NULL) {
      out->failed = true;
      return;
    }
    if (text_ends_with(element, TEXT(".jar")) || is_exploded_module(path))
      append_entry(path, out);
    else
      append_modules(path, out);
    free(path);
  }
}

/* ---- the elements ---- */

struct file_id {
  dev_t device;
  ino_t inode;
};

/* Inserts an element after the element at this index, or as the first element; *index is then the index of
 * the new element. */
static bool insert_after(struct elements *elements, size_t *index, const char *path, unsigned depth)
{
  size_t added = elements->all.count;
  struct element *element = path == NULL ? NULL : array_add(&elements->all, 1);
  if (element == NULL)
    return false;
  struct element *all = elements->all.items;
  size_t *link = *index == ELEMENTS_END ? &elements->first : &all[*index].next;
  *element = (struct element){path, *link, depth};
  *link = added;
  *index = added;
  return true;
}

enum jp_status elements_init(struct elements *elements, const char *class_path, struct jp_error *error)
{
  struct buffer expanded;
  *elements = (struct elements){.first = ELEMENTS_END};
  array_init(&elements->all, sizeof(struct element));
  array_init(&elements->seen, sizeof(struct file_id));
  arena_init(&elements->arena);
  buffer_init(&expanded);
  class_path_expand(text_of(class_path), &expanded);
  bool done = !expanded.failed;
  struct text rest = buffer_text(&expanded);
  size_t last = ELEMENTS_END;
  for (struct text path; done && class_path_next(&rest, &path);)
    done = insert_after(elements, &last, arena_printf(&elements->arena, "%.*s", TEXT_ARGS(path)).data, 0);
  buffer_fini(&expanded);
  return done ? JP_OK : jp_fail_memory(error, "the class path");
}

void elements_fini(struct elements *elements)
{
  array_fini(&elements->all);
  array_fini(&elements->seen);
  arena_fini(&elements->arena);
}

enum jp_status elements_examine(struct elements *elements, size_t index, enum element_kind *kind,
                                struct jp_error *error)
{
  struct stat facts;
  *kind = ELEMENT_NONE;
  if (stat(elements_at(elements, index)->path, &facts) != 0)
    return JP_OK; /* java is silent about missing elements, too */
  const struct file_id *seen = elements->seen.items;
  for (size_t i = 0; i < elements->seen.count; i++) {
    if (seen[i].device == facts.st_dev && seen[i].inode == facts.st_ino)
      return JP_OK;
  }
  if (elements->seen.count == ELEMENTS_MAX)
    return jp_fail(error, JP_LIMIT, "more than %d elements on the class path", ELEMENTS_MAX);
  struct file_id *added = array_add(&elements->seen, 1);
  if (added == NULL)
    return jp_fail_memory(error, "the class path");
  *added = (struct file_id){facts.st_dev, facts.st_ino};
  if (S_ISDIR(facts.st_mode))
    *kind = ELEMENT_FOLDER;
  else if (S_ISREG(facts.st_mode))
    *kind = ELEMENT_JAR;
  return JP_OK;
}

enum jp_status elements_insert(struct elements *elements, size_t index, struct text class_path,
                               struct jp_error *error)
{
  const char *jar = elements_at(elements, index)->path;
  unsigned depth = elements_at(elements, index)->depth + 1;
  bool done = true;
  for (struct text path;
       done && depth <= DEPTH_MAX && manifest_next_path(&class_path, jar, &elements->arena, &path);) {
    if (path.data != NULL)
      done = insert_after(elements, &index, path.data, depth);
  }
  return done ? JP_OK : jp_fail_memory(error, "the class path");
}

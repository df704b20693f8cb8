#include "classfile/class_path.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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

/* prefix is the wildcard without its star: "" or "lib/". Returns the number of jars. */
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

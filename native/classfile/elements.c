#include "classfile/elements.h"

#include "base/buffer.h"
#include "classfile/class_path.h"
#include "classfile/manifest.h"

#include <sys/stat.h>

enum { ELEMENTS_MAX = 100 * 1000, DEPTH_MAX = 256 };

struct file_id {
  dev_t device;
  ino_t inode;
};

static enum jp_status no_memory(struct jp_error *error)
{
  return jp_fail(error, JP_NO_MEMORY, "out of memory while reading the class path");
}

/* Inserts an element after the one at this index, or as the first; *index is then the new one's. */
static bool insert_after(struct elements *elements, size_t *index, const char *path, unsigned depth)
{
  size_t added = elements->all.count;
  struct element *element = path == NULL ? NULL : table_add(&elements->all, 1);
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
  table_init(&elements->all, sizeof(struct element));
  table_init(&elements->seen, sizeof(struct file_id));
  arena_init(&elements->arena);
  buffer_init(&expanded);
  class_path_expand(text_of(class_path), &expanded);
  bool done = !expanded.failed;
  struct text rest = buffer_text(&expanded);
  size_t last = ELEMENTS_END;
  for (struct text path; done && class_path_next(&rest, &path);)
    done = insert_after(elements, &last, arena_printf(&elements->arena, "%.*s", TEXT_ARGS(path)).data, 0);
  buffer_fini(&expanded);
  return done ? JP_OK : no_memory(error);
}

void elements_fini(struct elements *elements)
{
  table_fini(&elements->all);
  table_fini(&elements->seen);
  arena_fini(&elements->arena);
}

enum jp_status elements_look_at(struct elements *elements, size_t index, enum element_kind *kind,
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
  struct file_id *added = table_add(&elements->seen, 1);
  if (added == NULL)
    return no_memory(error);
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
  return done ? JP_OK : no_memory(error);
}

#include "classfile/names.h"

#include "base/buffer.h"
#include "classfile/table.h"

#include <stdatomic.h>
#include <stdlib.h>

/* What tells most names from another one without a look at their bytes. */
struct entry {
  uint64_t letters; /* a bit for each character that the name has, whatever its case; some share one */
  uint32_t at;      /* in bytes */
  uint16_t length;
  uint8_t last; /* character */
};

struct class_names {
  atomic_uint users;
  struct table entries;
  struct buffer bytes; /* one name after the other */
  bool is_short;       /* of memory */
};

struct class_names *class_names_create(void)
{
  struct class_names *names = calloc(1, sizeof *names);
  if (names == NULL)
    return NULL;
  atomic_init(&names->users, 1);
  table_init(&names->entries, sizeof(struct entry));
  buffer_init(&names->bytes);
  return names;
}

struct class_names *class_names_retain(struct class_names *names)
{
  atomic_fetch_add(&names->users, 1);
  return names;
}

void class_names_destroy(struct class_names *names)
{
  if (names == NULL || atomic_fetch_sub(&names->users, 1) != 1)
    return;
  table_fini(&names->entries);
  buffer_fini(&names->bytes);
  free(names);
}

static uint64_t letters_of(struct text name)
{
  enum { CASE = 0x20, LETTERS = 64 };
  uint64_t letters = 0;
  for (size_t i = 0; i < name.len; i++)
    letters |= UINT64_C(1) << (((uint8_t)name.data[i] | CASE) % LETTERS);
  return letters;
}

void class_names_add(void *context, struct text name)
{
  struct class_names *names = context;
  if (name.len == 0 || name.len > UINT16_MAX || names->is_short)
    return;
  size_t at = names->bytes.len;
  struct entry *entry = at > UINT32_MAX ? NULL : table_add(&names->entries, 1);
  buffer_append_text(&names->bytes, name);
  names->is_short = entry == NULL || names->bytes.failed;
  if (!names->is_short)
    *entry =
        (struct entry){letters_of(name), (uint32_t)at, (uint16_t)name.len, (uint8_t)name.data[name.len - 1]};
}

bool class_names_are_complete(const struct class_names *names)
{
  return !names->is_short;
}

/* An edit takes a character away, adds one or both: two bits at most. */
static bool may_be_near(const struct entry *entry, size_t length, uint64_t letters, unsigned edits)
{
  size_t difference = entry->length > length ? entry->length - length : length - entry->length;
  return difference <= edits && (unsigned)__builtin_popcountll(entry->letters ^ letters) <= 2 * edits;
}

bool catalog_has_last_part(struct text name, struct text part)
{
  if (!text_ends_with(name, part))
    return false;
  char before = name.len == part.len ? '.' : name.data[name.len - part.len - 1];
  return before == '.' || before == '$';
}

void class_names_each_like(const struct class_names *names, const struct catalog_likeness *like,
                           catalog_visitor *visit, void *context)
{
  const struct entry *entries = names->entries.items;
  struct text all = buffer_text(&names->bytes);
  uint64_t letters = letters_of(like->name);
  uint64_t part_letters = letters_of(like->last_part);
  uint8_t last = like->last_part.len == 0 ? 0 : (uint8_t)like->last_part.data[like->last_part.len - 1];
  for (size_t i = 0; i < names->entries.count; i++) {
    const struct entry *entry = &entries[i];
    bool may_have_part = entry->last == last && (part_letters & ~entry->letters) == 0;
    bool is_near = may_be_near(entry, like->name.len, letters, like->edits);
    if (!may_have_part && !is_near)
      continue;
    struct text name = text_slice(all, entry->at, (size_t)entry->at + entry->length);
    if (is_near || catalog_has_last_part(name, like->last_part))
      visit(context, name);
  }
}

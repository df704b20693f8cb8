#include "classfile/constant_pool.h"

#include "classfile/modified_utf8.h"

enum { TAG_UTF8 = 1, TAG_LONG = 5, TAG_DOUBLE = 6, TAG_CLASS = 7, TAG_PACKAGE = 20 };

/* Bytes behind the tag (JVMS table 4.4-A); 0: no such tag. A Utf8 has its length there. */
static const uint8_t entry_sizes[] = {
    [3] = 4,  [4] = 4,  [TAG_LONG] = 8, [TAG_DOUBLE] = 8, [TAG_CLASS] = 2, [8] = 2,
    [9] = 4,  [10] = 4, [11] = 4,       [12] = 4,         [15] = 3,        [16] = 2,
    [17] = 4, [18] = 4, [19] = 2,       [TAG_PACKAGE] = 2};

static bool skip_entry(struct cursor *cursor, uint8_t tag)
{
  size_t size = tag == TAG_UTF8 ? cursor_u2(cursor) : tag < sizeof entry_sizes ? entry_sizes[tag] : 0;
  if (size == 0 && tag != TAG_UTF8)
    return false;
  return cursor_take(cursor, size) != NULL;
}

enum jp_status constant_pool_read(struct constant_pool *pool, const uint8_t *bytes, struct cursor *cursor,
                                  struct arena *arena, struct jp_error *error)
{
  unsigned count = cursor_u2(cursor);
  *pool = (struct constant_pool){.bytes = bytes, .count = count, .arena = arena};
  if (count == 0)
    return jp_fail(error, JP_INVALID, "no constant pool at byte %zu", (size_t)(cursor->at - bytes));
  pool->offsets = arena_calloc(arena, count, sizeof *pool->offsets);
  pool->decoded = arena_calloc(arena, count, sizeof *pool->decoded);
  pool->dotted = arena_calloc(arena, count, sizeof *pool->dotted);
  if (pool->offsets == NULL || pool->decoded == NULL || pool->dotted == NULL)
    return jp_fail(error, JP_NO_MEMORY, "out of memory");
  for (unsigned i = 1; i < count; i++) {
    size_t offset = (size_t)(cursor->at - bytes);
    uint8_t tag = cursor_u1(cursor);
    if (!skip_entry(cursor, tag))
      return jp_fail(error, JP_INVALID, "constant %u with tag %u at byte %zu is cut off or of no known kind",
                     i, tag, offset);
    pool->offsets[i] = (uint32_t)offset;
    if (tag == TAG_LONG || tag == TAG_DOUBLE)
      i++; /* JVMS 4.4.5: the next index is unusable */
  }
  return JP_OK;
}

static const uint8_t *find_entry(const struct constant_pool *pool, unsigned index, uint8_t tag)
{
  if (index == 0 || index >= pool->count || pool->offsets[index] == 0)
    return NULL;
  const uint8_t *entry = pool->bytes + pool->offsets[index];
  return entry[0] == tag ? entry + 1 : NULL;
}

static unsigned u2_at(const uint8_t *bytes)
{
  return (unsigned)(bytes[0] << 8 | bytes[1]);
}

enum jp_status constant_pool_utf8(const struct constant_pool *pool, unsigned index, const char *wanted,
                                  struct text *text, struct jp_error *error)
{
  const uint8_t *entry = find_entry(pool, index, TAG_UTF8);
  if (entry == NULL)
    return jp_fail(error, JP_INVALID, "constant %u is no text, but %s stands there", index, wanted);
  struct text *decoded = &pool->decoded[index];
  if (decoded->data == NULL) {
    enum jp_status status = modified_utf8_decode(entry + 2, u2_at(entry), pool->arena, decoded);
    if (status == JP_NO_MEMORY)
      return jp_fail(error, status, "out of memory");
    if (status != JP_OK)
      return jp_fail(error, status, "constant %u, %s, is not modified UTF-8 (byte %u)", index, wanted,
                     (unsigned)pool->offsets[index]);
  }
  *text = *decoded;
  return JP_OK;
}

static bool replace_slashes(struct arena *arena, struct text internal, struct text *dotted)
{
  char *copy = arena_alloc(arena, internal.len);
  if (copy == NULL)
    return false;
  for (size_t i = 0; i < internal.len; i++)
    copy[i] = internal.data[i] == '/' ? '.' : internal.data[i];
  *dotted = (struct text){copy, internal.len};
  return true;
}

static enum jp_status read_name(const struct constant_pool *pool, unsigned index, uint8_t tag,
                                const char *wanted, struct text *name, struct jp_error *error)
{
  const uint8_t *entry = find_entry(pool, index, tag);
  if (entry == NULL)
    return jp_fail(error, JP_INVALID, "constant %u is not of the right kind for %s", index, wanted);
  struct text internal = TEXT("");
  enum jp_status status = constant_pool_utf8(pool, u2_at(entry), wanted, &internal, error);
  if (status != JP_OK)
    return status;
  if (internal.len == 0)
    return jp_fail(error, JP_INVALID, "constant %u, %s, is an empty name", index, wanted);
  struct text *dotted = &pool->dotted[u2_at(entry)];
  if (dotted->data == NULL && !replace_slashes(pool->arena, internal, dotted))
    return jp_fail(error, JP_NO_MEMORY, "out of memory");
  *name = *dotted;
  return JP_OK;
}

enum jp_status constant_pool_class(const struct constant_pool *pool, unsigned index, const char *wanted,
                                   struct text *name, struct jp_error *error)
{
  return read_name(pool, index, TAG_CLASS, wanted, name, error);
}

enum jp_status constant_pool_package(const struct constant_pool *pool, unsigned index, const char *wanted,
                                     struct text *name, struct jp_error *error)
{
  return read_name(pool, index, TAG_PACKAGE, wanted, name, error);
}

bool constant_pool_is(const struct constant_pool *pool, unsigned index, struct text letters)
{
  const uint8_t *entry = find_entry(pool, index, TAG_UTF8);
  return entry != NULL && text_equal((struct text){(const char *)entry + 2, u2_at(entry)}, letters);
}

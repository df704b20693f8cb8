#include "classfile/jar.h"

#include "base/array.h"
#include "base/buffer.h"
#include "base/process_limits.h"
#include "classfile/jar_directory.h"
#include "classfile/manifest.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <zip.h>

enum {
  MANIFEST_BYTES_MAX = 1024 * 1024,
  NESTED_BYTES_MAX = 256 * 1024 * 1024,
  /* a deflated entry may be larger than its unpacked size by this number of bytes */
  PACKED_EXCESS_MAX = 64 * 1024,
  MULTI_RELEASE_FIRST = 9 /* JAR File Specification, "Multi-release JAR files" */
};

struct jar_entry {
  uint64_t index;
  struct text path; /* below its root, without ".class"; borrowed from the archive */
  bool is_rooted;   /* below a folder that Java's class loaders do not search */
  unsigned version; /* 0: of the base */
};

struct jar {
  struct builder *builder;
  zip_t *archive;                  /* NULL: the jar is read by its directory */
  struct jar_directory *directory; /* NULL: the jar is read by libzip */
  const char *name;
  unsigned feature_version;
  unsigned depth;
  uint16_t part;        /* of a jar inside another jar; 0: of a jar in the class path */
  uint16_t rooted_part; /* of classes below a folder such as BOOT-INF/classes; 0: none was found */
  struct manifest manifest;
  struct arena arena;
  struct array entries;                         /* struct jar_entry */
  bool is_sorted;                               /* jar_sort has sorted the entries */
  struct buffer bytes;                          /* of the current entry, unpacked */
  struct buffer packed;                         /* the same entry, compressed as in the jar */
  struct libdeflate_decompressor *decompressor; /* NULL: not needed yet */
  struct jp_error *error;
};

static void warn_of_entry(struct jar *jar, const char *entry, const char *why)
{
  struct jp_error reason;
  (void)jp_fail(&reason, JP_INVALID, "%s", why);
  builder_warn(jar->builder, &(struct class_place){jar->name, entry}, &reason);
}

static bool is_deflated(const zip_stat_t *facts)
{
  zip_uint64_t needed = ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_CRC | ZIP_STAT_ENCRYPTION_METHOD;
  return (facts->valid & needed) == needed && facts->comp_method == ZIP_CM_DEFLATE &&
         facts->encryption_method == ZIP_EM_NONE && facts->comp_size <= facts->size + PACKED_EXCESS_MAX;
}

/* Unpacks a deflated entry. True: the result has exactly facts->size bytes and the checksum of the
 * directory. */
static bool inflate_whole(struct jar *jar, zip_file_t *file, const zip_stat_t *facts)
{
  size_t size = (size_t)facts->size;
  zip_int64_t got = zip_fread(file, jar->packed.data, facts->comp_size);
  return got >= 0 && (zip_uint64_t)got == facts->comp_size &&
         libdeflate_deflate_decompress(jar->decompressor, jar->packed.data, (size_t)got, jar->bytes.data,
                                       size, NULL) == LIBDEFLATE_SUCCESS &&
         libdeflate_crc32(0, jar->bytes.data, size) == facts->crc;
}

static bool prepare_inflation(struct jar *jar, const zip_stat_t *facts)
{
  if (jar->decompressor == NULL)
    jar->decompressor = libdeflate_alloc_decompressor();
  buffer_clear(&jar->packed);
  return jar->decompressor != NULL && buffer_reserve(&jar->packed, (size_t)facts->comp_size) != NULL;
}

static void free_buffers(struct jar *jar)
{
  buffer_fini(&jar->bytes);
  buffer_fini(&jar->packed);
  libdeflate_free_decompressor(jar->decompressor);
}

/* True: the entry unpacks to exactly `size` bytes, which are then in jar->bytes. This function reads up to
 * one byte more, because libzip compares the checksum at the end of the entry. */
static bool read_whole(struct jar *jar, zip_file_t *file, size_t size)
{
  size_t done = 0;
  zip_int64_t got;
  while ((got = zip_fread(file, jar->bytes.data + done, size + 1 - done)) > 0) {
    done += (size_t)got;
    if (done > size)
      return false;
  }
  return got == 0 && done == size;
}

static size_t count_entries(const struct jar *jar)
{
  return jar->directory != NULL ? jar_directory_count(jar->directory)
                                : (size_t)zip_get_num_entries(jar->archive, 0);
}

static struct text entry_name(const struct jar *jar, size_t index)
{
  if (jar->directory != NULL)
    return jar_directory_item(jar->directory, index)->name;
  const char *name = zip_get_name(jar->archive, index, ZIP_FL_ENC_RAW);
  return name == NULL ? TEXT("") : text_of(name);
}

/* unpack_entry for a jar that is read by its directory (classfile/jar_directory.h). */
static enum jp_status read_by_directory(struct jar *jar, size_t index, size_t size_max, size_t *size)
{
  const struct jar_item *item = jar_directory_item(jar->directory, index);
  bool is_too_large = item->size > size_max;
  enum jp_status status = is_too_large ? JP_INVALID : jar_directory_read(jar->directory, item, &jar->bytes);
  *size = item->size;
  if (status == JP_NO_MEMORY)
    return jp_fail_memory(jar->error, jar->name);
  if (status == JP_INVALID) {
    struct text name = arena_text(&jar->arena, item->name);
    warn_of_entry(jar, name.data, is_too_large ? "it is larger than the limit" : "it cannot be unpacked");
  }
  return status;
}

/* Unpacks an entry into jar->bytes. A deflated entry is unpacked by libdeflate: nearly all entries are deflated,
 * and libzip, which uses zlib, needed half of a scan's time to unpack them. JP_INVALID: the entry must be left
 * out, and the log says why. The size in the directory is not trusted, but it limits how many bytes are read. */
static enum jp_status unpack_entry(struct jar *jar, uint64_t index, size_t size_max, size_t *size)
{
  if (jar->directory != NULL)
    return read_by_directory(jar, (size_t)index, size_max, size);
  const char *name = zip_get_name(jar->archive, index, ZIP_FL_ENC_RAW);
  zip_stat_t facts;
  if (zip_stat_index(jar->archive, index, 0, &facts) != 0 || (facts.valid & ZIP_STAT_SIZE) == 0) {
    warn_of_entry(jar, name, "its directory entry cannot be read");
    return JP_INVALID;
  }
  if (facts.size > size_max) {
    warn_of_entry(jar, name, "it is larger than the limit");
    return JP_INVALID;
  }
  *size = (size_t)facts.size;
  bool deflated = is_deflated(&facts);
  buffer_clear(&jar->bytes);
  if (buffer_reserve(&jar->bytes, *size + 1) == NULL || (deflated && !prepare_inflation(jar, &facts)))
    return jp_fail_memory(jar->error, jar->name);
  zip_file_t *file = zip_fopen_index(jar->archive, index, deflated ? ZIP_FL_COMPRESSED : 0);
  if (file == NULL) {
    warn_of_entry(jar, name, zip_strerror(jar->archive));
    return JP_INVALID;
  }
  bool whole = deflated ? inflate_whole(jar, file, &facts) : read_whole(jar, file, *size);
  zip_fclose(file);
  if (!whole)
    warn_of_entry(jar, name, "it cannot be unpacked");
  return whole ? JP_OK : JP_INVALID;
}

/* -1: the jar has no such entry. */
static int64_t find_manifest(const struct jar *jar)
{
  static const struct text name = TEXT("META-INF/MANIFEST.MF");
  if (jar->directory == NULL)
    return zip_name_locate(jar->archive, name.data, ZIP_FL_NOCASE | ZIP_FL_ENC_RAW);
  for (size_t i = 0; i < count_entries(jar); i++) {
    struct text found = entry_name(jar, i);
    if (text_equal_ignore_case(found, name))
      return (int64_t)i;
  }
  return -1;
}

static enum jp_status read_manifest(struct jar *jar)
{
  jar->manifest = (struct manifest){false, TEXT("")};
  int64_t index = find_manifest(jar);
  if (index < 0)
    return JP_OK;
  size_t size = 0;
  enum jp_status status = unpack_entry(jar, (uint64_t)index, MANIFEST_BYTES_MAX, &size);
  if (status != JP_OK)
    return status == JP_INVALID ? JP_OK : status;
  struct text copy = arena_text(&jar->arena, (struct text){jar->bytes.data, size});
  return copy.data != NULL && manifest_parse(copy, &jar->arena, &jar->manifest)
             ? JP_OK
             : jp_fail_memory(jar->error, jar->name);
}

/* "META-INF/versions/11/com/example/A" -> 11 and "com/example/A". */
static bool skip_version(struct text *path, unsigned *version)
{
  static const struct text prefix = TEXT("META-INF/versions/");
  if (!text_starts_with(*path, prefix))
    return false;
  size_t at = prefix.len;
  *version = 0;
  for (; at < path->len && path->data[at] >= '0' && path->data[at] <= '9' && *version < 1000; at++)
    *version = *version * 10 + (unsigned)(path->data[at] - '0');
  if (at == prefix.len || at == path->len || path->data[at] != '/')
    return false;
  *path = text_slice(*path, at + 1, path->len);
  return true;
}

/* Reduces the entry's path to the class's path below its root. False: the entry is not for this Java. */
static bool reduce_path(const struct jar *jar, struct jar_entry *entry)
{
  static const struct text roots[] = {TEXT("BOOT-INF/classes/"), TEXT("WEB-INF/classes/")};
  struct text *path = &entry->path;
  if (skip_version(path, &entry->version))
    return jar->manifest.multi_release && entry->version >= MULTI_RELEASE_FIRST &&
           entry->version <= jar->feature_version;
  if (text_starts_with(*path, TEXT("META-INF/")))
    return false;
  for (size_t i = 0; !entry->is_rooted && i < sizeof roots / sizeof roots[0]; i++) {
    entry->is_rooted = text_starts_with(*path, roots[i]);
    if (entry->is_rooted)
      *path = text_slice(*path, roots[i].len, path->len);
  }
  return true;
}

static enum jp_status list_entries(struct jar *jar)
{
  static const struct text suffix = TEXT(".class");
  for (size_t i = 0; i < count_entries(jar); i++) {
    struct text path = entry_name(jar, i);
    if (!text_ends_with(path, suffix))
      continue;
    struct jar_entry entry = {.index = i, .path = text_slice(path, 0, path.len - suffix.len)};
    if (!reduce_path(jar, &entry))
      continue;
    struct jar_entry *added = array_add(&jar->entries, 1);
    if (added == NULL)
      return jp_fail_memory(jar->error, jar->name);
    *added = entry;
  }
  return JP_OK;
}

static uint16_t part_of(struct jar *jar, const struct jar_entry *entry)
{
  if (!entry->is_rooted)
    return jar->part;
  if (jar->rooted_part == 0)
    jar->rooted_part = builder_make_part(jar->builder);
  return jar->rooted_part;
}

/* Orders by path, then by version (the highest first), then by position in the jar. */
static int compare_entries(const void *left, const void *right)
{
  const struct jar_entry *a = left;
  const struct jar_entry *b = right;
  int order = text_order(a->path, b->path);
  if (order != 0)
    return order;
  if (a->version != b->version)
    return a->version > b->version ? -1 : 1;
  return (a->index > b->index) - (a->index < b->index);
}

/* Of several entries with the same path only the first counts; it has the highest version. */
static void sort_entries(struct jar *jar)
{
  struct jar_entry *entries = jar->entries.items;
  size_t kept = 0;
  if (jar->entries.count > 0)
    qsort(entries, jar->entries.count, sizeof *entries, compare_entries);
  for (size_t i = 0; i < jar->entries.count; i++) {
    if (kept == 0 || !text_equal(entries[i].path, entries[kept - 1].path))
      entries[kept++] = entries[i];
  }
  jar->entries.count = kept;
}

static enum jp_status read_classes(struct jar *jar)
{
  enum jp_status status = list_entries(jar);
  if (status != JP_OK)
    return status;
  sort_entries(jar);
  const struct jar_entry *entries = jar->entries.items;
  for (size_t i = 0; i < jar->entries.count; i++) {
    size_t size = 0;
    status = unpack_entry(jar, entries[i].index, CLASS_BYTES_MAX, &size);
    if (status == JP_INVALID)
      continue;
    builder_enter_part(jar->builder, part_of(jar, &entries[i]));
    struct class_place place = {jar->name, zip_get_name(jar->archive, entries[i].index, ZIP_FL_ENC_RAW)};
    if (status == JP_OK)
      status = builder_add_class(jar->builder, (const uint8_t *)jar->bytes.data, size, entries[i].path,
                                 CATALOG_CLASS_PATH, &place, jar->error);
    if (status != JP_OK)
      return status;
  }
  return JP_OK;
}

static enum jp_status read_archive(struct builder *builder, zip_t *archive, const char *name,
                                   unsigned feature_version, unsigned depth, struct arena *arena,
                                   struct text *class_path, struct jp_error *error);

static void warn_zip(struct builder *builder, const char *name, zip_error_t *why)
{
  struct jp_error reason;
  (void)jp_fail(&reason, JP_INVALID, "no readable jar: %s", zip_error_strerror(why));
  builder_warn(builder, &(struct class_place){name, NULL}, &reason);
}

static enum jp_status read_nested_jar(struct jar *jar, uint64_t index)
{
  size_t size = 0;
  enum jp_status status = unpack_entry(jar, index, NESTED_BYTES_MAX, &size);
  if (status != JP_OK)
    return status == JP_INVALID ? JP_OK : status;
  struct text name =
      arena_printf(&jar->arena, "%s!%s", jar->name, zip_get_name(jar->archive, index, ZIP_FL_ENC_RAW));
  if (name.data == NULL)
    return jp_fail_memory(jar->error, jar->name);
  zip_error_t why;
  zip_error_init(&why);
  zip_source_t *source = zip_source_buffer_create(jar->bytes.data, size, 0, &why);
  zip_t *archive = source == NULL ? NULL : zip_open_from_source(source, ZIP_RDONLY, &why);
  if (archive == NULL) {
    zip_source_free(source);
    warn_zip(jar->builder, name.data, &why);
  } else {
    status = read_archive(jar->builder, archive, name.data, jar->feature_version, jar->depth + 1, NULL, NULL,
                          jar->error);
  }
  zip_error_fini(&why);
  return status;
}

static enum jp_status read_nested_jars(struct jar *jar)
{
  enum jp_status status = JP_OK;
  zip_int64_t count = jar->depth >= JAR_DEPTH_MAX ? 0 : zip_get_num_entries(jar->archive, 0);
  for (zip_int64_t i = 0; i < count && status == JP_OK; i++) {
    const char *name = zip_get_name(jar->archive, (zip_uint64_t)i, ZIP_FL_ENC_RAW);
    if (name != NULL && text_ends_with(text_of(name), TEXT(".jar")))
      status = read_nested_jar(jar, (uint64_t)i);
  }
  return status;
}

/* Takes the archive. */
static enum jp_status read_archive(struct builder *builder, zip_t *archive, const char *name,
                                   unsigned feature_version, unsigned depth, struct arena *arena,
                                   struct text *class_path, struct jp_error *error)
{
  struct jar jar = {.builder = builder,
                    .archive = archive,
                    .name = name,
                    .feature_version = feature_version,
                    .depth = depth,
                    .part = depth > 1 ? builder_make_part(builder) : 0,
                    .error = error};
  arena_init(&jar.arena);
  array_init(&jar.entries, sizeof(struct jar_entry));
  enum jp_status status = read_manifest(&jar);
  if (status == JP_OK)
    status = read_classes(&jar);
  if (status == JP_OK)
    status = read_nested_jars(&jar);
  if (status == JP_OK && class_path != NULL) {
    *class_path = arena_text(arena, jar.manifest.class_path);
    status = class_path->data == NULL ? jp_fail_memory(jar.error, jar.name) : JP_OK;
  }
  builder_enter_part(builder, 0);
  array_fini(&jar.entries);
  arena_fini(&jar.arena);
  free_buffers(&jar);
  zip_discard(archive);
  return status;
}

/* Leaves out a jar that cannot be opened. JP_IO only if the process has no file descriptors left. */
static enum jp_status warn_of_archive(struct builder *builder, const char *path, int code,
                                      struct jp_error *error)
{
  zip_error_t why;
  if (descriptors_are_used_up())
    return jp_fail(error, JP_IO, "cannot read %s: " DESCRIPTORS_NONE_LEFT, path);
  zip_error_init_with_code(&why, code);
  warn_zip(builder, path, &why);
  zip_error_fini(&why);
  return JP_OK;
}

enum jp_status jar_read_file(struct builder *builder, const char *path, unsigned feature_version,
                             struct arena *arena, struct text *class_path, struct jp_error *error)
{
  int code;
  *class_path = TEXT("");
  zip_t *archive = zip_open(path, ZIP_RDONLY, &code);
  return archive != NULL ? read_archive(builder, archive, path, feature_version, 1, arena, class_path, error)
                         : warn_of_archive(builder, path, code, error);
}

/* ---- one class ---- */

enum jp_status jar_open(struct builder *warnings, const char *path, unsigned feature_version,
                        struct jar **jar, struct jp_error *error)
{
  int code = 0;
  struct jar *opened = calloc(1, sizeof *opened);
  *jar = NULL;
  if (opened == NULL)
    return jp_fail_memory(error, path);
  *opened = (struct jar){.builder = warnings, .feature_version = feature_version, .error = error};
  arena_init(&opened->arena);
  array_init(&opened->entries, sizeof(struct jar_entry));
  opened->name = arena_printf(&opened->arena, "%s", path).data;
  enum jp_status status = opened->name == NULL ? JP_NO_MEMORY : jar_directory_open(path, &opened->directory);
  if (status == JP_INVALID)
    opened->archive = zip_open(path, ZIP_RDONLY, &code);
  bool is_open = opened->directory != NULL || opened->archive != NULL;
  if (status == JP_NO_MEMORY)
    status = jp_fail_memory(error, path);
  else
    status = is_open ? read_manifest(opened) : warn_of_archive(warnings, path, code, error);
  if (status == JP_OK && is_open)
    status = list_entries(opened);
  if (status != JP_OK || !is_open) {
    jar_close(opened);
    return status;
  }
  *jar = opened;
  return status;
}

void jar_close(struct jar *jar)
{
  if (jar == NULL)
    return;
  array_fini(&jar->entries);
  arena_fini(&jar->arena);
  free_buffers(jar);
  if (jar->archive != NULL)
    zip_discard(jar->archive);
  jar_directory_close(jar->directory);
  free(jar);
}

void jar_sort(struct jar *jar)
{
  if (!jar->is_sorted)
    sort_entries(jar);
  jar->is_sorted = true;
}

size_t jar_class_count(const struct jar *jar)
{
  return jar->entries.count;
}

struct text jar_class_path(const struct jar *jar, size_t index)
{
  return ((const struct jar_entry *)jar->entries.items)[index].path;
}

struct text jar_manifest_class_path(const struct jar *jar)
{
  return jar->manifest.class_path;
}

bool jar_has_parts(const struct jar *jar)
{
  const struct jar_entry *entries = jar->entries.items;
  for (size_t i = 0; i < jar->entries.count; i++) {
    if (entries[i].is_rooted)
      return true;
  }
  for (size_t i = 0; i < count_entries(jar); i++) {
    if (text_ends_with(entry_name(jar, i), TEXT(".jar")))
      return true;
  }
  return false;
}

static int compare_with_path(const void *path, const void *entry)
{
  return text_order(*(const struct text *)path, ((const struct jar_entry *)entry)->path);
}

/* NULL: there is none. */
static const struct jar_entry *find_entry(const struct jar *jar, struct text path)
{
  const struct jar_entry *entries = jar->entries.items;
  const struct jar_entry *found = NULL;
  if (jar->is_sorted && jar->entries.count > 0)
    return bsearch(&path, entries, jar->entries.count, sizeof *entries, compare_with_path);
  for (size_t i = 0; i < jar->entries.count; i++) {
    if (text_equal(entries[i].path, path) && (found == NULL || compare_entries(&entries[i], found) < 0))
      found = &entries[i];
  }
  return found;
}

enum jp_status jar_find(struct jar *jar, struct text path, const uint8_t **bytes, size_t *size,
                        struct jp_error *error)
{
  const struct jar_entry *found = find_entry(jar, path);
  jar->error = error;
  enum jp_status status = found == NULL ? JP_INVALID : unpack_entry(jar, found->index, CLASS_BYTES_MAX, size);
  *bytes = (const uint8_t *)jar->bytes.data;
  return status == JP_INVALID ? JP_NOT_FOUND : status;
}

/* Any bytes as a jar: its directory, its manifest, its classes, the jars inside it. */
#include "base/log.h"
#include "classfile/jar.h"
#include "classfile/manifest.h"

#include "tests/fuzz/memory_file.h"

enum { FEATURE_VERSION = 17 };

static void read_manifest(struct text input)
{
  struct arena arena;
  struct manifest manifest;
  arena_init(&arena);
  require(manifest_parse(input, &arena, &manifest));
  for (struct text path; manifest_next_path(&manifest.class_path, "lib/a.jar", &arena, &path);)
    ;
  arena_fini(&arena);
}

/* Its classes one at a time. */
static void read_classes(struct builder *warnings, const char *path)
{
  struct jar *jar;
  struct jp_error error;
  require(jar_open(warnings, path, FEATURE_VERSION, &jar, &error) == JP_OK);
  if (jar != NULL)
    jar_sort(jar);
  for (size_t i = 0; jar != NULL && i < jar_class_count(jar); i++) {
    const uint8_t *bytes;
    size_t size;
    enum jp_status status = jar_find(jar, jar_class_path(jar, i), &bytes, &size, &error);
    require(status == JP_OK || status == JP_NOT_FOUND);
  }
  jar_close(jar);
}

FUZZ_TARGET(input)
{
  struct jp_error error;
  struct catalog_tables tables;
  char path[FUZZ_PATH_SIZE];
  struct text class_path;
  struct arena arena;
  struct builder *builder = builder_create();
  require(builder != NULL);
  log_set_level(LOG_LEVEL_ERROR);
  read_manifest(input);
  int file = open_copy(input, path);
  read_classes(builder, path);
  arena_init(&arena);
  enum jp_status status = jar_read_file(builder, path, FEATURE_VERSION, &arena, &class_path, &error);
  require(status == JP_LIMIT || (status == JP_OK && builder_finish(builder, &tables, &error) == JP_OK));
  arena_fini(&arena);
  close(file);
  builder_destroy(builder);
}

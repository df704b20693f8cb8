/* Any bytes as a jar: its directory, its manifest, its classes, the jars inside it. */
#include "base/log.h"
#include "classfile/jar.h"
#include "classfile/manifest.h"

#include "tests/fuzz/memory_file.h"

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

FUZZ_TARGET(input)
{
  enum { FEATURE_VERSION = 17 };
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
  arena_init(&arena);
  enum jp_status status = jar_read_file(builder, path, FEATURE_VERSION, &arena, &class_path, &error);
  require(status == JP_LIMIT || (status == JP_OK && builder_finish(builder, &tables, &error) == JP_OK));
  arena_fini(&arena);
  close(file);
  builder_destroy(builder);
}

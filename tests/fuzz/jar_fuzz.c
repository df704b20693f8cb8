/* Any bytes as a jar: its directory, its manifest, its classes, the jars inside it. */
#include "base/log.h"
#include "classfile/jar.h"
#include "classfile/manifest.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_manifest(const uint8_t *data, size_t size)
{
  struct arena arena;
  struct manifest manifest;
  arena_init(&arena);
  if (!manifest_parse((struct text){(const char *)data, size}, &arena, &manifest))
    abort();
  for (struct text path; manifest_next_path(&manifest.class_path, "lib/a.jar", &arena, &path);)
    ;
  arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  enum { FEATURE_VERSION = 17 };
  struct jp_error error;
  struct catalog_tables tables;
  struct builder *builder = builder_create();
  if (builder == NULL)
    abort();
  log_set_level(LOG_LEVEL_ERROR);
  read_manifest(data, size);
  enum jp_status status = jar_read_bytes(builder, data, size, "fuzz", FEATURE_VERSION, &error);
  if (status == JP_OK && builder_finish(builder, &tables, &error) != JP_OK)
    abort();
  if (status != JP_OK && status != JP_LIMIT)
    abort();
  builder_destroy(builder);
  return 0;
}

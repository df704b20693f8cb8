#include "rpc/meta/meta_reach.h"

#include <stdlib.h>

/* Jars are asked for as a whole, by one of their classes: asking for each class would take seconds. */
static void find_parts(const struct catalog_tables *tables, const struct meta_loaders *loaders,
                       bool *is_found)
{
  for (size_t i = 1; i < tables->part_count; i++) {
    uint32_t some_class = tables->parts[i].some_class;
    is_found[i] = some_class != 0 && loaders->main_finds(loaders->context, catalog_text(tables, some_class));
  }
}

static void find_classes(struct meta_reach *reach, const struct catalog_tables *tables,
                         const struct meta_loaders *loaders, const bool *is_found)
{
  for (size_t i = 0; i < tables->class_count; i++) {
    const struct catalog_class *class = &tables->classes[i];
    reach->classes[i] = class->part == 0 || is_found[class->part] ||
                        loaders->is_loaded(loaders->context, catalog_text(tables, class->name));
  }
  reach->stamp = text_hash((struct text){(const char *)reach->classes, tables->class_count});
}

enum jp_status meta_reach_find(struct meta_reach *reach, const struct catalog_tables *tables,
                               const struct meta_loaders *loaders)
{
  *reach = (struct meta_reach){.classes = NULL};
  if (loaders == NULL || tables->part_count <= 1)
    return JP_OK;
  bool *is_found = calloc(tables->part_count, sizeof *is_found);
  reach->classes = malloc(tables->class_count + 1);
  bool made = is_found != NULL && reach->classes != NULL;
  if (made) {
    find_parts(tables, loaders, is_found);
    find_classes(reach, tables, loaders, is_found);
  } else {
    meta_reach_fini(reach);
  }
  free(is_found);
  return made ? JP_OK : JP_NO_MEMORY;
}

void meta_reach_fini(struct meta_reach *reach)
{
  free(reach->classes);
  reach->classes = NULL;
}

#ifndef JPEER_RPC_META_META_REACH_H
#define JPEER_RPC_META_META_REACH_H
/*
 * Which classes of the catalog can be named now. The application's class loader finds most of them; those of jars within
 * jars need a loader that the program has made, and are not listed before it is there (docs/metadata.md, "Which classes").
 *
 * Made for one query by its thread; then constant.
 */
#include "base/status.h"
#include "classfile/catalog.h"

/* What is asked about class loaders; no class is loaded for it. */
struct meta_loaders {
  void *context;
  bool (*main_finds)(void *context,
                     struct text class_name); /* the context class loader of main has its file */
  bool (*is_loaded)(void *context,
                    struct text class_name); /* one loader, and no other, has loaded one of the name */
};

struct meta_reach {
  uint8_t *classes; /* by class index, 0 or 1; NULL: all can be named */
  uint64_t stamp;   /* differs where the classes do */
};

/* loaders NULL: all can be named. JP_NO_MEMORY. */
enum jp_status meta_reach_find(struct meta_reach *reach, const struct catalog_tables *tables,
                               const struct meta_loaders *loaders) JP_MUST_CHECK;
void meta_reach_fini(struct meta_reach *reach);

/* reach NULL: all can be named. */
static inline bool meta_reach_has(const struct meta_reach *reach, uint32_t class_index)
{
  return reach == NULL || reach->classes == NULL || reach->classes[class_index] != 0;
}

#endif

#ifndef JPEER_RPC_META_META_SHAPES_H
#define JPEER_RPC_META_META_SHAPES_H
/*
 * A small catalog of a class and its ancestors, made from the JVM's answers, for a class that no catalog has.
 * One owner, one thread at a time. For rpc/meta and rpc/methods.
 */
#include "classfile/catalog.h"
#include "op/description.h"

struct builder;

struct meta_shapes {
  struct builder *builder;
  struct catalog_tables tables; /* valid until meta_shapes_fini; they own their texts */
};

/*
 * known: the tables of the peer's catalog, the only source for the names of parameters; NULL: none.
 * JP_NO_MEMORY; JP_LIMIT: there are more members than a catalog accepts. Caller calls meta_shapes_fini, also
 * after a failure.
 */
enum jp_status meta_shapes_make(struct meta_shapes *shapes, const struct op_description *look,
                                const struct catalog_tables *known) JP_MUST_CHECK;
void meta_shapes_fini(struct meta_shapes *shapes);

/* Opens the part of the catalog that is about the classes of a look, for the names of parameters and nested
 * classes. The result is NULL if catalog is NULL, or if the catalog cannot be read. Caller closes with
 * catalog_excerpt_close. */
struct catalog_excerpt *meta_shapes_open_known(struct catalog *catalog, const struct op_description *look);

#endif

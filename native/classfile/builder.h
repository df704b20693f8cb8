#ifndef JPEER_CLASSFILE_BUILDER_H
#define JPEER_CLASSFILE_BUILDER_H
/*
 * Collects classes into the tables of a catalog. Only one thread uses a builder until builder_finish. From
 * then on the tables are constant. They are valid until builder_destroy.
 */
#include "base/arena.h"
#include "classfile/catalog.h"
#include "classfile/class_file.h"

#include <stdatomic.h>

struct builder;

enum {
  CLASS_BYTES_MAX = 16 * 1024 * 1024, /* of one class file */
  CLASSES_MAX = 2 * 1024 * 1024,      /* of a catalog */
  JAR_DEPTH_MAX = 4                   /* jars within jars */
};

/* Where a class file was found: "container" or "container!entry" in the log. */
struct class_place {
  const char *container;
  const char *entry; /* NULL: none */
};

struct builder *builder_create(void); /* NULL: no memory */
/* Makes a builder for some of the classes, which is later merged into another builder. Its warnings are kept
 * until then. If *is_stopped becomes true, adding a class fails with JP_CLOSED; is_stopped may be NULL. */
struct builder *builder_create_part(const atomic_bool *is_stopped);
void builder_destroy(struct builder *builder);

/* Logs that a file is left out, and the reason. The number of warnings is bounded. */
void builder_warn(struct builder *builder, const struct class_place *place, const struct jp_error *why);

enum { BUILDER_PARTS_MAX = UINT16_MAX };

/* Makes a part of a jar (struct catalog_part) for the classes that are added after builder_enter_part. If
 * there are BUILDER_PARTS_MAX parts already, returns the last part. */
uint16_t builder_make_part(struct builder *builder);
/* The classes added from now on belong to this part; 0: the application's class loader finds them. If two
 * classes have the same name, a class of part 0 has priority. */
void builder_enter_part(struct builder *builder, uint16_t part);

/* Counts bytes that were read or unpacked. JP_LIMIT: there are more than any real class path has. */
enum jp_status builder_count_bytes(struct builder *builder, uint64_t bytes,
                                   struct jp_error *error) JP_MUST_CHECK;

/*
 * Parses a class file and adds its class, unless a class with this name was added before. path: its path
 * below the root of its folder or jar, with '/' and without ".class". A class whose name does not fit the
 * path is left out, because no class loader would find it. A broken file is left out with a warning.
 * JP_NO_MEMORY, JP_LIMIT.
 */
enum jp_status builder_add_class(struct builder *builder, const uint8_t *bytes, size_t size, struct text path,
                                 enum catalog_origin origin, const struct class_place *place,
                                 struct jp_error *error) JP_MUST_CHECK;

/* Adds a class that the caller has parsed or built itself, unless a class with this name was added before.
 * The texts of the class are copied. JP_NO_MEMORY, JP_LIMIT. */
enum jp_status builder_add_parsed(struct builder *builder, const struct class_file *file,
                                  enum catalog_origin origin, struct jp_error *error) JP_MUST_CHECK;

/* Adds all classes of a part in their order, as if each class was added to this builder, and logs the
 * warnings of the part. Afterwards the part may only be destroyed (builder_destroy). JP_NO_MEMORY,
 * JP_LIMIT. */
enum jp_status builder_merge(struct builder *builder, struct builder *part,
                             struct jp_error *error) JP_MUST_CHECK;

/* Sorts and links the classes. The tables are borrowed from the builder. */
enum jp_status builder_finish(struct builder *builder, struct catalog_tables *tables,
                              struct jp_error *error) JP_MUST_CHECK;

#endif

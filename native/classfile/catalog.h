#ifndef JPEER_CLASSFILE_CATALOG_H
#define JPEER_CLASSFILE_CATALOG_H
/*
 * The classes of a class path and of a JDK as tables, read from class files: no JVM is asked and no class is
 * loaded or initialised.
 *
 * Nothing is read before the first catalog_load. Whoever comes first reads everything under a lock; what it
 * gives never changes again and lives as long as the catalog, so that any number of threads may read it.
 * Format of class files: JVMS 4. Order of the class path, manifests and multi-release jars: the JAR File
 * Specification.
 */
#include "base/status.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct catalog;
struct string_pool;

enum { CATALOG_NONE = UINT32_MAX }; /* in a class index: not in the catalog */

enum catalog_origin { CATALOG_CLASS_PATH, CATALOG_JDK_EXPORTED, CATALOG_JDK_INTERNAL };

/* A class by name, and its index in the tables or CATALOG_NONE. */
struct catalog_link {
  uint32_t name;
  uint32_t class_index;
};

/* Access flags are those of JVMS 4.1, 4.5, 4.6 and 4.7.24; a nested class has those of its InnerClasses
 * entry, as Class.getModifiers() says. Strings are ids for catalog_text; 0 is the empty string. */
struct catalog_class {
  uint32_t name;                  /* binary name with dots: "java.util.Map$Entry" */
  struct catalog_link superclass; /* name 0: none (java.lang.Object; interfaces too) */
  uint32_t first_interface;       /* in links */
  uint32_t first_subclass;        /* in subclasses */
  uint32_t first_method;
  uint32_t first_field;
  uint32_t source_file; /* 0: not known */
  uint32_t subclass_count;
  uint16_t interface_count;
  uint16_t method_count;
  uint16_t field_count;
  uint16_t access;
  uint16_t major_version;
  uint16_t minor_version;
  uint16_t simple_name_at; /* where the simple name starts in the name */
  uint8_t origin;          /* enum catalog_origin */
  bool hidden;             /* anonymous, local or synthetic: here for its members' heirs alone */
};

struct catalog_method {
  uint32_t name;            /* "<init>" for a constructor; "<clinit>" is left out */
  uint32_t descriptor;      /* valid (JVMS 4.3.3) */
  uint32_t signature;       /* 0: none; not checked (JVMS 4.7.9.1) */
  uint32_t first_parameter; /* in parameters; CATALOG_NONE: no names are known */
  uint16_t access;
  uint8_t parameter_count;
  bool hidden; /* synthetic or a bridge: here only because it overrides */
};

struct catalog_field {
  uint32_t name;
  uint32_t descriptor;
  uint32_t signature;
  uint16_t access;
  bool hidden; /* synthetic */
};

struct catalog_parameter {
  uint32_t name; /* 0: not known */
  uint16_t access;
};

struct catalog_tables {
  const struct catalog_class *classes; /* sorted by name (as bytes) */
  size_t class_count;
  const struct catalog_method *methods; /* a class's own stand together, in the order of its file */
  size_t method_count;
  const struct catalog_field *fields;
  size_t field_count;
  const struct catalog_parameter *parameters;
  const struct catalog_link *links;
  const uint32_t *subclasses; /* class indexes: the direct ones that are not hidden, sorted by name */
  const struct string_pool *strings;
};

struct catalog_config {
  const char *class_path; /* as `java -cp` takes it, wildcards included; NULL or "": the current folder */
  const char *java_home;  /* the folder with lib/modules and `release`; NULL: no JDK in the catalog */
};

/* Copies the configuration and reads nothing. Caller frees with catalog_destroy. */
enum jp_status catalog_create(const struct catalog_config *config, struct catalog **catalog,
                              struct jp_error *error) JP_MUST_CHECK;
/* No tables may be in use any more. */
void catalog_destroy(struct catalog *catalog);

/*
 * The tables, read now where this is the first call. Broken class files and jars are left out with a line in
 * the log; JP_NOT_FOUND or JP_IO: the JDK's image or the library that reads it cannot be used, the text names
 * the path; JP_LIMIT: absurdly much on the class path. After a failure the next call tries again.
 */
enum jp_status catalog_load(struct catalog *catalog, const struct catalog_tables **tables,
                            struct jp_error *error) JP_MUST_CHECK;

struct text catalog_text(const struct catalog_tables *tables, uint32_t id);
/* By binary name with dots; CATALOG_NONE: not there. */
uint32_t catalog_find(const struct catalog_tables *tables, struct text name);

#endif

#ifndef JPEER_CLASSFILE_CATALOG_H
#define JPEER_CLASSFILE_CATALOG_H
/*
 * The classes of a class path and of a JDK as tables, which are read from class files. No JVM is needed, and
 * no class is loaded or initialised.
 *
 * The first catalog_load reads everything under a lock. The tables are then constant, and valid as long as
 * the catalog. Any number of threads may read them. An excerpt has a few classes and the classes that these
 * few classes need. The catalog keeps some excerpts for later requests. JVMS 4 specifies class files. The JAR
 * File Specification specifies the order of the class path, manifests and multi-release jars.
 */
#include "base/status.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct catalog;
struct string_pool;

enum { CATALOG_NONE = UINT32_MAX }; /* the index of a class that is not in the catalog */

enum catalog_origin { CATALOG_CLASS_PATH, CATALOG_JDK_EXPORTED, CATALOG_JDK_INTERNAL };

/* A class by name, and its index in the tables or CATALOG_NONE. */
struct catalog_link {
  uint32_t name;
  uint32_t class_index;
};

/* Access flags are defined in JVMS 4.1, 4.5, 4.6 and 4.7.24. A nested class has the flags of its InnerClasses
 * entry, as in Class.getModifiers(). Strings are ids for catalog_text; 0 is the empty string. */
struct catalog_class {
  uint32_t name;                  /* binary name with dots: "java.util.Map$Entry" */
  struct catalog_link superclass; /* name 0: none (java.lang.Object, interfaces) */
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
  uint16_t part;  /* the index in `parts` of the part that has the class; 0: the application's class loader
                   * finds the class */
  uint8_t origin; /* enum catalog_origin */
  bool hidden;    /* anonymous, local or synthetic: listed only because other classes may inherit from it */
};

struct catalog_method {
  uint32_t name;            /* "<init>" for a constructor; "<clinit>" is left out */
  uint32_t descriptor;      /* valid (JVMS 4.3.3) */
  uint32_t signature;       /* 0: none; may be malformed (JVMS 4.7.9.1) */
  uint32_t first_parameter; /* in parameters; CATALOG_NONE: no parameter has a name or a flag */
  uint16_t access;
  uint8_t parameter_count;
  bool hidden : 1;  /* synthetic or a bridge: listed only because it overrides other methods */
  bool is_open : 1; /* denied by the name of the described class, but allowed by the name of a supertype */
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

/* A part of a jar that the application's class loader does not search. A part is a jar inside the jar, or the
 * classes below a folder such as BOOT-INF/classes. */
struct catalog_part {
  uint32_t some_class; /* the name of one of its classes that is not hidden; 0: none */
};

struct catalog_tables {
  const struct catalog_class *classes; /* sorted by name (as bytes) */
  size_t class_count;
  const struct catalog_method *methods; /* grouped by class; within a class in the order of its file */
  size_t method_count;
  const struct catalog_field *fields;
  size_t field_count;
  const struct catalog_parameter *parameters;
  const struct catalog_link *links;
  const uint32_t *subclasses;       /* indexes of direct subclasses that are not hidden, sorted by name */
  const struct catalog_part *parts; /* the first entry means "no part" */
  size_t part_count;
  const struct string_pool *strings;
};

struct catalog_config {
  const char *class_path; /* as for `java -cp`, wildcards included; NULL or "": the current folder */
  const char *java_home;  /* the folder with lib/modules and `release`; NULL: the catalog has no JDK */
  unsigned threads;       /* the number of threads that read class files; 0: one for each processor */
};

/* Copies the configuration and reads nothing. Caller frees with catalog_destroy. */
enum jp_status catalog_create(const struct catalog_config *config, struct catalog **catalog,
                              struct jp_error *error) JP_MUST_CHECK;
/* The tables must no longer be in use. NULL is fine. */
void catalog_destroy(struct catalog *catalog);
/* Stops a catalog_load that is running. This call and later calls that read class files fail with JP_CLOSED.
 * NULL is fine. */
void catalog_stop(struct catalog *catalog);

/*
 * Returns the tables. The first call reads them. Broken class files and jars are left out with a line in the
 * log. JP_NOT_FOUND, JP_IO: the JDK's image or the library that reads it cannot be used; the error's text
 * names the path. JP_LIMIT: the class path is absurdly large. JP_CLOSED: catalog_stop was called. After a
 * failure the next call tries again.
 */
enum jp_status catalog_load(struct catalog *catalog, const struct catalog_tables **tables,
                            struct jp_error *error) JP_MUST_CHECK;

/* The feature version of the configuration's JDK (17 for "17.0.21"). */
unsigned catalog_feature_version(const struct catalog_config *config);

/* The classes that an excerpt holds in addition to the requested classes. */
enum catalog_extent {
  CATALOG_ANCESTRY, /* their superclasses and interfaces */
  CATALOG_NESTED,   /* also the member classes of the requested classes */
  CATALOG_TYPES     /* also the classes in the types of their members, with the ancestry of these classes */
};

/*
 * A few classes of the catalog in tables of their own. Only the files of these classes are read. The tables
 * are the catalog's tables if the whole catalog was read already, if there are too many classes, or if only
 * the whole catalog can resolve their names (struct catalog_part). `subclasses` has only classes of the
 * excerpt. Any thread.
 */
struct catalog_excerpt;

/* Names without a class are skipped. Fails as catalog_load does. Caller closes with catalog_excerpt_close. */
enum jp_status catalog_excerpt_open(struct catalog *catalog, const struct text *names, size_t count,
                                    enum catalog_extent extent, struct catalog_excerpt **excerpt,
                                    struct jp_error *error) JP_MUST_CHECK;
/* As catalog_excerpt_open. elements[i] is the jar or folder of the class path from which class i was loaded:
 * class i and its related classes are searched there first, so that usually no other jar is opened. NULL:
 * unknown. */
enum jp_status catalog_excerpt_open_from(struct catalog *catalog, const struct text *names,
                                         const char *const *elements, size_t count,
                                         enum catalog_extent extent, struct catalog_excerpt **excerpt,
                                         struct jp_error *error) JP_MUST_CHECK;
/* All classes: catalog_load as an excerpt. */
enum jp_status catalog_excerpt_open_whole(struct catalog *catalog, struct catalog_excerpt **excerpt,
                                          struct jp_error *error) JP_MUST_CHECK;
struct catalog_excerpt *catalog_excerpt_retain(struct catalog_excerpt *excerpt);
void catalog_excerpt_close(struct catalog_excerpt *excerpt); /* NULL is fine */
/* Valid until the excerpt is closed. */
const struct catalog_tables *catalog_excerpt_tables(const struct catalog_excerpt *excerpt);
bool catalog_excerpt_is_whole(const struct catalog_excerpt *excerpt);

/* Calls visit with the binary name of each class, without reading class files. The names have no order, and
 * some are passed twice. A name is valid during the call of visit, which is made under a lock of the catalog.
 * Fails as catalog_load does. */
typedef void catalog_visitor(void *context, struct text name);
enum jp_status catalog_each_name(struct catalog *catalog, catalog_visitor *visit, void *context,
                                 struct jp_error *error) JP_MUST_CHECK;

/* True if the part is the whole name, or the end of the name after a dot or a $. */
bool catalog_has_last_part(struct text name, struct text part);

/* The names that count as similar: names with the same last part, and names with few edits. An edit changes,
 * inserts or omits a character, exchanges it with its neighbour, or changes the case of any characters. */
struct catalog_likeness {
  struct text name;
  struct text last_part;
  unsigned edits;
};

/* Calls visit with the binary names that are similar to this name, and with some names that have more edits.
 * The same as catalog_each_name, but not under a lock. The names are from a list that the catalog keeps for a
 * second or, if that is longer (large folders on the class path), for 20 times the time that making the list
 * took. For this reason a new class may be missing, and a removed class may still be listed. */
enum jp_status catalog_each_name_like(struct catalog *catalog, const struct catalog_likeness *like,
                                      catalog_visitor *visit, void *context,
                                      struct jp_error *error) JP_MUST_CHECK;

/* Calls visit with all binary names, as catalog_each_name does, but not under a lock. The names are from the
 * same list, which is used for 60 s longer here: a class that is newer than the list is missing, and a removed
 * class may still be listed. */
enum jp_status catalog_each_known_name(struct catalog *catalog, catalog_visitor *visit, void *context,
                                       struct jp_error *error) JP_MUST_CHECK;

struct text catalog_text(const struct catalog_tables *tables, uint32_t id);
/* The index of a class by its binary name with dots, or CATALOG_NONE. */
uint32_t catalog_find(const struct catalog_tables *tables, struct text name);

#endif

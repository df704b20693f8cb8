#ifndef JPEER_CLASSFILE_CATALOG_H
#define JPEER_CLASSFILE_CATALOG_H
/*
 * The classes of a class path and of a JDK as tables, read from class files. No JVM is asked, and no class is
 * loaded or initialised.
 *
 * The first catalog_load reads everything under a lock. The tables are then constant and live as long as the
 * catalog: any number of threads may read them. Excerpts read what a few classes need, and are kept for a while. JVMS 4 has the format of class files, the JAR File
 * Specification the order of the class path, manifests and multi-release jars.
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

/* Access flags are those of JVMS 4.1, 4.5, 4.6 and 4.7.24; a nested class has those of its InnerClasses
 * entry, as Class.getModifiers() has. Strings are ids for catalog_text; 0 is the empty string. */
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
  uint16_t part;  /* of the class path, by number in parts; 0: the application's class loader finds it */
  uint8_t origin; /* enum catalog_origin */
  bool hidden;    /* anonymous, local or synthetic: listed only because others may inherit from it */
};

struct catalog_method {
  uint32_t name;            /* "<init>" for a constructor; "<clinit>" is left out */
  uint32_t descriptor;      /* valid (JVMS 4.3.3) */
  uint32_t signature;       /* 0: none; may be malformed (JVMS 4.7.9.1) */
  uint32_t first_parameter; /* in parameters; CATALOG_NONE: no parameter has a name or a flag */
  uint16_t access;
  uint8_t parameter_count;
  bool hidden : 1;  /* synthetic or a bridge: listed only because it overrides */
  bool is_open : 1; /* allowed for the object that is described, although its class alone denies it */
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

/* A part of a jar that the application's class loader does not look into: a jar in it, or its classes below a folder
 * such as BOOT-INF/classes. */
struct catalog_part {
  uint32_t some_class; /* the name of one of its classes that is not hidden; 0: it has none */
};

struct catalog_tables {
  const struct catalog_class *classes; /* sorted by name (as bytes) */
  size_t class_count;
  const struct catalog_method *methods; /* by class, each class's in the order of its file */
  size_t method_count;
  const struct catalog_field *fields;
  size_t field_count;
  const struct catalog_parameter *parameters;
  const struct catalog_link *links;
  const uint32_t *subclasses;       /* indexes of direct subclasses that are not hidden, sorted by name */
  const struct catalog_part *parts; /* the first stands for none */
  size_t part_count;
  const struct string_pool *strings;
};

struct catalog_config {
  const char *class_path; /* as `java -cp` takes it, wildcards included; NULL or "": the current folder */
  const char *java_home;  /* the folder with lib/modules and `release`; NULL: the catalog has no JDK */
  unsigned threads;       /* that read class files; 0: as many as there are processors */
};

/* Copies the configuration and reads nothing. Caller frees with catalog_destroy. */
enum jp_status catalog_create(const struct catalog_config *config, struct catalog **catalog,
                              struct jp_error *error) JP_MUST_CHECK;
/* The tables must no longer be in use. NULL is fine. */
void catalog_destroy(struct catalog *catalog);
/* Ends a reading that is in progress, and lets no other begin: they fail with JP_CLOSED. NULL is fine. */
void catalog_stop(struct catalog *catalog);

/*
 * Gives the tables; the first call reads them. Broken class files and jars are left out with a line in the
 * log. JP_NOT_FOUND, JP_IO: the JDK's image or the library that reads it cannot be used; the text names the
 * path. JP_LIMIT: the class path is absurdly large. JP_CLOSED: catalog_stop was called. After a failure the next call tries again.
 */
enum jp_status catalog_load(struct catalog *catalog, const struct catalog_tables **tables,
                            struct jp_error *error) JP_MUST_CHECK;

/* The feature version of the JDK of a configuration (17 of "17.0.21"). */
unsigned catalog_feature_version(const struct catalog_config *config);

/* What an excerpt holds beside the classes that it is asked for. */
enum catalog_extent {
  CATALOG_ANCESTRY, /* their superclasses and interfaces */
  CATALOG_NESTED,   /* and the classes that are members of those that it is asked for */
  CATALOG_TYPES     /* and the classes that members of all these name in their types, with their ancestry */
};

/*
 * Some classes of the catalog, in tables of their own, which are read from the files of these classes alone: for whatever
 * needs a few classes. Where the catalog is read already, or the classes are too many for that, or only the whole catalog
 * tells what their names mean (struct catalog_part), the tables are the catalog's own. Of the classes in an excerpt
 * `subclasses` has only others in it. Any thread.
 */
struct catalog_excerpt;

/* Names that no class has are passed over. Fails as catalog_load does. Caller closes with catalog_excerpt_close. */
enum jp_status catalog_excerpt_open(struct catalog *catalog, const struct text *names, size_t count,
                                    enum catalog_extent extent, struct catalog_excerpt **excerpt,
                                    struct jp_error *error) JP_MUST_CHECK;
/* All classes: catalog_load, held in the same way. */
enum jp_status catalog_excerpt_open_whole(struct catalog *catalog, struct catalog_excerpt **excerpt,
                                          struct jp_error *error) JP_MUST_CHECK;
struct catalog_excerpt *catalog_excerpt_retain(struct catalog_excerpt *excerpt);
void catalog_excerpt_close(struct catalog_excerpt *excerpt); /* NULL is fine */
/* Valid until the excerpt is closed. */
const struct catalog_tables *catalog_excerpt_tables(const struct catalog_excerpt *excerpt);
bool catalog_excerpt_is_whole(const struct catalog_excerpt *excerpt);

/* Gives the binary name of each class, in no order, and some twice, without reading class files. The name is valid during
 * the call, under a lock of the catalog. Fails as catalog_load does. */
typedef void catalog_visitor(void *context, struct text name);
enum jp_status catalog_each_name(struct catalog *catalog, catalog_visitor *visit, void *context,
                                 struct jp_error *error) JP_MUST_CHECK;

/* True where the name ends with this part, and a dot or a $ is before it, or nothing. */
bool catalog_has_last_part(struct text name, struct text part);

/* Which names are like another one: those with the same last part, and those that come from it by few edits: a character
 * changed, inserted, left out or exchanged with its neighbour, or the case of any. */
struct catalog_likeness {
  struct text name;
  struct text last_part;
  unsigned edits;
};

/* Gives the binary names that are like this one, and some that have more edits, as catalog_each_name does, but not under
 * a lock. The names are kept: a class of less than a second ago may be missing, or one that has gone be there still. Where
 * it takes long to find out the names (large folders on the class path), they may be older, by 20 times as long. */
enum jp_status catalog_each_name_like(struct catalog *catalog, const struct catalog_likeness *like,
                                      catalog_visitor *visit, void *context,
                                      struct jp_error *error) JP_MUST_CHECK;

/* Gives all binary names, as catalog_each_name does, but not under a lock, and out of the kept ones: a class of less than a
 * minute ago may be missing. */
enum jp_status catalog_each_known_name(struct catalog *catalog, catalog_visitor *visit, void *context,
                                       struct jp_error *error) JP_MUST_CHECK;

struct text catalog_text(const struct catalog_tables *tables, uint32_t id);
/* The index of a class by its binary name with dots, or CATALOG_NONE. */
uint32_t catalog_find(const struct catalog_tables *tables, struct text name);

#endif

#ifndef JPEER_RPC_DESCRIBE_JAVA_SCHEMA_H
#define JPEER_RPC_DESCRIBE_JAVA_SCHEMA_H
/*
 * Schemas of Java for documents: JSON Schemas (draft 7) for the arguments and results of members that are
 * called by their own names (docs/descriptions.md, "Types"), and the names of classes and of parameters. One
 * owner, one thread at a time.
 */
#include "base/array.h"
#include "base/buffer.h"
#include "base/status.h"
#include "classfile/catalog.h"
#include "rpc/methods/java_methods.h"

struct java_schemas {
  const struct catalog_tables *tables;
  /* a schema has one type, and there is no component except ObjectRef (docs/descriptions.md, "Generators") */
  bool for_generators;
  bool compat_pal;    /* results have no texts, and no result is a LargeResult */
  struct array enums; /* uint32_t: class indexes of the enums that schemas refer to, each once */
  uint8_t *enum_seen; /* a bit for each class */
};

/* JP_NO_MEMORY. Caller calls java_schemas_fini, also after a failure. */
enum jp_status java_schemas_init(struct java_schemas *schemas, const struct catalog_tables *tables,
                                 bool for_generators) JP_MUST_CHECK;
void java_schemas_fini(struct java_schemas *schemas);

/*
 * Writes the schema of one type, given as a descriptor ("[I", "V") or a signature ("Ljava/util/List<TT;>;").
 * It may refer to the component schema ObjectRef and, for arguments, to the component schemas of the classes
 * in `enums`; java_component_key_write makes their keys. A failed allocation sets out->failed.
 */
void java_schema_write(struct java_schemas *schemas, struct text type, bool is_result, struct buffer *out);

/* Writes the schema of a constructor's result: a ref, or a value for wrappers and Strings. */
void java_schema_write_new(const struct java_schemas *schemas, struct text class_name, struct buffer *out);

/* True if an object of the class may be given as a bare text: a String, a wrapper, an enum, or a class
 * made from text. */
bool java_schema_has_text(const struct catalog_tables *tables, struct text class_name);

/* Writes the component schema of an enum. */
void java_schema_write_enum(const struct catalog_tables *tables, uint32_t class_index, struct buffer *out);

/* ---- names: pure, any thread ---- */

/*
 * Appends a class's name as a component key of OpenRPC, which matches ^[a-zA-Z0-9.\-_]+$: '$' becomes '-',
 * and any other character "..XXXX." with its code point in hexadecimal. No two classes have the same key.
 */
void java_component_key_write(struct text class_name, struct buffer *out);

/* True if the pattern covers the class: '*' matches any text without a dot, '**' any text. */
bool java_class_matches(struct text pattern, struct text class_name);

/*
 * True if a generator can use the names of a method's parameters in its own language. False if a name has
 * characters other than ASCII letters, digits and inner underscores, is longer than 64 bytes, or is a word of
 * TypeScript or Python. Also false if two names (or a name and `instance`) differ only in case and
 * underscores, which generators change.
 */
bool parameter_names_are_identifiers(const struct java_method *method);

#endif

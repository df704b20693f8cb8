#ifndef JPEER_RPC_MEMBERS_JAVA_METHODS_SCHEMA_H
#define JPEER_RPC_MEMBERS_JAVA_METHODS_SCHEMA_H
/*
 * JSON Schemas (draft 7) for Java types: what a member that is called by its own name takes and gives
 * (docs/descriptions.md, "Types"). One owner, one thread at a time.
 */
#include "base/buffer.h"
#include "base/status.h"
#include "classfile/catalog.h"
#include "classfile/table.h"

struct java_schemas {
  const struct catalog_tables *tables;
  struct table enums; /* uint32_t: class indexes of the enums that were referred to, each once */
  uint8_t *enum_seen; /* a bit a class */
};

/* JP_NO_MEMORY. Caller ends it with java_schemas_fini, also after a failure. */
enum jp_status java_schemas_init(struct java_schemas *schemas,
                                 const struct catalog_tables *tables) JP_MUST_CHECK;
void java_schemas_fini(struct java_schemas *schemas);

/*
 * The schema of one type: a descriptor's ("[I", "V") or a signature's ("Ljava/util/List<TT;>;"). An enum is
 * its constants' names or a ref where it is an argument, a ref where it is a result. Component schemas that
 * it refers to: ObjectRef, and java_component_key_write(name) of each class in `enums`. A failed allocation
 * leaves out->failed.
 */
void java_schema_write(struct java_schemas *schemas, struct text type, bool is_result, struct buffer *out);

/* The schema of what a constructor of the class gives: a ref, but for classes whose objects are values. */
void java_schema_write_new(struct text class_name, struct buffer *out);

/* The component schema of an enum. */
void java_schema_write_enum(const struct catalog_tables *tables, uint32_t class_index, struct buffer *out);

#endif

#ifndef JPEER_RPC_META_META_JSON_H
#define JPEER_RPC_META_META_JSON_H
/*
 * Writes the answer of a metadata query as JSON, a member at a time (docs/metadata.md, "One element"). No
 * other file of this folder knows the form of a member. One owner. Used only by meta.c.
 */
#include "base/buffer.h"
#include "op/description.h"
#include "rpc/meta/meta_query.h"

enum meta_phase { META_BEGIN, META_CLASS, META_CONSTRUCTORS, META_METHODS, META_FIELDS, META_DONE };

struct meta_json {
  struct meta_query *query; /* borrowed */
  enum meta_phase phase;
  size_t position; /* of meta_query_next */
  bool any_class;  /* a class was written */
  uint32_t class_index;
  struct meta_members members; /* of the class */
  size_t next_member;
  bool any_member;    /* a member of this list was written */
  struct buffer type; /* the source form of a type */
};

void meta_json_init(struct meta_json *json, struct meta_query *query);
void meta_json_fini(struct meta_json *json);

/* Appends the next piece: a class's head, one member, or the end of a list. JP_CLOSED: the answer is
 * complete, and nothing was appended. JP_NO_MEMORY. */
enum jp_status meta_json_next(struct meta_json *json, struct buffer *out) JP_MUST_CHECK;

/*
 * Writes the description of an object or of a class as JSON (docs/metadata.md, "Looking"). The class may be
 * missing in the catalog. For this reason a small catalog is made from the JVM's answers. The members are the
 * same as in fetch_classes_info, in the same form.
 *
 * known: the tables of the catalog, the only source for the names of parameters; NULL: none. JP_NO_MEMORY;
 * JP_LIMIT: the class has more members than a catalog accepts.
 */
enum jp_status meta_look_write(const struct op_description *look, const struct catalog_tables *known,
                               const struct policy *policy, enum policy_channel channel,
                               struct buffer *out) JP_MUST_CHECK;

#endif

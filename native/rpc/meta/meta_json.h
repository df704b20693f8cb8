#ifndef JPEER_RPC_META_META_JSON_H
#define JPEER_RPC_META_META_JSON_H
/*
 * Writes the answer of a metadata query as JSON, a member at a time (docs/metadata.md, "One element"). The
 * one file of this folder that knows how a member is written. One owner. Only for meta.c and meta_look.c.
 */
#include "base/buffer.h"
#include "rpc/meta/meta_query.h"

enum meta_phase { META_BEGIN, META_CLASS, META_CONSTRUCTORS, META_METHODS, META_FIELDS, META_DONE };

struct meta_json {
  struct meta_query *query; /* borrowed */
  enum meta_phase phase;
  size_t position; /* of meta_query_next */
  bool any_class;  /* one has been written */
  uint32_t class_index;
  struct meta_members members; /* of the class */
  size_t next_member;
  bool any_member;    /* one of this list has been written */
  struct buffer type; /* the source form of a type */
};

void meta_json_init(struct meta_json *json, struct meta_query *query);
void meta_json_fini(struct meta_json *json);

/* Finds the members of one class. The query has merge_ancestry. JP_NO_MEMORY. */
enum jp_status meta_json_collect_members(struct meta_json *json, uint32_t class_index) JP_MUST_CHECK;
/* True where a method of the name is one of them, and the caller may use it. */
bool meta_json_shows_method(const struct meta_json *json, struct text name);
/* Appends the superclasses, all interfaces and these members as the rest of an object, whose first members are written
 * already. JP_NO_MEMORY. */
enum jp_status meta_json_write_members(struct meta_json *json, struct buffer *out) JP_MUST_CHECK;

/* Appends the next piece: a class's head, one member, or the end of a list. JP_CLOSED: the answer is
 * complete, and nothing was appended. JP_NO_MEMORY. */
enum jp_status meta_json_next(struct meta_json *json, struct buffer *out) JP_MUST_CHECK;

#endif

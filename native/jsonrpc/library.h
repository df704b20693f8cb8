#ifndef JPEER_JSONRPC_LIBRARY_H
#define JPEER_JSONRPC_LIBRARY_H
/* Shared by the files that implement jpeer/jsonrpc.h: conversions between the public types and the internal
 * ones. Must not be included by other folders. */
#include "base/buffer.h"
#include "include/jpeer/jsonrpc.h"
#include "json/reader.h"

#define LIBRARY_DEPTH_MAX JSON_DEPTH_MAX

/* Whether a value needs a comma is decided by the byte before it, so the writer keeps only where its text
 * starts. */
struct jp_json_writer {
  struct buffer *out;
  size_t start;
  struct buffer own; /* of jp_json_writer_create */
};

static inline struct text library_text(struct jp_text t)
{
  return (struct text){t.data, t.len};
}

static inline struct jp_text public_text(struct text t)
{
  return (struct jp_text){t.data, t.len};
}

_Static_assert(JP_JSON_OBJECT - JP_JSON_NULL == JSON_KIND_OBJECT - JSON_KIND_NULL &&
                   JP_JSON_FALSE - JP_JSON_NULL == JSON_KIND_FALSE - JSON_KIND_NULL,
               "the public kinds are the reader's, one higher");

static inline struct jp_json public_value(struct json_value value)
{
  return (struct jp_json){(enum jp_json_kind)(JP_JSON_NULL + value.kind), public_text(value.span)};
}

static inline struct json_value library_value(struct jp_json value)
{
  return (struct json_value){.kind = (enum json_kind)(value.kind - JP_JSON_NULL),
                             .span = library_text(value.text)};
}

static inline bool is_container(struct jp_json value)
{
  return value.kind == JP_JSON_ARRAY || value.kind == JP_JSON_OBJECT;
}

#endif

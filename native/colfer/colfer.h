#ifndef JPEER_COLFER_COLFER_H
#define JPEER_COLFER_COLFER_H
/*
 * Colfer, the binary form of messages: bytes to structs and structs to bytes, by tables (colfer/messages.h
 * has the tables of the peer's messages). It knows no Java, no socket and no meaning of a message.
 *
 * A struct is a series of fields in the order of their indexes, then the byte 0x7f; a field with its zero value is
 * left out. Every struct that a table describes can be read and written without further code.
 *
 * Pure functions; any thread.
 */
#include "base/arena.h"
#include "base/buffer.h"
#include "base/status.h"
#include "base/text.h"

#include <stddef.h>
#include <stdint.h>

/* The kind of a field, with the C type that holds the field. */
enum colfer_kind {
  COLFER_BOOL,   /* bool */
  COLFER_UINT8,  /* uint8_t */
  COLFER_UINT32, /* uint32_t */
  COLFER_UINT64, /* uint64_t */
  COLFER_INT32,  /* int32_t */
  COLFER_INT64,  /* int64_t */
  COLFER_TEXT,   /* struct text; well-formed UTF-8 */
  COLFER_BINARY, /* struct text; any bytes */
  COLFER_STRUCT, /* a pointer to the struct; NULL: absent */
  COLFER_TEXTS,  /* struct colfer_texts */
  /* struct colfer_structs, or a struct of the same layout with a typed pointer: struct colfer_obj_list */
  COLFER_STRUCTS
};

struct colfer_texts {
  struct text *items;
  size_t count;
};

struct colfer_structs {
  void *items; /* contiguous */
  size_t count;
};

struct colfer_type;

struct colfer_member {
  const char *name;
  enum colfer_kind kind;
  size_t offset;                  /* in the struct */
  const struct colfer_type *type; /* of COLFER_STRUCT and COLFER_STRUCTS */
};

/* A struct: at most 127 fields, in the order of their indexes. */
struct colfer_type {
  const char *name;
  size_t size;
  const struct colfer_member *members;
  size_t member_count;
};

enum {
  COLFER_LIST_MAX = 64 * 1024, /* elements of a list; the published limit */
  COLFER_DEPTH_MAX = 64        /* nested structs */
};

/*
 * Reads one struct. The struct must use all of the bytes. *value, of type->size bytes, is filled; its texts
 * borrow from bytes, and structs and lists inside it are in the arena. Every length and count is checked
 * against the remaining bytes before memory is allocated for it.
 *
 * As in the reference implementation, a number may be written in more bytes than it needs, and a zero value
 * may be present. Three rules are stricter than the reference implementation: a number has to fit its type, a
 * text has to be UTF-8, and nothing may follow the struct.
 *
 * JP_INVALID: the error's text names the field and the byte ("exec_message.class_method_call.args[1].value,
 * byte 31: 90 bytes, and 5 are left"). JP_NO_MEMORY. After each of these failures *value has the fields, and
 * the elements of lists, that were read before the failure.
 */
enum jp_status colfer_decode(const struct colfer_type *type, struct text bytes, struct arena *arena,
                             void *value, struct jp_error *error) JP_MUST_CHECK;

/* Appends the struct. A failed allocation leaves out->failed. The caller keeps the limits above. */
void colfer_encode(const struct colfer_type *type, const void *value, struct buffer *out);

#endif

#ifndef JPEER_COLFER_WIRE_H
#define JPEER_COLFER_WIRE_H
/*
 * Constants of Colfer that its reader and its writer share. Used only in this folder.
 */
#include "colfer/colfer.h"

#include <string.h>

enum {
  COLFER_END = 0x7f,  /* after the last field of a struct */
  COLFER_FLAG = 0x80, /* bit of a header: an unsigned number has a fixed size, a signed number is negative */
  COLFER_FIXED32_SIZE = 4,
  COLFER_FIXED64_SIZE = 8,
  COLFER_VARINT32_MAX = 5, /* bytes */
  COLFER_VARINT64_MAX = 9  /* bytes; the last byte holds 8 bits */
};

/* Unsigned numbers from these limits up are sent with a fixed size: a varint would be as long, or longer. */
#define COLFER_FIXED32_FROM (UINT32_C(1) << 21)
#define COLFER_FIXED64_FROM (UINT64_C(1) << 49)

/* The pointer in a struct member. The type of the pointer depends on the member, so memcpy reads it: C does
 * not allow reading a pointer through another type. */
static inline void *colfer_struct_at(const void *member)
{
  void *value;
  memcpy(&value, member, sizeof value);
  return value;
}

static inline struct colfer_structs colfer_structs_at(const void *member)
{
  struct colfer_structs list;
  memcpy(&list, member, sizeof list);
  return list;
}

#endif

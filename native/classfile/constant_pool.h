#ifndef JPEER_CLASSFILE_CONSTANT_POOL_H
#define JPEER_CLASSFILE_CONSTANT_POOL_H
/*
 * The constant pool of a class file (JVMS 4.4) by the offsets of its entries. A text is decoded when it is
 * first needed and then kept, because a hostile file may refer to one long text very often. One owner;
 * borrows the file's bytes and the arena.
 */
#include "base/arena.h"
#include "base/status.h"
#include "classfile/cursor.h"

struct constant_pool {
  const uint8_t *bytes; /* of the whole file */
  uint32_t *offsets;    /* of each tag; 0: no entry */
  struct text *decoded; /* of each Utf8; data NULL: not yet */
  struct text *dotted;  /* the same with '.' for '/' */
  unsigned count;
  struct arena *arena;
};

/* Reads the pool from its count on and leaves the cursor behind it. bytes is the start of the file. */
enum jp_status constant_pool_read(struct constant_pool *pool, const uint8_t *bytes, struct cursor *cursor,
                                  struct arena *arena, struct jp_error *error) JP_MUST_CHECK;

/* JP_INVALID: no such index, an entry of another kind, or broken text. The message has the index and
 * `wanted`. */
enum jp_status constant_pool_utf8(const struct constant_pool *pool, unsigned index, const char *wanted,
                                  struct text *text, struct jp_error *error) JP_MUST_CHECK;
/* The name of a CONSTANT_Class with '.' for '/'; CONSTANT_Package likewise. */
enum jp_status constant_pool_class(const struct constant_pool *pool, unsigned index, const char *wanted,
                                   struct text *name, struct jp_error *error) JP_MUST_CHECK;
enum jp_status constant_pool_package(const struct constant_pool *pool, unsigned index, const char *wanted,
                                     struct text *name, struct jp_error *error) JP_MUST_CHECK;
/* True where the entry is a Utf8 of exactly these letters: for names of attributes. */
bool constant_pool_is(const struct constant_pool *pool, unsigned index, struct text letters);

#endif

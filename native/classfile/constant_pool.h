#ifndef JPEER_CLASSFILE_CONSTANT_POOL_H
#define JPEER_CLASSFILE_CONSTANT_POOL_H
/*
 * The constant pool of a class file (JVMS 4.4): where each entry stands. A text is decoded when it is first
 * asked for and then kept: a hostile file may name one long text very often. One owner; borrows the file's
 * bytes and the arena.
 */
#include "base/arena.h"
#include "base/status.h"
#include "classfile/cursor.h"

struct constant_pool {
  const uint8_t *bytes; /* of the whole file */
  uint32_t *offsets;    /* of the tag; 0: no entry there */
  struct text *decoded; /* of each Utf8; data NULL: not yet */
  struct text *dotted;  /* the same with '.' for '/' */
  unsigned count;
  struct arena *arena;
};

/* Reads from the count on, and leaves the cursor behind the pool. bytes is the start of the file. */
enum jp_status constant_pool_read(struct constant_pool *pool, const uint8_t *bytes, struct cursor *cursor,
                                  struct arena *arena, struct jp_error *error) JP_MUST_CHECK;

/* An index that is out of range, of another kind or of broken text gives JP_INVALID, naming index and what
 * was wanted. */
enum jp_status constant_pool_utf8(const struct constant_pool *pool, unsigned index, const char *wanted,
                                  struct text *text, struct jp_error *error) JP_MUST_CHECK;
/* The name of a CONSTANT_Class with '.' for '/'; CONSTANT_Package likewise. */
enum jp_status constant_pool_class(const struct constant_pool *pool, unsigned index, const char *wanted,
                                   struct text *name, struct jp_error *error) JP_MUST_CHECK;
enum jp_status constant_pool_package(const struct constant_pool *pool, unsigned index, const char *wanted,
                                     struct text *name, struct jp_error *error) JP_MUST_CHECK;
/* Whether the entry is a Utf8 of just these letters: for names of attributes. */
bool constant_pool_is(const struct constant_pool *pool, unsigned index, struct text letters);

#endif

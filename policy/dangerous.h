#ifndef JPEER_POLICY_DANGEROUS_H
#define JPEER_POLICY_DANGEROUS_H
/*
 * The members of the JDK that give access to files, processes, classes, native code, reflection and
 * serialised objects (dangerous.yaml, embedded). For errors and warnings, which name the members that a
 * pattern allows. No operation is judged by this list. One thread; the members live as long as the arena.
 */
#include "base/arena.h"
#include "base/buffer.h"
#include "base/status.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

struct policy_danger {
  struct text class_name;
  struct text member; /* "<init>" for constructors */
  struct text kind;   /* "files"; the members of a kind are adjacent */
  struct text effect; /* "opens, lists, changes or deletes files" */
};

/* JP_NO_MEMORY; JP_INTERNAL: the embedded file is broken. */
enum jp_status policy_dangers_read(struct arena *arena, struct policy_danger **dangers, size_t *count,
                                   struct jp_error *error) JP_MUST_CHECK;

/* True for a danger that counts. */
typedef bool policy_danger_filter(const struct policy_danger *danger, void *context);

/* Appends one member of each kind that the filter accepts, the member with the shortest name:
 * "java.io.File.list (opens, ... files), ...", or nothing. Returns how many members it accepts. */
size_t policy_dangers_list(const struct policy_danger *dangers, size_t count, policy_danger_filter *filter,
                           void *context, struct buffer *out);

#endif

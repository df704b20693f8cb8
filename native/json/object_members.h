#ifndef JPEER_JSON_OBJECT_MEMBERS_H
#define JPEER_JSON_OBJECT_MEMBERS_H
/*
 * Picks the members that a reader knows out of a JSON object, in any order. Pure, any thread; everything is
 * borrowed from the validated message.
 */
#include "json/reader.h"

enum { JSON_MEMBERS_MAX = 12 };

struct json_members {
  bool has[JSON_MEMBERS_MAX];
  struct json_value value[JSON_MEMBERS_MAX]; /* the first one, where it was given twice */
  int repeated;                              /* index of the last member that was given twice; -1: none */
};

/* Collects the members called names[0] to names[count - 1] (ASCII) and skips all others. */
void json_members_collect(struct json_value object, const struct text *names, int count,
                          struct json_members *members);

/* "null", "a boolean", "a number", "a string", "an array", "an object": for messages. */
const char *json_kind_name(enum json_kind kind);

#endif

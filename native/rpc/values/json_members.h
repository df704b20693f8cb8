#ifndef JPEER_RPC_VALUES_JSON_MEMBERS_H
#define JPEER_RPC_VALUES_JSON_MEMBERS_H
/*
 * Picks the members that a reader knows out of a JSON object, in any order. Pure, any thread; everything is
 * borrowed from the validated message.
 */
#include "json/reader.h"

enum { RPC_MEMBERS_MAX = 12 };

struct rpc_members {
  bool has[RPC_MEMBERS_MAX];
  struct json_value value[RPC_MEMBERS_MAX]; /* the first one, where it was given twice */
  int repeated;                             /* index of a member that was given twice; -1: none */
};

/* Collects the members called names[0] to names[count - 1] (ASCII); others are passed over. */
void rpc_members_collect(struct json_value object, const struct text *names, int count,
                         struct rpc_members *members);

/* "null", "a boolean", "a number", "a string", "an array", "an object": for messages. */
const char *rpc_json_kind_name(enum json_kind kind);

#endif

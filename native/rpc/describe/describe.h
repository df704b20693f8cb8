#ifndef JPEER_RPC_DESCRIBE_DESCRIBE_H
#define JPEER_RPC_DESCRIBE_DESCRIBE_H
/*
 * Writes the service description of JSON-RPC 1.1 (section 10 of its draft; docs/jsonrpc-1.1.md) from the
 * table of procedures. Any thread.
 */
#include "base/buffer.h"
#include "base/text.h"
#include "base/uuid.h"

struct rpc_service_facts {
  struct uuid uuid;
  struct text name;
  const char *const *addresses; /* NULL-terminated; NULL: not known */
  bool compat_pal;              /* the procedures whose names begin with "jpeer." are not served */
};

/* Writes the JSON object that system.describe returns. */
void rpc_description_write(struct buffer *out, const struct rpc_service_facts *facts);

/* Writes the service description as a text for people. GET /help returns this text, and the member `help` of
 * the description is the address of /help. */
void rpc_help_write(struct buffer *out, const struct rpc_service_facts *facts);

#endif

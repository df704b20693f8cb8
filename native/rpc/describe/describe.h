#ifndef JPEER_RPC_DESCRIBE_DESCRIBE_H
#define JPEER_RPC_DESCRIBE_DESCRIBE_H
/*
 * What the peer says of itself: the service description of JSON-RPC 1.1 (draft, 10), made from the table of
 * procedures. Any thread.
 */
#include "base/buffer.h"
#include "base/text.h"
#include "base/uuid.h"

struct rpc_service_facts {
  struct uuid uuid;
  struct text name;
  const char *const *addresses; /* NULL-terminated; NULL: none are known */
};

/* The JSON object that system.describe gives. */
void rpc_description_write(struct buffer *out, const struct rpc_service_facts *facts);

/* The same for people, as plain text: what GET /help shows, which the description's `help` names. */
void rpc_help_write(struct buffer *out, const struct rpc_service_facts *facts);

/* The address that HTTP has among them; data NULL: none. */
struct text rpc_http_address(const char *const *addresses);

#endif

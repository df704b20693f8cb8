#ifndef JPEER_NET_ADMISSION_CONNECTION_AUDIT_H
#define JPEER_NET_ADMISSION_CONNECTION_AUDIT_H
/* The audit's lines about connections, and about clients that are refused. They do nothing without an audit. Any thread. */
#include "rpc/address.h"

#include <stdbool.h>

struct principal;

/* number: of the connection. */
void connection_audit_begin(uint64_t number, const struct rpc_address *address, bool has_tls);
/* principal NULL: owner, or nobody yet. */
void connection_audit_end(uint64_t number, const struct rpc_address *address,
                          const struct principal *principal);
/* A request of HTTP that is no message, such as GET /metrics. outcome: "ok" or "denied". */
void connection_audit_request(uint64_t number, const struct rpc_address *address,
                              const struct principal *principal, const char *request, const char *outcome);
/* Evidence that does not count, a user who may not connect, a handshake that has failed. number 0: of no connection. */
void connection_audit_refusal(uint64_t number, const struct rpc_address *address, const char *reason);

#endif

#ifndef JPEER_RPC_ADDRESS_AUDIT_H
#define JPEER_RPC_ADDRESS_AUDIT_H
/* An address in a line of the audit: "address":"192.0.2.7", or "uid":1000,"pid":4711. Any thread. */
#include "audit/audit.h"
#include "rpc/address.h"

#include <arpa/inet.h>

static inline void rpc_address_audit(struct buffer *line, const struct rpc_address *address)
{
  char text[INET6_ADDRSTRLEN];
  uint8_t bytes[RPC_ADDRESS_IPV6 + RPC_ADDRESS_HOST];
  uint32_t user;
  if (rpc_address_user(address, &user)) {
    audit_line_number(line, "uid", user);
    if (address->process != 0)
      audit_line_number(line, "pid", address->process);
    return;
  }
  if (address->length == 0)
    return;
  memcpy(bytes, address->bytes, RPC_ADDRESS_IPV6);
  memcpy(bytes + RPC_ADDRESS_IPV6, address->host, RPC_ADDRESS_HOST);
  if (inet_ntop(address->length == RPC_ADDRESS_IPV6 ? AF_INET6 : AF_INET, bytes, text, sizeof text) != NULL)
    audit_line_text(line, "address", text_of(text));
}

#endif

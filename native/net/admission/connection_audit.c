#include "net/admission/connection_audit.h"

#include "principal/principal.h"
#include "rpc/address_audit.h"

static void begin_line(struct buffer *line, const char *event, uint64_t number,
                       const struct rpc_address *address)
{
  audit_line_begin(line, event);
  if (number != 0)
    audit_line_number(line, "connection", (int64_t)number);
  rpc_address_audit(line, address);
}

void connection_audit_begin(uint64_t number, const struct rpc_address *address, bool has_tls)
{
  struct buffer line;
  if (!audit_is_on())
    return;
  begin_line(&line, "connected", number, address);
  if (has_tls)
    audit_line_true(&line, "tls");
  (void)audit_line_leave(&line);
}

void connection_audit_end(uint64_t number, const struct rpc_address *address,
                          const struct principal *principal)
{
  struct buffer line;
  if (!audit_is_on())
    return;
  begin_line(&line, "disconnected", number, address);
  if (principal != NULL)
    audit_line_text(&line, "principal", text_of(principal->name));
  (void)audit_line_leave(&line);
}

void connection_audit_refusal(uint64_t number, const struct rpc_address *address, const char *reason)
{
  struct buffer line;
  if (!audit_is_on())
    return;
  begin_line(&line, "refused", number, address);
  audit_line_text(&line, "reason", text_of(reason));
  (void)audit_line_leave(&line);
}

void connection_audit_request(uint64_t number, const struct rpc_address *address,
                              const struct principal *principal, const char *request, const char *outcome)
{
  struct buffer line;
  if (!audit_is_on())
    return;
  begin_line(&line, "end", number, address);
  audit_line_text(&line, "principal", text_of(principal == NULL ? "owner" : principal->name));
  audit_line_text(&line, "channel", text_of(policy_channel_name(POLICY_HTTP)));
  audit_line_text(&line, "method", text_of(request));
  audit_line_text(&line, "outcome", text_of(outcome));
  (void)audit_line_leave(&line);
}

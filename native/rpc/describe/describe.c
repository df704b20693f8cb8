#include "rpc/describe/describe.h"

#include "rpc/methods/procedures.h"
#include "json/writer.h"

static void write_member(struct buffer *out, const char *name, struct text value)
{
  buffer_printf(out, ",\"%s\":", name);
  json_write_string(out, value);
}

static void write_params(struct buffer *out, const struct rpc_procedure *procedure)
{
  BUFFER_LITERAL(out, ",\"params\":[");
  bool is_first = true;
  for (size_t i = 0; i < procedure->param_count; i++) {
    const struct rpc_procedure_param *param = &procedure->params[i];
    if (param->by_name_only)
      continue;
    buffer_append_text(out, is_first ? TEXT("{\"name\":") : TEXT(",{\"name\":"));
    is_first = false;
    json_write_string(out, rpc_param_names[param->param]);
    write_member(out, "type", rpc_wants_word(param->wants));
    buffer_append_char(out, '}');
  }
  buffer_append_char(out, ']');
}

static void write_procedure(struct buffer *out, const struct rpc_procedure *procedure)
{
  BUFFER_LITERAL(out, "{\"name\":");
  json_write_string(out, procedure->name);
  write_member(out, "summary", text_of(procedure->summary));
  buffer_append_text(out, rpc_procedure_is_idempotent(procedure) ? TEXT(",\"idempotent\":true")
                                                                 : TEXT(",\"idempotent\":false"));
  write_params(out, procedure);
  BUFFER_LITERAL(out, ",\"return\":{\"type\":");
  json_write_string(out, rpc_wants_word(procedure->returns));
  BUFFER_LITERAL(out, "}}");
}

static bool is_listed(const struct rpc_procedure *procedure, const struct rpc_service_facts *facts)
{
  return !procedure->unlisted && !(procedure->is_own && facts->compat_pal);
}

/* Finds the address of HTTP over TCP, which is a URL; data NULL: none. */
static struct text find_http_address(const char *const *addresses)
{
  for (; addresses != NULL && *addresses != NULL; addresses++) {
    if (text_starts_with(text_of(*addresses), TEXT("http://")) ||
        text_starts_with(text_of(*addresses), TEXT("https://")))
      return text_of(*addresses);
  }
  return TEXT_ABSENT;
}

/* The scheme and the authority of an address. */
static struct text origin_of(struct text address)
{
  size_t at = text_starts_with(address, TEXT("https://")) ? sizeof "https://" - 1 : sizeof "http://" - 1;
  while (at < address.len && address.data[at] != '/')
    at++;
  return text_slice(address, 0, at);
}

void rpc_description_write(struct buffer *out, const struct rpc_service_facts *facts)
{
  char uuid[UUID_TEXT_LENGTH + 1];
  uuid_format(&facts->uuid, uuid);
  struct text address = find_http_address(facts->addresses);
  BUFFER_LITERAL(out, "{\"sdversion\":\"1.0\"");
  write_member(out, "name", facts->name);
  buffer_printf(out, ",\"id\":\"urn:uuid:%s\"", uuid);
  write_member(out, "version", TEXT(JPEER_SERVICE_VERSION));
  write_member(out, "summary",
               TEXT("The objects of a Java virtual machine, to be created, called, read and "
                    "written from outside."));
  if (address.data != NULL) {
    BUFFER_LITERAL(out, ",\"help\":");
    buffer_append_char(out, '"');
    buffer_append_text(out, origin_of(address));
    BUFFER_LITERAL(out, "/help\"");
    write_member(out, "address", address);
  }
  BUFFER_LITERAL(out, ",\"procs\":[");
  bool is_first = true;
  for (size_t i = 0; i < rpc_procedure_count; i++) {
    if (!is_listed(&rpc_procedures[i], facts))
      continue;
    if (!is_first)
      buffer_append_char(out, ',');
    is_first = false;
    write_procedure(out, &rpc_procedures[i]);
  }
  buffer_append_char(out, ']');
  buffer_append_char(out, '}');
}

/* ---- for people ---- */

static void write_help_of(struct buffer *out, const struct rpc_procedure *procedure)
{
  buffer_printf(out, "\n%s(", procedure->name.data);
  for (size_t i = 0; i < procedure->param_count; i++)
    buffer_printf(out, "%s%s%s", i > 0 ? ", " : "", rpc_param_names[procedure->params[i].param].data,
                  procedure->params[i].required ? "" : "?");
  buffer_printf(out, ")\n  %s.\n", procedure->summary);
  for (size_t i = 0; i < procedure->param_count; i++)
    buffer_printf(out, "    %s: %s\n", rpc_param_names[procedure->params[i].param].data,
                  procedure->params[i].summary);
}

void rpc_help_write(struct buffer *out, const struct rpc_service_facts *facts)
{
  struct text address = find_http_address(facts->addresses);
  if (address.data == NULL)
    address = TEXT("ADDRESS");
  buffer_printf(out, "%.*s: the objects of a Java virtual machine over JSON-RPC 2.0 and 1.1.\n\n",
                TEXT_ARGS(facts->name));
  buffer_printf(
      out,
      "POST %.*s\n  {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"control\",\"params\":{\"method\":"
      "\"ping\"}}\nGET %.*s/control?method=ping\n  for requests that only read: get, meta, control with "
      "method=ping, and the descriptions.\n",
      TEXT_ARGS(address), TEXT_ARGS(address));
  for (size_t i = 0; i < rpc_procedure_count; i++) {
    if (!(rpc_procedures[i].is_own && facts->compat_pal))
      write_help_of(out, &rpc_procedures[i]);
  }
}

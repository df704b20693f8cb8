#include "rpc/describe.h"

#include "rpc/procedures.h"
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

static void write_procedures(struct buffer *out)
{
  BUFFER_LITERAL(out, ",\"procs\":[");
  bool is_first = true;
  for (size_t i = 0; i < rpc_procedure_count; i++) {
    if (rpc_procedures[i].unlisted)
      continue;
    if (!is_first)
      buffer_append_char(out, ',');
    is_first = false;
    write_procedure(out, &rpc_procedures[i]);
  }
  buffer_append_char(out, ']');
}

struct text rpc_http_address(const char *const *addresses)
{
  for (; addresses != NULL && *addresses != NULL; addresses++) {
    if (text_starts_with(text_of(*addresses), TEXT("http")))
      return text_of(*addresses);
  }
  return TEXT_ABSENT;
}

void rpc_description_write(struct buffer *out, const struct rpc_service_facts *facts)
{
  char uuid[UUID_TEXT_LENGTH + 1];
  uuid_format(&facts->uuid, uuid);
  struct text address = rpc_http_address(facts->addresses);
  BUFFER_LITERAL(out, "{\"sdversion\":\"1.0\"");
  write_member(out, "name", facts->name);
  buffer_printf(out, ",\"id\":\"urn:uuid:%s\"", uuid);
  write_member(out, "version", TEXT(JPEER_SERVICE_VERSION));
  write_member(out, "summary",
               TEXT("The objects of a Java virtual machine, to be created, called, read and "
                    "written from outside."));
  if (address.data != NULL)
    write_member(out, "address", address);
  write_procedures(out);
  buffer_append_char(out, '}');
}

#include "include/jpeer/client_jansson.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *fail_tree(struct jp_client_error *error, enum jp_client_status status, const char *what,
                         const char *why)
{
  if (error != NULL) {
    error->status = status;
    snprintf(error->text, sizeof error->text, "%s%s%s", what, why[0] != '\0' ? ": " : "", why);
  }
  return NULL;
}

static json_t *load_tree(struct jp_text json, json_error_t *fault)
{
  return json_loadb(json.data, json.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, fault);
}

/* The tree of the writer's text. */
static json_t *read_writer(const struct jp_json_writer *writer, struct jp_client_error *error)
{
  json_error_t fault;
  struct jp_text json = jp_json_writer_text(writer);
  if (json.data == NULL)
    return fail_tree(error, JP_CLIENT_NO_MEMORY, "no memory for a request", "");
  json_t *tree = load_tree(json, &fault);
  return tree != NULL ? tree
                      : fail_tree(error, JP_CLIENT_INVALID, "jansson cannot hold this request", fault.text);
}

json_t *jp_request_tree(const struct jp_request *request, const json_t *id, struct jp_client_error *error)
{
  char *id_text = id == NULL ? NULL : json_dumps(id, JSON_ENCODE_ANY | JSON_COMPACT);
  struct jp_json_writer *writer = jp_json_writer_create();
  json_t *tree = NULL;
  if (writer == NULL || (id != NULL && id_text == NULL)) {
    tree = fail_tree(error, JP_CLIENT_NO_MEMORY, "no memory for a request", "");
  } else {
    struct jp_text id_json = {id_text, id_text == NULL ? 0 : strlen(id_text)};
    if (jp_request_write_json(request, id_json, writer, error) == JP_CLIENT_OK)
      tree = read_writer(writer, error);
  }
  jp_json_writer_destroy(writer);
  free(id_text);
  return tree;
}

json_t *jp_answer_tree(const struct jp_answer *answer)
{
  struct jp_json json = jp_answer_json(answer);
  return json.kind == JP_JSON_ABSENT ? NULL : load_tree(json.text, NULL);
}

struct jp_ref *jp_answer_take_ref_tree(struct jp_answer *answer, const json_t *value)
{
  char text[40];
  struct jp_json ref;
  const json_t *number = json_object_get(value, "ref");
  if (!json_is_integer(number))
    return NULL;
  int length = snprintf(text, sizeof text, "{\"ref\":%lld}", (long long)json_integer_value(number));
  if (jp_json_parse((struct jp_text){text, (size_t)length}, 2, &ref, NULL) != JP_JSONRPC_OK)
    return NULL;
  return jp_answer_take_ref(answer, ref);
}

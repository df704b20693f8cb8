/* The library for programs that call it by foreign functions, with only numbers, pointers and texts. */
#include "client/client_state.h"
#include "client/messages/json_config.h"
#include "client/messages/request_json.h"

#include <stdio.h>
#include <stdlib.h>

enum jp_client_status jp_client_open_json(const char *url, const char *config, struct jp_client **client,
                                          struct jp_client_error *error)
{
  struct jp_client_config read;
  struct arena arena;
  *client = NULL;
  arena_init(&arena);
  enum jp_client_status status = json_config_read(config, &CLIENT_JSON_CONFIG, &arena, &read, error);
  if (status == JP_CLIENT_OK)
    status = jp_client_open(url, &read, client, error);
  arena_fini(&arena);
  return status;
}

/* ---- calls ---- */

struct text_call {
  struct exchange exchange; /* first: the exchange is cast back to this struct */
  const struct request_text *request;
};

/* The same for refs that are given by their numbers. With an epoch, the refs belong to that epoch. */
static enum jp_client_status name_refs(const struct request_text *request, struct message_refs *refs,
                                       struct jp_client_error *error)
{
  if (request->epoch.data == NULL) {
    refs->are_named = request->may_name_refs;
    return JP_CLIENT_OK;
  }
  struct text digits =
      request->epoch.len < 2 ? TEXT_ABSENT : text_slice(request->epoch, 1, request->epoch.len - 1);
  if (message_name_epoch(refs, ref_epoch_parse(digits)))
    return JP_CLIENT_OK;
  return client_fail(
      error, JP_CLIENT_STALE,
      "the request is for another epoch: its refs are of a peer that has ended, or of another session");
}

static enum jp_client_status write_text_call(struct exchange *exchange, uint64_t first_id, struct buffer *out,
                                             struct jp_client_error *error)
{
  struct jp_client *client = exchange->client;
  char id[24];
  int length = snprintf(id, sizeof id, "%llu", (unsigned long long)first_id);
  const struct message_json how = {.id = {id, (size_t)length},
                                   .peer_id = client_name_in_messages(client),
                                   .within = callback_within(client),
                                   .refs = &client->named,
                                   .has_epoch = client_names_epoch_in_messages(client)};
  const struct request_text *request = ((const struct text_call *)exchange)->request;
  (void)callbacks_begin_message(client); /* the message has no callbacks */
  enum jp_client_status status = name_refs(request, &client->named, error);
  if (status == JP_CLIENT_OK)
    request_text_write(request, &how, out);
  return status;
}

enum jp_client_status jp_client_call_json(struct jp_client *client, const char *text, size_t length,
                                          int timeout_ms, struct jp_answer **answer,
                                          struct jp_client_error *error)
{
  struct request_text request;
  *answer = NULL;
  if (client->options.binary)
    return client_fail(error, JP_CLIENT_UNSUPPORTED, "binary messages have no requests as JSON");
  enum jp_client_status status = request_text_read((struct text){text, length}, &request, error);
  if (status != JP_CLIENT_OK)
    return status;
  struct text_call call = {.exchange = {.write = write_text_call,
                                        .client = client,
                                        .forms = &request.form,
                                        .count = 1,
                                        .may_be_rewritten = !request.has_within,
                                        .is_idempotent = request.is_idempotent && !request.has_within,
                                        .answers = answer},
                           .request = &request};
  status = client_exchange(&call.exchange, timeout_ms, error);
  if (status != JP_CLIENT_OK || jp_answer_kind(*answer) != JP_ANSWER_ERROR)
    return status;
  client_name_lack(client, *answer);
  return client_report_remote(*answer, error);
}

/* ---- texts ---- */

static const char *return_text(struct jp_text text, size_t *length)
{
  if (length != NULL)
    *length = text.data == NULL ? 0 : text.len;
  return text.data;
}

const char *jp_answer_text_of(const struct jp_answer *answer, size_t *length)
{
  return return_text(jp_answer_text(answer), length);
}

const char *jp_answer_json_of(const struct jp_answer *answer, size_t *length)
{
  return return_text(jp_answer_json(answer).text, length);
}

/* ---- errors ---- */

struct jp_client_error *jp_client_error_create(void)
{
  return calloc(1, sizeof(struct jp_client_error));
}

void jp_client_error_destroy(struct jp_client_error *error)
{
  free(error);
}

enum jp_client_status jp_client_error_status(const struct jp_client_error *error)
{
  return error == NULL ? JP_CLIENT_OK : error->status;
}

const char *jp_client_error_text(const struct jp_client_error *error)
{
  return error == NULL ? "" : error->text;
}

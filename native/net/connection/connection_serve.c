/* Between a connection and the service. */
#include "net/connection/connection_duplex.h"
#include "net/connection/connection_table.h"

const struct rpc_service *connection_service(const struct connection *connection)
{
  return crew_service(connection->table->crew);
}

const struct rpc_codec *connection_codec(const struct connection *connection)
{
  return connection_service(connection)->codecs[RPC_CODEC_JSONRPC];
}

const struct rpc_told_session *connection_tell_session(const struct connection *connection,
                                                       struct rpc_told_session *told)
{
  const struct rpc_service *service = connection_service(connection);
  *told = (struct rpc_told_session){.is_new = false};
  if (service->client_tell != NULL)
    service->client_tell(service->context, connection->client, told);
  return told;
}

void connection_close_client(struct connection *connection, struct crew_member *member,
                             struct rpc_told_session *told)
{
  if (told != NULL)
    *told = (struct rpc_told_session){.is_new = false};
  if (connection->client == NULL)
    return;
  const struct rpc_service *service = connection_service(connection);
  struct rpc_client *client = connection->client;
  connection->client = NULL;
  service->client_close(service->context, member->worker, client, told);
}

void connection_drop_message(struct connection *connection)
{
  if (connection->duplex == NULL) /* else `message` is the next one already */
    buffer_clear(&connection->message);
}

/* The service counts all answers, also those of messages that were refused without it. */
static void tell_of_refusal(const struct connection *connection, const struct crew_member *member,
                            const struct crew_message *message, enum crew_served served)
{
  const struct rpc_service *service = connection_service(connection);
  if (!member->has_served && crew_has_replied(served) && connection->protocol->collect != NULL &&
      service->refused != NULL)
    service->refused(service->context, message->client, message->text);
}

/* The watcher has no worker, and is not marked as inside: nobody else would visit. */
static void begin_call(struct connection *connection, struct crew_member *member)
{
  connection->worker = member->worker;
  atomic_store_explicit(connection->deadline_ms,
                        connection_holds_back(connection) ? CONNECTION_FLUSH_SOON : INT64_MAX,
                        memory_order_relaxed);
  if (member->worker != NULL)
    in_call_begin(&connection->in_call);
}

static void enter_service(struct connection *connection, struct crew_member *member)
{
  if (connection->duplex == NULL) {
    begin_call(connection, member);
    return;
  }
  pthread_mutex_lock(&connection->lock);
  begin_call(connection, member);
  if (member->worker != NULL)
    connection_duplex_begin_call(connection);
  pthread_mutex_unlock(&connection->lock);
}

/* While the message was served, the connection may have got a duplex: the call is shared then. True: it was seized. */
static bool leave_service(struct connection *connection, enum crew_served served)
{
  bool has_worker = connection->worker != NULL;
  if (has_worker ? in_call_end(&connection->in_call) : connection->duplex == NULL)
    return connection->seized;
  pthread_mutex_lock(&connection->lock);
  if (connection->duplex != NULL)
    connection_duplex_end_call(connection, served != CREW_WAIT);
  if (has_worker)
    in_call_end_locked(&connection->in_call);
  bool seized = connection->seized;
  pthread_mutex_unlock(&connection->lock);
  return seized;
}

/* The message waits in front of the queue, so that the input behind it can be read. */
static void put_back(struct connection *connection)
{
  if (connection->duplex == NULL)
    return;
  pthread_mutex_lock(&connection->lock);
  connection_duplex_end_call(connection, false);
  pthread_mutex_unlock(&connection->lock);
}

bool connection_serve(struct connection *connection, struct crew_member *member, struct buffer *answer,
                      enum crew_served *served, struct rpc_stream *stream)
{
  size_t unsent = connection_unsent(connection);
  size_t max = connection->limits->send_buffer_max;
  struct crew_message message = {.codec = connection_codec(connection),
                                 .client = connection->client,
                                 .source = &connection->source,
                                 .text = buffer_text(&connection->message),
                                 .reply_max = unsent < max ? max - unsent : 1,
                                 .since_ms = &connection->since_ms};
  if (message.text.data == NULL)
    message.text = TEXT("");
  buffer_clear(answer);
  *served = CREW_NO_REPLY;
  if (connection->duplex != NULL && connection_duplex_offer(connection))
    return true;
  if (atomic_load_explicit(&connection->counted, memory_order_relaxed) > 0)
    connection_count_input(connection); /* an earlier message of the turn may have been larger */

  if (crew_leaves_to_others(member, &message)) {
    put_back(connection);
    *served = CREW_WAIT;
    return true;
  }
  enter_service(connection, member);
  *served = crew_serve(member, &message, answer, stream);
  tell_of_refusal(connection, member, &message, *served);
  bool seized = leave_service(connection, *served) || connection_has_left(connection);

  if (member->worker != NULL)
    connection->since_ms = 0;
  if (*served != CREW_WAIT)
    connection->has_message = false;
  if (answer->failed)
    connection->is_broken = true;
  if (seized && *served == CREW_STREAM)
    stream->body.close(stream->body.state);
  if (seized || connection->is_broken)
    crew_take_back(member, connection->client);
  return !seized;
}

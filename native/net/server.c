#include "net/server.h"

#include "base/clock.h"
#include "base/log.h"
#include "net/connection/connection_table.h"
#include "net/http/http.h"
#include "net/listener.h"
#include "net/websocket/websocket.h"
#include "net/workers/crew.h"
#include "net/zeromq/zeromq.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  TICK_MS = 25,
  SLEEP_MAX_MS = 1000,
  LAST_WORDS_MS = 2500, /* after the grace time: to send the last answers, and for clients to close */
  CONNECTIONS_MAX = 16384,
  ADDRESSES_MAX = 4
};

struct net_server {
  struct net_config config;
  char *host; /* of the JSON endpoint */
  struct web_origins *origins;
  struct http_protocol http;
  struct listener listener;
  struct crew *crew;
  struct input_budget input;
  struct connection_table table;
  bool has_table;
  struct zeromq *zeromq; /* NULL: not enabled */
  bool is_started;
  bool is_abandoned; /* threads that do not come back still use the server's memory */
  char addresses[ADDRESSES_MAX][512];
  const char *address_list[ADDRESSES_MAX + 1];
  size_t address_count;
};

void net_config_defaults(struct net_config *config)
{
  *config = (struct net_config){.http_prefix = "/rpc",
                                .threads_max = 256,
                                .linger_ms = 10000,
                                .busy_timeout_ms = 5000,
                                .message_max = (size_t)16 << 20,
                                .input_max_total = (size_t)256 << 20,
                                .send_buffer_max = (size_t)16 << 20,
                                .zmq_pending_max = 1000,
                                .connections_max = CONNECTIONS_MAX,
                                .header_timeout_ms = 10000,
                                .body_timeout_ms = 60000,
                                .idle_timeout_ms = 60000,
                                .header_max = (size_t)32 << 10};
}

static void add_address(struct net_server *server, const char *scheme, const char *address, const char *path)
{
  char *text = server->addresses[server->address_count];
  snprintf(text, sizeof server->addresses[0], "%s://%s%s", scheme, address, path);
  server->address_list[server->address_count++] = text;
}

/* The watcher looks once a second at least: a wake-up that was lost costs no more than that. */
static int64_t tick_server(void *context, struct crew_member *watcher, int64_t now_ms)
{
  struct net_server *server = context;
  bool is_wanted_soon = listener_tick(&server->listener);
  int64_t due_ms = now_ms + SLEEP_MAX_MS;
  if (server->has_table) {
    int64_t deadline_ms = connection_table_tick(&server->table, watcher, now_ms);
    due_ms = deadline_ms < due_ms ? deadline_ms : due_ms;
  }
  if (server->zeromq != NULL && zeromq_tick(server->zeromq, now_ms))
    is_wanted_soon = true;
  /* A deadline that has passed and is still there belongs to a connection that somebody owns. */
  if (is_wanted_soon || due_ms <= now_ms)
    due_ms = now_ms + TICK_MS;
  return due_ms;
}

static enum jp_status make_crew(struct net_server *server, struct jp_error *error)
{
  const struct net_config *config = &server->config;
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  unsigned threads = config->threads != 0 ? config->threads : cores > 0 ? (unsigned)cores : 1;
  struct crew_config crew = {.threads = threads,
                             .threads_max = config->threads_max > threads ? config->threads_max : threads,
                             .linger_ms = config->linger_ms,
                             .busy_timeout_ms = config->busy_timeout_ms,
                             .tick = tick_server,
                             .context = server,
                             .tick_ms = TICK_MS};
  return crew_create(&crew, &server->crew, error);
}

static enum jp_status bind_json(struct net_server *server, struct jp_error *error)
{
  const struct net_config *config = &server->config;
  enum jp_status status = listener_bind(&server->listener, &config->json, error);
  if (status != JP_OK)
    return status;
  add_address(server, "ws", server->listener.address, config->http_prefix);
  add_address(server, "http", server->listener.address, config->http_prefix);
  if (config->json.host != NULL && (server->host = strdup(config->json.host)) == NULL)
    return jp_fail(error, JP_NO_MEMORY, "no memory for the server");
  if (config->allow_origins != NULL) {
    status = web_origins_create(text_of(config->allow_origins), &server->origins, error);
    if (status != JP_OK)
      return status;
  }
  struct connection_limits limits = {.message_max = config->message_max,
                                     .send_buffer_max = config->send_buffer_max,
                                     .header_max = config->header_max,
                                     .connections_max = config->connections_max,
                                     .header_timeout_ms = config->header_timeout_ms,
                                     .body_timeout_ms = config->body_timeout_ms,
                                     .idle_timeout_ms = config->idle_timeout_ms};
  struct http_site site = {.is_loopback = server->listener.is_loopback,
                           .host = server->host != NULL ? text_of(server->host) : TEXT_ABSENT,
                           .prefix = text_of(config->http_prefix),
                           .origins = server->origins};
  http_protocol_init(&server->http, &site, &websocket_protocol);
  status = connection_table_init(&server->table, server->crew, &limits, &server->http.protocol,
                                 &server->input, error);
  server->has_table = true;
  return status;
}

static enum jp_status bind_zmq(struct net_server *server, struct jp_error *error)
{
  const struct net_config *config = &server->config;
  struct zeromq_config zmq = {.host = config->zmq.host,
                              .port = config->zmq.port,
                              .message_max = config->message_max,
                              .pending_max = config->zmq_pending_max,
                              .input = &server->input,
                              .send_buffer_max = config->send_buffer_max,
                              .handshake_ms = config->header_timeout_ms};
  enum jp_status status = zeromq_bind(&zmq, &server->zeromq, error);
  if (status == JP_OK)
    server->address_list[server->address_count++] = zeromq_address(server->zeromq);
  return status;
}

enum jp_status net_bind(const struct net_config *config, struct net_server **server, struct jp_error *error)
{
  struct net_server *made = calloc(1, sizeof *made);
  if (made == NULL)
    return jp_fail(error, JP_NO_MEMORY, "no memory for the server");
  made->config = *config;
  made->input.max = config->input_max_total;
  made->listener.fd = -1;
  pthread_mutex_init(&made->listener.lock, NULL);
  enum jp_status status = make_crew(made, error);
  if (status == JP_OK && config->json.enabled)
    status = bind_json(made, error);
  if (status == JP_OK && config->zmq.enabled)
    status = bind_zmq(made, error);
  if (status != JP_OK) {
    net_destroy(made);
    return status;
  }
  *server = made;
  return JP_OK;
}

const char *const *net_addresses(const struct net_server *server)
{
  return server->address_list;
}

enum jp_status net_start(struct net_server *server, const struct rpc_service *service, struct jp_error *error)
{
  server->is_started = true;
  enum jp_status status = crew_start(server->crew, service, error);
  if (status == JP_OK && server->config.json.enabled)
    status = listener_start(&server->listener, &server->table, error);
  if (status == JP_OK && server->zeromq != NULL)
    status = zeromq_start(server->zeromq, server->crew, error);
  return status;
}

static bool is_drained(struct net_server *server)
{
  return (!server->has_table || connection_table_is_drained(&server->table)) &&
         (server->zeromq == NULL || zeromq_is_idle(server->zeromq));
}

static void stop_crew(struct net_server *server, int64_t deadline_ms)
{
  if (server->is_started && !crew_stop(server->crew, deadline_ms))
    server->is_abandoned = true;
  server->is_started = false;
}

void net_drain(struct net_server *server, int64_t grace_ms)
{
  enum { LOOK_US = 5000, LEAVE_MS = 500, ZMQ_LINGER_MS = 500 };
  int64_t grace_end_ms = clock_now_ms() + grace_ms;
  listener_close(&server->listener);
  if (!server->is_started)
    return;
  crew_refuse_all(server->crew);
  if (server->has_table)
    connection_table_drain(&server->table, grace_end_ms);
  while (!is_drained(server) && clock_now_ms() < grace_end_ms + LAST_WORDS_MS) {
    if (server->zeromq != NULL && clock_now_ms() >= grace_end_ms)
      zeromq_refuse_rest(server->zeromq, CREW_SHUTTING_DOWN);
    usleep(LOOK_US);
  }
  if (server->zeromq != NULL) {
    zeromq_refuse_rest(server->zeromq, CREW_SHUTTING_DOWN);
    zeromq_close(server->zeromq, ZMQ_LINGER_MS);
  }
  stop_crew(server, clock_now_ms() + LEAVE_MS);
}

void net_destroy(struct net_server *server)
{
  enum { LEAVE_MS = 500 };
  if (server == NULL)
    return;
  listener_close(&server->listener);
  stop_crew(server, clock_now_ms() + LEAVE_MS);
  if (server->is_abandoned)
    return;
  if (server->has_table)
    connection_table_fini(&server->table);
  zeromq_destroy(server->zeromq);
  crew_destroy(server->crew);
  pthread_mutex_destroy(&server->listener.lock);
  free(server->host);
  web_origins_destroy(server->origins);
  free(server);
}

#include "net/server.h"

#include "audit/audit.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/process_limits.h"
#include "base/transitions.h"
#include "net/admission/wrong_evidence.h"
#include "net/connection/connection_table.h"
#include "net/http/http_protocol.h"
#include "net/listener.h"
#include "net/shm/shm_protocol.h"
#include "net/unix_socket.h"
#include "net/websocket/websocket_protocol.h"
#include "net/workers/crew.h"
#include "net/zeromq/zeromq_router.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  TICK_MS = 25,
  SLEEP_MAX_MS = 1000,
  /* the time after the grace time in which the last answers are sent and clients close their connections */
  FINAL_OUTPUT_MS = 2500,
  CONNECTIONS_MAX = 10000,
  METRICS_CONNECTIONS_MAX = 64, /* of the addresses of metrics */
  METRICS_LEAVE_MS = 100,       /* in which their last responses are sent */
  ADDRESSES_MAX =
      /* two addresses, ws and http, for each endpoint of JSON-RPC, and one address for each endpoint of
       * ZeroMQ */
  3 * NET_ENDPOINTS_MAX
};

/* An address of WebSocket and HTTP, or of metrics. */
struct json_site {
  struct listener listener;
  struct http_protocol http;
  struct connection_table *table; /* of its connections */
  char *host;                     /* the host that was bound; NULL: 127.0.0.1, or a Unix socket */
};

/* Used only by the thread that makes, starts, drains and destroys the server. */
enum net_server_state {
  NET_SERVER_MADE,  /* its sockets are bound, and nothing is served */
  NET_SERVER_BEGUN, /* the watcher runs, or its start has failed: /healthz is answered, and all else waits */
  NET_SERVER_STARTED,  /* the crew runs, or its start has failed halfway */
  NET_SERVER_STOPPED,  /* all threads of the crew have left */
  NET_SERVER_ABANDONED /* threads that do not return from Java still use the server's memory */
};

static const uint16_t net_server_transitions[] = {
    [NET_SERVER_MADE] = TO(NET_SERVER_BEGUN),
    [NET_SERVER_BEGUN] = TO(NET_SERVER_STARTED) | TO(NET_SERVER_STOPPED) | TO(NET_SERVER_ABANDONED),
    [NET_SERVER_STARTED] = TO(NET_SERVER_STOPPED) | TO(NET_SERVER_ABANDONED),
    [NET_SERVER_STOPPED] = 0,
    [NET_SERVER_ABANDONED] = 0,
};

struct net_server {
  struct net_config config;
  struct web_origins *origins;
  struct tls_credentials *credentials; /* NULL: no TLS */
  struct json_site sites[2 * NET_ENDPOINTS_MAX];
  size_t site_count; /* sites that were bound, or whose bind has failed */
  struct unix_socket zmq_files[NET_ENDPOINTS_MAX];
  struct crew *crew;
  struct input_budget input;
  struct wrong_evidence wrong_evidence;
  struct shm_pool shm;
  struct connection_table table;
  bool has_table; /* there are listeners of WebSocket and HTTP */
  /* Of the addresses of metrics: a flood of other connections leaves room for the operator, and they end last. */
  struct connection_table metrics_table;
  bool has_metrics_table;
  struct net_monitor monitor;
  _Atomic uint64_t connection_numbers; /* of connections so far */
  struct zeromq_router *zeromq;        /* NULL: not enabled */
  enum net_server_state state;
  char *addresses[ADDRESSES_MAX + 1];
  size_t address_count;
  char *metrics_addresses[NET_ENDPOINTS_MAX + 1];
  size_t metrics_address_count;
};

void net_config_defaults(struct net_config *config)
{
  *config = (struct net_config){.http_prefix = "/rpc",
                                .tls = {.client_auth = TLS_CLIENT_AUTH_UNSET},
                                .socket_access = UNIX_SOCKET_OWN_USER,
                                .threads_max = 256,
                                .linger_ms = 10000,
                                .lost_max = 64,
                                .busy_timeout_ms = 5000,
                                .message_max = (size_t)16 << 20,
                                .input_max_total = (size_t)256 << 20,
                                .send_buffer_max = (size_t)16 << 20,
                                .pinned_max = 256,
                                .zmq_pending_max = 1000,
                                .shm_ring = (size_t)1 << 20,
                                .shm_total = (size_t)256 << 20,
                                .shm_spin_us = 50,
                                .connections_max = CONNECTIONS_MAX,
                                .header_timeout_ms = 10000,
                                .body_timeout_ms = 60000,
                                .idle_timeout_ms = 60000,
                                .header_max = (size_t)32 << 10};
}

static enum jp_status fail_for_memory(struct jp_error *error)
{
  return jp_fail(error, JP_NO_MEMORY, "no memory for the server");
}

static enum jp_status append_address(char **addresses, size_t *count, struct jp_error *error,
                                     const char *format, ...) JP_PRINTF(4, 5);
static enum jp_status append_address(char **addresses, size_t *count, struct jp_error *error,
                                     const char *format, ...)
{
  va_list args;
  va_start(args, format);
  int length = vasprintf(&addresses[*count], format, args);
  va_end(args);
  if (length < 0) {
    addresses[*count] = NULL;
    return fail_for_memory(error);
  }
  (*count)++;
  return JP_OK;
}

#define add_address(server, ...) append_address((server)->addresses, &(server)->address_count, __VA_ARGS__)

/* crew_config.tick. The result is at most one second from now, so that a lost wake-up delays work by at most
 * a second. */
static int64_t tick_server(void *context, struct crew_member *watcher, int64_t now_ms)
{
  struct net_server *server = context;
  bool is_wanted_soon = false;
  audit_be_brief(); /* the watcher must not hang with a write */
  for (size_t i = 0; i < server->site_count; i++)
    is_wanted_soon |= listener_tick(&server->sites[i].listener);
  int64_t due_ms = now_ms + SLEEP_MAX_MS;
  if (server->has_table) {
    int64_t deadline_ms = connection_table_tick(&server->table, watcher, now_ms);
    due_ms = deadline_ms < due_ms ? deadline_ms : due_ms;
  }
  if (server->has_metrics_table) {
    int64_t deadline_ms = connection_table_tick(&server->metrics_table, watcher, now_ms);
    due_ms = deadline_ms < due_ms ? deadline_ms : due_ms;
  }
  if (server->zeromq != NULL && !crew_is_starting(server->crew) && zeromq_tick(server->zeromq))
    is_wanted_soon = true;
  /* A deadline that has passed and still exists belongs to a connection that is in a turn. */
  if (is_wanted_soon || due_ms <= now_ms)
    due_ms = now_ms + TICK_MS;
  return due_ms;
}

/* The number of processors that the process can use. processors_usable() is PROCESSORS_UNLIMITED on a machine with more
 * processors than a cpu_set_t has; then the number of processors that are online counts. */
static unsigned count_usual_threads(void)
{
  unsigned usable = processors_usable();
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  if (usable < PROCESSORS_UNLIMITED)
    return usable;
  return online > 0 ? (unsigned)online : 1;
}

/* The number of pinned members that may poll at the same time: one processor remains for other threads. A
 * peer that is bound to one of several processors polls with one member, and this member yields. */
static unsigned count_pinned_polling(unsigned allowed)
{
  if (allowed > 1)
    return allowed - 1;
  return sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 1 : 0;
}

static enum jp_status make_crew(struct net_server *server, struct jp_error *error)
{
  const struct net_config *config = &server->config;
  unsigned threads = config->threads != 0 ? (unsigned)config->threads : count_usual_threads();
  /* With a CPU quota below two processors, busy-polling would use the time that is needed to serve. A peer
   * that is bound to one processor may poll, because its poller yields the processor to other threads, such
   * as the client's. */
  unsigned allowed = processors_allowed();
  bool is_throttled = allowed >= 2 && processors_usable() < 2;
  struct crew_config crew = {.threads = threads,
                             .threads_max =
                                 config->threads_max > threads ? (unsigned)config->threads_max : threads,
                             .lost_max = (unsigned)config->lost_max,
                             .pinned_max = (unsigned)config->pinned_max,
                             .pinned_polling = is_throttled ? 0 : count_pinned_polling(allowed),
                             .linger_ms = config->linger_ms,
                             .busy_timeout_ms = config->busy_timeout_ms,
                             .tick = tick_server,
                             .context = server,
                             .tick_ms = TICK_MS,
                             .report_ms = config->report_ms,
                             .poll_ns = is_throttled ? 0 : (int64_t)config->shm_spin_us * 1000,
                             .may_pause = allowed >= 2};
  return crew_create(&crew, &server->crew, error);
}

static enum jp_status add_site_addresses(struct net_server *server, const struct listener *listener,
                                         struct jp_error *error)
{
  static const char *const schemes[] = {"ws", "http"};
  const char *secure = server->credentials != NULL ? "s" : "";
  enum jp_status status = JP_OK;
  for (size_t i = 0; status == JP_OK && i < sizeof schemes / sizeof schemes[0]; i++)
    status = listener->file.path != NULL
                 ? add_address(server, error, "%s+unix:%s", schemes[i], listener->file.path)
                 : add_address(server, error, "%s%s://%s%s", schemes[i], secure, listener->address,
                               server->config.http_prefix);
  return status;
}

static enum jp_status bind_site(struct net_server *server, const struct net_endpoint *endpoint,
                                enum http_monitoring monitoring, struct jp_error *error)
{
  struct json_site *site = &server->sites[server->site_count++];
  const bool is_for_metrics = monitoring == HTTP_MONITORING_ALONE;
  site->table = is_for_metrics ? &server->metrics_table : &server->table;
  listener_init(&site->listener);
  enum jp_status status = listener_bind(&site->listener, endpoint, &server->config.socket_access,
                                        &server->config.admission, error);
  if (status != JP_OK)
    return status;
  if (endpoint->path == NULL && endpoint->host != NULL && (site->host = strdup(endpoint->host)) == NULL)
    return fail_for_memory(error);
  bool is_local = endpoint->path != NULL;
  struct http_site rules = {.monitoring = monitoring,
                            .is_loopback = site->listener.is_loopback,
                            .has_tls = !is_local && server->credentials != NULL,
                            .has_principals = server->config.principals != NULL,
                            .has_shm = is_local && !is_for_metrics,
                            .host = site->host != NULL ? text_of(site->host) : TEXT_ABSENT,
                            .prefix = text_of(server->config.http_prefix),
                            .origins = server->origins};
  http_protocol_init(&site->http, &rules, &websocket_protocol, is_local ? &server->shm.upgrade : NULL);
  if (!is_for_metrics)
    return add_site_addresses(server, &site->listener, error);
  return append_address(server->metrics_addresses, &server->metrics_address_count, error, "http%s%s",
                        is_local                      ? "+unix:"
                        : server->credentials != NULL ? "s://"
                                                      : "://",
                        is_local ? site->listener.file.path : site->listener.address);
}

static enum jp_status make_table(struct net_server *server, struct connection_table *table, bool *has_table,
                                 size_t connections_max, struct jp_error *error)
{
  const struct net_config *config = &server->config;
  struct connection_limits limits = {.message_max = config->message_max,
                                     .send_buffer_max = config->send_buffer_max,
                                     .header_max = config->header_max,
                                     .connections_max = connections_max,
                                     .header_timeout_ms = config->header_timeout_ms,
                                     .body_timeout_ms = config->body_timeout_ms,
                                     .idle_timeout_ms = config->idle_timeout_ms,
                                     .principals = config->principals,
                                     .wrong_evidence = &server->wrong_evidence,
                                     .monitor = &server->monitor,
                                     .numbers = &server->connection_numbers,
                                     .finishes_left = config->on_disconnect == NET_ON_DISCONNECT_FINISH};
  *has_table = true;
  return connection_table_init(table, server->crew, &limits, &server->input, error);
}

static enum jp_status bind_sites(struct net_server *server, struct jp_error *error)
{
  const struct net_config *config = &server->config;
  const enum http_monitoring of_json =
      config->metrics.count == 0 ? HTTP_MONITORING_BESIDE : HTTP_MONITORING_ELSEWHERE;
  enum jp_status status = JP_OK;
  if (config->json.count + config->metrics.count == 0)
    return JP_OK;
  if (config->allow_origins != NULL)
    status = web_origins_create(text_of(config->allow_origins), &server->origins, error);
  if (status == JP_OK && tls_is_configured(&config->tls))
    status = tls_credentials_create(&config->tls, &server->credentials, error);
  for (size_t i = 0; status == JP_OK && i < config->json.count; i++)
    status = bind_site(server, &config->json.items[i], of_json, error);
  for (size_t i = 0; status == JP_OK && i < config->metrics.count; i++)
    status = bind_site(server, &config->metrics.items[i], HTTP_MONITORING_ALONE, error);
  if (status == JP_OK && config->json.count > 0)
    status = make_table(server, &server->table, &server->has_table, config->connections_max, error);
  if (status == JP_OK && config->metrics.count > 0)
    status = make_table(server, &server->metrics_table, &server->has_metrics_table, METRICS_CONNECTIONS_MAX,
                        error);
  return status;
}

/* The peer binds Unix sockets itself: libzmq would remove any file at the path, and bind with the mode of the umask. */
static enum jp_status bind_zmq_endpoint(struct net_server *server, size_t index, struct jp_error *error)
{
  const struct net_endpoint *endpoint = &server->config.zmq.items[index];
  struct unix_socket *file = &server->zmq_files[index];
  char address[ZEROMQ_ADDRESS_MAX];
  if (endpoint->path == NULL) {
    enum jp_status status =
        zeromq_listen(server->zeromq, endpoint->host, endpoint->port, endpoint->fd, address, error);
    return status == JP_OK ? add_address(server, error, "%s", address) : status;
  }
  enum jp_status status = endpoint->fd > 0
                              ? unix_socket_adopt(endpoint->fd, endpoint->path, file, error)
                              : unix_socket_bind(endpoint->path, &server->config.socket_access, file, error);
  if (status == JP_OK)
    status = zeromq_listen_on(server->zeromq, file->fd, endpoint->path, error);
  return status == JP_OK ? add_address(server, error, "ipc://%s", file->path) : status;
}

static enum jp_status bind_zmq(struct net_server *server, struct jp_error *error)
{
  const struct net_config *config = &server->config;
  if (config->zmq.count == 0)
    return JP_OK;
  struct zeromq_config zmq = {.message_max = config->message_max,
                              .pending_max = config->zmq_pending_max,
                              .input = &server->input,
                              .monitor = &server->monitor,
                              .admission = &server->config.admission,
                              .principals = config->principals,
                              .curve_key_file = config->zmq_curve_key,
                              .wrong_evidence = &server->wrong_evidence,
                              .send_buffer_max = config->send_buffer_max,
                              .handshake_ms = config->header_timeout_ms};
  enum jp_status status = zeromq_create(&zmq, &server->zeromq, error);
  for (size_t i = 0; status == JP_OK && i < config->zmq.count; i++)
    status = bind_zmq_endpoint(server, i, error);
  return status;
}

enum jp_status net_bind(const struct net_config *config, struct net_server **server, struct jp_error *error)
{
  struct net_server *made = calloc(1, sizeof *made);
  if (made == NULL)
    return fail_for_memory(error);
  made->config = *config;
  made->input.max = config->input_max_total;
  wrong_evidence_init(&made->wrong_evidence);
  shm_pool_init(&made->shm, config->shm_ring, config->shm_total);
  enum jp_status status = make_crew(made, error);
  made->monitor = (struct net_monitor){
      .crew = made->crew, .input = &made->input, .shm = &made->shm.total, .shm_max = config->shm_total};
  if (status == JP_OK)
    status = bind_sites(made, error);
  if (status == JP_OK)
    status = bind_zmq(made, error);
  if (status != JP_OK) {
    net_destroy(made);
    return status;
  }
  *server = made;
  return JP_OK;
}

bool net_reload(struct net_server *server, void (*done)(void))
{
  if (server->credentials != NULL)
    tls_credentials_reload(server->credentials, done);
  return server->credentials != NULL;
}

bool net_is_healthy(const struct net_server *server)
{
  return monitor_is_healthy(&server->monitor);
}

const char *const *net_addresses(const struct net_server *server)
{
  return (const char *const *)server->addresses;
}

const char *const *net_metrics_addresses(const struct net_server *server)
{
  return (const char *const *)server->metrics_addresses;
}

static void set_state(struct net_server *server, enum net_server_state to)
{
  ASSERT_TRANSITION(net_server_transitions, server->state, to);
  server->state = to;
}

enum jp_status net_begin(struct net_server *server, const struct rpc_service *service, struct jp_error *error)
{
  set_state(server, NET_SERVER_BEGUN);
  enum jp_status status = crew_begin(server->crew, service, error);
  for (size_t i = 0; status == JP_OK && i < server->site_count; i++) {
    struct json_site *site = &server->sites[i];
    status = listener_start(&site->listener, site->table, &site->http.protocol, server->credentials, error);
  }
  return status;
}

enum jp_status net_start(struct net_server *server, const struct rpc_service *service, struct jp_error *error)
{
  enum jp_status status = server->state == NET_SERVER_MADE ? net_begin(server, service, error) : JP_OK;
  set_state(server, NET_SERVER_STARTED);
  if (status == JP_OK)
    status = crew_start(server->crew, service, error);
  if (status == JP_OK && server->zeromq != NULL)
    status = zeromq_start(server->zeromq, server->crew, error);
  return status;
}

void net_principals_changed(struct net_server *server)
{
  if (server->state == NET_SERVER_STARTED)
    crew_wake_watcher(server->crew);
}

static bool is_drained(struct net_server *server)
{
  return (!server->has_table || connection_table_is_drained(&server->table)) &&
         (server->zeromq == NULL || zeromq_is_idle(server->zeromq));
}

static void stop_crew(struct net_server *server, int64_t deadline_ms)
{
  if (server->state == NET_SERVER_STARTED || server->state == NET_SERVER_BEGUN)
    set_state(server, crew_stop(server->crew, deadline_ms) ? NET_SERVER_STOPPED : NET_SERVER_ABANDONED);
}

/* Removes the files of ZeroMQ's Unix sockets, too. These sockets listen until zeromq_close, but no client finds
 * them. */
static void close_listeners(struct net_server *server)
{
  for (size_t i = 0; i < server->site_count; i++) {
    if (server->sites[i].table == &server->table)
      listener_close(&server->sites[i].listener);
  }
  for (size_t i = 0; i < server->config.zmq.count; i++)
    unix_socket_remove(&server->zmq_files[i]);
}

static void close_metrics(struct net_server *server)
{
  enum { CHECK_US = 1000 };
  const int64_t until_ms = clock_now_ms() + METRICS_LEAVE_MS;
  for (size_t i = 0; i < server->site_count; i++) {
    if (server->sites[i].table == &server->metrics_table)
      listener_close(&server->sites[i].listener);
  }
  if (!server->has_metrics_table || server->state != NET_SERVER_STARTED)
    return;
  connection_table_drain(&server->metrics_table, until_ms);
  while (!connection_table_is_drained(&server->metrics_table) && clock_now_ms() < until_ms)
    usleep(CHECK_US);
}

void net_drain(struct net_server *server, int64_t grace_ms)
{
  enum { CHECK_US = 5000, LEAVE_MS = 100, ZMQ_LINGER_MS = 500 };
  int64_t grace_end_ms = clock_now_ms() + grace_ms;
  close_listeners(server);
  if (server->state != NET_SERVER_STARTED)
    return;
  crew_refuse_all(server->crew);
  if (server->has_table)
    connection_table_drain(&server->table, grace_end_ms);
  while (!is_drained(server) && clock_now_ms() < grace_end_ms + FINAL_OUTPUT_MS) {
    if (server->zeromq != NULL && clock_now_ms() >= grace_end_ms)
      zeromq_refuse_rest(server->zeromq, CREW_SHUTTING_DOWN);
    usleep(CHECK_US);
  }
  if (server->zeromq != NULL) {
    zeromq_refuse_rest(server->zeromq, CREW_SHUTTING_DOWN);
    zeromq_close(server->zeromq, ZMQ_LINGER_MS);
  }
  close_metrics(server);
  stop_crew(server, clock_now_ms() + LEAVE_MS);
}

bool net_destroy(struct net_server *server)
{
  enum { LEAVE_MS = 5000 }; /* may be long, because nobody waits for the end of the process any more */
  if (server == NULL)
    return true;
  close_listeners(server);
  close_metrics(server);
  stop_crew(server, clock_now_ms() + LEAVE_MS);
  if (server->state == NET_SERVER_ABANDONED)
    return false;
  if (server->has_table)
    connection_table_fini(&server->table);
  if (server->has_metrics_table)
    connection_table_fini(&server->metrics_table);
  zeromq_destroy(server->zeromq);
  crew_destroy(server->crew);
  for (size_t i = 0; i < server->site_count; i++) {
    listener_fini(&server->sites[i].listener);
    free(server->sites[i].host);
  }
  for (size_t i = 0; i < server->address_count; i++)
    free(server->addresses[i]);
  for (size_t i = 0; i < server->metrics_address_count; i++)
    free(server->metrics_addresses[i]);
  tls_credentials_destroy(server->credentials);
  web_origins_destroy(server->origins);
  wrong_evidence_fini(&server->wrong_evidence);
  free(server);
  return true;
}

/*
 * The transports over a service with no JVM, for the Python tests in this folder:
 *
 *   stub_server [NAME=NUMBER ...]     options: the fields of struct net_config, and grace_ms
 *
 * Prints the addresses and "ready", serves until standard input ends, drains, and prints
 * "opened N closed N" (clients). A message is a command:
 *
 *   ping               "pong", also without a thread
 *   inside             how many calls sleep, hold or exit just now, also without a thread
 *   open               how many clients are open, also without a thread
 *   note               a notification: no answer
 *   sleep MS [TEXT]    TEXT after that time
 *   hold TEXT          TEXT after the next SIGUSR1
 *   quiet              the same as a notification
 *   large N            N bytes
 *   stream N           N bytes that are made while they are sent
 *   broken N           a stream that fails after N bytes
 *   keep               leaves a session (HTTP)
 *   who                the client's channel and peer-id
 *   threads            how many threads the crew has
 *   exit               the thread never returns, as with System.exit
 *   all else           is returned unchanged
 *
 * If STUB_SOCKET in the environment is a path, the server also listens there. If STUB_TLS is a folder, the port speaks TLS,
 * with its files cert.pem and key.pem, and ca.pem if that exists.
 */
#include "base/log.h"
#include "net/server.h"
#include "tests/unit/net/stub_service.h"

#include <openssl/crypto.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { THREADS_MAX = 100000 };

static struct stub stub; /* makes the threads */
static _Atomic int opened_count;
static _Atomic int closed_count;
static _Atomic int inside_count;
static _Atomic int release_count;
static _Atomic bool is_over;

struct rpc_client {
  enum op_channel channel;
  bool keeps;
  char peer_id[UUID_TEXT_LENGTH + 1];
};

/* --- clients --- */

static enum jp_status client_open(void *context, const struct rpc_client_info *info,
                                  struct rpc_client **client, struct jp_error *error)
{
  (void)context;
  struct rpc_client *made = calloc(1, sizeof *made);
  if (made == NULL)
    return jp_fail(error, JP_NO_MEMORY, "no memory");
  made->channel = info->channel;
  if (info->peer_id.data != NULL && info->peer_id.len < sizeof made->peer_id)
    memcpy(made->peer_id, info->peer_id.data, info->peer_id.len);
  atomic_fetch_add(&opened_count, 1);
  *client = made;
  return JP_OK;
}

static void client_close(void *context, struct rpc_worker *worker, struct rpc_client *client,
                         struct rpc_session_info *info)
{
  (void)context;
  (void)worker;
  bool keeps = client->keeps;
  if (info != NULL) {
    *info = (struct rpc_session_info){.is_new = keeps};
    memset(info->peer_id.bytes, 0xab, sizeof info->peer_id.bytes);
  }
  free(client);
  atomic_fetch_add(&closed_count, 1);
}

/* --- answers --- */

static void append_pattern(struct buffer *out, size_t from, size_t count)
{
  char *room = buffer_reserve(out, count);
  for (size_t i = 0; room != NULL && i < count; i++)
    room[i] = (char)('a' + (from + i) % 26);
  if (room != NULL)
    out->len += count;
}

struct body {
  size_t sent;
  size_t total;
  bool breaks;
};

static enum jp_status body_read(void *state, struct buffer *out, size_t max)
{
  struct body *body = state;
  size_t left = body->total - body->sent;
  if (left == 0)
    return body->breaks ? JP_IO : JP_CLOSED;
  size_t count = left < max ? left : max;
  append_pattern(out, body->sent, count);
  body->sent += count;
  return JP_OK;
}

static enum rpc_served begin_stream(struct buffer *out, size_t total, bool breaks, struct rpc_stream *stream)
{
  struct body *body = calloc(1, sizeof *body);
  if (body == NULL)
    return RPC_NO_REPLY;
  *body = (struct body){.total = total, .breaks = breaks};
  buffer_append_text(out, TEXT("["));
  *stream = (struct rpc_stream){.body = {body, body_read, free}, .tail = TEXT("]")};
  return RPC_STREAM;
}

static void sleep_ms(long ms)
{
  struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
  while (nanosleep(&time, &time) != 0)
    continue;
}

/* A thread receives the signal: under TSan a handler would not run while read waits. */
static void *take_releases(void *argument)
{
  int number;
  while (sigwait(argument, &number) == 0 && !atomic_load(&is_over))
    atomic_fetch_add(&release_count, 1);
  return NULL;
}

static bool start_taking_releases(pthread_t *id)
{
  static sigset_t releases;
  sigemptyset(&releases);
  sigaddset(&releases, SIGUSR1);
  return pthread_sigmask(SIG_BLOCK, &releases, NULL) == 0 &&
         pthread_create(id, NULL, take_releases, &releases) == 0;
}

static void hold(void)
{
  int before = atomic_load(&release_count);
  atomic_fetch_add(&inside_count, 1);
  while (atomic_load(&release_count) == before)
    sleep_ms(5);
  atomic_fetch_sub(&inside_count, 1);
}

static void describe_client(const struct rpc_client *client, struct buffer *out)
{
  static const char *const channels[] = {
      [OP_CHANNEL_WEBSOCKET] = "websocket", [OP_CHANNEL_HTTP] = "http", [OP_CHANNEL_ZMQ] = "zmq"};
  buffer_printf(out, "%s %s", channels[client->channel],
                client->peer_id[0] != '\0' ? client->peer_id : "nobody");
}

/* Reads the number after "WORD ", and the text after the number. */
static bool takes(struct text message, const char *word, long *number, struct text *rest)
{
  char digits[24] = {0};
  struct text prefix = text_of(word);
  if (!text_starts_with(message, prefix))
    return false;
  struct text after = text_slice(message, prefix.len, message.len);
  memcpy(digits, after.data, after.len < sizeof digits - 1 ? after.len : sizeof digits - 1);
  char *end;
  *number = strtol(digits, &end, 10);
  *rest = text_slice(after, (size_t)(end - digits), after.len);
  return true;
}

static enum rpc_served serve_number(struct text message, struct buffer *out, size_t reply_max,
                                    struct rpc_stream *stream, bool *known)
{
  long number;
  struct text rest;
  *known = true;
  if (takes(message, "sleep ", &number, &rest)) {
    atomic_fetch_add(&inside_count, 1);
    sleep_ms(number);
    atomic_fetch_sub(&inside_count, 1);
    buffer_append_text(out, rest);
    return RPC_REPLY;
  }
  if (takes(message, "large ", &number, &rest)) {
    if ((size_t)number > reply_max)
      buffer_append_text(out, TEXT("too large"));
    else
      append_pattern(out, 0, (size_t)number);
    return RPC_REPLY;
  }
  if (takes(message, "stream ", &number, &rest))
    return begin_stream(out, (size_t)number, false, stream);
  if (takes(message, "broken ", &number, &rest))
    return begin_stream(out, (size_t)number, true, stream);
  *known = false;
  return RPC_NO_REPLY;
}

/* Answers commands that need no thread. */
static bool answer_quickly(struct text message, struct buffer *out)
{
  if (text_equal(message, TEXT("ping")))
    buffer_append_text(out, TEXT("pong"));
  else if (text_equal(message, TEXT("inside")))
    buffer_printf(out, "%d", atomic_load(&inside_count));
  else if (text_equal(message, TEXT("open")))
    buffer_printf(out, "%d", atomic_load(&opened_count) - atomic_load(&closed_count));
  else
    return false;
  return true;
}

static enum rpc_served serve(void *context, struct rpc_worker *worker, struct rpc_client *client,
                             struct text message, struct buffer *out, size_t reply_max,
                             struct rpc_stream *stream)
{
  (void)context;
  bool known;
  enum rpc_served served = serve_number(message, out, reply_max, stream, &known);
  if (known)
    return served;
  if (text_equal(message, TEXT("note")))
    return RPC_NO_REPLY;
  if (text_equal(message, TEXT("quiet"))) {
    hold();
    return RPC_NO_REPLY;
  }
  if (text_starts_with(message, TEXT("hold "))) {
    hold();
    buffer_append_text(out, text_slice(message, TEXT("hold ").len, message.len));
    return RPC_REPLY;
  }
  if (text_equal(message, TEXT("exit"))) {
    atomic_store(&((struct stub_worker *)(void *)worker)->is_exiting, true);
    atomic_fetch_add(&inside_count, 1);
    for (;;)
      pause();
  }
  if (text_equal(message, TEXT("keep")))
    client->keeps = true;
  if (answer_quickly(message, out))
    return RPC_REPLY;
  if (text_equal(message, TEXT("who")))
    describe_client(client, out);
  else if (text_equal(message, TEXT("threads")))
    buffer_printf(out, "%d", atomic_load(&stub.threads));
  else
    buffer_append_text(out, message);
  return RPC_REPLY;
}

static bool serve_without_worker(void *context, const struct rpc_client *client, struct text message,
                                 struct buffer *out, enum rpc_served *served)
{
  (void)client;
  (void)context;
  *served = RPC_REPLY;
  return answer_quickly(message, out);
}

static enum rpc_served refuse(void *context, const struct rpc_client *client, struct text message,
                              const char *reason, struct buffer *out)
{
  (void)client;
  (void)context;
  if (text_equal(message, TEXT("note")))
    return RPC_NO_REPLY;
  buffer_append_text(out, text_of(reason));
  return RPC_REPLY;
}

static void reject(void *context, const struct rpc_client *client, enum rpc_rejection rejection,
                   struct text beginning, const char *reason, struct buffer *out)
{
  (void)client;
  static const int codes[] = {
      [RPC_REJECT_UNREADABLE] = -32700, [RPC_REJECT_INVALID] = -32600, [RPC_REJECT_OVERLOADED] = -32000};
  (void)context, (void)beginning;
  buffer_printf(out, "%d %s", codes[rejection], reason);
}

/* --- codecs --- */

static const struct rpc_codec own_codec = {
    .serve = serve, .serve_without_worker = serve_without_worker, .refuse = refuse, .reject = reject};
static const struct rpc_codec *const own_codecs[RPC_CODECS] = {[RPC_CODEC_JSONRPC] = &own_codec};

/* --- main --- */

static long grace_ms = 1000;

static bool set_option(struct net_config *config, const char *name, long value)
{
#define OPTION(field)                                                                                        \
  if (strcmp(name, #field) == 0) {                                                                           \
    config->field = (__typeof__(config->field))value;                                                        \
    return true;                                                                                             \
  }
  OPTION(threads)
  OPTION(threads_max)
  OPTION(busy_timeout_ms)
  OPTION(message_max)
  OPTION(input_max_total)
  OPTION(send_buffer_max)
  OPTION(connections_max)
  OPTION(header_timeout_ms)
  OPTION(body_timeout_ms)
  OPTION(idle_timeout_ms)
  OPTION(linger_ms)
  OPTION(header_max)
  OPTION(shm_ring)
  OPTION(shm_total)
  OPTION(report_ms)
#undef OPTION
  if (strcmp(name, "grace_ms") == 0)
    grace_ms = value;
  else
    return false;
  return true;
}

static bool read_options(struct net_config *config, int argc, char **argv)
{
  for (int i = 1; i < argc; i++) {
    char *equals = strchr(argv[i], '=');
    if (equals == NULL)
      return false;
    *equals = '\0';
    if (!set_option(config, argv[i], strtol(equals + 1, NULL, 10)))
      return false;
  }
  return true;
}

static void set_tls(struct net_config *config, const char *folder)
{
  static char paths[3][256];
  static const char *const names[] = {"cert.pem", "key.pem", "ca.pem"};
  for (size_t i = 0; i < 3; i++)
    snprintf(paths[i], sizeof paths[i], "%s/%s", folder, names[i]);
  config->tls.certificate = paths[0];
  config->tls.key = paths[1];
  if (access(paths[2], F_OK) == 0)
    config->tls.client_ca = paths[2];
  config->tls.watch_ms = 200;
}

static void raise_descriptor_limit(void)
{
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

static int fail(const struct jp_error *error)
{
  fprintf(stderr, "stub_server: %s\n", error->text);
  return 1;
}

int main(int argc, char **argv)
{
  /* Detached threads may still be ending when the process ends: at exit, OpenSSL would free its data of these
   * threads, and LeakSanitizer would report a leak. */
  if (OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL) != 1)
    return 1;
  pthread_t release_taker;
  if (!start_taking_releases(&release_taker))
    return 1;
  static struct rpc_service service;
  stub_open(&stub, THREADS_MAX, &service);
  service.codecs = own_codecs;
  service.client_open = client_open;
  service.client_close = client_close;
  struct net_config config;
  net_config_defaults(&config);
  config.json.count = 1;
  config.zmq.count = 1;
  config.json.items[1].path = getenv("STUB_SOCKET");
  config.json.count += config.json.items[1].path != NULL;
  if (getenv("STUB_TLS") != NULL)
    set_tls(&config, getenv("STUB_TLS"));
  raise_descriptor_limit();
  if (!read_options(&config, argc, argv)) {
    fprintf(stderr, "usage: %s [NAME=NUMBER ...]\n", argv[0]);
    return 2;
  }
  struct net_server *server;
  struct jp_error error;
  if (net_bind(&config, &server, &error) != JP_OK)
    return fail(&error);
  if (net_start(server, &service, &error) != JP_OK)
    return fail(&error);
  for (const char *const *address = net_addresses(server); *address != NULL; address++)
    printf("%s\n", *address);
  printf("ready\n");
  fflush(stdout);
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0)
    continue;
  net_drain(server, grace_ms);
  net_destroy(server);
  atomic_store(&is_over, true);
  pthread_kill(release_taker, SIGUSR1);
  pthread_join(release_taker, NULL);
  printf("opened %d closed %d\n", atomic_load(&opened_count), atomic_load(&closed_count));
  return 0;
}

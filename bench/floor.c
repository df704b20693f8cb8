/*
 * jpeer-bench-floor: the peer's transports with a service that only sends a canned answer. It has no JSON
 * reader, no policy and no JVM. The cost of this program is the cost of the transport. The difference between
 * the cost of the peer and the cost of this program is the cost of serving a request.
 *
 * usage: jpeer-bench-floor WORKLOAD FOLDER [THREADS]
 * Listens on ports, and on Unix sockets in the folder. Prints its addresses, one on each line. Ends when its
 * standard input ends.
 */
#include "canned.h"

#include "net/server.h"
#include "rpc/service.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct thread_start {
  void (*run)(void *argument, struct rpc_worker *worker);
  void *argument;
};

static void *thread_main(void *argument)
{
  struct thread_start start = *(struct thread_start *)argument;
  free(argument);
  char worker; /* not used; the crew only requires that the pointer is not NULL */
  start.run(start.argument, (struct rpc_worker *)(void *)&worker);
  return NULL;
}

static enum jp_status spawn(void *context, const char *name,
                            void (*run)(void *argument, struct rpc_worker *worker), void *argument,
                            struct jp_error *error)
{
  (void)context, (void)name;
  struct thread_start *start = malloc(sizeof(*start));
  if (start == NULL)
    return jp_fail(error, JP_NO_MEMORY, "no memory for a thread");
  *start = (struct thread_start){run, argument};
  pthread_t id;
  if (pthread_create(&id, NULL, thread_main, start) != 0) {
    free(start);
    return jp_fail(error, JP_IO, "no thread");
  }
  pthread_detach(id);
  return JP_OK;
}

static bool is_exiting(void *context, struct rpc_worker *worker)
{
  (void)context, (void)worker;
  return false;
}

static enum jp_status client_open(void *context, const struct rpc_client_info *info,
                                  struct rpc_client **client, struct jp_error *error)
{
  (void)info, (void)error;
  *client = context; /* all connections share one client */
  return JP_OK;
}

static void client_close(void *context, struct rpc_worker *worker, struct rpc_client *client,
                         struct rpc_session_info *info)
{
  (void)context, (void)worker, (void)client, (void)info;
}

static enum rpc_served serve(void *context, struct rpc_worker *worker, struct rpc_client *client,
                             struct text message, struct buffer *out, size_t reply_max,
                             struct rpc_stream *stream)
{
  (void)worker, (void)client, (void)reply_max, (void)stream;
  canned_answer(context, message, out);
  return RPC_REPLY;
}

static bool serve_without_worker(void *context, const struct rpc_client *client, struct text message,
                                 struct buffer *out, enum rpc_served *served)
{
  (void)client;
  canned_answer(context, message, out);
  *served = RPC_REPLY;
  return true;
}

static enum rpc_served refuse(void *context, const struct rpc_client *client, struct text message,
                              const char *reason, struct buffer *out)
{
  (void)client;
  (void)context, (void)message;
  buffer_append_text(out, text_of(reason));
  return RPC_REPLY;
}

static void reject(void *context, const struct rpc_client *client, enum rpc_rejection rejection,
                   struct text beginning, const char *reason, struct buffer *out)
{
  (void)client;
  (void)context, (void)rejection, (void)beginning;
  buffer_append_text(out, text_of(reason));
}

static const struct rpc_codec codec = {
    .serve = serve, .serve_without_worker = serve_without_worker, .refuse = refuse, .reject = reject};
static const struct rpc_codec *const codecs[RPC_CODECS] = {[RPC_CODEC_JSONRPC] = &codec};

static enum jp_status start(const char *folder, unsigned threads, const struct rpc_service *service,
                            struct net_server **server, struct jp_error *error)
{
  char json[128];
  char zmq[128];
  struct net_config config;
  snprintf(json, sizeof(json), "%s/json", folder);
  snprintf(zmq, sizeof(zmq), "%s/zmq", folder);
  net_config_defaults(&config);
  config.json = (struct net_endpoints){.count = 2, .items = {[1] = {.path = json}}};
  config.zmq = (struct net_endpoints){.count = 2, .items = {[1] = {.path = zmq}}};
  config.threads = threads;
  enum jp_status status = net_bind(&config, server, error);
  if (status != JP_OK)
    return status;
  status = net_start(*server, service, error);
  if (status != JP_OK)
    net_destroy(*server);
  return status;
}

int main(int argc, char **argv)
{
  static struct canned canned;
  if (argc < 3 || argc > 4 || !canned_init(&canned, argv[1])) {
    fputs("usage: jpeer-bench-floor WORKLOAD FOLDER [THREADS]\n", stderr);
    return 2;
  }
  const struct rpc_service service = {.context = &canned,
                                      .spawn = spawn,
                                      .is_exiting = is_exiting,
                                      .client_open = client_open,
                                      .client_close = client_close,
                                      .codecs = codecs};
  struct net_server *server = NULL;
  struct jp_error error;
  if (start(argv[2], argc == 4 ? (unsigned)strtoul(argv[3], NULL, 10) : 0, &service, &server, &error) !=
      JP_OK) {
    fprintf(stderr, "jpeer-bench-floor: %s\n", error.text);
    return 1;
  }
  for (const char *const *address = net_addresses(server); *address != NULL; address++)
    puts(*address);
  fflush(stdout);
  char ignored;
  while (read(STDIN_FILENO, &ignored, 1) > 0)
    ;
  net_drain(server, 0);
  net_destroy(server);
  canned_fini(&canned);
  return 0;
}

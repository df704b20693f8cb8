/*
 * jpeer-bench-zmq-echo: a bare ROUTER of libzmq that sends the canned answer of a workload. One thread waits,
 * receives and sends. This is the cost of ZeroMQ itself, and so the floor of the peer's ZeroMQ transport.
 *
 * usage: jpeer-bench-zmq-echo WORKLOAD FOLDER [curve]
 * Listens on a port, and on a Unix socket in the folder. Prints both addresses, one on each line. Ends when its
 * standard input ends.
 */
#include "canned.h"
#include "curve.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

static bool listen_on(void *router, const char *endpoint)
{
  char address[128];
  size_t size = sizeof(address);
  if (zmq_bind(router, endpoint) != 0 || zmq_getsockopt(router, ZMQ_LAST_ENDPOINT, address, &size) != 0)
    return false;
  puts(address);
  fflush(stdout);
  return true;
}

static bool open_router(void *context, const char *folder, bool has_curve, void **router)
{
  const int none = 0;
  const int one = 1;
  char ipc[128];
  snprintf(ipc, sizeof(ipc), "ipc://%s/zmq", folder);
  *router = zmq_socket(context, ZMQ_ROUTER);
  return *router != NULL && zmq_setsockopt(*router, ZMQ_SNDHWM, &none, sizeof(none)) == 0 &&
         zmq_setsockopt(*router, ZMQ_RCVHWM, &none, sizeof(none)) == 0 &&
         zmq_setsockopt(*router, ZMQ_LINGER, &none, sizeof(none)) == 0 &&
         (!has_curve || (zmq_setsockopt(*router, ZMQ_CURVE_SERVER, &one, sizeof(one)) == 0 &&
                         zmq_setsockopt(*router, ZMQ_CURVE_SECRETKEY, BENCH_CURVE_SERVER_SECRET, 40) == 0)) &&
         listen_on(*router, "tcp://127.0.0.1:*") && listen_on(*router, ipc);
}

/* Answers one request, which is the client's identity and one frame. False if no message has arrived. */
static bool serve_one(void *router, const struct canned *canned, zmq_msg_t *identity, zmq_msg_t *request,
                      struct buffer *answer)
{
  if (zmq_msg_recv(identity, router, ZMQ_DONTWAIT) < 0 || zmq_msg_recv(request, router, 0) < 0)
    return false;
  struct text message = {zmq_msg_data(request), zmq_msg_size(request)};
  buffer_clear(answer);
  canned_answer(canned, message, answer);
  return zmq_msg_send(identity, router, ZMQ_SNDMORE) >= 0 &&
         zmq_send(router, answer->data, answer->len, 0) >= 0;
}

static int serve(void *router, const struct canned *canned)
{
  zmq_pollitem_t items[] = {{.socket = router, .events = ZMQ_POLLIN},
                            {.fd = STDIN_FILENO, .events = ZMQ_POLLIN}};
  zmq_msg_t identity;
  zmq_msg_t request;
  struct buffer answer;
  buffer_init(&answer);
  zmq_msg_init(&identity);
  zmq_msg_init(&request);
  int failure = 0;
  while (failure == 0 && items[1].revents == 0) {
    if (zmq_poll(items, 2, -1) < 0 && errno != EINTR)
      failure = errno;
    while (failure == 0 && serve_one(router, canned, &identity, &request, &answer))
      ;
    if (failure == 0 && errno != EAGAIN)
      failure = errno;
  }
  zmq_msg_close(&identity);
  zmq_msg_close(&request);
  buffer_fini(&answer);
  return failure;
}

int main(int argc, char **argv)
{
  struct canned canned = {0};
  bool has_curve = argc == 4 && strcmp(argv[3], "curve") == 0;
  if ((argc != 3 && !has_curve) || !canned_init(&canned, argv[1])) {
    fputs("usage: jpeer-bench-zmq-echo WORKLOAD FOLDER [curve]\n", stderr);
    canned_fini(&canned);
    return 2;
  }
  void *router = NULL;
  void *context = zmq_ctx_new();
  int failure =
      context != NULL && open_router(context, argv[2], has_curve, &router) ? serve(router, &canned) : errno;
  if (failure != 0)
    fprintf(stderr, "jpeer-bench-zmq-echo: %s\n", zmq_strerror(failure));
  if (router != NULL)
    zmq_close(router);
  if (context != NULL)
    zmq_ctx_term(context);
  canned_fini(&canned);
  return failure != 0;
}

/* ZeroMQ: each connection is a DEALER. All connections share one context, and so one I/O thread. */
#include "curve.h"
#include "link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <zmq.h>

struct link {
  void *socket;
  bool failed; /* a message could not be queued */
};

/* Made with the first socket, ended with the last. */
static void *shared_context;
static unsigned shared_users;

static enum jp_status zeromq_fail(struct jp_error *error, const char *what)
{
  return jp_fail(error, JP_IO, "%s: %s", what, zmq_strerror(errno));
}

static void zeromq_close(struct link *link)
{
  if (link == NULL)
    return;
  if (link->socket != NULL)
    zmq_close(link->socket);
  free(link);
  if (--shared_users == 0) {
    zmq_ctx_term(shared_context);
    shared_context = NULL;
  }
}

/* No high-water marks, so that a send never waits: the window bounds the messages in flight. */
static enum jp_status make_socket(struct link *link, bool has_curve, struct jp_error *error)
{
  const int none = 0;
  if (shared_context == NULL)
    shared_context = zmq_ctx_new();
  link->socket = shared_context == NULL ? NULL : zmq_socket(shared_context, ZMQ_DEALER);
  if (link->socket == NULL || zmq_setsockopt(link->socket, ZMQ_SNDHWM, &none, sizeof(none)) != 0 ||
      zmq_setsockopt(link->socket, ZMQ_RCVHWM, &none, sizeof(none)) != 0 ||
      zmq_setsockopt(link->socket, ZMQ_LINGER, &none, sizeof(none)) != 0)
    return zeromq_fail(error, "a socket");
  if (has_curve && (zmq_setsockopt(link->socket, ZMQ_CURVE_SERVERKEY, BENCH_CURVE_SERVER_KEY, 40) != 0 ||
                    zmq_setsockopt(link->socket, ZMQ_CURVE_PUBLICKEY, BENCH_CURVE_CLIENT_KEY, 40) != 0 ||
                    zmq_setsockopt(link->socket, ZMQ_CURVE_SECRETKEY, BENCH_CURVE_CLIENT_SECRET, 40) != 0))
    return zeromq_fail(error, "CURVE");
  return JP_OK;
}

/* libzmq connects in the background, and a listener accepts few clients at once: a link that must try again
 * would still be connecting while the others are measured. */
static enum jp_status await_handshake(struct link *link, const char *address, struct jp_error *error)
{
  const int patience_ms = 10000;
  char events[32]; /* unique: an address is free again only some time after it was closed */
  snprintf(events, sizeof(events), "inproc://%p", (void *)link);
  void *monitor = zmq_socket(shared_context, ZMQ_PAIR);
  zmq_msg_t event;
  zmq_msg_init(&event);
  enum jp_status status = JP_OK;
  if (monitor == NULL || zmq_setsockopt(monitor, ZMQ_RCVTIMEO, &patience_ms, sizeof(patience_ms)) != 0 ||
      zmq_socket_monitor(link->socket, events, ZMQ_EVENT_HANDSHAKE_SUCCEEDED) != 0 ||
      zmq_connect(monitor, events) != 0 || zmq_connect(link->socket, address) != 0 ||
      zmq_msg_recv(&event, monitor, 0) < 0)
    status = zeromq_fail(error, address);
  zmq_socket_monitor(link->socket, NULL, 0);
  zmq_msg_close(&event);
  if (monitor != NULL)
    zmq_close(monitor);
  return status;
}

static enum jp_status zeromq_open(const struct link_target *target, struct link **link,
                                  struct jp_error *error)
{
  struct link *made = calloc(1, sizeof(*made));
  if (made == NULL)
    return jp_fail(error, JP_NO_MEMORY, "no memory for a connection");
  shared_users++;
  enum jp_status status = make_socket(made, target->evidence.has_curve, error);
  if (status == JP_OK)
    status = await_handshake(made, target->address, error);
  if (status != JP_OK) {
    zeromq_close(made);
    return status;
  }
  *link = made;
  return JP_OK;
}

static int zeromq_fd(const struct link *link)
{
  int fd = -1;
  size_t size = sizeof(fd);
  zmq_getsockopt(link->socket, ZMQ_FD, &fd, &size);
  return fd;
}

static void zeromq_send(struct link *link, struct text message)
{
  if (zmq_send(link->socket, message.data, message.len, ZMQ_DONTWAIT) < 0)
    link->failed = true;
}

/* The descriptor shows commands, not messages: after any use of the socket, its events are read before a wait for the
 * descriptor. */
static enum jp_status zeromq_flush(struct link *link, bool *blocked, bool *again, struct jp_error *error)
{
  int events = 0;
  size_t size = sizeof(events);
  *blocked = false;
  if (link->failed)
    return jp_fail(error, JP_IO, "zmq_send refused a message");
  if (zmq_getsockopt(link->socket, ZMQ_EVENTS, &events, &size) != 0)
    return zeromq_fail(error, "ZMQ_EVENTS");
  *again = (events & ZMQ_POLLIN) != 0;
  return JP_OK;
}

static enum jp_status zeromq_receive(struct link *link, struct link_listener *listener,
                                     struct jp_error *error)
{
  zmq_msg_t message;
  zmq_msg_init(&message);
  enum jp_status status = JP_OK;
  while (status == JP_OK) {
    if (zmq_msg_recv(&message, link->socket, ZMQ_DONTWAIT) < 0) {
      if (errno != EAGAIN)
        status = zeromq_fail(error, "zmq_msg_recv");
      break;
    }
    if (zmq_msg_more(&message))
      status = jp_fail(error, JP_INVALID, "an answer of more than one part");
    else
      status =
          listener->answer(listener, (struct text){zmq_msg_data(&message), zmq_msg_size(&message)}, error);
  }
  zmq_msg_close(&message);
  return status;
}

const struct link_kind link_zeromq = {
    .scheme = "tcp",
    .unix_scheme = "ipc",
    .open = zeromq_open,
    .close = zeromq_close,
    .fd = zeromq_fd,
    .send = zeromq_send,
    .flush = zeromq_flush,
    .receive = zeromq_receive,
};

/* ZeroMQ: one DEALER a connection. */
#include "load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <zmq.h>

static void *open_dealer(void *context, const struct load *load)
{
  char address[300];
  snprintf(address, sizeof address, "tcp://%s:%s", load->host, load->port);
  void *dealer = zmq_socket(context, ZMQ_DEALER);
  int linger = 0;
  if (dealer == NULL || zmq_setsockopt(dealer, ZMQ_LINGER, &linger, sizeof linger) != 0 ||
      zmq_connect(dealer, address) != 0)
    load_die("cannot connect to %s: %s", address, zmq_strerror(errno));
  return dealer;
}

static void send_more(struct load *load, void *dealer, struct flow *flow)
{
  char request[REQUEST_MAX];
  while (load_wants_more(load, flow)) {
    size_t length = load_next_request(load, flow, request);
    if (zmq_send(dealer, request, length, 0) < 0)
      load_die("cannot send: %s", zmq_strerror(errno));
  }
}

static void receive(struct load *load, void *dealer, struct flow *flow)
{
  char reply[4096];
  for (;;) {
    int length = zmq_recv(dealer, reply, sizeof reply, ZMQ_DONTWAIT);
    if (length < 0 && errno == EAGAIN)
      return;
    if (length < 0 || (size_t)length > sizeof reply)
      load_die("cannot receive: %s", length < 0 ? zmq_strerror(errno) : "the answer is too long");
    load_take_reply(load, flow, reply, (size_t)length);
  }
}

void load_run_zeromq(struct load *load)
{
  void *context = zmq_ctx_new();
  zmq_pollitem_t *items = calloc(load->connections, sizeof *items);
  if (context == NULL || items == NULL)
    load_die("out of memory");
  for (size_t i = 0; i < load->connections; i++)
    items[i] = (zmq_pollitem_t){.socket = open_dealer(context, load), .events = ZMQ_POLLIN};
  for (size_t i = 0; i < load->connections; i++)
    send_more(load, items[i].socket, &load->flows[i]);
  while (load->answered < load->total) {
    if (zmq_poll(items, (int)load->connections, 60000) <= 0)
      load_die("no answer in a minute");
    for (size_t i = 0; i < load->connections; i++) {
      if ((items[i].revents & ZMQ_POLLIN) == 0)
        continue;
      receive(load, items[i].socket, &load->flows[i]);
      send_more(load, items[i].socket, &load->flows[i]);
    }
  }
  for (size_t i = 0; i < load->connections; i++)
    zmq_close(items[i].socket);
  free(items);
  zmq_ctx_term(context);
}

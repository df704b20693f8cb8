/* WebSocket and HTTP: many non-blocking connections on one epoll set. */
#include "load.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BUFFER_SIZE = 256 * 1024, EVENTS = 64 };

struct connection {
  int socket;
  struct flow *flow;
  char in[BUFFER_SIZE];
  size_t in_length;
  char out[BUFFER_SIZE];
  size_t out_length;
  bool armed_to_write;
};

struct framing {
  /* Appends the frame of a request to out; gives its length. */
  size_t (*frame)(char *out, const char *request, size_t length);
  /* Where a whole answer stands at the front of in: its body, and how much it used in all; else false. */
  bool (*unframe)(const char *in, size_t length, const char **body, size_t *body_length, size_t *used);
};

/* ---- WebSocket (RFC 6455, 5.2), with a mask of zeros ---- */

static size_t frame_websocket(char *out, const char *request, size_t length)
{
  size_t at = 0;
  out[at++] = (char)0x81;
  if (length < 126) {
    out[at++] = (char)(0x80 | length);
  } else {
    out[at++] = (char)(0x80 | 126);
    out[at++] = (char)(length >> 8);
    out[at++] = (char)length;
  }
  memset(out + at, 0, 4);
  memcpy(out + at + 4, request, length);
  return at + 4 + length;
}

static bool unframe_websocket(const char *in, size_t length, const char **body, size_t *body_length,
                              size_t *used)
{
  if (length < 4)
    return false;
  if ((unsigned char)in[0] != 0x81)
    load_die("not a text frame: %02x", (unsigned char)in[0]);
  size_t header = 2;
  size_t payload = (unsigned char)in[1];
  if (payload == 126) {
    header = 4;
    payload = (size_t)(unsigned char)in[2] << 8 | (unsigned char)in[3];
  } else if (payload > 126) {
    load_die("an answer that is too long");
  }
  *body = in + header;
  *body_length = payload;
  *used = header + payload;
  return length >= *used;
}

/* ---- HTTP ---- */

static size_t frame_http(char *out, const char *request, size_t length)
{
  return (size_t)sprintf(out,
                         "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                         "Content-Length: %zu\r\n\r\n%.*s",
                         length, (int)length, request);
}

static bool unframe_http(const char *in, size_t length, const char **body, size_t *body_length, size_t *used)
{
  const char *end = memmem(in, length, "\r\n\r\n", 4);
  if (end == NULL)
    return false;
  if (strncmp(in, "HTTP/1.1 200 ", 13) != 0)
    load_die("not a good answer: %.*s", (int)length, in);
  const char *field = memmem(in, (size_t)(end - in), "\r\nContent-Length: ", 18);
  if (field == NULL)
    load_die("an answer without a length: %.*s", (int)length, in);
  *body = end + 4;
  *body_length = strtoul(field + 18, NULL, 10);
  *used = (size_t)(*body - in) + *body_length;
  return length >= *used;
}

/* ---- */

static int connect_to(const struct load *load)
{
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
  struct addrinfo *found;
  int error = getaddrinfo(load->host, load->port, &hints, &found);
  if (error != 0)
    load_die("%s: %s", load->host, gai_strerror(error));
  int made = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made < 0 || connect(made, found->ai_addr, found->ai_addrlen) != 0)
    load_die("cannot connect: %s", strerror(errno));
  freeaddrinfo(found);
  int on = 1;
  setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return made;
}

static void shake_hands(int socket, const struct load *load)
{
  char text[1024];
  int length = snprintf(text, sizeof text,
                        "GET /rpc HTTP/1.1\r\nHost: %s:%s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n",
                        load->host, load->port);
  if (send(socket, text, (size_t)length, MSG_NOSIGNAL) != length)
    load_die("cannot send: %s", strerror(errno));
  size_t got = 0;
  while (got < 4 || memcmp(text + got - 4, "\r\n\r\n", 4) != 0) {
    if (got == sizeof text || recv(socket, text + got, 1, 0) != 1)
      load_die("no handshake: %.*s", (int)got, text);
    got++;
  }
  if (memcmp(text, "HTTP/1.1 101", 12) != 0)
    load_die("no handshake: %.*s", (int)got, text);
}

static void flush_out(int set, struct connection *connection)
{
  while (connection->out_length > 0) {
    ssize_t sent =
        send(connection->socket, connection->out, connection->out_length, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EAGAIN)
      break;
    if (sent < 0)
      load_die("cannot send: %s", strerror(errno));
    connection->out_length -= (size_t)sent;
    memmove(connection->out, connection->out + sent, connection->out_length);
  }
  bool wants_to_write = connection->out_length > 0;
  if (wants_to_write != connection->armed_to_write) {
    struct epoll_event event = {.events = EPOLLIN | (wants_to_write ? EPOLLOUT : 0), .data.ptr = connection};
    epoll_ctl(set, EPOLL_CTL_MOD, connection->socket, &event);
    connection->armed_to_write = wants_to_write;
  }
}

static void send_more(struct load *load, const struct framing *framing, int set,
                      struct connection *connection)
{
  char request[REQUEST_MAX];
  while (load_wants_more(load, connection->flow) && connection->out_length + 2 * REQUEST_MAX < BUFFER_SIZE) {
    size_t length = load_next_request(load, connection->flow, request);
    connection->out_length += framing->frame(connection->out + connection->out_length, request, length);
  }
  flush_out(set, connection);
}

static void receive(struct load *load, const struct framing *framing, struct connection *connection)
{
  ssize_t got = recv(connection->socket, connection->in + connection->in_length,
                     BUFFER_SIZE - connection->in_length, MSG_DONTWAIT);
  if (got < 0 && errno == EAGAIN)
    return;
  if (got <= 0)
    load_die("the peer closed the connection");
  connection->in_length += (size_t)got;
  size_t at = 0;
  const char *body;
  size_t body_length;
  size_t used;
  while (framing->unframe(connection->in + at, connection->in_length - at, &body, &body_length, &used)) {
    load_take_reply(load, connection->flow, body, body_length);
    at += used;
  }
  connection->in_length -= at;
  memmove(connection->in, connection->in + at, connection->in_length);
}

static void run(struct load *load, const struct framing *framing)
{
  int set = epoll_create1(EPOLL_CLOEXEC);
  struct connection *connections = calloc(load->connections, sizeof *connections);
  if (set < 0 || connections == NULL)
    load_die("out of memory or files");
  for (size_t i = 0; i < load->connections; i++) {
    connections[i].socket = connect_to(load);
    connections[i].flow = &load->flows[i];
    if (framing->frame == frame_websocket)
      shake_hands(connections[i].socket, load);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &connections[i]};
    epoll_ctl(set, EPOLL_CTL_ADD, connections[i].socket, &event);
  }
  for (size_t i = 0; i < load->connections; i++)
    send_more(load, framing, set, &connections[i]);
  while (load->answered < load->total) {
    struct epoll_event events[EVENTS];
    int count = epoll_wait(set, events, EVENTS, 60000);
    if (count <= 0)
      load_die("no answer in a minute");
    for (int i = 0; i < count; i++) {
      struct connection *connection = events[i].data.ptr;
      receive(load, framing, connection);
      send_more(load, framing, set, connection);
    }
  }
  for (size_t i = 0; i < load->connections; i++)
    close(connections[i].socket);
  free(connections);
  close(set);
}

void load_run_websocket(struct load *load)
{
  static const struct framing framing = {frame_websocket, unframe_websocket};
  run(load, &framing);
}

void load_run_http(struct load *load)
{
  static const struct framing framing = {frame_http, unframe_http};
  run(load, &framing);
}

#include "fake_peer.h"
#include "tests/unit/await.h"

#include "base/base64.h"
#include "base/buffer.h"
#include "net/websocket/ws_frames.h"

#include <openssl/sha.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 64, MESSAGE_MAX = 64 * 1024 * 1024 };

struct fake_connection {
  struct fake_peer *peer;
  unsigned number;
  int fd;
  pthread_t thread;
  struct buffer request;
  struct buffer in;
  size_t taken;
  struct buffer message;
  struct ws_reader reader;
  struct ws_decoder *decoder;
  unsigned pongs;
  uint64_t cancelled;
  struct ring_end rings;
};

struct fake_peer {
  fake_script *script;
  enum { SPEAKS_WEBSOCKET, SPEAKS_HTTP, SPEAKS_SHM } speaks;
  size_t ring_size;
  void *context;
  char folder[32];
  char url[64];
  struct sockaddr_un address;
  int listener;
  pthread_t acceptor;
  pthread_mutex_t lock;
  atomic_bool holds;
  struct fake_connection connections[CONNECTIONS_MAX];
  unsigned count;
  unsigned ended; /* connections that have ended */
};

static void check(bool good, const char *what)
{
  if (good)
    return;
  perror(what);
  abort();
}

/* ---- connections ---- */

static bool read_more(struct fake_connection *connection, struct buffer *in)
{
  char *room = buffer_reserve(in, 65536);
  ssize_t count = recv(connection->fd, room, 65536, 0);
  if (count <= 0)
    return false;
  in->len += (size_t)count;
  return true;
}

static void accept_key(struct text head, struct buffer *out)
{
  static const char name[] = "Sec-WebSocket-Key: ";
  const char *key = memmem(head.data, head.len, name, sizeof name - 1);
  char text[64];
  unsigned char hash[SHA_DIGEST_LENGTH];
  check(key != NULL, "the key of the handshake");
  int length =
      snprintf(text, sizeof text, "%.24s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key + sizeof name - 1);
  SHA1((const unsigned char *)text, (size_t)length, hash);
  base64_encode(out, hash, sizeof hash);
}

static bool read_head(struct fake_connection *connection)
{
  struct buffer *request = &connection->request;
  const char *end;
  do {
    if (!read_more(connection, request))
      return false;
    end = memmem(request->data, request->len, "\r\n\r\n", 4);
  } while (end == NULL);
  size_t head = (size_t)(end - request->data) + 4;
  buffer_append(&connection->in, request->data + head, request->len - head);
  buffer_truncate(request, head);
  return true;
}

static void answer_websocket(struct fake_connection *connection)
{
  struct buffer out = {0};
  BUFFER_LITERAL(&out, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                       "Sec-WebSocket-Accept: ");
  accept_key(buffer_text(&connection->request), &out);
  BUFFER_LITERAL(&out, "\r\n\r\n");
  fake_write_bytes(connection, out.data, out.len);
  buffer_fini(&out);
}

static bool is_for_memory(const struct fake_connection *connection)
{
  static const char field[] = "Upgrade: jpeer-shm/1\r\n";
  return memmem(connection->request.data, connection->request.len, field, sizeof field - 1) != NULL;
}

static void refuse_memory(struct fake_connection *connection, const char *status)
{
  char response[100];
  int length = snprintf(response, sizeof response, "HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n", status);
  fake_write_bytes(connection, response, (size_t)length);
}

void fake_send_descriptors(int fd, struct text bytes, const int *descriptors, size_t count)
{
  enum { MOST = 16 };
  union {
    struct cmsghdr header; /* for its alignment */
    char bytes[CMSG_SPACE(MOST * sizeof(int))];
  } control = {0};
  struct iovec part = {.iov_base = (void *)(uintptr_t)bytes.data, .iov_len = bytes.len};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  check(count <= MOST, "too many descriptors");
  if (count > 0) {
    message.msg_control = control.bytes;
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(header), descriptors, count * sizeof(int));
  }
  check(sendmsg(fd, &message, MSG_NOSIGNAL) == (ssize_t)bytes.len, "sendmsg");
}

/* Creates the memory, and sends it with the 101. */
static void share_memory(struct ring_end *rings, int fd, size_t ring_size)
{
  int memory;
  char head[200];
  *rings = (struct ring_end){.fd = fd};
  check(ring_region_create(ring_size, &rings->region, &memory, NULL) == JP_OK, "ring_region_create");
  ring_region_open_peer(&rings->region, &rings->out, &rings->in);
  /* the peer does not poll before its first read */
  check(ring_reader_sleep(&rings->in), "ring_reader_sleep");
  int length = snprintf(head, sizeof head,
                        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: jpeer-shm/1\r\n"
                        "Connection: Upgrade\r\njpeer-shm-ring: %zu\r\n\r\n",
                        ring_size);
  fake_send_descriptors(fd, (struct text){head, (size_t)length}, &memory, 1);
  close(memory);
}

/* False: the connection gets no script. */
static bool shake_hands(struct fake_connection *connection)
{
  size_t ring_size = connection->peer->ring_size;
  if (!read_head(connection))
    return false;
  if (!is_for_memory(connection)) {
    answer_websocket(connection);
    return true;
  }
  if (ring_size > FAKE_RING_UNKNOWN)
    share_memory(&connection->rings, connection->fd, ring_size);
  else
    refuse_memory(connection, ring_size == FAKE_RING_NONE ? "503 Service Unavailable" : "404 Not Found");
  return ring_size > FAKE_RING_UNKNOWN;
}

static void *run_connection(void *argument)
{
  struct fake_connection *connection = argument;
  AWAIT(!atomic_load(&connection->peer->holds));
  if (connection->peer->speaks == SPEAKS_HTTP || shake_hands(connection))
    connection->peer->script(connection, connection->peer->context);
  shutdown(connection->fd, SHUT_RDWR);
  pthread_mutex_lock(&connection->peer->lock);
  connection->peer->ended++;
  pthread_mutex_unlock(&connection->peer->lock);
  return NULL;
}

static void *accept_connections(void *argument)
{
  struct fake_peer *peer = argument;
  for (;;) {
    int fd = accept4(peer->listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
      return NULL;
    pthread_mutex_lock(&peer->lock);
    check(peer->count < CONNECTIONS_MAX, "too many connections");
    struct fake_connection *connection = &peer->connections[peer->count++];
    *connection = (struct fake_connection){
        .peer = peer, .number = peer->count, .fd = fd, .decoder = ws_decoder_create()};
    check(pthread_create(&connection->thread, NULL, run_connection, connection) == 0, "pthread_create");
    pthread_mutex_unlock(&peer->lock);
  }
}

/* ---- the peer ---- */

void fake_peer_accept(struct fake_peer *peer)
{
  unlink(peer->address.sun_path);
  peer->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  check(bind(peer->listener, (const struct sockaddr *)&peer->address, sizeof peer->address) == 0, "bind");
  check(listen(peer->listener, CONNECTIONS_MAX) == 0, "listen");
  check(pthread_create(&peer->acceptor, NULL, accept_connections, peer) == 0, "pthread_create");
}

static struct fake_peer *start(const char *scheme, size_t ring_size, fake_script *script, void *context)
{
  struct fake_peer *peer = calloc(1, sizeof *peer);
  check(peer != NULL, "calloc");
  peer->script = script;
  peer->context = context;
  pthread_mutex_init(&peer->lock, NULL);
  strcpy(peer->folder, "/tmp/jpeer-test-XXXXXX");
  check(mkdtemp(peer->folder) != NULL, "mkdtemp");
  peer->address.sun_family = AF_UNIX;
  snprintf(peer->address.sun_path, sizeof peer->address.sun_path, "%s/peer", peer->folder);
  snprintf(peer->url, sizeof peer->url, "%s:%s/peer", scheme, peer->folder);
  peer->speaks = strcmp(scheme, "http+unix") == 0 ? SPEAKS_HTTP
                 : strcmp(scheme, "shm") == 0     ? SPEAKS_SHM
                                                  : SPEAKS_WEBSOCKET;
  peer->ring_size = ring_size;
  fake_peer_accept(peer);
  return peer;
}

struct fake_peer *fake_peer_start_over(const char *scheme, fake_script *script, void *context)
{
  return start(scheme, FAKE_RING_SIZE, script, context);
}

struct fake_peer *fake_peer_start_shm(size_t ring_size, fake_script *script, void *context)
{
  return start("shm", ring_size, script, context);
}

struct fake_peer *fake_peer_start_http(fake_script *script, void *context)
{
  return start("http+unix", 0, script, context);
}

const char *fake_peer_url(const struct fake_peer *peer)
{
  return peer->url;
}

unsigned fake_peer_connections(struct fake_peer *peer)
{
  pthread_mutex_lock(&peer->lock);
  unsigned count = peer->count;
  pthread_mutex_unlock(&peer->lock);
  return count;
}

static unsigned count_ended(struct fake_peer *peer)
{
  pthread_mutex_lock(&peer->lock);
  unsigned ended = peer->ended;
  pthread_mutex_unlock(&peer->lock);
  return ended;
}

void fake_peer_await_end(struct fake_peer *peer, unsigned count)
{
  AWAIT(count_ended(peer) >= count);
}

void fake_peer_refuse(struct fake_peer *peer)
{
  shutdown(peer->listener, SHUT_RDWR);
  pthread_join(peer->acceptor, NULL);
  close(peer->listener);
  peer->listener = -1;
}

void fake_peer_hold(struct fake_peer *peer, bool holds)
{
  atomic_store(&peer->holds, holds);
}

void fake_peer_stop(struct fake_peer *peer)
{
  if (peer->listener >= 0)
    fake_peer_refuse(peer);
  for (unsigned i = 0; i < peer->count; i++) {
    struct fake_connection *connection = &peer->connections[i];
    shutdown(connection->fd, SHUT_RDWR);
    pthread_join(connection->thread, NULL);
    close(connection->fd);
    ws_decoder_destroy(connection->decoder);
    ring_region_unmap(&connection->rings.region);
    buffer_fini(&connection->request);
    buffer_fini(&connection->in);
    buffer_fini(&connection->message);
  }
  unlink(peer->address.sun_path);
  rmdir(peer->folder);
  pthread_mutex_destroy(&peer->lock);
  free(peer);
}

/* ---- for scripts ---- */

struct ring_end *fake_rings_of(struct fake_connection *connection)
{
  return connection->rings.region.control == NULL ? NULL : &connection->rings;
}

static bool read_any(struct fake_connection *connection, struct text *message)
{
  buffer_clear(&connection->message);
  if (fake_rings_of(connection) != NULL) {
    uint32_t kind = ring_end_read(&connection->rings, &connection->message);
    check(kind == 0 || kind == RING_JSON, "the kind of a frame of the client");
    *message = buffer_text(&connection->message);
    return kind != 0;
  }
  for (;;) {
    /* Called even without new input, because the decoder may have read ahead. */
    struct ws_input input = {.bytes = buffer_text(&connection->in), .used = connection->taken};
    enum ws_event event =
        ws_read(&connection->reader, connection->decoder, &input, &connection->message, MESSAGE_MAX);
    connection->taken = input.used;
    if (event == WS_EVENT_MESSAGE) {
      *message = buffer_text(&connection->message);
      return true;
    }
    if (event == WS_EVENT_FAILED || event == WS_EVENT_CLOSE)
      return false;
    connection->pongs += event == WS_EVENT_PONG;
    if (event != WS_EVENT_NONE)
      continue;
    buffer_clear(&connection->in);
    connection->taken = 0;
    if (!read_more(connection, &connection->in))
      return false;
  }
}

bool fake_read(struct fake_connection *connection, struct text *message)
{
  static const char cancel[] = "\"method\":\"cancel\"", value[] = "\"value\":";
  static const char within[] = "\"within\"";
  while (read_any(connection, message)) {
    const char *found = memmem(message->data, message->len, cancel, sizeof cancel - 1);
    if (found == NULL)
      return true;
    found = memmem(message->data, message->len, value, sizeof value - 1);
    check(found != NULL && fake_id(*message) == 0, "a cancel is a notification that names a request");
    check(memmem(message->data, message->len, within, sizeof within - 1) == NULL,
          "a cancel does not wait for the request that it ends");
    connection->cancelled = strtoull(found + sizeof value - 1, NULL, 10);
  }
  return false;
}

uint64_t fake_cancelled(const struct fake_connection *connection)
{
  return connection->cancelled;
}

unsigned fake_pongs(const struct fake_connection *connection)
{
  return connection->pongs;
}

bool fake_read_post(struct fake_connection *connection, struct text *head, struct text *body)
{
  static const char field[] = "Content-Length: ";
  struct buffer *in = &connection->in;
  const char *end;
  size_t length = SIZE_MAX;
  size_t head_length = 0;
  buffer_consume(in, connection->taken);
  connection->taken = 0;
  while (length > in->len - head_length) {
    end = in->len == 0 ? NULL : memmem(in->data, in->len, "\r\n\r\n", 4);
    if (end != NULL) {
      head_length = (size_t)(end - in->data) + 4;
      const char *digits = memmem(in->data, head_length, field, sizeof field - 1);
      check(digits != NULL, "the length of a POST");
      length = strtoull(digits + sizeof field - 1, NULL, 10);
    }
    if (length > in->len - head_length && !read_more(connection, in))
      return false;
  }
  *head = text_slice(buffer_text(in), 0, head_length);
  *body = text_slice(buffer_text(in), head_length, head_length + length);
  connection->taken = head_length + length;
  return true;
}

uint64_t fake_id(struct text message)
{
  const char *found = memmem(message.data, message.len, "\"id\":", 5);
  return found == NULL ? 0 : strtoull(found + 5, NULL, 10);
}

void fake_write_bytes(struct fake_connection *connection, const void *bytes, size_t count)
{
  while (count > 0) {
    ssize_t sent = send(connection->fd, bytes, count, MSG_NOSIGNAL);
    if (sent <= 0)
      return; /* the client has closed */
    bytes = (const char *)bytes + sent;
    count -= (size_t)sent;
  }
}

void fake_write(struct fake_connection *connection, const char *format, ...)
{
  struct buffer out = {0};
  char *text = NULL;
  va_list args;
  va_start(args, format);
  int length = vasprintf(&text, format, args);
  va_end(args);
  check(length >= 0, "vasprintf");
  struct text message = {text, (size_t)length};
  if (fake_rings_of(connection) != NULL) {
    (void)ring_end_write_frame(&connection->rings, RING_JSON, message); /* false: the client has closed */
  } else {
    ws_write(&out, WS_TEXT, true, message);
    fake_write_bytes(connection, out.data, out.len);
  }
  buffer_fini(&out);
  free(text);
}

struct text fake_request(const struct fake_connection *connection)
{
  return buffer_text(&connection->request);
}

unsigned fake_number(const struct fake_connection *connection)
{
  return connection->number;
}

void fake_answer_int(struct fake_connection *connection, uint64_t id, int value)
{
  fake_write(connection,
             "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"void\":false,\"value\":"
             "{\"type\":\"int\",\"null\":false,\"value\":\"%d\"}}}",
             (unsigned long long)id, value);
}

void fake_answer_object(struct fake_connection *connection, uint64_t id, unsigned ref)
{
  fake_write(connection,
             "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"void\":false,\"value\":"
             "{\"type\":\"java.util.ArrayList\",\"null\":false,\"ref\":%u}}}",
             (unsigned long long)id, ref);
}

void fake_serve(struct fake_connection *connection, void *context)
{
  (void)context;
  struct text message;
  unsigned ref = 0;
  while (fake_read(connection, &message)) {
    uint64_t id = fake_id(message);
    if (id != 0 && memmem(message.data, message.len, "\"new\"", 5) != NULL)
      fake_answer_object(connection, id, ++ref);
    else if (id != 0)
      fake_answer_int(connection, id, 8);
  }
}

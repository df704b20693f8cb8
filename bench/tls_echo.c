/*
 * jpeer-bench-tls-echo: TLS with OpenSSL alone, and the same client for the peer.
 *
 * usage: jpeer-bench-tls-echo CONNECTIONS IN_FLIGHT WARM_UP SECONDS SERVER_CORE CLIENT_CORE [PORT]
 * With PORT, the client calls `add` over a WebSocket of the peer that listens with TLS at this port of the
 * loopback address. Without PORT, it calls a child process that sends each request back. The child has one
 * thread, uses epoll, SSL_read and SSL_write, and contains no code of the peer. Each request is one TLS
 * record. A core of -1 means any core. The client does not check certificates. Prints a JSON object with the
 * names of jpeer-bench's figures.
 */
#include "histogram.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 64, IN_FLIGHT_MAX = 64, ROOM = 16 * 1024, FRAME_HEAD = 2, SPARE_SECONDS = 60 };

#define BODY                                                                                                 \
  "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"call\",\"params\":{\"type\":\"fixtures.Calculator\","          \
  "\"method\":\"add\",\"args\":[{\"type\":\"int\",\"value\":1},{\"type\":\"int\",\"value\":2}]}}"
#define HANDSHAKE                                                                                            \
  "GET /rpc HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"                    \
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"

struct connection {
  int fd;
  SSL *ssl;
  size_t received; /* bytes of answers that are not complete */
  int64_t sent_ns[IN_FLIGHT_MAX];
  unsigned first; /* the oldest open call, in sent_ns */
};

struct load {
  unsigned connection_count;
  unsigned in_flight;
  uint64_t warm_up;
  int64_t measured_ns;
  int server_core;
  int client_core;
  struct connection connections[CONNECTIONS_MAX];
  char request[512];
  size_t request_length;
  size_t answer_length;
  struct histogram latencies;
  uint64_t done;
  int64_t begins_ns;
  int64_t ends_ns;
};

static void die(const char *what)
{
  fprintf(stderr, "jpeer-bench-tls-echo: %s: %s\n", what, strerror(errno));
  exit(1);
}

/* A server that does not answer. */
static void end_overdue(int signal_number)
{
  static const char line[] = "jpeer-bench-tls-echo: the server has not answered in time\n";
  (void)signal_number;
  (void)!write(STDERR_FILENO, line, sizeof line - 1);
  _exit(1);
}

static void run_on(int core)
{
  cpu_set_t set;
  CPU_ZERO(&set);
  if (core < 0)
    return;
  CPU_SET(core, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    die("sched_setaffinity");
}

/* ---- the server ---- */

static SSL_CTX *make_server_context(void)
{
  SSL_CTX *context = SSL_CTX_new(TLS_server_method());
  EVP_PKEY *key = EVP_EC_gen("P-256");
  X509 *certificate = X509_new();
  X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 86400);
  X509_set_pubkey(certificate, key);
  X509_sign(certificate, key, EVP_sha256());
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  if (SSL_CTX_use_certificate(context, certificate) != 1 || SSL_CTX_use_PrivateKey(context, key) != 1)
    die("certificate");
  return context;
}

static void set_blocking(int fd, bool blocks)
{
  const int flags = fcntl(fd, F_GETFL);
  fcntl(fd, F_SETFL, blocks ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
}

static void write_all(SSL *ssl, const char *bytes, size_t length)
{
  size_t sent = 0;
  while (length > 0) {
    const int result = SSL_write_ex(ssl, bytes, length, &sent);
    if (result == 1) {
      bytes += sent;
      length -= sent;
    } else if (SSL_get_error(ssl, result) != SSL_ERROR_WANT_WRITE) {
      exit(1);
    }
  }
}

static void accept_one(int listener, SSL_CTX *context, int epoll)
{
  const int fd = accept(listener, NULL, NULL);
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  SSL *ssl = SSL_new(context);
  SSL_set_fd(ssl, fd);
  if (SSL_accept(ssl) != 1)
    die("SSL_accept");
  set_blocking(fd, false);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = ssl};
  epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

static void serve(int listener, unsigned connection_count)
{
  SSL_CTX *context = make_server_context();
  const int epoll = epoll_create1(0);
  static char bytes[ROOM];
  for (unsigned i = 0; i < connection_count; i++)
    accept_one(listener, context, epoll);
  for (;;) {
    struct epoll_event events[CONNECTIONS_MAX];
    const int count = epoll_wait(epoll, events, CONNECTIONS_MAX, -1);
    for (int i = 0; i < count; i++) {
      SSL *ssl = events[i].data.ptr;
      size_t length;
      while (SSL_read_ex(ssl, bytes, sizeof bytes, &length) == 1)
        write_all(ssl, bytes, length);
      if (SSL_get_error(ssl, 0) != SSL_ERROR_WANT_READ)
        return;
    }
  }
}

/* Starts the server process, which the kernel ends when this process ends. Returns the server's port. */
static uint16_t start_server(const struct load *load)
{
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, length) != 0 ||
      listen(listener, CONNECTIONS_MAX) != 0 ||
      getsockname(listener, (struct sockaddr *)&address, &length) != 0)
    die("listen");
  const pid_t client = getpid();
  const pid_t server = fork();
  if (server < 0)
    die("fork");
  if (server == 0) {
    run_on(load->server_core);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == client)
      serve(listener, load->connection_count);
    _exit(0);
  }
  close(listener);
  return ntohs(address.sin_port);
}

/* ---- the client ---- */

/* A masked text frame; the mask is zero, so the text is as it is. */
static void make_request(struct load *load)
{
  const size_t length = sizeof BODY - 1;
  char *at = load->request;
  *at++ = (char)0x81;
  *at++ = (char)(0x80 | 126);
  *at++ = (char)(length >> 8);
  *at++ = (char)(length & 255);
  memset(at, 0, 4);
  memcpy(at + 4, BODY, length);
  load->request_length = length + 8;
}

static void connect_one(struct connection *connection, SSL_CTX *context, uint16_t port)
{
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  const int on = 1;
  connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(connection->fd, (struct sockaddr *)&address, sizeof address) != 0)
    die("connect");
  setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  connection->ssl = SSL_new(context);
  SSL_set_fd(connection->ssl, connection->fd);
  if (SSL_connect(connection->ssl) != 1)
    die("SSL_connect");
}

/* Returns the length of the answer's frame. */
static size_t open_websocket(const struct load *load, struct connection *connection)
{
  char bytes[ROOM];
  size_t length;
  write_all(connection->ssl, HANDSHAKE, sizeof HANDSHAKE - 1);
  if (SSL_read_ex(connection->ssl, bytes, sizeof bytes, &length) != 1 ||
      memcmp(bytes, "HTTP/1.1 101", 12) != 0)
    die("handshake");
  write_all(connection->ssl, load->request, load->request_length);
  if (SSL_read_ex(connection->ssl, bytes, sizeof bytes, &length) != 1 || length < FRAME_HEAD ||
      memmem(bytes, length, "\"result\"", 8) == NULL || memmem(bytes, length, "\"value\":\"3\"", 11) == NULL)
    die("the answer");
  return length;
}

static void send_call(const struct load *load, struct connection *connection, unsigned place, int64_t now_ns)
{
  connection->sent_ns[place] = now_ns;
  write_all(connection->ssl, load->request, load->request_length);
}

/* False: the time is over. */
static bool receive_answers(struct load *load, struct connection *connection)
{
  char bytes[ROOM];
  size_t length;
  while (SSL_read_ex(connection->ssl, bytes, sizeof bytes, &length) == 1) {
    const int64_t now_ns = clock_now_ns();
    connection->received += length;
    for (; connection->received >= load->answer_length; connection->received -= load->answer_length) {
      const unsigned place = connection->first;
      connection->first = (place + 1) % load->in_flight;
      if (++load->done == load->warm_up) {
        load->begins_ns = now_ns;
        load->ends_ns = now_ns + load->measured_ns;
      } else if (load->done > load->warm_up) {
        histogram_record(&load->latencies, (uint64_t)(now_ns - connection->sent_ns[place]));
      }
      send_call(load, connection, place, now_ns);
    }
    if (now_ns >= load->ends_ns) {
      load->ends_ns = now_ns;
      return false;
    }
  }
  if (SSL_get_error(connection->ssl, 0) != SSL_ERROR_WANT_READ)
    die("the server has ended");
  return true;
}

static void run_client(struct load *load, uint16_t port, bool is_peer)
{
  SSL_CTX *context = SSL_CTX_new(TLS_client_method());
  const int epoll = epoll_create1(0);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  load->answer_length = load->request_length;
  load->ends_ns = INT64_MAX;
  for (unsigned i = 0; i < load->connection_count; i++) {
    struct connection *connection = &load->connections[i];
    connect_one(connection, context, port);
    if (is_peer)
      load->answer_length = open_websocket(load, connection);
    set_blocking(connection->fd, false);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    epoll_ctl(epoll, EPOLL_CTL_ADD, connection->fd, &event);
  }
  for (unsigned i = 0; i < load->connection_count; i++)
    for (unsigned call = 0; call < load->in_flight; call++)
      send_call(load, &load->connections[i], call, clock_now_ns());
  for (;;) {
    struct epoll_event events[CONNECTIONS_MAX];
    const int count = epoll_wait(epoll, events, CONNECTIONS_MAX, -1);
    for (int i = 0; i < count; i++)
      if (!receive_answers(load, events[i].data.ptr))
        return;
  }
}

static void print_json(const struct load *load)
{
  const struct histogram *latencies = &load->latencies;
  const double calls = (double)(load->done - load->warm_up);
  const double seconds = (double)(load->ends_ns - load->begins_ns) / 1e9;
  printf("{\"connections\":%u,\"in_flight\":%u,\"calls\":%.0f,\"seconds\":%.6f,\"calls_per_second\":%.1f,"
         "\"p50_us\":%.3f,\"p99_us\":%.3f,\"p999_us\":%.3f,\"max_us\":%.3f}\n",
         load->connection_count, load->in_flight, calls, seconds, calls / seconds,
         (double)histogram_quantile(latencies, 0.5) / 1e3, (double)histogram_quantile(latencies, 0.99) / 1e3,
         (double)histogram_quantile(latencies, 0.999) / 1e3, (double)latencies->max / 1e3);
}

static bool read_arguments(struct load *load, char **words)
{
  const double seconds = strtod(words[4], NULL);
  load->connection_count = (unsigned)strtoul(words[1], NULL, 10);
  load->in_flight = (unsigned)strtoul(words[2], NULL, 10);
  load->warm_up = strtoull(words[3], NULL, 10);
  load->measured_ns = (int64_t)(seconds * 1e9);
  load->server_core = (int)strtol(words[5], NULL, 10);
  load->client_core = (int)strtol(words[6], NULL, 10);
  return load->connection_count > 0 && load->connection_count <= CONNECTIONS_MAX && load->in_flight > 0 &&
         load->in_flight <= IN_FLIGHT_MAX && load->warm_up > 0 && seconds > 0 && seconds <= 86400;
}

int main(int argc, char **argv)
{
  static struct load load;
  if ((argc != 7 && argc != 8) || !read_arguments(&load, argv)) {
    fputs(
        "usage: jpeer-bench-tls-echo CONNECTIONS IN_FLIGHT WARM_UP SECONDS SERVER_CORE CLIENT_CORE [PORT]\n",
        stderr);
    return 2;
  }
  signal(SIGPIPE, SIG_IGN);
  signal(SIGALRM, end_overdue);
  alarm((unsigned)(load.measured_ns / 1000000000) + SPARE_SECONDS);
  make_request(&load);
  const uint16_t port = argc == 8 ? (uint16_t)strtoul(argv[7], NULL, 10) : start_server(&load);
  run_on(load.client_core);
  run_client(&load, port, argc == 8);
  print_json(&load);
  return 0;
}

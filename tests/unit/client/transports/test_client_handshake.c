/* Responses to upgrades that a client accepts or refuses, and the handling of descriptors. */
#include "client/transports/client_handshake.h"

#include "../fake_peer.h"
#include "base/clock.h"
#include "client/transports/client_url.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEAD   "HTTP/1.1 101 Switching Protocols\r\n"
#define FIELDS "Upgrade: jpeer-shm/1\r\nConnection: Upgrade\r\n"
#define GOOD   HEAD FIELDS "jpeer-shm-ring: 4096\r\n\r\n"
#define MINUTE 60000000000LL

static const struct client_url URL = {.whole = TEXT("shm:/x"), .path = TEXT("/x")};

static unsigned count_descriptors(void)
{
  unsigned count = 0;
  DIR *folder = opendir("/proc/self/fd");
  assert_non_null(folder);
  while (readdir(folder) != NULL)
    count++;
  closedir(folder);
  return count;
}

struct attempt {
  int sockets[2]; /* the client's, the peer's */
  struct client_stream stream;
  struct ring_region region;
  struct client_transport transport;
  enum shm_refusal refusal;
  struct jp_client_error error;
};

static void open_attempt(struct attempt *attempt)
{
  memset(attempt, 0, sizeof *attempt);
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, attempt->sockets), 0);
  assert_int_equal(fcntl(attempt->sockets[0], F_SETFL, O_NONBLOCK), 0);
  client_stream_init(&attempt->stream);
  attempt->stream.fd = attempt->sockets[0];
}

static void close_attempt(struct attempt *attempt)
{
  client_stream_fini(&attempt->stream);
  ring_region_unmap(&attempt->region);
  if (attempt->sockets[1] >= 0)
    close(attempt->sockets[1]);
}

static enum jp_client_status shake_hands(struct attempt *attempt, struct text peer_id, int64_t time_ns)
{
  const struct client_credentials nothing = {0};
  const struct transport_options options = {.peer_id = peer_id, .credentials = &nothing};
  return shm_shake_hands(&attempt->stream, &URL, &options, clock_now_ns() + time_ns, &attempt->region,
                         &attempt->transport, &attempt->refusal, &attempt->error);
}

/* The whole response has arrived with these descriptors before it is read. No descriptor may leak. */
static void expect(const char *response, const int *descriptors, size_t count, enum jp_client_status wanted,
                   enum shm_refusal refusal, const char *words)
{
  struct attempt attempt;
  unsigned before = count_descriptors();
  open_attempt(&attempt);
  if (response[0] != '\0')
    fake_send_descriptors(attempt.sockets[1], text_of(response), descriptors, count);
  shutdown(attempt.sockets[1], SHUT_WR);
  enum jp_client_status status = shake_hands(&attempt, TEXT_ABSENT, MINUTE);
  if (status != wanted || attempt.refusal != refusal ||
      (wanted != JP_CLIENT_OK && strstr(attempt.error.text, words) == NULL))
    fail_msg("%s: %d, %d, %s", response, status, attempt.refusal, attempt.error.text);
  assert_int_equal(attempt.region.control != NULL, wanted == JP_CLIENT_OK);
  assert_int_equal(status != JP_CLIENT_OK && attempt.error.status != status, false);
  close_attempt(&attempt);
  assert_int_equal(count_descriptors(), before);
}

static int make_region(size_t ring_size)
{
  struct ring_region region;
  int fd;
  assert_int_equal(ring_region_create(ring_size, &region, &fd, NULL), JP_OK);
  ring_region_unmap(&region);
  return fd;
}

/* A token goes over a unix socket, and no error shows it. */
UNIT_TEST(test_token)
{
  static const char quoted[] = "HTTP/1.1 401 Bearer SECRET-0123456789\r\n\r\nSECRET-0123456789";
  char request[1000] = "";
  struct attempt attempt;
  open_attempt(&attempt);
  const struct client_credentials credentials = {.token = (char *)"SECRET-0123456789"};
  const struct transport_options options = {.credentials = &credentials};
  fake_send_descriptors(attempt.sockets[1], text_of(quoted), NULL, 0);
  enum jp_client_status status =
      shm_shake_hands(&attempt.stream, &URL, &options, clock_now_ns() + MINUTE, &attempt.region,
                      &attempt.transport, &attempt.refusal, &attempt.error);
  assert_int_equal(status, JP_CLIENT_REFUSED);
  assert_string_equal(attempt.error.text, "the peer refuses shared memory: 401 Bearer ********: ********");
  assert_true(recv(attempt.sockets[1], request, sizeof request - 1, 0) > 0);
  assert_non_null(strstr(request, "\r\nAuthorization: Bearer SECRET-0123456789\r\n"));
  close_attempt(&attempt);
}

UNIT_TEST(test_refusals)
{
  expect("HTTP/1.1 503 Service Unavailable\r\n\r\nno memory left", NULL, 0, JP_CLIENT_REFUSED,
         SHM_UNAVAILABLE, "refuses shared memory: 503 Service Unavailable: no memory left");
  expect("HTTP/1.1 401 Unauthorized\r\n\r\n", NULL, 0, JP_CLIENT_REFUSED, SHM_REFUSED, "401 Unauthorized");
  int fd = make_region(4096); /* an unexpected descriptor */
  expect("HTTP/1.1 503 X\r\n\r\n", &fd, 1, JP_CLIENT_REFUSED, SHM_UNAVAILABLE, "503 X");
  close(fd);
}

UNIT_TEST(test_broken_responses)
{
  int fd = make_region(4096);
  int many[16];
  for (size_t i = 0; i < 16; i++)
    many[i] = fd;
  expect("", NULL, 0, JP_CLIENT_REFUSED, SHM_NOT_REFUSED, "closed the connection during the handshake");
  expect("HTTP/1.1 101 X\r\n", &fd, 1, JP_CLIENT_REFUSED, SHM_NOT_REFUSED, "during the handshake");
  expect("SSH-2.0", &fd, 1, JP_CLIENT_PROTOCOL, SHM_NOT_REFUSED, "no HTTP/1.1 server");
  expect(GOOD, NULL, 0, JP_CLIENT_PROTOCOL, SHM_NOT_REFUSED, "0 descriptors");
  expect(GOOD, many, 2, JP_CLIENT_PROTOCOL, SHM_NOT_REFUSED, "2 descriptors");
  expect(GOOD, many, 16, JP_CLIENT_PROTOCOL, SHM_NOT_REFUSED, "too many descriptors");
  expect(HEAD "Upgrade: websocket\r\nConnection: Upgrade\r\njpeer-shm-ring: 4096\r\n\r\n", &fd, 1,
         JP_CLIENT_PROTOCOL, SHM_NOT_REFUSED, "none of shared memory");
  expect(HEAD "Upgrade: jpeer-shm/1\r\njpeer-shm-ring: 4096\r\n\r\n", &fd, 1, JP_CLIENT_PROTOCOL,
         SHM_NOT_REFUSED, "none of shared memory");
  close(fd);
}

UNIT_TEST(test_wrong_sizes)
{
  static const char *const sizes[] = {"",
                                      "jpeer-shm-ring:\r\n",
                                      "jpeer-shm-ring: 4096\r\njpeer-shm-ring: 4096\r\n",
                                      "jpeer-shm-ring: 8192\r\n",
                                      "jpeer-shm-ring: 0\r\n",
                                      "jpeer-shm-ring: -4096\r\n",
                                      "jpeer-shm-ring: 4096x\r\n",
                                      "jpeer-shm-ring: 4095\r\n",
                                      "jpeer-shm-ring: 2147483648\r\n",
                                      "jpeer-shm-ring: 18446744073709555712\r\n"};
  int fd = make_region(4096);
  for (size_t i = 0; i < COUNT_OF(sizes); i++) {
    char response[300];
    snprintf(response, sizeof response, HEAD FIELDS "%s\r\n", sizes[i]);
    expect(response, &fd, 1, JP_CLIENT_PROTOCOL, SHM_NOT_REFUSED, "the peer");
  }
  close(fd);
}

/* Memory that can shrink is refused, because access would end this process. Memory of another version is
 * refused, because it would be misread. */
UNIT_TEST(test_wrong_memory)
{
  enum { SIZE = RING_CONTROL_SIZE + 2 * 4096 };
  int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  assert_true(fd >= 0);
  assert_int_equal(ftruncate(fd, SIZE), 0);
  struct ring_control control = {.magic = RING_MAGIC, .version = RING_VERSION, .ring_size = 4096};
  assert_int_equal(pwrite(fd, &control, sizeof control, 0), sizeof control);
  expect(GOOD, &fd, 1, JP_CLIENT_PROTOCOL, SHM_NOT_REFUSED, "sealed");
  assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
  expect(GOOD, &fd, 1, JP_CLIENT_OK, SHM_NOT_REFUSED, "");
  control.version++;
  assert_int_equal(pwrite(fd, &control, sizeof control, 0), sizeof control);
  expect(GOOD, &fd, 1, JP_CLIENT_PROTOCOL, SHM_NOT_REFUSED, "another version");
  close(fd);
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  expect(GOOD, &null, 1, JP_CLIENT_PROTOCOL, SHM_NOT_REFUSED, "sealed");
  close(null);
}

/* ---- the upgrade to a WebSocket ---- */

/* The key and the accept value of RFC 6455, 1.3. */
#define KEY       "dGhlIHNhbXBsZSBub25jZQ=="
#define ACCEPT    "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
#define WS_FIELDS "Upgrade: websocket\r\nConnection: Upgrade\r\n"

static enum jp_client_status read_response(const char *response, size_t *length,
                                           struct jp_client_error *error)
{
  size_t count = strlen(response);
  char *came = unit_exact_copy(response, count);
  struct text epoch = TEXT_ABSENT;
  enum jp_client_status status =
      websocket_read_response((struct text){came, count}, KEY, length, &epoch, error);
  test_free(came);
  return status;
}

UNIT_TEST(test_refused)
{
  static const struct {
    const char *response;
    enum jp_client_status status;
    const char *words;
  } cases[] = {
      {"HTTP/1.1 403 Forbidden\r\n\r\nthis origin\nmay not", JP_CLIENT_REFUSED, "403 Forbidden: this origin"},
      {"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", JP_CLIENT_REFUSED, "404 Not Found"},
      {"SSH-2.0-OpenSSH\r\n", JP_CLIENT_PROTOCOL, "no HTTP/1.1 server"},
      {"HTTP/1.0 101 Switching\r\n\r\n", JP_CLIENT_PROTOCOL, "no HTTP/1.1 server"},
      {"HTTP/1.1 1O1 X\r\n" WS_FIELDS "Sec-WebSocket-Accept: " ACCEPT "\r\n\r\n", JP_CLIENT_REFUSED, "1O1 X"},
      {"HTTP/1.1 1011 X\r\n" WS_FIELDS "Sec-WebSocket-Accept: " ACCEPT "\r\n\r\n", JP_CLIENT_REFUSED,
       "1011 X"},
      {HEAD "\r\n", JP_CLIENT_PROTOCOL, "none of a WebSocket"},
      {HEAD WS_FIELDS "\r\n", JP_CLIENT_PROTOCOL, "none of a WebSocket"},
      {HEAD WS_FIELDS "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOO=\r\n\r\n", JP_CLIENT_PROTOCOL,
       "none of"},
      {HEAD "Sec-WebSocket-Accept: " ACCEPT "\r\n\r\n", JP_CLIENT_PROTOCOL, "none of a WebSocket"},
      {HEAD WS_FIELDS "Sec-WebSocket-Accept: " ACCEPT "\r\nSec-WebSocket-Accept: " ACCEPT "\r\n\r\n",
       JP_CLIENT_PROTOCOL, "none of a WebSocket"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct jp_client_error error;
    size_t length;
    enum jp_client_status status = read_response(cases[i].response, &length, &error);
    if (status != cases[i].status || strstr(error.text, cases[i].words) == NULL)
      fail_msg("%s: %d %s", cases[i].response, status, error.text);
    assert_null(strpbrk(error.text, "\r\n"));
  }
}

UNIT_TEST(test_endless_head)
{
  static char response[UPGRADE_RESPONSE_MAX + 100];
  size_t length;
  memset(response, 'a', sizeof response);
  memcpy(response, HEAD, sizeof HEAD - 1);
  struct text epoch;
  assert_int_equal(
      websocket_read_response((struct text){response, sizeof response}, KEY, &length, &epoch, NULL),
      JP_CLIENT_PROTOCOL);
}

UNIT_MAIN

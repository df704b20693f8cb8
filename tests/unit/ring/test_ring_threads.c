/* Two threads on one mapping, which sleep until a notification. A lost notification makes the test fail. TSan
 * reports a race if the positions do not order the accesses to the bytes. */
#include "tests/unit/await.h"
#include "tests/unit/ring/pair.h"

#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

enum { MESSAGES = 6000, MESSAGE_MAX = 3000 };

struct side {
  struct ring_writer *out;
  struct ring_reader *in;
  int socket;
  struct buffer rest; /* bytes for which the ring has no room yet */
  size_t sent;        /* of rest */
};

static void notify(int socket)
{
  char byte = 0;
  (void)!send(socket, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void await_notification(int socket)
{
  char bytes[64];
  const int64_t since_ms = clock_now_ms();
  while (recv(socket, bytes, sizeof bytes, MSG_DONTWAIT) <= 0) {
    struct pollfd polled = {.fd = socket, .events = POLLIN};
    AWAIT_CHECK(since_ms, "a notification");
    (void)poll(&polled, 1, 1000);
  }
}

static void send_rest(struct side *side)
{
  side->sent += ring_write(side->out, side->rest.data + side->sent, side->rest.len - side->sent);
  if (side->sent == side->rest.len) {
    buffer_clear(&side->rest);
    side->sent = 0;
  }
  if (ring_writer_publish(side->out))
    notify(side->socket);
}

/* Sleeps until there is more to read, or room for the rest. polls: how often it polls first. */
static void wait_for_more(struct side *side, unsigned polls)
{
  for (unsigned i = 0; i < polls; i++) {
    if (ring_reader_poll(side->in))
      return;
  }
  bool sleeps = ring_reader_sleep(side->in);
  if (sleeps && side->rest.len > 0)
    sleeps = ring_writer_await_room(side->out);
  if (sleeps)
    await_notification(side->socket);
  ring_reader_wake(side->in);
  ring_writer_wake(side->out);
}

/* Reads one message; false if it has not arrived as a whole. *length and *have keep the state of an
 * incomplete message between calls. */
static bool receive(struct side *side, char *into, size_t *length, size_t *have)
{
  uint32_t kind;
  ring_reader_poll(side->in);
  if (*length == SIZE_MAX) {
    enum ring_found found;
    while ((found = ring_read_head(side->in, &kind, length)) == RING_SKIPPED)
      continue;
    assert_int_not_equal(found, RING_BROKEN);
    if (found == RING_NOTHING) {
      *length = SIZE_MAX;
      return false;
    }
    assert_int_equal(kind, RING_JSON);
    assert_true(*length <= MESSAGE_MAX);
    *have = 0;
  }
  *have += ring_read(side->in, into + *have, *length - *have);
  return *have == *length;
}

static void publish_read(struct side *side)
{
  if (ring_reader_publish(side->in))
    notify(side->socket);
}

static size_t length_of(unsigned number)
{
  return number % 50 == 0 ? MESSAGE_MAX - number % 7 : number * 31 % 120;
}

static void check(const char *bytes, size_t length, unsigned number)
{
  assert_int_equal(length, length_of(number));
  for (size_t i = 0; i < length; i++)
    assert_int_equal((unsigned char)bytes[i], (unsigned char)(number + i));
}

static void *echo(void *argument)
{
  struct side *side = argument;
  char bytes[MESSAGE_MAX];
  for (unsigned number = 0; number < MESSAGES; number++) {
    size_t length = SIZE_MAX;
    size_t have = 0;
    while (!receive(side, bytes, &length, &have)) {
      publish_read(side);
      send_rest(side);
      wait_for_more(side, number % 3 * 50);
    }
    publish_read(side);
    check(bytes, length, number);
    ring_append_frame(&side->rest, RING_JSON, (struct text){bytes, length});
    send_rest(side);
  }
  while (side->rest.len > 0) {
    send_rest(side);
    if (side->rest.len > 0)
      wait_for_more(side, 0);
  }
  return NULL;
}

static void send_all(struct side *side, unsigned window)
{
  char bytes[MESSAGE_MAX];
  char got[MESSAGE_MAX];
  unsigned sent = 0;
  size_t length = SIZE_MAX;
  size_t have = 0;
  for (unsigned received = 0; received < MESSAGES;) {
    while (sent < MESSAGES && sent < received + window) {
      size_t size = length_of(sent);
      for (size_t i = 0; i < size; i++)
        bytes[i] = (char)(sent + i);
      ring_append_frame(&side->rest, RING_JSON, (struct text){bytes, size});
      sent++;
    }
    send_rest(side);
    if (receive(side, got, &length, &have)) {
      check(got, length, received++);
      length = SIZE_MAX;
      publish_read(side);
    } else {
      publish_read(side);
      wait_for_more(side, received % 5 * 40);
    }
  }
}

static void run(size_t ring_size, unsigned window)
{
  struct pair pair;
  int sockets[2];
  pair_open(&pair, ring_size);
  /* One mapping for both sides: TSan compares addresses. */
  ring_region_open_client(&pair.peer_region, &pair.client_out, &pair.client_in);
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
  struct side peer = {.out = &pair.peer_out, .in = &pair.peer_in, .socket = sockets[0]};
  struct side client = {.out = &pair.client_out, .in = &pair.client_in, .socket = sockets[1]};
  buffer_init(&peer.rest);
  buffer_init(&client.rest);
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, echo, &peer), 0);
  send_all(&client, window);
  pthread_join(thread, NULL);
  buffer_fini(&peer.rest);
  buffer_fini(&client.rest);
  close(sockets[0]);
  close(sockets[1]);
  pair_close(&pair);
}

UNIT_TEST(no_notification_is_lost_one_at_a_time)
{
  run(RING_SIZE_MIN, 1);
}

UNIT_TEST(no_notification_is_lost_with_many_in_flight)
{
  run(RING_SIZE_MIN, 400);
  run(16 * RING_SIZE_STEP, 64);
}

UNIT_MAIN

/*
 * A client's side of the peer's shared memory, written only from docs/shared-memory.md: it shares no code
 * with native/ring. tests/support/shm.py loads it. It can also write any byte of the pages, as a hostile
 * client does.
 *
 * A handle belongs to one thread. Sizes and offsets are bytes; offsets count from the beginning of the region.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define EXPORTED __attribute__((visibility("default")))

enum { CONTROL_BYTES = 4096, POLLS = 20, PAYLOAD_MAX = 1 << 28 };
enum { KIND_JSON = 1, KIND_SKIP = 2, KIND_JSON_PART = 3, KIND_END = 4 };
/* Places of the control page. */
enum {
  OWN_WRITTEN = 128,
  OWN_SLEEPS = 136,
  OWN_WANTS_ROOM = 140,
  OWN_TAKEN = 256,
  PEER_WRITTEN = 384,
  PEER_SLEEPS = 392,
  PEER_WANTS_ROOM = 396,
  PEER_TAKEN = 512,
};
/* Results of functions that fail. */
enum { TIMED_OUT = -1, CLOSED = -2, BROKEN = -3, ENDED = -4, NO_MEMORY = -5 };

struct raw_shm {
  char *pages;
  uint64_t ring_bytes;
  int socket;
  uint64_t written;
  uint64_t taken;
  uint32_t sleep_number;
  uint32_t notified_for_bytes; /* the peer's sleep word at the last move */
  uint32_t notified_for_room;
  bool has_closed;
  char *message;
  size_t count;
  size_t room;
};

/* ---- words and bytes ---- */

static _Atomic uint64_t *word64(struct raw_shm *shm, uint64_t at)
{
  return (_Atomic uint64_t *)(void *)(shm->pages + at);
}

static _Atomic uint32_t *word32(struct raw_shm *shm, uint64_t at)
{
  return (_Atomic uint32_t *)(void *)(shm->pages + at);
}

EXPORTED uint64_t raw_shm_load64(struct raw_shm *shm, uint64_t at)
{
  return atomic_load(word64(shm, at));
}

EXPORTED void raw_shm_store64(struct raw_shm *shm, uint64_t at, uint64_t value)
{
  atomic_store(word64(shm, at), value);
}

EXPORTED uint32_t raw_shm_load32(struct raw_shm *shm, uint64_t at)
{
  return atomic_load(word32(shm, at));
}

EXPORTED void raw_shm_store32(struct raw_shm *shm, uint64_t at, uint32_t value)
{
  atomic_store(word32(shm, at), value);
}

EXPORTED void raw_shm_write(struct raw_shm *shm, uint64_t at, const char *bytes, uint64_t count)
{
  memcpy(shm->pages + at, bytes, count);
}

EXPORTED void raw_shm_read(struct raw_shm *shm, uint64_t at, char *bytes, uint64_t count)
{
  memcpy(bytes, shm->pages + at, count);
}

/* Writes two bytes alternately, `times` times; the first byte is written last. */
EXPORTED void raw_shm_flip(struct raw_shm *shm, uint64_t at, unsigned char one, unsigned char other,
                           uint64_t times)
{
  _Atomic unsigned char *byte = (_Atomic unsigned char *)(shm->pages + at);
  for (uint64_t i = 0; i < times; i++) {
    atomic_store_explicit(byte, other, memory_order_relaxed);
    atomic_store_explicit(byte, one, memory_order_relaxed);
  }
}

/* Finds the byte at a position in the ring to the peer. */
EXPORTED uint64_t raw_shm_place(struct raw_shm *shm, uint64_t position)
{
  return CONTROL_BYTES + position % shm->ring_bytes;
}

EXPORTED uint64_t raw_shm_written(struct raw_shm *shm)
{
  return shm->written;
}

EXPORTED uint64_t raw_shm_taken(struct raw_shm *shm)
{
  return shm->taken;
}

/* ---- notifications ---- */

EXPORTED void raw_shm_notify(struct raw_shm *shm)
{
  /* If the socket has no room, it has unread notifications already. If the peer has ended, the next read
   * reports this. */
  (void)!send(shm->socket, "!", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void notify_sleeper(struct raw_shm *shm, uint64_t sleeps_at, uint32_t *notified)
{
  uint32_t number = raw_shm_load32(shm, sleeps_at);
  if (number != 0 && number != *notified)
    raw_shm_notify(shm);
  *notified = number;
}

/* Reads all notifications; false if the peer has closed. */
static bool read_notifications(struct raw_shm *shm)
{
  char bytes[64];
  ssize_t count;
  do
    count = recv(shm->socket, bytes, sizeof bytes, MSG_DONTWAIT);
  while (count > 0);
  return count < 0 && (errno == EAGAIN || errno == EINTR);
}

/* Waits until the peer's position differs from the known position. It sleeps until a notification or a
 * timeout; the timeout is long for a test, so a test that reaches it has lost a notification. 0, or TIMED_OUT
 * or CLOSED. */
static int await_move(struct raw_shm *shm, uint64_t at, uint64_t sleeps_at, uint64_t known, int timeout_ms)
{
  for (int i = 0; i < POLLS; i++) {
    if (raw_shm_load64(shm, at) != known)
      return 0;
    sched_yield();
  }
  for (;;) {
    if (++shm->sleep_number == 0)
      shm->sleep_number = 1;
    raw_shm_store32(shm, sleeps_at, shm->sleep_number);
    bool has_moved = raw_shm_load64(shm, at) != known;
    struct pollfd polled = {.fd = shm->socket, .events = POLLIN};
    int ready = has_moved ? 1 : shm->has_closed ? 0 : poll(&polled, 1, timeout_ms);
    raw_shm_store32(shm, sleeps_at, 0);
    if (has_moved)
      return 0;
    if (shm->has_closed)
      return CLOSED;
    if (ready == 0)
      return TIMED_OUT;
    /* Bytes written before the end count: poll once more. */
    shm->has_closed = !read_notifications(shm);
  }
}

/* ---- writing ---- */

static void copy_in(struct raw_shm *shm, const char *bytes, uint64_t count)
{
  uint64_t offset = shm->written % shm->ring_bytes;
  uint64_t first = count < shm->ring_bytes - offset ? count : shm->ring_bytes - offset;
  if (first > 0)
    memcpy(shm->pages + CONTROL_BYTES + offset, bytes, first);
  if (count > first)
    memcpy(shm->pages + CONTROL_BYTES, bytes + first, count - first);
  shm->written += count;
}

EXPORTED void raw_shm_publish(struct raw_shm *shm)
{
  raw_shm_store64(shm, OWN_WRITTEN, shm->written);
  notify_sleeper(shm, PEER_SLEEPS, &shm->notified_for_bytes);
}

/* Writes the bytes as room becomes free. */
static int write_bytes(struct raw_shm *shm, const char *bytes, uint64_t count, int timeout_ms)
{
  while (count > 0) {
    uint64_t taken = raw_shm_load64(shm, PEER_TAKEN);
    uint64_t room = shm->ring_bytes - (shm->written - taken);
    if (room > shm->ring_bytes)
      return BROKEN;
    if (room == 0) {
      raw_shm_publish(shm);
      int waited = await_move(shm, PEER_TAKEN, OWN_WANTS_ROOM, taken, timeout_ms);
      if (waited != 0)
        return waited;
      continue;
    }
    uint64_t part = count < room ? count : room;
    copy_in(shm, bytes, part);
    bytes += part;
    count -= part;
  }
  return 0;
}

/* Writes a frame without publishing it, unless the ring is full. 0, or TIMED_OUT, CLOSED or BROKEN. */
EXPORTED int raw_shm_put(struct raw_shm *shm, uint32_t kind, const char *bytes, uint64_t count,
                         int timeout_ms)
{
  uint32_t head[2] = {(uint32_t)count, kind};
  int status = write_bytes(shm, (const char *)head, sizeof head, timeout_ms);
  if (status == 0)
    status = write_bytes(shm, bytes, count, timeout_ms);
  if (status == 0)
    status = write_bytes(shm, "\0\0\0\0\0\0\0", (8 - count % 8) % 8, timeout_ms);
  return status;
}

EXPORTED int raw_shm_send(struct raw_shm *shm, const char *bytes, uint64_t count, int timeout_ms)
{
  int status = raw_shm_put(shm, KIND_JSON, bytes, count, timeout_ms);
  raw_shm_publish(shm);
  return status;
}

/* ---- reading ---- */

static void copy_out(struct raw_shm *shm, char *bytes, uint64_t count)
{
  const char *ring = shm->pages + CONTROL_BYTES + shm->ring_bytes;
  uint64_t offset = shm->taken % shm->ring_bytes;
  uint64_t first = count < shm->ring_bytes - offset ? count : shm->ring_bytes - offset;
  if (first > 0)
    memcpy(bytes, ring + offset, first);
  if (count > first)
    memcpy(bytes + first, ring, count - first);
}

static void consume(struct raw_shm *shm, uint64_t count)
{
  shm->taken += count;
  raw_shm_store64(shm, OWN_TAKEN, shm->taken);
  notify_sleeper(shm, PEER_WANTS_ROOM, &shm->notified_for_room);
}

/* Reads bytes as they arrive; NULL: skips them. */
static int read_bytes(struct raw_shm *shm, char *bytes, uint64_t count, int timeout_ms)
{
  while (count > 0) {
    uint64_t written = raw_shm_load64(shm, PEER_WRITTEN);
    uint64_t there = written - shm->taken;
    if (there > shm->ring_bytes)
      return BROKEN;
    if (there == 0) {
      int waited = await_move(shm, PEER_WRITTEN, OWN_SLEEPS, written, timeout_ms);
      if (waited != 0)
        return waited;
      continue;
    }
    uint64_t part = count < there ? count : there;
    if (bytes != NULL) {
      copy_out(shm, bytes, part);
      bytes += part;
    }
    consume(shm, part);
    count -= part;
  }
  return 0;
}

static bool make_room(struct raw_shm *shm, size_t count)
{
  if (shm->room - shm->count >= count)
    return true;
  size_t room = (shm->count + count) * 2;
  char *message = realloc(shm->message, room);
  if (message == NULL)
    return false;
  shm->message = message;
  shm->room = room;
  return true;
}

static int read_payload(struct raw_shm *shm, uint32_t length, int timeout_ms)
{
  if (!make_room(shm, (size_t)length + 1))
    return NO_MEMORY;
  int status = read_bytes(shm, shm->message + shm->count, length, timeout_ms);
  if (status == 0)
    status = read_bytes(shm, NULL, (8 - length % 8) % 8, timeout_ms);
  if (status == 0)
    shm->count += length;
  return status;
}

/* Receives a message into *message, *count bytes, valid until the next call. 0; ENDED if it is the peer's reason for
 * the end of the connection; or TIMED_OUT, CLOSED, BROKEN, NO_MEMORY. */
EXPORTED int raw_shm_receive(struct raw_shm *shm, const char **message, uint64_t *count, int timeout_ms)
{
  uint32_t head[2];
  shm->count = 0;
  do {
    int status = read_bytes(shm, (char *)head, sizeof head, timeout_ms);
    if (status != 0)
      return status;
    if (head[1] < KIND_JSON || head[1] > KIND_END || (head[1] != KIND_SKIP && head[0] > PAYLOAD_MAX))
      return BROKEN;
    status = head[1] == KIND_SKIP ? read_bytes(shm, NULL, ((uint64_t)head[0] + 7) / 8 * 8, timeout_ms)
                                  : read_payload(shm, head[0], timeout_ms);
    if (status != 0)
      return status;
  } while (head[1] == KIND_SKIP || head[1] == KIND_JSON_PART);
  *message = shm->message;
  *count = shm->count;
  return head[1] == KIND_END ? ENDED : 0;
}

/* ---- the handle ---- */

EXPORTED void raw_shm_close(struct raw_shm *shm)
{
  if (shm == NULL)
    return;
  munmap(shm->pages, CONTROL_BYTES + 2 * shm->ring_bytes);
  free(shm->message);
  free(shm);
}

/* The caller still owns both descriptors; memfd may be closed afterwards. NULL: failed, see errno. */
EXPORTED struct raw_shm *raw_shm_open(int memfd, int socket, uint64_t ring_bytes)
{
  struct raw_shm *shm = calloc(1, sizeof *shm);
  if (shm == NULL)
    return NULL;
  void *pages = mmap(NULL, CONTROL_BYTES + 2 * ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
  if (pages == MAP_FAILED) {
    free(shm);
    return NULL;
  }
  shm->pages = pages;
  shm->ring_bytes = ring_bytes;
  shm->socket = socket;
  return shm;
}

#include "ring/ring.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A writer that wants to go back to the home polls `taken` at most once while it writes this many bytes. The
 * poll is slow, because it reads a cache line that the other side writes all the time. */
enum { HOME_POLL_EVERY = 1024 };

/* Lines of a small frame, which are prefetched from the other side's cache together. */
enum { CACHE_LINE = 64, FETCHED_LINES = 4 };

/* Prefetches the lines that this side reads next. */
static void fetch_to_read(const struct ring_reader *reader)
{
  size_t available = (size_t)(reader->written - reader->position);
  size_t left = reader->size - reader->offset;
  size_t end = available < left ? available : left;
  for (size_t i = 0; i < FETCHED_LINES && i * CACHE_LINE < end; i++)
    __builtin_prefetch(reader->bytes + reader->offset + i * CACHE_LINE, 0);
}

static inline void fetch_line_to_write(char *line)
{
#if defined(__x86_64__)
  __asm__ volatile("prefetchw %0" : : "m"(*line));
#else
  __builtin_prefetch(line, 1);
#endif
}

void ring_writer_prepare(const struct ring_writer *writer)
{
  fetch_line_to_write(writer->bytes + writer->offset);
}

/* Prefetches the lines that this side writes next, but not the line that the other side is about to read. */
static void fetch_to_write(const struct ring_writer *writer)
{
  size_t offset = writer->offset / CACHE_LINE * CACHE_LINE + CACHE_LINE;
  for (size_t i = 0; i < FETCHED_LINES - 1 && offset < writer->size; i++, offset += CACHE_LINE)
    fetch_line_to_write(writer->bytes + offset);
}

static size_t count_padding(size_t length)
{
  return (8 - length % 8) % 8;
}

static uint64_t make_head(enum ring_kind kind, size_t length)
{
  return (uint64_t)kind << 32 | (uint32_t)length;
}

/* --- writing --- */

void ring_append_frame(struct buffer *out, enum ring_kind kind, struct text payload)
{
  static const char zeros[8] = {0};
  uint64_t head = make_head(kind, payload.len);
  buffer_append(out, &head, sizeof head);
  buffer_append_text(out, payload);
  buffer_append(out, zeros, count_padding(payload.len));
}

size_t ring_begin_frame(struct buffer *out)
{
  size_t begin = out->len;
  if (buffer_reserve(out, RING_HEAD_SIZE) != NULL)
    out->len += RING_HEAD_SIZE;
  return begin;
}

void ring_end_frame(struct buffer *out, size_t begin, enum ring_kind kind)
{
  static const char zeros[8] = {0};
  if (out->failed)
    return;
  size_t length = out->len - begin - RING_HEAD_SIZE;
  if (length > UINT32_MAX) {
    out->failed = true;
    return;
  }
  uint64_t head = make_head(kind, length);
  memcpy(out->data + begin, &head, sizeof head);
  buffer_append(out, zeros, count_padding(length));
}

/* The ring is broken if the other side has read less than before, or more than was published. */
static void poll_taken(struct ring_writer *writer)
{
  uint64_t taken = ring_poll_position(&writer->other->taken);
  if (taken - writer->taken > writer->published - writer->taken)
    writer->is_broken = true;
  else
    writer->taken = taken;
}

static size_t count_room(const struct ring_writer *writer)
{
  return writer->is_broken ? 0 : writer->size - (size_t)(writer->position - writer->taken);
}

bool ring_writer_is_empty(struct ring_writer *writer)
{
  if (writer->taken != writer->position)
    poll_taken(writer);
  return !writer->is_broken && writer->taken == writer->position;
}

static void advance_writer(struct ring_writer *writer, size_t count)
{
  writer->position += count;
  writer->offset += count;
  if (writer->offset > writer->reach)
    writer->reach = writer->offset;
  if (writer->offset == writer->size)
    writer->offset = 0;
}

/* The ring must have room for the bytes. */
static void copy_into_ring(struct ring_writer *writer, const char *bytes, size_t count)
{
  size_t to_end = writer->size - writer->offset;
  size_t first = count < to_end ? count : to_end;
  if (first > 0) {
    memcpy(writer->bytes + writer->offset, bytes, first);
    advance_writer(writer, first);
  }
  if (count > first) {
    memcpy(writer->bytes, bytes + first, count - first);
    advance_writer(writer, count - first);
  }
}

static size_t write_some(struct ring_writer *writer, const char *bytes, size_t count)
{
  if (count > count_room(writer))
    poll_taken(writer);
  size_t room = count_room(writer);
  if (count > room)
    count = room;
  copy_into_ring(writer, bytes, count);
  return count;
}

/* True if the writer may go back to the home (ring/ring.h): the home has room for the frame even while the
 * skipped part and all bytes in flight are unread. The frame then does not wait longer because of the
 * skip. */
static bool is_home_free(const struct ring_writer *writer, size_t frame_size)
{
  size_t in_flight = (size_t)(writer->position - writer->taken);
  return in_flight <= writer->offset / 2 && frame_size <= writer->offset - in_flight;
}

static void go_home(struct ring_writer *writer, size_t frame_size)
{
  if (writer->offset + frame_size + RING_HEAD_SIZE <= RING_HOME || frame_size > writer->offset)
    return;
  if (writer->position - writer->home_poll_at > UINT64_MAX / 2)
    return;
  if (!is_home_free(writer, frame_size)) {
    poll_taken(writer);
    writer->home_poll_at = writer->position + HOME_POLL_EVERY;
  }
  if (writer->is_broken || !is_home_free(writer, frame_size))
    return;
  size_t skipped = writer->size - writer->offset - RING_HEAD_SIZE;
  uint64_t head = make_head(RING_SKIP, skipped);
  copy_into_ring(writer, (const char *)&head, sizeof head);
  size_t reach = writer->reach;
  if (skipped > 0)
    advance_writer(writer, skipped);
  writer->reach = reach; /* nothing was written above `reach` */
  writer->home_poll_at = writer->position;
}

size_t ring_write(struct ring_writer *writer, const char *bytes, size_t count)
{
  size_t done = 0;
  while (done < count) {
    if (writer->left == 0) {
      uint64_t head;
      memcpy(&head, bytes + done, sizeof head);
      writer->left = ring_frame_size((uint32_t)head);
      go_home(writer, writer->left);
    }
    size_t part = writer->left < count - done ? writer->left : count - done;
    size_t written = write_some(writer, bytes + done, part);
    writer->left -= written;
    done += written;
    if (written < part)
      break;
  }
  return done;
}

/* Continues the current frame. True: all bytes were written into the ring. */
static bool write_part(struct ring_writer *writer, const char *bytes, size_t count, struct buffer *rest)
{
  size_t written = write_some(writer, bytes, count);
  writer->left -= written;
  buffer_append(rest, bytes + written, count - written);
  return written == count;
}

/* The same as write_part, but publishes each piece, so that the other side reads a piece while the next piece
 * is written. */
static bool write_pieces(struct ring_writer *writer, struct text payload,
                         const struct ring_notifier *notifier, struct buffer *rest)
{
  while (payload.len > RING_PIECE) {
    size_t written = write_some(writer, payload.data, RING_PIECE);
    writer->left -= written;
    payload = text_slice(payload, written, payload.len);
    if (ring_writer_publish(writer))
      notifier->notify(notifier->context);
    if (written < RING_PIECE)
      break;
  }
  return write_part(writer, payload.data, payload.len, rest);
}

/* Writes a whole frame by one copy, if possible. False: the frame wraps around the end of the ring, is
 * published in pieces, or must wait for room. The padding is written as part of the last word, which may also
 * have the end of the payload, or the head. */
static bool write_at_once(struct ring_writer *writer, uint64_t head, struct text payload)
{
  const uint64_t last = 0;
  size_t size = ring_frame_size(payload.len);
  if (payload.len > RING_PIECE || size > writer->size - writer->offset || size > count_room(writer))
    return false;
  char *frame = writer->bytes + writer->offset;
  memcpy(frame + size - sizeof last, &last, sizeof last);
  memcpy(frame, &head, sizeof head);
  if (payload.len > 0)
    memcpy(frame + sizeof head, payload.data, payload.len);
  advance_writer(writer, size);
  return true;
}

void ring_write_frame(struct ring_writer *writer, enum ring_kind kind, struct text payload,
                      const struct ring_notifier *notifier, struct buffer *rest)
{
  static const char zeros[8] = {0};
  uint64_t head = make_head(kind, payload.len);
  size_t padding = count_padding(payload.len);
  go_home(writer, ring_frame_size(payload.len));
  if (write_at_once(writer, head, payload))
    return;
  writer->left = ring_frame_size(payload.len);
  if (!write_part(writer, (const char *)&head, sizeof head, rest)) {
    buffer_append_text(rest, payload);
    buffer_append(rest, zeros, padding);
  } else if (!write_pieces(writer, payload, notifier, rest)) {
    buffer_append(rest, zeros, padding);
  } else {
    write_part(writer, zeros, padding, rest);
  }
}

bool ring_writer_publish(struct ring_writer *writer)
{
  if (writer->published == writer->position)
    return false;
  writer->published = writer->position;
  bool must_notify =
      ring_move_position(&writer->mine->written, writer->position, &writer->other->sleeps, &writer->notified);
  fetch_to_write(writer);
  return must_notify;
}

bool ring_writer_await_room(struct ring_writer *writer)
{
  if (writer->is_broken || count_room(writer) > 0)
    return false;
  uint64_t taken = ring_begin_sleep(&writer->other->taken, &writer->mine->wants_room, &writer->waits);
  if (taken == writer->taken)
    return true;
  ring_writer_wake(writer);
  return false;
}

void ring_writer_wake(struct ring_writer *writer)
{
  ring_end_sleep(&writer->mine->wants_room);
}

bool ring_writer_release_pages(struct ring_writer *writer)
{
  if (!ring_writer_is_empty(writer))
    return false;
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  size_t begin = ((uintptr_t)(writer->bytes + RING_HOME) + page - 1) / page * page - (uintptr_t)writer->bytes;
  size_t end = ((uintptr_t)(writer->bytes + writer->size)) / page * page - (uintptr_t)writer->bytes;
  /* The system may refuse to release the pages. Nothing depends on their release. */
  if (begin < end && begin < writer->reach)
    (void)madvise(writer->bytes + begin, end - begin, MADV_REMOVE);
  writer->reach = 0;
  return true;
}

/* --- reading --- */

bool ring_reader_poll(struct ring_reader *reader)
{
  return ring_reader_poll_within(reader, reader->size);
}

bool ring_reader_poll_within(struct ring_reader *reader, size_t most)
{
  uint64_t written = ring_poll_position(&reader->other->written);
  if (reader->is_broken || written == reader->written)
    return false;
  /* The position may only grow, and must be within the ring. */
  uint64_t available = written - reader->position;
  uint64_t before = reader->written - reader->position;
  if (available > reader->size || available < before) {
    reader->is_broken = true;
    return false;
  }
  if (available > most)
    available = before > most ? before : most;
  if (available == before)
    return false;
  reader->written = reader->position + available;
  fetch_to_read(reader);
  return true;
}

static void advance_reader(struct ring_reader *reader, size_t count)
{
  reader->position += count;
  reader->offset += count;
  if (reader->offset >= reader->size)
    reader->offset -= reader->size;
}

/* Consumes the padding together with the payload. Otherwise the writer would not see an empty ring. */
static void consume_padding(struct ring_reader *reader)
{
  if (ring_reader_available(reader) < reader->padding)
    return;
  advance_reader(reader, reader->padding);
  reader->padding = 0;
}

/* A skip frame is published as a whole, but at the last poll only a part of it may have been visible. */
static enum ring_found skip_frame(struct ring_reader *reader, size_t length)
{
  size_t size = ring_frame_size(length);
  if (size > ring_reader_available(reader))
    (void)ring_reader_poll(reader);
  if (size > ring_reader_available(reader)) {
    reader->is_broken = true;
    return RING_BROKEN;
  }
  advance_reader(reader, size);
  return RING_SKIPPED;
}

enum ring_found ring_read_head(struct ring_reader *reader, uint32_t *kind, size_t *length)
{
  if (reader->is_broken)
    return RING_BROKEN;
  if (reader->padding > 0)
    consume_padding(reader);
  if (ring_reader_available(reader) < reader->padding + RING_HEAD_SIZE)
    return RING_NOTHING;
  ring_position *word = (ring_position *)(void *)(reader->bytes + reader->offset);
  uint64_t head = RING_LOAD(word, RING_RELAXED); /* one load: the other side may change it */
  *kind = (uint32_t)(head >> 32);
  *length = (uint32_t)head;
  if (*kind == RING_SKIP)
    return skip_frame(reader, *length);
  advance_reader(reader, RING_HEAD_SIZE);
  reader->left = *length;
  reader->padding = count_padding(*length);
  return RING_FRAME;
}

size_t ring_read(struct ring_reader *reader, char *into, size_t count)
{
  uint64_t available = ring_reader_available(reader);
  if (count > reader->left)
    count = reader->left;
  if (count > available)
    count = (size_t)available;
  size_t to_end = reader->size - reader->offset;
  size_t first = count < to_end ? count : to_end;
  if (first > 0)
    memcpy(into, reader->bytes + reader->offset, first);
  if (count > first)
    memcpy(into + first, reader->bytes, count - first);
  advance_reader(reader, count);
  reader->left -= count;
  if (reader->left == 0)
    consume_padding(reader);
  return count;
}

bool ring_reader_publish(struct ring_reader *reader)
{
  if (reader->published == reader->position)
    return false;
  reader->published = reader->position;
  return ring_move_position(&reader->mine->taken, reader->position, &reader->other->wants_room,
                            &reader->notified);
}

bool ring_reader_sleep(struct ring_reader *reader)
{
  if (reader->is_broken)
    return false;
  uint64_t written = ring_begin_sleep(&reader->other->written, &reader->mine->sleeps, &reader->sleeps);
  if (written == reader->written)
    return true;
  ring_reader_wake(reader);
  return false;
}

void ring_reader_wake(struct ring_reader *reader)
{
  ring_end_sleep(&reader->mine->sleeps);
}

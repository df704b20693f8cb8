#ifndef JPEER_RING_RING_H
#define JPEER_RING_RING_H
/*
 * Two rings of bytes in memory that a peer and a client share (ring/region.h). One ring leads to the peer and
 * the other ring to the client. Each ring has one writer and one reader. Messages are sent as frames. This
 * module uses no socket: if a function returns that the other side must be notified, the caller notifies the
 * other side.
 *
 * Nothing that the other side writes is trusted. A side keeps its own positions in private memory. Each poll
 * reads the other side's position once and checks it against this side's own positions. A frame's head is
 * read once. A payload is copied before it is parsed, because the other side can change a payload in the
 * ring. After a wrong position or frame, the ring is `is_broken` for ever, and its functions find and consume
 * nothing.
 *
 * Layout of the memory: a control page, the ring to the peer, the ring to the client. Positions count bytes
 * and only grow. A frame is a head of 8 bytes (uint32 length, uint32 kind; the machine's byte order, which is
 * little-endian everywhere), the payload, and zeros up to a multiple of 8, so that a head never crosses the
 * end of the ring. A frame that is longer than the ring is written and read in pieces.
 *
 * Home: the first RING_HOME bytes of a ring. If only a few bytes are in flight, a writer does not leave the
 * home: it writes a skip frame over the rest of the ring and continues at the beginning. This way a
 * connection with small messages touches few pages. ring_writer_release_pages releases the pages that larger
 * messages have touched.
 *
 * A writer or a reader belongs to one thread at a time.
 */
#include "base/buffer.h"
#include "ring/ring_notification.h"

#include <stdalign.h>
#include <stddef.h>

enum { RING_CONTROL_SIZE = 4096, RING_HOME = 8192, RING_LINE = 128, RING_HEAD_SIZE = 8 };
enum { RING_SIZE_MIN = 4096, RING_SIZE_MAX = 1 << 30, RING_SIZE_STEP = 4096 };
enum { RING_PIECE = 64 * 1024 }; /* bytes of a long message that are published at once */
enum { RING_VERSION = 1 };
#define RING_MAGIC UINT64_C(0x6d687372656570a6) /* bytes a6 "peershm" */

enum ring_kind {
  RING_JSON = 1,      /* a JSON message, or the last part of a message that began with RING_JSON_PART */
  RING_SKIP = 2,      /* skipped; published as a whole */
  RING_JSON_PART = 3, /* a part of a message that continues in the next frame; sent only by the peer */
  RING_END = 4        /* the last frame: a text that says why the connection ends; sent only by the peer */
};

/* The words in shared memory that one side writes and the other side reads. `taken` has a line of its own: it
 * changes with each message, and the other side rarely reads it. */
struct ring_side {
  alignas(RING_LINE) ring_position written; /* how far this side has written its ring */
  /* the number of a sleep in which this side waits for the other side's `written` */
  ring_word sleeps;
  /* the number of a sleep in which this side waits for the other side's `taken` */
  ring_word wants_room;
  /* a hint: 1 + the processor on which this side ran last; 0: unknown */
  ring_word processor;
  alignas(RING_LINE) ring_position taken; /* how far this side has read the other side's ring */
};

/* The control page. The peer writes the first line, once. */
struct ring_control {
  uint64_t magic;
  uint32_t version;
  uint32_t reserved;
  uint64_t ring_size;
  struct ring_side client; /* at 128; `taken` at 256 */
  struct ring_side peer;   /* at 384; `taken` at 512 */
};

_Static_assert(sizeof(struct ring_side) == 256, "the shape of the control page is fixed");
_Static_assert(offsetof(struct ring_control, peer) == 384, "the shape of the control page is fixed");

/* The writing end of a ring, in the private memory of the side that writes. */
struct ring_writer {
  char *bytes;
  size_t size;
  struct ring_side *mine;
  struct ring_side *other;
  uint64_t position;     /* written so far */
  size_t offset;         /* the offset of `position` in the ring */
  uint64_t published;    /* the position that was published last */
  uint64_t taken;        /* by the other side, at the last poll */
  uint64_t home_poll_at; /* before this position `taken` is not polled to find out whether the writer can go
                          * home */
  size_t left;           /* bytes still missing of the current frame */
  size_t reach;          /* the highest offset written since pages were released */
  uint32_t notified;     /* for ring_move_position */
  uint32_t waits;        /* for ring_begin_sleep */
  bool is_broken;
};

/* The reading end of a ring, in the private memory of the side that reads. */
struct ring_reader {
  char *bytes; /* only read */
  size_t size;
  struct ring_side *mine;
  struct ring_side *other;
  uint64_t position; /* read so far */
  size_t offset;
  uint64_t published;
  uint64_t written; /* by the other side, at the last poll */
  size_t left;      /* bytes of the payload still to read */
  size_t padding;   /* after them */
  uint32_t notified;
  uint32_t sleeps;
  bool is_broken;
};

/* --- writing --- */

/* Bytes of a frame with a payload of this length. */
static inline size_t ring_frame_size(size_t length)
{
  return RING_HEAD_SIZE + (length + 7) / 8 * 8;
}
/* Appends a frame to out. payload: below 4 GiB. */
void ring_append_frame(struct buffer *out, enum ring_kind kind, struct text payload);
/* Leaves room for a head in out. The caller then appends the payload. Returns the offset of the frame. */
size_t ring_begin_frame(struct buffer *out);
/* Makes a frame of the bytes appended since ring_begin_frame returned `begin`. out becomes failed if the payload is
 * longer than a frame may be. */
void ring_end_frame(struct buffer *out, size_t begin, enum ring_kind kind);
/* Writes frames that ring_append_frame has made, as far as there is room, and returns the number of bytes
 * written. If the last call did not write all of its bytes, the next call must begin with the rest. */
size_t ring_write(struct ring_writer *writer, const char *bytes, size_t count);
/* How to notify the other side. */
struct ring_notifier {
  void (*notify)(void *context);
  void *context;
};
/* Writes a frame straight into the ring, and appends the bytes that do not fit to rest. Earlier frames must be in the
 * ring already. A payload longer than RING_PIECE is published piece by piece, with a notification if one is needed. */
void ring_write_frame(struct ring_writer *writer, enum ring_kind kind, struct text payload,
                      const struct ring_notifier *notifier, struct buffer *rest);
/* A hint for the processor: prefetches the next line to write. Call it when the other side has read all that
 * was written. */
void ring_writer_prepare(const struct ring_writer *writer);
/* Publishes this side's position, so that the other side sees all that was written. True: notify it. */
bool ring_writer_publish(struct ring_writer *writer);
/* Publishes that this side waits for room. False: there is room already, or the ring is broken; do not wait. */
bool ring_writer_await_room(struct ring_writer *writer);
void ring_writer_wake(struct ring_writer *writer);
/* True if the other side has read everything. */
bool ring_writer_is_empty(struct ring_writer *writer);
/* True if ring_writer_release_pages may have pages to release. */
static inline bool ring_writer_has_pages_to_release(const struct ring_writer *writer)
{
  return writer->reach > RING_HOME;
}
/* Releases the pages above RING_HOME if the ring is empty; false if it is not. */
bool ring_writer_release_pages(struct ring_writer *writer);

/* --- reading --- */

enum ring_found {
  RING_NOTHING, /* no whole head has arrived */
  RING_FRAME,   /* *kind and *length; the payload follows */
  RING_SKIPPED, /* it was a skip frame */
  RING_BROKEN
};

/* Reads the head of the next frame. The previous frame's payload must have been read. */
enum ring_found ring_read_head(struct ring_reader *reader, uint32_t *kind, size_t *length);
/* Copies the bytes of the payload that have arrived; their number may be 0. reader->left is the number still
 * missing. */
size_t ring_read(struct ring_reader *reader, char *into, size_t count);
/* Polls the other side's position. True if it has written more since the last poll. */
bool ring_reader_poll(struct ring_reader *reader);
/* The same as ring_reader_poll, but makes at most `most` unread bytes available. For the rest,
 * ring_reader_has_more remains true. */
bool ring_reader_poll_within(struct ring_reader *reader, size_t most);
/* True if there are more bytes than the last poll has made available. Changes nothing. */
static inline bool ring_reader_has_more(const struct ring_reader *reader)
{
  return ring_poll_position(&reader->other->written) != reader->written;
}
/* Unread bytes as of the last poll. */
static inline uint64_t ring_reader_available(const struct ring_reader *reader)
{
  return reader->is_broken ? 0 : reader->written - reader->position;
}
/* Publishes this side's position, so that the other side sees the room. True: notify it. */
bool ring_reader_publish(struct ring_reader *reader);
/* Publishes that this side sleeps. False: there is more to read already, or the ring is broken; do not sleep. */
bool ring_reader_sleep(struct ring_reader *reader);
void ring_reader_wake(struct ring_reader *reader);

/* --- hints --- */

/* processor: the result of sched_getcpu. */
static inline void ring_publish_processor(struct ring_side *mine, int processor)
{
  RING_STORE(&mine->processor, processor < 0 ? 0 : (uint32_t)processor + 1, RING_RELAXED);
}
/* Returns the processor that the other side has written, or -1 if it is unknown. The number is checked,
 * because the other side may write any number. */
static inline int ring_processor_of(struct ring_side *other)
{
  uint32_t processor = RING_LOAD(&other->processor, RING_RELAXED);
  return processor > INT32_MAX ? -1 : (int)processor - 1;
}

#endif

#ifndef JPEER_AUDIT_AUDIT_H
#define JPEER_AUDIT_AUDIT_H
/*
 * The audit (--audit): a file with a line of JSON for each operation, connection, refusal and reload, which says who did
 * what and how it ended (docs/operations.md, "The audit"). Like the log (base/log.h), the process has one.
 *
 * A line is numbered and queued when it ends (audit_line_end). audit_settle writes all queued lines by one write(2), and is
 * called before an answer leaves: so the answers of a turn cost one write. A thread waits for its own lines only: a write
 * that hangs holds up no thread that has queued none, and never the crew's watcher (audit_be_brief). Lines for which no
 * answer waits are written by a thread of the audit (audit_line_leave). Lines are in the file in the order of their numbers, which have no gap, even if the file is
 * opened anew because it was moved.
 *
 * Lines that cannot be written, because the disk is full for example, are kept, up to a MiB of them, and written first when
 * that is possible again. Further lines are lost: a line "lost" then says how many.
 *
 * Any thread, unless a comment says otherwise. No function waits for another process. The caller may hold locks, which the
 * audit never acquires.
 */
#include "base/buffer.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* What happens to operations while no line can be written. */
enum audit_on_error { AUDIT_SERVES, AUDIT_STOPS };

struct audit_config {
  const char *path; /* borrowed as long as the process */
  bool has_starts;  /* a line at the start of every call of a member */
  bool has_values;  /* lines have the values of arguments, and the messages of errors */
  enum audit_on_error on_error;
};

/* Constant after the start. */
struct audit_switches {
  bool is_on;
  bool has_starts;
  bool has_values;
};
extern struct audit_switches audit_switches;

/* Opens the file, which is made with mode 0600; an existing file gets that mode. Once, at the start. JP_INVALID: the path is
 * a pipe, a socket, a terminal, a folder or a link of another user. JP_IO. */
enum jp_status audit_open(const struct audit_config *config, struct jp_error *error) JP_MUST_CHECK;
/* Called after the file was opened anew, on the thread that writes, which holds no lock of the audit: it may write lines. */
void audit_set_reopened(void (*reopened)(void));

static inline bool audit_is_on(void)
{
  return audit_switches.is_on;
}

/* ---- a line ---- */

enum { AUDIT_TEXT_MAX = 512 }; /* bytes of a text of a client's that a line shows */

/* Begins a line with its time and this event. The caller frees the buffer by audit_line_end. Only if audit_is_on. */
void audit_line_begin(struct buffer *line, const char *event);
/* The same in a buffer of the caller's, which keeps its memory, at this time (clock_now_ns). */
void audit_line_begin_in(struct buffer *line, struct text event, int64_t now_ns);
/* Adds a member. The key is plain. Control characters and characters that cannot be seen are escaped; a text of more than
 * AUDIT_TEXT_MAX bytes is cut, with "...". A text whose data is NULL adds nothing. */
void audit_line_text(struct buffer *line, const char *key, struct text value);
/* The same for CLASS.MEMBER; member may be absent. */
void audit_line_name(struct buffer *line, const char *key, struct text class_name, struct text member);
void audit_line_number(struct buffer *line, const char *key, int64_t value);
void audit_line_true(struct buffer *line, const char *key);
/* Begins a member whose value, JSON, the caller appends. */
void audit_line_key(struct buffer *line, const char *key);
/* Appends such a value, or a part of it, with the same escapes. */
void audit_line_json(struct buffer *line, struct text value);
/* Numbers the line and queues it. Frees the buffer. Returns the number; 0: the line is lost. */
uint64_t audit_line_end(struct buffer *line);
/* The same, and leaves the buffer to its owner. */
uint64_t audit_line_queue(struct buffer *line);
/* The same as audit_line_end for a line that no answer waits for: audit_settle does not wait for it. */
uint64_t audit_line_leave(struct buffer *line);

/* Writes the line about a file that was loaded again; error NULL: it is in force. Does nothing without an audit. */
void audit_reload(const char *what, const char *path, const struct jp_error *error);

/* ---- the file ---- */

/* The number of the last line that this thread has queued by audit_line_end or audit_line_queue since it last forgot its
 * lines; 0: none. */
uint64_t audit_own_line(void);
/* At the beginning of a turn: what the thread has queued before does not matter to what follows. */
void audit_forget_lines(void);
enum audit_patience { AUDIT_PATIENT, AUDIT_BRIEF };
/* This thread waits for the file briefly at most (AUDIT_BRIEF). */
void audit_be_brief(void);
/* Returns when the line of this number is in the file, or cannot be written now. AUDIT_BRIEF: the thread of the audit
 * writes, and this one waits for some milliseconds, but once only while a write hangs; false: the line will be written
 * later. */
bool audit_settle_line(uint64_t number, enum audit_patience patience);
/* The same, without a wait. */
bool audit_has_settled(uint64_t number);
/* Returns when the lines that this thread has queued are in the file, or cannot be written now. */
static inline void audit_settle(void)
{
  if (audit_is_on())
    (void)audit_settle_line(audit_own_line(), AUDIT_PATIENT);
}
/* At the end of the process: tries to write all lines, even if that has just failed. */
void audit_finish(void);
/* False: operations must not run, because no line can be written (AUDIT_STOPS). Tries to write. */
bool audit_may_serve(void);

#endif

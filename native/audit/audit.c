#include "audit/audit.h"

#include "base/clock.h"
#include "base/followed_file.h"
#include "base/log.h"
#include "base/number_format.h"
#include "json/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
  MODE = 0600,
  KEPT_MAX = 1024 * 1024, /* bytes of lines that cannot be written */
  BUFFER_KEPT = 256 * 1024,
  LINE_ROOM = 512,
  AGAIN_MS = 50 /* between two tries to write while that fails */
};

struct audit_switches audit_switches;

/* AUDIT_FAILS: the last write has failed. */
enum state { AUDIT_WRITES, AUDIT_FAILS };

/* A thread that acquires both locks acquires file_lock first. */
static struct {
  /* Constant after the start: */
  enum audit_on_error on_error;
  void (*reopened)(void);

  sem_t wanted; /* the thread that writes what nobody waits for is woken */

  pthread_mutex_t queue_lock; /* guards the following, and is held briefly */
  struct buffer queue;        /* whole lines */
  uint64_t numbered;          /* the number of the last line */
  uint64_t lost;              /* lines that were not queued, since the last line that was */
  _Atomic uint64_t queued;    /* the number of the last line that was queued */

  pthread_mutex_t file_lock; /* guards the following, and is held while lines are written */
  struct followed_file file;
  struct buffer batch;      /* lines that are being written */
  size_t written;           /* bytes of the batch that are in the file */
  int64_t followed_ms;      /* when the path was last compared with the file (clock_coarse_ms) */
  uint64_t last_of_batch;   /* the number of its last line */
  int64_t again_ms;         /* when a failed write is tried again (clock_now_ms) */
  _Atomic uint64_t settled; /* the number of the last line in the file */
  _Atomic enum state state;
} audit = {.queue_lock = PTHREAD_MUTEX_INITIALIZER, .file_lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local struct {
  uint64_t last; /* audit_own_line */
  enum audit_patience patience;
  bool is_hung;     /* a brief wait was in vain, */
  uint64_t hung_at; /* and this was the last line in the file */
} own;

/* ---- opening ---- */

/* A reader of a pipe or a terminal could delay every answer. */
static enum jp_status check_kind(const struct stat *facts, const char *path, struct jp_error *error)
{
  const char *kind = NULL;
  if (S_ISFIFO(facts->st_mode))
    kind = "a pipe";
  else if (S_ISSOCK(facts->st_mode))
    kind = "a socket";
  else if (S_ISDIR(facts->st_mode))
    kind = "a folder";
  else if (S_ISBLK(facts->st_mode))
    kind = "a disk";
  if (kind == NULL)
    return JP_OK;
  return jp_fail(error, JP_INVALID,
                 "%s is %s: the audit is written to a file, which never waits for a reader", path, kind);
}

/* A link of another user could lead to any file that this user may write. */
static enum jp_status check_path(const char *path, struct jp_error *error)
{
  struct stat facts;
  if (lstat(path, &facts) == 0 && S_ISLNK(facts.st_mode) && facts.st_uid != 0 && facts.st_uid != geteuid())
    return jp_fail(error, JP_INVALID, "%s is a link of another user (%u)", path, (unsigned)facts.st_uid);
  return stat(path, &facts) == 0 ? check_kind(&facts, path, error) : JP_OK;
}

/* The lines name users and what they did. */
static void restrict_mode(void)
{
  struct stat facts;
  if (fstat(audit.file.descriptor, &facts) == 0 && S_ISREG(facts.st_mode) &&
      (facts.st_mode & 07777) != MODE && fchmod(audit.file.descriptor, MODE) != 0)
    log_warn("--audit: others may be able to read %s: its mode cannot be set to 0600: %s", audit.file.path,
             strerror(errno));
}

/* The last line of the file may be torn, because the machine was switched off: the next begins on a line of its own. */
static void end_torn_line(void)
{
  char last = '\n';
  struct stat facts;
  const int reader = open(audit.file.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (reader < 0)
    return;
  if (fstat(reader, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0 &&
      pread(reader, &last, 1, facts.st_size - 1) == 1 && last != '\n' &&
      write(audit.file.descriptor, "\n", 1) != 1)
    log_warn("--audit: the last line of %s is not whole", audit.file.path);
  close(reader);
}

static void settle_to(uint64_t last);

/* A line that was left comes with one post; all that are queued are written for the first. */
static void *write_left(void *nothing)
{
  pthread_setname_np(pthread_self(), "audit");
  for (;;) {
    if (sem_wait(&audit.wanted) != 0)
      continue;
    settle_to(atomic_load_explicit(&audit.queued, memory_order_acquire));
    while (atomic_load_explicit(&audit.state, memory_order_relaxed) == AUDIT_FAILS) {
      nanosleep(&(struct timespec){.tv_nsec = AGAIN_MS * 1000000L}, NULL);
      settle_to(atomic_load_explicit(&audit.queued, memory_order_acquire));
    }
  }
  return nothing;
}

static enum jp_status start_writer(struct jp_error *error)
{
  pthread_t writer;
  sigset_t all;
  sigset_t before;
  sem_init(&audit.wanted, 0, 0);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int failure = pthread_create(&writer, NULL, write_left, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (failure != 0)
    return jp_fail(error, JP_NO_MEMORY, "the thread that writes the audit cannot be started: %s",
                   strerror(failure));
  pthread_detach(writer);
  return JP_OK;
}

enum jp_status audit_open(const struct audit_config *config, struct jp_error *error)
{
  enum jp_status status = check_path(config->path, error);
  if (status == JP_OK)
    status = followed_file_open(&audit.file, config->path, MODE, error);
  if (status == JP_OK && isatty(audit.file.descriptor))
    status = jp_fail(error, JP_INVALID,
                     "%s is a terminal: the audit is written to a file, which never waits for a reader",
                     config->path);
  if (status != JP_OK)
    return status;
  restrict_mode();
  end_torn_line();
  audit.on_error = config->on_error;
  status = start_writer(error);
  if (status != JP_OK)
    return status;
  audit_switches = (struct audit_switches){
      .is_on = true, .has_starts = config->has_starts, .has_values = config->has_values};
  return JP_OK;
}

void audit_set_reopened(void (*reopened)(void))
{
  audit.reopened = reopened;
}

/* ---- lines ---- */

/* The offset of the clock of the day, which a thread reads now and then only, and the text of the last second. */
static _Thread_local struct {
  int64_t read_ns; /* when the offset was read; 0: not yet */
  int64_t offset_ns;
  int64_t second;
  char text[sizeof ",\"time\":\"2026-01-31T12:00:00."];
} own_day;

enum { DAY_TEXT = sizeof own_day.text - 1, NS = 1000000000 };

static int64_t find_time_of_day(int64_t now_ns)
{
  enum { READ_AGAIN_NS = NS / 20 };
  if (own_day.read_ns == 0 || now_ns - own_day.read_ns > READ_AGAIN_NS || now_ns < own_day.read_ns) {
    struct timespec day;
    clock_gettime(CLOCK_REALTIME, &day);
    own_day.read_ns = clock_now_ns();
    own_day.offset_ns = (int64_t)day.tv_sec * NS + day.tv_nsec - own_day.read_ns;
  }
  return now_ns + own_day.offset_ns;
}

static void format_second(time_t second)
{
  struct tm utc;
  gmtime_r(&second, &utc);
  strftime(own_day.text, sizeof own_day.text, ",\"time\":\"%Y-%m-%dT%H:%M:%S.", &utc);
  own_day.second = second;
}

/* The number is put before it when the line ends. */
void audit_line_begin_in(struct buffer *line, struct text event, int64_t now_ns)
{
  enum { MICROS = 1000000, MICRO_DIGITS = 6 };
  static const char after[] = "Z\",\"event\":\"";
  char digits[NUMBER_TEXT_MAX];
  buffer_clear(line);
  char *at = buffer_reserve(line, LINE_ROOM);
  if (at == NULL)
    return;
  const int64_t time_ns = find_time_of_day(now_ns);
  if (time_ns / NS != own_day.second)
    format_second(time_ns / NS);
  (void)number_format_integer(MICROS + time_ns % NS / 1000, digits); /* with the zeros in front */
  memcpy(at, own_day.text, DAY_TEXT);
  memcpy(at + DAY_TEXT, digits + 1, MICRO_DIGITS);
  memcpy(at + DAY_TEXT + MICRO_DIGITS, after, sizeof after - 1);
  line->len = DAY_TEXT + MICRO_DIGITS + sizeof after - 1;
  buffer_append_text(line, event);
  buffer_append_char(line, '"');
}

void audit_line_begin(struct buffer *line, const char *event)
{
  buffer_init(line);
  audit_line_begin_in(line, text_of(event), clock_now_ns());
}

void audit_line_key(struct buffer *line, const char *key)
{
  BUFFER_LITERAL(line, ",\"");
  buffer_append_text(line, text_of(key));
  BUFFER_LITERAL(line, "\":");
}

static bool is_plain(struct text t)
{
  for (size_t i = 0; i < t.len; i++) {
    if ((unsigned char)t.data[i] >= 0x7F)
      return false;
  }
  return true;
}

/* Returns the number of bytes of the character at the beginning of the text, and its code point; code UINT32_MAX: the byte
 * is no UTF-8. */
static size_t read_character(struct text t, uint32_t *code)
{
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const unsigned char *bytes = (const unsigned char *)t.data;
  const size_t length = bytes[0] < 0x80 ? 1 : bytes[0] >= 0xF0 ? 4 : bytes[0] >= 0xE0 ? 3 : 2;
  *code = length == 1 ? bytes[0] : bytes[0] & (0x7Fu >> length);
  bool is_good = length == 1 || (bytes[0] >= 0xC2 && bytes[0] < 0xF5 && length <= t.len);
  for (size_t i = 1; is_good && i < length; i++) {
    is_good = (bytes[i] & 0xC0) == 0x80;
    *code = *code << 6 | (bytes[i] & 0x3F);
  }
  if (is_good && *code >= least[length])
    return length;
  *code = UINT32_MAX;
  return 1;
}

/* True for a character that text_escape does not leave as it is. */
static bool is_hidden(struct text character)
{
  char shown[16];
  return character.data[0] == 0x7F || ((unsigned char)character.data[0] >= 0x80 &&
                                       text_escape(character, "", "", shown, sizeof shown) != character.len);
}

static void append_escaped(struct buffer *line, struct text t)
{
  size_t length;
  for (size_t i = 0; i < t.len; i += length) {
    uint32_t code;
    length = read_character(text_slice(t, i, t.len), &code);
    const struct text character = text_slice(t, i, i + length);
    if (code == UINT32_MAX)
      BUFFER_LITERAL(line, "\\ufffd");
    else if (!is_hidden(character))
      json_write_escaped(line, character);
    else if (code < 0x10000)
      buffer_printf(line, "\\u%04x", code);
    else
      buffer_printf(line, "\\u%04x\\u%04x", 0xD7C0 + (code >> 10), 0xDC00 + (code & 0x3FF));
  }
}

/* A client may have sent a token in the place of another text. Returns the text without it, in room, whose size bytes hold
 * more than a line shows. A text with a token and a NUL is shown up to the NUL. */
static struct text hide_tokens(struct text value, char *room, size_t size)
{
  static const char dots[] = "...";
  const struct text part = value.len < size - sizeof dots ? value : text_slice(value, 0, size - sizeof dots);
  if (memmem(part.data, part.len, "jp_", 3) == NULL)
    return value;
  memcpy(room, part.data, part.len);
  room[part.len] = '\0';
  const bool is_whole = strlen(room) == value.len;
  text_hide_tokens(room);
  if (!is_whole)
    memcpy(room + strlen(room), dots, sizeof dots);
  return text_of(room);
}

static void append_text(struct buffer *line, struct text value)
{
  enum { TOKEN_ROOM = 2 * AUDIT_TEXT_MAX };
  char room[TOKEN_ROOM];
  value = hide_tokens(value, room, sizeof room);
  const struct text shown = value.len > AUDIT_TEXT_MAX ? text_cut(value, AUDIT_TEXT_MAX) : value;
  if (is_plain(shown))
    json_write_escaped(line, shown);
  else
    append_escaped(line, shown);
  if (shown.len < value.len)
    BUFFER_LITERAL(line, "...");
}

void audit_line_text(struct buffer *line, const char *key, struct text value)
{
  if (value.data == NULL)
    return;
  audit_line_key(line, key);
  buffer_append_char(line, '"');
  append_text(line, value);
  buffer_append_char(line, '"');
}

void audit_line_json(struct buffer *line, struct text value)
{
  size_t length;
  for (size_t i = 0; i < value.len; i += length) {
    const struct text rest = text_slice(value, i, value.len);
    uint32_t code;
    length = read_character(rest, &code);
    if (code < 0x7F)
      buffer_append_char(line, rest.data[0]);
    else
      append_escaped(line, text_slice(rest, 0, length));
  }
}

void audit_line_name(struct buffer *line, const char *key, struct text class_name, struct text member)
{
  audit_line_key(line, key);
  buffer_append_char(line, '"');
  append_text(line, class_name);
  if (member.data != NULL) {
    buffer_append_char(line, '.');
    append_text(line, member);
  }
  buffer_append_char(line, '"');
}

void audit_line_number(struct buffer *line, const char *key, int64_t value)
{
  audit_line_key(line, key);
  json_write_integer(line, value);
}

void audit_line_true(struct buffer *line, const char *key)
{
  audit_line_key(line, key);
  BUFFER_LITERAL(line, "true");
}

/* ---- the queue ---- */

/* Under the lock. False: there is no room, because lines cannot be written. */
static bool queue_line(struct text line)
{
  static const char before[] = "{\"seq\":";
  static const char after[] = "}\n";
  enum { BEFORE = sizeof before - 1, AFTER = sizeof after - 1 };
  if (atomic_load_explicit(&audit.state, memory_order_relaxed) == AUDIT_FAILS &&
      audit.queue.len + line.len > KEPT_MAX)
    return false;
  char *const start = buffer_reserve(&audit.queue, BEFORE + NUMBER_TEXT_MAX + line.len + AFTER);
  if (start == NULL) {
    audit.queue.failed = false; /* memory is short: what is queued stays good */
    return false;
  }
  char *at = start;
  memcpy(at, before, BEFORE);
  at += BEFORE;
  at += number_format_integer((int64_t)++audit.numbered, at);
  memcpy(at, line.data, line.len);
  at += line.len;
  memcpy(at, after, AFTER);
  audit.queue.len += (size_t)(at + AFTER - start);
  atomic_store_explicit(&audit.queued, audit.numbered, memory_order_release);
  return true;
}

/* Under the lock. The lost lines get numbers, too, so that a reader who compares the numbers finds them missing. */
static bool queue_lost(void)
{
  struct buffer line;
  if (audit.lost == 0)
    return true;
  audit_line_begin(&line, "lost");
  audit_line_number(&line, "count", (int64_t)audit.lost);
  const bool is_queued = !line.failed && queue_line(buffer_text(&line));
  buffer_fini(&line);
  if (is_queued)
    audit.lost = 0;
  return is_queued;
}

/* Returns the number of the line, 0 if it is lost. */
static uint64_t number_line(struct buffer *line)
{
  uint64_t number = 0;
  pthread_mutex_lock(&audit.queue_lock);
  const bool is_made = !line->failed && line->data != NULL;
  if (is_made && queue_lost() && queue_line(buffer_text(line))) {
    number = audit.numbered;
  } else {
    audit.numbered++;
    audit.lost++;
  }
  pthread_mutex_unlock(&audit.queue_lock);
  return number;
}

uint64_t audit_line_queue(struct buffer *line)
{
  const uint64_t number = number_line(line);
  if (number != 0)
    own.last = number;
  return number;
}

uint64_t audit_line_leave(struct buffer *line)
{
  const uint64_t number = number_line(line);
  buffer_fini(line);
  sem_post(&audit.wanted);
  return number;
}

uint64_t audit_line_end(struct buffer *line)
{
  const uint64_t number = audit_line_queue(line);
  buffer_fini(line);
  return number;
}

void audit_reload(const char *what, const char *path, const struct jp_error *error)
{
  struct buffer line;
  if (!audit_is_on())
    return;
  audit_line_begin(&line, "reload");
  audit_line_text(&line, "what", text_of(what));
  audit_line_text(&line, "file", text_of(path));
  audit_line_text(&line, "outcome", error == NULL ? TEXT("ok") : TEXT("error"));
  if (error != NULL)
    audit_line_text(&line, "reason", text_of(error->text));
  (void)audit_line_leave(&line);
}

/* ---- writing ---- */

/* Another file begins with a whole line. */
static void begin_line_again(void)
{
  if (audit.written == audit.batch.len)
    return;
  const char *before = memrchr(audit.batch.data, '\n', audit.written);
  audit.written = before == NULL ? 0 : (size_t)(before + 1 - audit.batch.data);
}

/* Returns 0 or the error number. */
static int write_batch(void)
{
  while (audit.written < audit.batch.len) {
    ssize_t wrote =
        write(audit.file.descriptor, audit.batch.data + audit.written, audit.batch.len - audit.written);
    if (wrote > 0)
      audit.written += (size_t)wrote;
    else if (wrote == 0 || errno != EINTR)
      return wrote == 0 ? EIO : errno;
  }
  return 0;
}

/* The thread of the audit tries again until it can write: no other thread does while no further line is kept. */
static void note_failure(int failure)
{
  if (atomic_load_explicit(&audit.state, memory_order_relaxed) == AUDIT_WRITES) {
    sem_post(&audit.wanted);
    log_error("the audit cannot be written: %s: %s: %s", audit.file.path, strerror(failure),
              audit.on_error == AUDIT_STOPS ? "operations are refused until it can (--audit-on-error stop)"
                                            : "operations go on without it (--audit-on-error serve)");
  }
  atomic_store_explicit(&audit.state, AUDIT_FAILS, memory_order_relaxed);
  audit.again_ms = clock_now_ms() + AGAIN_MS;
}

static void note_success(void)
{
  if (atomic_load_explicit(&audit.state, memory_order_relaxed) == AUDIT_FAILS)
    log_info("the audit is written again");
  atomic_store_explicit(&audit.state, AUDIT_WRITES, memory_order_relaxed);
  atomic_store_explicit(&audit.settled, audit.last_of_batch, memory_order_release);
}

/* The lines of the queue become the batch, which is written already. */
static void take_queue(void)
{
  pthread_mutex_lock(&audit.queue_lock);
  (void)queue_lost(); /* since the write before, there may be room */
  const struct buffer empty = audit.batch;
  audit.batch = audit.queue;
  audit.queue = empty;
  audit.last_of_batch = atomic_load_explicit(&audit.queued, memory_order_relaxed);
  pthread_mutex_unlock(&audit.queue_lock);
  audit.written = 0;
}

/* Under file_lock. The path is looked up once in a tick of the coarse clock: lines that are written before that are in the
 * moved file. */
static bool reopen(void)
{
  const int64_t now_ms = clock_coarse_ms();
  if (now_ms == audit.followed_ms)
    return false;
  audit.followed_ms = now_ms;
  if (!followed_file_has_moved(&audit.file))
    return false;
  struct jp_error error;
  enum jp_status status = check_path(audit.file.path, &error);
  if (status == JP_OK)
    status = followed_file_reopen(&audit.file, &error);
  if (status != JP_OK) {
    log_warn_rarely("the audit goes on in the file that was moved: %s", error.text);
    return false;
  }
  restrict_mode();
  end_torn_line();
  begin_line_again();
  return true;
}

/* Under file_lock. Writes the rest of the batch of a failed write first. */
static void write_queue(void)
{
  int failure = write_batch();
  if (failure == 0) {
    buffer_clear(&audit.batch);
    buffer_trim(&audit.batch, BUFFER_KEPT);
    take_queue();
    failure = write_batch();
  }
  if (failure == 0)
    note_success();
  else
    note_failure(failure);
}

static bool may_write(void)
{
  return atomic_load_explicit(&audit.state, memory_order_relaxed) == AUDIT_WRITES ||
         clock_now_ms() >= audit.again_ms;
}

/* Writes all that is queued, unless the line of this number is in the file. */
static void settle_to(uint64_t last)
{
  bool is_reopened = false;
  if (last <= atomic_load_explicit(&audit.settled, memory_order_acquire))
    return;
  pthread_mutex_lock(&audit.file_lock);
  /* Another thread may have written the lines of this one while this one waited. */
  if (atomic_load_explicit(&audit.settled, memory_order_relaxed) < last && may_write()) {
    is_reopened = reopen();
    write_queue();
  }
  pthread_mutex_unlock(&audit.file_lock);
  if (!is_reopened || audit.reopened == NULL)
    return;
  audit.reopened();
  settle_to(atomic_load_explicit(&audit.queued, memory_order_acquire));
}

uint64_t audit_own_line(void)
{
  return own.last;
}

void audit_forget_lines(void)
{
  own.last = 0;
}

void audit_be_brief(void)
{
  own.patience = AUDIT_BRIEF;
}

bool audit_has_settled(uint64_t number)
{
  return number <= atomic_load_explicit(&audit.settled, memory_order_acquire) ||
         atomic_load_explicit(&audit.state, memory_order_relaxed) == AUDIT_FAILS;
}

/* While a write hangs, the thread waits once only. */
static bool await_briefly(uint64_t number)
{
  enum { BRIEF_MS = 5, PIECE_NS = 50000 };
  if (audit_has_settled(number))
    return true;
  const uint64_t settled = atomic_load_explicit(&audit.settled, memory_order_relaxed);
  sem_post(&audit.wanted);
  if (own.is_hung && own.hung_at == settled)
    return false;
  const int64_t until_ms = clock_now_ms() + BRIEF_MS;
  while (!audit_has_settled(number) && clock_now_ms() < until_ms)
    nanosleep(&(struct timespec){.tv_nsec = PIECE_NS}, NULL);
  own.is_hung = !audit_has_settled(number);
  own.hung_at = atomic_load_explicit(&audit.settled, memory_order_relaxed);
  return !own.is_hung;
}

bool audit_settle_line(uint64_t number, enum audit_patience patience)
{
  if (patience == AUDIT_BRIEF || own.patience == AUDIT_BRIEF)
    return await_briefly(number);
  settle_to(number);
  return true;
}

void audit_finish(void)
{
  pthread_mutex_lock(&audit.file_lock);
  audit.again_ms = 0;
  pthread_mutex_unlock(&audit.file_lock);
  settle_to(atomic_load_explicit(&audit.queued, memory_order_acquire));
}

bool audit_may_serve(void)
{
  if (audit.on_error == AUDIT_SERVES ||
      atomic_load_explicit(&audit.state, memory_order_relaxed) == AUDIT_WRITES)
    return true;
  if (own.patience == AUDIT_PATIENT)
    settle_to(atomic_load_explicit(&audit.queued, memory_order_acquire));
  return atomic_load_explicit(&audit.state, memory_order_relaxed) == AUDIT_WRITES;
}

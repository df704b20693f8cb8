#include "command/line_editor.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

/* ---- libedit, whose interface (histedit.h) is stable: its header is not needed to build ---- */

typedef struct editline EditLine;
typedef struct history History;
typedef struct {
  int num;
  const char *str;
} HistEvent;
typedef struct {
  const char *buffer;
  const char *cursor;
  const char *lastchar;
} LineInfo;

enum {
  EL_PROMPT = 0,
  EL_EDITOR = 2,
  EL_SIGNAL = 3,
  EL_BIND = 4,
  EL_ADDFN = 9,
  EL_HIST = 10,
  EL_GETCFN = 13,
  EL_PREP_TERM = 16,
  H_SETSIZE = 1,
  H_ENTER = 10,
  H_SETUNIQUE = 20,
  CC_REFRESH = 4,
  CC_ERROR = 6,
  CC_REDISPLAY = 8
};

enum { ENTRIES_MAX = 5000, HISTORY_MAX = 1 << 20, LISTED_MAX = 200 };

struct library {
  void *handle;
  EditLine *(*init)(const char *, FILE *, FILE *, FILE *);
  void (*end)(EditLine *);
  const char *(*gets)(EditLine *, int *);
  int (*set)(EditLine *, int, ...);
  int (*wset)(EditLine *, int, ...);
  int (*insert)(EditLine *, const char *);
  void (*delete)(EditLine *, int);
  const LineInfo *(*line)(EditLine *);
  void (*resize)(EditLine *);
  History *(*history_init)(void);
  void (*history_end)(History *);
  int (*history)(History *, HistEvent *, int, ...);
};

struct line_editor {
  struct line_editor_config config;
  struct library library;
  EditLine *edit; /* NULL: lines are read as they are */
  History *history;
  FILE *out; /* the terminal */
  const char *prompt;
  char *last; /* entry of the history */
  bool is_terminal;
  bool is_interrupted;
  unsigned char input[256];
  size_t input_at;
  size_t input_end;
};

static bool load_library(struct library *library)
{
  static const struct {
    const char *name;
    size_t offset;
  } functions[] = {{"el_init", offsetof(struct library, init)},
                   {"el_end", offsetof(struct library, end)},
                   {"el_gets", offsetof(struct library, gets)},
                   {"el_set", offsetof(struct library, set)},
                   {"el_wset", offsetof(struct library, wset)},
                   {"el_insertstr", offsetof(struct library, insert)},
                   {"el_deletestr", offsetof(struct library, delete)},
                   {"el_line", offsetof(struct library, line)},
                   {"el_resize", offsetof(struct library, resize)},
                   {"history_init", offsetof(struct library, history_init)},
                   {"history_end", offsetof(struct library, history_end)},
                   {"history", offsetof(struct library, history)}};
  library->handle = dlopen("libedit.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library->handle == NULL)
    return false;
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    void *symbol = dlsym(library->handle, functions[i].name);
    if (symbol == NULL)
      return false;
    memcpy((char *)library + functions[i].offset, &symbol, sizeof symbol);
  }
  return true;
}

/* libedit's functions that have the editor's data are in the library, which only the editor knows. */
static struct line_editor *current;

static struct line_editor *editor_of(const EditLine *edit)
{
  (void)edit;
  return current;
}

/* ---- input ---- */

static volatile sig_atomic_t was_resized;

static void note_size(int number)
{
  (void)number;
  was_resized = 1;
}

/* Waits for input or a signal. The two signals are blocked except in ppoll, so that none is lost
   that comes after their flags were read. Returns what ppoll does. */
static int wait_for_input(const struct line_editor *editor)
{
  struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
  sigset_t watched, before;
  sigemptyset(&watched);
  sigaddset(&watched, SIGINT);
  sigaddset(&watched, SIGWINCH);
  (void)pthread_sigmask(SIG_BLOCK, &watched, &before);
  bool is_due = editor->config.is_interrupted() || was_resized;
  int ready = is_due ? -1 : ppoll(&input, 1, NULL, &before);
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  return ready;
}

/* Waits for a byte. -1: the end of the input, or Ctrl-C. */
static int read_byte(struct line_editor *editor)
{
  while (editor->input_at == editor->input_end) {
    int ready = wait_for_input(editor);
    if (editor->config.is_interrupted()) {
      editor->is_interrupted = true;
      return -1;
    }
    if (was_resized) {
      was_resized = 0;
      editor->library.resize(editor->edit);
    }
    if (ready < 0)
      continue;
    ssize_t length = read(STDIN_FILENO, editor->input, sizeof editor->input);
    if (length < 0 && errno == EINTR)
      continue;
    if (length <= 0)
      return -1;
    editor->input_at = 0;
    editor->input_end = (size_t)length;
  }
  return editor->input[editor->input_at++];
}

/* For libedit: one character. */
static int read_character(EditLine *edit, wchar_t *out)
{
  struct line_editor *editor = editor_of(edit);
  int byte = read_byte(editor);
  if (byte < 0)
    return editor->is_interrupted ? -1 : 0;
  uint32_t point = (uint32_t)byte;
  size_t more = byte < 0xC0 ? 0 : byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
  if (more > 0)
    point &= 0x3Fu >> more;
  for (; more > 0 && (byte = read_byte(editor)) >= 0; more--)
    point = point << 6 | ((uint32_t)byte & 0x3F);
  *out = (wchar_t)point;
  return 1;
}

/* A paste goes into the line as it is, its line ends and tabs too. */
static unsigned char take_paste(EditLine *edit, int key)
{
  static const char end[] = "\033[201~";
  struct line_editor *editor = editor_of(edit);
  struct buffer pasted;
  int byte;
  (void)key;
  buffer_init(&pasted);
  while ((byte = read_byte(editor)) >= 0) {
    buffer_append_char(&pasted, byte == '\r' ? '\n' : (char)byte);
    if (byte == '~' && text_ends_with(buffer_text(&pasted), TEXT("\033[201~"))) {
      buffer_truncate(&pasted, pasted.len - (sizeof end - 1));
      break;
    }
  }
  while (pasted.len > 0 && pasted.data[pasted.len - 1] == '\n')
    buffer_truncate(&pasted, pasted.len - 1);
  for (size_t i = 0; i < pasted.len; i++) { /* the terminal must not get what it would obey */
    if (pasted.data[i] == '\t' || ((unsigned char)pasted.data[i] < 0x20 && pasted.data[i] != '\n'))
      pasted.data[i] = ' ';
  }
  buffer_append_char(&pasted, '\0');
  int status = pasted.failed ? -1 : editor->library.insert(editor->edit, pasted.data);
  buffer_fini(&pasted);
  return status < 0 ? CC_ERROR : CC_REFRESH;
}

/* ---- completion ---- */

static size_t find_common(const struct completion *found)
{
  size_t length = found->items[0].len;
  for (size_t i = 1; i < found->count; i++) {
    size_t k = 0;
    while (k < length && k < found->items[i].len && found->items[i].data[k] == found->items[0].data[k])
      k++;
    length = k;
  }
  return text_cut(found->items[0], length).len;
}

static void list_candidates(FILE *out, const struct completion *found)
{
  struct winsize size = {.ws_col = 80};
  size_t width = 0;
  size_t count = found->count < LISTED_MAX ? found->count : LISTED_MAX;
  (void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
  for (size_t i = 0; i < count; i++)
    width = found->shown[i].len > width ? found->shown[i].len : width;
  size_t columns = size.ws_col / (width + 2);
  columns = columns == 0 ? 1 : columns;
  size_t rows = (count + columns - 1) / columns;
  putc('\n', out);
  for (size_t row = 0; row < rows; row++) {
    for (size_t i = row; i < count; i += rows)
      fprintf(out, "%-*.*s", i + rows < count ? (int)width + 2 : 0, TEXT_ARGS(found->shown[i]));
    putc('\n', out);
  }
  if (found->count > count || found->is_cut)
    fputs("...\n", out);
  fflush(out);
}

static unsigned char complete_word(EditLine *edit, int key)
{
  struct line_editor *editor = editor_of(edit);
  const LineInfo *info = editor->library.line(editor->edit);
  struct text line = {info->buffer, (size_t)(info->lastchar - info->buffer)};
  size_t cursor = (size_t)(info->cursor - info->buffer);
  struct completion found = {.from = cursor};
  (void)key;
  editor->config.complete(editor->config.context, line, cursor, &found);
  if (found.count == 0)
    return CC_ERROR;
  size_t common = find_common(&found);
  struct text typed = text_slice(line, found.from, cursor);
  bool is_more = common > typed.len || (common > 0 && !text_starts_with(found.items[0], typed));
  if (is_more && common > 0 && (found.count == 1 || common >= typed.len)) {
    char *inserted = strndup(found.items[0].data, common);
    size_t characters = 0; /* what is deleted is counted in characters */
    for (size_t i = 0; i < typed.len; i++)
      characters += ((unsigned char)typed.data[i] & 0xC0) != 0x80;
    if (inserted == NULL)
      return CC_ERROR;
    editor->library.delete(editor->edit, (int)characters);
    int status = editor->library.insert(editor->edit, inserted);
    free(inserted);
    return status < 0 ? CC_ERROR : CC_REFRESH;
  }
  list_candidates(editor->out, &found);
  return CC_REDISPLAY;
}

/* ---- history ---- */

static void enter_history(struct line_editor *editor, struct text entry)
{
  HistEvent event;
  char *copy = entry.data == NULL ? NULL : strndup(entry.data, entry.len);
  if (copy == NULL)
    return;
  (void)editor->library.history(editor->history, &event, H_ENTER, copy);
  free(editor->last);
  editor->last = copy;
}

/* The file has an entry a line, in which a backslash is \\ and a line end \n. */
static void load_history(struct line_editor *editor)
{
  char *line = NULL;
  size_t size = 0;
  ssize_t length;
  FILE *file = editor->config.history_path == NULL ? NULL : fopen(editor->config.history_path, "re");
  struct buffer entry;
  if (file == NULL)
    return;
  buffer_init(&entry);
  if (fseek(file, -HISTORY_MAX, SEEK_END) == 0)
    (void)!getline(&line, &size, file);
  while ((length = getline(&line, &size, file)) > 0) {
    buffer_clear(&entry);
    for (ssize_t i = 0; i < length && line[i] != '\n'; i++) {
      bool is_escaped = line[i] == '\\' && i + 1 < length;
      i += is_escaped;
      buffer_append_char(&entry, is_escaped && line[i] == 'n' ? '\n' : line[i]);
    }
    if (entry.len > 0 && !entry.failed)
      enter_history(editor, buffer_text(&entry));
  }
  buffer_fini(&entry);
  free(line);
  fclose(file);
}

static void append_history(const struct line_editor *editor, struct text entry)
{
  struct buffer line;
  int file = editor->config.history_path == NULL
                 ? -1
                 : open(editor->config.history_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0)
    return;
  buffer_init(&line);
  for (size_t i = 0; i < entry.len; i++) {
    if (entry.data[i] == '\n' || entry.data[i] == '\\')
      buffer_append_char(&line, '\\');
    buffer_append_char(&line, entry.data[i] == '\n' ? 'n' : entry.data[i]);
  }
  buffer_append_char(&line, '\n');
  if (!line.failed)
    (void)!write(file, line.data, line.len); /* whole: two shells append to one file */
  buffer_fini(&line);
  close(file);
}

void line_editor_keep(struct line_editor *editor, struct text entry)
{
  if (editor->edit == NULL || entry.len == 0 || entry.data[0] == ' ' || entry.data[0] == '\t' ||
      (editor->last != NULL && text_equal(text_of(editor->last), entry)))
    return;
  enter_history(editor, entry);
  append_history(editor, entry);
}

/* ---- lines ---- */

static char *show_prompt(EditLine *edit)
{
  return (char *)editor_of(edit)->prompt;
}

static void begin_editing(struct line_editor *editor)
{
  const struct library *library = &editor->library;
  struct sigaction action = {.sa_handler = note_size};
  HistEvent event;
  if (setlocale(LC_CTYPE, "") == NULL || strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
    (void)setlocale(LC_CTYPE, "C.UTF-8"); /* the language is UTF-8 */
  editor->edit = library->init("jpeer", stdin, stdout, stderr);
  editor->history = library->history_init();
  if (editor->edit == NULL || editor->history == NULL)
    return;
  (void)sigaction(SIGWINCH, &action, NULL);
  (void)library->history(editor->history, &event, H_SETSIZE, (int)ENTRIES_MAX);
  (void)library->history(editor->history, &event, H_SETUNIQUE, 1);
  library->set(editor->edit, EL_SIGNAL, 0);
  library->set(editor->edit, EL_EDITOR, "emacs");
  library->set(editor->edit, EL_PROMPT, show_prompt);
  library->set(editor->edit, EL_HIST, library->history, editor->history);
  library->wset(editor->edit, EL_GETCFN, read_character);
  /* el_set would leak its copies of the names */
  library->wset(editor->edit, EL_ADDFN, L"jpeer-complete", L"completes", complete_word);
  library->wset(editor->edit, EL_ADDFN, L"jpeer-paste", L"inserts a paste", take_paste);
  library->set(editor->edit, EL_BIND, "^I", "jpeer-complete", NULL);
  library->set(editor->edit, EL_BIND, "\\e[200~", "jpeer-paste", NULL);
  library->set(editor->edit, EL_BIND, "^R", "em-inc-search-prev", NULL);
  library->set(editor->edit, EL_BIND, "\\e[1;5C", "em-next-word", NULL);
  library->set(editor->edit, EL_BIND, "\\e[1;5D", "ed-prev-word", NULL);
  library->set(editor->edit, EL_BIND, "\\e[3~", "ed-delete-next-char", NULL);
  library->set(editor->edit, EL_BIND, "^W", "ed-delete-prev-word", NULL);
  load_history(editor);
}

struct line_editor *line_editor_create(const struct line_editor_config *config)
{
  struct line_editor *editor = calloc(1, sizeof *editor);
  const char *kind = getenv("TERM");
  if (editor == NULL)
    return NULL;
  editor->config = *config;
  editor->out = stdout;
  editor->is_terminal = isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
  current = editor;
  if (editor->is_terminal && kind != NULL && strcmp(kind, "dumb") != 0 && load_library(&editor->library))
    begin_editing(editor);
  return editor;
}

bool line_editor_can_edit(const struct line_editor *editor)
{
  return editor->edit != NULL;
}

void line_editor_destroy(struct line_editor *editor)
{
  if (editor == NULL)
    return;
  if (editor->edit != NULL)
    editor->library.end(editor->edit);
  if (editor->history != NULL)
    editor->library.history_end(editor->history);
  current = NULL;
  free(editor->last);
  free(editor);
}

/* Without libedit: the terminal's own editing, or a pipe. */
static enum line_result read_plain(struct line_editor *editor, struct buffer *line)
{
  size_t begin = line->len;
  int byte;
  if (editor->is_terminal) {
    fputs(editor->prompt, editor->out);
    fflush(editor->out);
  }
  while ((byte = read_byte(editor)) >= 0 && byte != '\n')
    buffer_append_char(line, (char)byte);
  if (editor->is_interrupted)
    return LINE_INTERRUPTED;
  return byte < 0 && line->len == begin ? LINE_ENDED : LINE_READ;
}

enum line_result line_editor_read(struct line_editor *editor, const char *prompt, struct buffer *line)
{
  int length = 0;
  editor->prompt = prompt;
  editor->is_interrupted = false;
  if (editor->edit == NULL)
    return read_plain(editor, line);
  fputs("\033[?2004h", editor->out);
  fflush(editor->out);
  /* Before the prompt: the terminal would take a Ctrl-D or Ctrl-R itself. */
  editor->library.set(editor->edit, EL_PREP_TERM, 1);
  const char *read = editor->library.gets(editor->edit, &length);
  fputs("\033[?2004l", editor->out);
  if (editor->is_interrupted)
    fputs("^C\n", editor->out);
  fflush(editor->out);
  if (editor->is_interrupted)
    return LINE_INTERRUPTED;
  if (read == NULL || length <= 0)
    return LINE_ENDED;
  struct text got = text_of(read);
  if (got.len > 0 && got.data[got.len - 1] == '\n')
    got.len--;
  buffer_append_text(line, got);
  return LINE_READ;
}

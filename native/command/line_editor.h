#ifndef JPEER_COMMAND_LINE_EDITOR_H
#define JPEER_COMMAND_LINE_EDITOR_H
/*
 * Lines of a terminal, with editing, history and completion, by libedit, which is loaded here and nowhere else. Without
 * libedit, or if stdin or stdout is no terminal, lines are read as they are.
 *
 * Main's thread, one editor at a time.
 */
#include "base/buffer.h"
#include "base/text.h"

#include <stdbool.h>

struct line_editor;

/* What completion proposes. */
struct completion {
  size_t from;        /* the candidates replace the line from here to the cursor */
  struct text *items; /* whole replacements */
  struct text *shown; /* the same as they are listed: "max(int a, int b)" */
  size_t count;
  bool is_cut; /* there are more */
};

struct line_editor_config {
  const char *prompt;           /* borrowed for each line */
  const char *history_path;     /* NULL: no history is kept */
  bool (*is_interrupted)(void); /* after a signal: true ends the line */
  /* Fills *completion, whose memory the owner of the context has until the next call. */
  void (*complete)(void *context, struct text line, size_t cursor, struct completion *completion);
  void *context;
};

enum line_result { LINE_READ, LINE_INTERRUPTED, LINE_ENDED };

/* NULL: no memory. */
struct line_editor *line_editor_create(const struct line_editor_config *config);
void line_editor_destroy(struct line_editor *editor);
/* False: libedit could not be loaded, although there is a terminal. */
bool line_editor_can_edit(const struct line_editor *editor);
/* Appends a line, without its end. A paste may have several lines. */
enum line_result line_editor_read(struct line_editor *editor, const char *prompt, struct buffer *line);
/* Adds what was entered to the history, unless it begins with a blank or is the last entry. */
void line_editor_keep(struct line_editor *editor, struct text entry);

#endif

/* What went wrong, as Java people read it. */
#include "command/evaluator.h"

void failure_init(struct failure *failure)
{
  *failure = (struct failure){0};
  buffer_init(&failure->report);
  buffer_init(&failure->types);
}

void failure_clear(struct failure *failure)
{
  buffer_clear(&failure->report);
  buffer_clear(&failure->types);
  value_release(failure->thrown);
  failure->thrown = NULL;
  failure->kind = FAILURE_NONE;
  failure->has_place = false;
  failure->is_syntax = false;
  failure->has_superclasses = false;
  failure->code = 0;
  failure->type[0] = '\0';
  failure->error.text[0] = '\0';
}

void failure_fini(struct failure *failure)
{
  failure_clear(failure);
  buffer_fini(&failure->report);
  buffer_fini(&failure->types);
}

/* ---- reports ---- */

/* Text of Java is shown on a terminal: no control character of it reaches the terminal, except line ends. */
static void write_shown(struct buffer *out, const char *text)
{
  char shown[4000];
  text_escape(text_of(text), "\n\t", "", shown, sizeof shown);
  buffer_append_text(out, text_of(shown));
}

static bool is_frame_of_java(const char *frame)
{
  static const char *const prefixes[] = {"java.", "jdk.", "sun.", "javax.", "com.sun.", "jpeer.peer."};
  const char *slash = strchr(frame, '/');
  const char *name = slash != NULL && slash < strchr(frame, '(') ? slash + 1 : frame;
  for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
    if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
      return true;
  }
  return false;
}

static void write_frames(struct buffer *out, const struct jp_throwable *throwable, bool verbose)
{
  size_t hidden = 0;
  for (size_t i = 0; i < throwable->stack_count; i++) {
    if (!verbose && is_frame_of_java(throwable->stack[i])) {
      hidden++;
      continue;
    }
    BUFFER_LITERAL(out, "\tat ");
    write_shown(out, throwable->stack[i]);
    buffer_append_char(out, '\n');
  }
  if (hidden > 0)
    buffer_printf(out, "\t... %zu frame%s of the JDK (-v shows them)\n", hidden, hidden == 1 ? "" : "s");
}

static void write_throwable(struct buffer *out, const struct jp_throwable *throwable, bool verbose)
{
  for (; throwable != NULL && throwable->type != NULL; throwable = throwable->cause) {
    write_shown(out, throwable->type);
    if (throwable->message != NULL) {
      BUFFER_LITERAL(out, ": ");
      write_shown(out, throwable->message);
    }
    buffer_append_char(out, '\n');
    write_frames(out, throwable, verbose);
    if (throwable->cause != NULL && throwable->cause->type != NULL)
      BUFFER_LITERAL(out, "Caused by: ");
  }
}

static void write_suggestions(struct buffer *out, struct jp_json data)
{
  struct jp_json item;
  size_t count = 0;
  char name[512];
  for (struct jp_json_cursor cursor = jp_json_enter(jp_json_member(data, "suggestions"));
       jp_json_next(&cursor, NULL, &item);) {
    if (jp_json_string(item, name, sizeof name) == SIZE_MAX)
      continue;
    buffer_printf(out, count++ == 0 ? "did you mean " : ", ");
    write_shown(out, name);
  }
  if (count > 0)
    BUFFER_LITERAL(out, "?\n");
}

static void note_types(struct failure *failure, struct jp_json data)
{
  struct jp_json item;
  char name[512];
  buffer_printf(&failure->types, "%s\n", failure->type);
  for (struct jp_json_cursor cursor = jp_json_enter(jp_json_member(data, "superclasses"));
       jp_json_next(&cursor, NULL, &item);) {
    if (jp_json_string(item, name, sizeof name) != SIZE_MAX)
      buffer_printf(&failure->types, "%s\n", name);
    failure->has_superclasses = true;
  }
}

/* The class java.util.Map, not the constant java.lang.Math.PI. */
static bool ends_with_class(struct text name)
{
  const char *last = name.data + text_find_last(name, '.') + 1;
  bool has_lower = false;
  for (const char *c = last; c < name.data + name.len; c++)
    has_lower |= *c >= 'a' && *c <= 'z';
  return last < name.data + name.len && *last >= 'A' && *last <= 'Z' && has_lower;
}

/* The rule of a policy that would allow what the message says is denied: "RPC access denied: CLASS.MEMBER via CHANNEL". */
static void write_rule(struct buffer *out, const char *message)
{
  static const char before[] = "RPC access denied: ";
  const char *via = strstr(message, " via ");
  buffer_append_char(out, '\n');
  if (strncmp(message, before, sizeof before - 1) != 0 || via == NULL || strstr(via, ": ") != NULL)
    return; /* the message itself says what to do */
  struct text name = {message + sizeof before - 1, (size_t)(via - message) - (sizeof before - 1)};
  size_t dot = text_find_last(name, '.');
  char rule[1000];
  if (dot == SIZE_MAX || ends_with_class(name))
    text_format(rule, sizeof rule, "{class: \"%.*s\", action: ALLOW}", TEXT_ARGS(name));
  else
    text_format(rule, sizeof rule, "{class: \"%.*s\", method: \"%.*s\", action: ALLOW}", (int)dot, name.data,
                (int)(name.len - dot - 1), name.data + dot + 1);
  BUFFER_LITERAL(out, "a rule that allows it: ");
  write_shown(out, rule);
  buffer_append_char(out, '\n');
}

static void set_remote(struct failure *failure, const struct jp_client_error *error,
                       const struct jp_answer *answer, bool verbose)
{
  const struct jp_throwable *throwable = jp_answer_throwable(answer);
  const struct jp_json data = jp_answer_json(answer);
  int code = jp_answer_error_code(answer);
  const char *lack = jp_answer_lack(answer);
  const char *message = lack != NULL ? lack : throwable->message != NULL ? throwable->message : error->text;
  failure->code = code;
  failure->kind = code == FAILURE_CODE_DENIED ? FAILURE_DENIED : FAILURE_THROWN;
  text_format(failure->type, sizeof failure->type, "%s", throwable->type == NULL ? "" : throwable->type);
  jp_fail(&failure->error, JP_JAVA, "%s", message);
  note_types(failure, data);
  if (code == FAILURE_CODE_DENIED) {
    write_shown(&failure->report, message);
    write_rule(&failure->report, message);
  } else if (code <= -32600 && code >= FAILURE_CODE_PARAMS) { /* nothing has run, so there are no frames */
    if (throwable->type != NULL)
      buffer_printf(&failure->report, "%s: ", failure->type);
    write_shown(&failure->report, message);
    buffer_append_char(&failure->report, '\n');
  } else if (throwable->type == NULL) {
    write_shown(&failure->report, message);
    buffer_append_char(&failure->report, '\n');
  } else {
    write_throwable(&failure->report, throwable, verbose);
  }
  write_suggestions(&failure->report, data);
}

static const struct {
  enum jp_client_status status;
  enum failure_kind kind;
} kinds[] = {
    {JP_CLIENT_TIMEOUT, FAILURE_TIMEOUT},     {JP_CLIENT_CLOSED, FAILURE_CONNECTION},
    {JP_CLIENT_UNSENT, FAILURE_CONNECTION},   {JP_CLIENT_REFUSED, FAILURE_CONNECTION},
    {JP_CLIENT_PROTOCOL, FAILURE_CONNECTION}, {JP_CLIENT_INTERRUPTED, FAILURE_INTERRUPTED},
    {JP_CLIENT_NO_MEMORY, FAILURE_MEMORY},
};

void failure_set(struct failure *failure, enum jp_client_status status, const struct jp_client_error *error,
                 const struct jp_answer *answer, bool verbose)
{
  failure_clear(failure);
  if (status == JP_CLIENT_REMOTE && answer != NULL) {
    set_remote(failure, error, answer, verbose);
    return;
  }
  failure->kind = FAILURE_PROGRAM;
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    if (kinds[i].status == status)
      failure->kind = kinds[i].kind;
  }
  jp_fail(&failure->error, JP_INVALID, "%s", error->text);
  write_shown(&failure->report, error->text);
  buffer_append_char(&failure->report, '\n');
}

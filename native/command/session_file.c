#include "command/session_file.h"

#include "base/number_format.h"
#include "base/runtime_folder.h"
#include "base/uuid.h"
#include "client/client_sessions.h"
#include "json/writer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 64 << 20, PING_MS = 10000, END_MS = 5000, LOCK_PAUSE_MS = 20 };

struct session_file {
  const char *name;
  char path[PATH_MAX];
  int file;
  char id[UUID_TEXT_LENGTH + 1];
  struct arena arena;
  struct jp_json json; /* absent: a new session */
  const char *url;
};

static bool is_name(const char *name)
{
  size_t length = strlen(name);
  return length > 0 && length <= 64 && name[0] != '.' &&
         strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == length;
}

/* $folder/sessions. False: an error was printed. */
static bool find_folder(char *out, size_t size)
{
  struct jp_error error = {0};
  char folder[PATH_MAX];
  if (runtime_folder_make(folder, sizeof folder, &error) != JP_OK) {
    fprintf(stderr, "jpeer: %s\n", error.text);
    return false;
  }
  text_format(out, size, "%s/sessions", folder);
  if (mkdir(out, 0700) == 0 || errno == EEXIST)
    return true;
  fprintf(stderr, "jpeer: cannot create %s: %s\n", out, strerror(errno));
  return false;
}

/* False: it is not what session_file_save has written. */
static bool read_session(struct session_file *file, struct text content)
{
  struct uuid uuid;
  if (jp_json_parse((struct jp_text){content.data, content.len}, 8, &file->json, NULL) != JP_JSONRPC_OK ||
      !uuid_parse(value_read_text(&file->arena, jp_json_member(file->json, "session")), &uuid) ||
      jp_json_member(file->json, "url").kind != JP_JSON_STRING ||
      jp_json_member(file->json, "epoch").kind != JP_JSON_STRING ||
      jp_json_member(file->json, "variables").kind != JP_JSON_ARRAY)
    return false;
  file->url = value_read_text(&file->arena, jp_json_member(file->json, "url")).data;
  uuid_format(&uuid, file->id);
  return true;
}

/* Waits for other commands of the session; Ctrl-C ends the wait. */
static bool lock_file(const struct command *command, const struct session_file *file)
{
  if (flock(file->file, LOCK_EX | LOCK_NB) == 0)
    return true;
  if (errno == EWOULDBLOCK)
    fprintf(stderr, "jpeer %s: waits for another command of the session %s\n", command->name, file->name);
  while (errno == EWOULDBLOCK) {
    if (command_poll(NULL, 0, LOCK_PAUSE_MS) < 0)
      return false;
    if (flock(file->file, LOCK_EX | LOCK_NB) == 0)
      return true;
  }
  return false;
}

/* The content, in the arena. data NULL: it cannot be read. */
static struct text read_content(struct session_file *file)
{
  struct stat found;
  if (fstat(file->file, &found) != 0)
    return TEXT_ABSENT;
  if (found.st_size > FILE_MAX) {
    errno = EFBIG;
    return TEXT_ABSENT;
  }
  char *content = arena_alloc(&file->arena, (size_t)found.st_size + 1);
  ssize_t length = content == NULL ? -1 : pread(file->file, content, (size_t)found.st_size, 0);
  return length < 0 ? TEXT_ABSENT : (struct text){content, (size_t)length};
}

int session_file_open(const struct command *command, const char *name, struct session_file **opened,
                      const char **session_id, const char **url)
{
  char folder[PATH_MAX];
  struct stat found;
  struct uuid uuid;
  *opened = NULL;
  if (!is_name(name)) {
    (void)command_fail_usage(
        command, "a session's name has letters, digits, \".\", \"_\" and \"-\", at most 64: not \"%.*s\"",
        OPTION_SHOWN(name));
    return COMMAND_USAGE;
  }
  if (!find_folder(folder, sizeof folder))
    return COMMAND_FAILED;
  struct session_file *file = calloc(1, sizeof *file);
  if (file == NULL)
    return COMMAND_FAILED;
  *opened = file;
  arena_init(&file->arena);
  file->name = name;
  text_format(file->path, sizeof file->path, "%s/%s", folder, name);
  do { /* the file may be removed or replaced while its lock is awaited */
    if (file->file > 0)
      close(file->file);
    file->file = open(file->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file->file < 0 || !lock_file(command, file) || fstat(file->file, &found) != 0) {
      if (command_is_interrupted())
        return COMMAND_INTERRUPTED;
      fprintf(stderr, "jpeer %s: cannot open %s: %s\n", command->name, file->path, strerror(errno));
      return COMMAND_FAILED;
    }
  } while (found.st_nlink == 0);
  struct text content = read_content(file);
  if (content.data == NULL) {
    fprintf(stderr, "jpeer %s: cannot read %s: %s\n", command->name, file->path, strerror(errno));
    return COMMAND_FAILED;
  }
  if (content.len > 0 && !read_session(file, content)) {
    fprintf(stderr, "jpeer %s: %s is not the file of a session: remove it to begin a new one\n",
            command->name, file->path);
    return COMMAND_FAILED;
  }
  if (content.len == 0) {
    uuid_random(&uuid);
    uuid_format(&uuid, file->id);
  }
  *session_id = file->id;
  *url = file->url;
  return COMMAND_GOOD;
}

/* ---- variables ---- */

static struct value *read_variable(struct session_file *file, struct value_pool *pool,
                                   struct command *command, struct jp_json json, uint64_t epoch)
{
  struct text kind = value_read_text(&file->arena, jp_json_member(json, "kind"));
  struct text type = value_read_text(&file->arena, jp_json_member(json, "type"));
  struct text text = value_read_text(&file->arena, jp_json_member(json, "text"));
  struct jp_json boxed = jp_json_member(json, "boxed");
  int64_t number = 0;
  int64_t sent = 0;
  struct value *value = value_create(pool, VALUE_NULL);
  if (value == NULL)
    return NULL;
  (void)jp_json_integer(jp_json_member(json, "number"), &number);
  (void)jp_json_integer(jp_json_member(json, "sent"), &sent);
  value->is_boxed = boxed.kind == JP_JSON_TRUE;
  value->primitive = type.len == 1 ? type.data[0] : 0;
  value->integer = number;
  if (text_equal(kind, TEXT("object"))) {
    value->kind = VALUE_OBJECT;
    value->primitive = 0;
    value->ref = client_adopt_ref(command->client, (uint32_t)number, type.data, epoch, (uint32_t)sent);
    return value->ref != NULL && value_set_type(value, type) &&
                   (jp_json_member(json, "text").kind == JP_JSON_ABSENT || value_set_text(value, text))
               ? value
               : NULL;
  }
  if (text_equal(kind, TEXT("text"))) {
    value->kind = VALUE_TEXT;
    value->primitive = 0;
    return value_set_text(value, text) && (type.len == 0 || value_set_type(value, type)) ? value : NULL;
  }
  if (text_equal(kind, TEXT("number"))) {
    value->kind = VALUE_NUMBER;
    value->number = strtod(text.data, NULL);
  } else {
    value->kind = text_equal(kind, TEXT("boolean")) ? VALUE_BOOLEAN
                  : text_equal(kind, TEXT("char"))  ? VALUE_CHAR
                  : text_equal(kind, TEXT("null"))  ? VALUE_NULL
                                                    : VALUE_INTEGER;
  }
  return value;
}

/* The first answer has the epoch of the session: without it no object could be told from those of another peer. */
static int learn_epoch(struct command *command)
{
  struct jp_request ping = jp_build_ping();
  struct jp_answer *answer = NULL;
  struct jp_client_error error = {0};
  const int64_t timeout_ms = command->options.timeout_ms;
  if (client_session_epoch(command->client) != 0)
    return COMMAND_GOOD;
  enum jp_client_status status =
      jp_client_call(command->client, &ping,
                     timeout_ms > 0 && timeout_ms < PING_MS ? (int)timeout_ms : PING_MS, &answer, &error);
  int code = status == JP_CLIENT_OK ? COMMAND_GOOD : command_report_status(command, status, &error, answer);
  jp_answer_free(answer);
  return code;
}

int session_file_load(struct session_file *file, struct command *command)
{
  struct value_pool pool = {0};
  struct jp_json item;
  struct buffer lost;
  int64_t results = 0;
  uint64_t epoch =
      strtoull(value_read_text(&file->arena, jp_json_member(file->json, "epoch")).data, NULL, 16);
  int code = learn_epoch(command);
  if (code != COMMAND_GOOD)
    return code;
  buffer_init(&lost);
  for (struct jp_json_cursor cursor = jp_json_enter(jp_json_member(file->json, "variables"));
       jp_json_next(&cursor, NULL, &item);) {
    struct text name = value_read_text(&file->arena, jp_json_member(item, "name"));
    struct value *value = read_variable(file, &pool, command, item, epoch);
    if (value == NULL || !evaluator_define(command->evaluator, name, value))
      buffer_printf(&lost, "%s%.*s", lost.len == 0 ? "" : ", ", TEXT_ARGS(name));
  }
  value_pool_fini(&pool);
  (void)jp_json_integer(jp_json_member(file->json, "results"), &results);
  evaluator_set_results(command->evaluator, (size_t)results);
  if (lost.len > 0)
    fprintf(stderr, "jpeer %s: the peer of the session has ended, or has ended the session: %.*s are gone\n",
            command->name, (int)lost.len, lost.data);
  buffer_fini(&lost);
  return COMMAND_GOOD;
}

static void write_variable(struct buffer *out, const char *name, const struct value *value, bool is_repeated)
{
  static const char *const kinds[] = {
      [VALUE_NULL] = "null",     [VALUE_BOOLEAN] = "boolean", [VALUE_INTEGER] = "integer",
      [VALUE_NUMBER] = "number", [VALUE_CHAR] = "char",       [VALUE_TEXT] = "text",
      [VALUE_OBJECT] = "object", [VALUE_PENDING] = NULL};
  char digits[NUMBER_TEXT_MAX];
  if (kinds[value->kind] == NULL) {
    if (strcmp(name, "_") != 0 && strcmp(name, "args") != 0) /* which each shell has anew */
      fprintf(stderr, "jpeer: the variable %s is not kept: only values and objects are\n", name);
    return;
  }
  buffer_printf(out, "%s\n{\"name\":", out->data[out->len - 1] == '[' ? "" : ",");
  json_write_string(out, text_of(name));
  buffer_printf(out, ",\"kind\":\"%s\",\"boxed\":%s", kinds[value->kind], value->is_boxed ? "true" : "false");
  if (value->type != NULL) {
    BUFFER_LITERAL(out, ",\"type\":");
    json_write_string(out, text_of(value->type));
  } else if (value->primitive != 0) {
    buffer_printf(out, ",\"type\":\"%c\"", value->primitive);
  }
  if (value->text.data != NULL) {
    BUFFER_LITERAL(out, ",\"text\":");
    json_write_string(out, value->text);
  }
  if (value->kind == VALUE_NUMBER)
    buffer_printf(out, ",\"text\":\"%.*s\"", (int)number_format_double(value->number, digits), digits);
  else if (value->ref != NULL)
    buffer_printf(out, ",\"number\":%" PRIu32 ",\"sent\":%" PRIu32, jp_ref_number(value->ref),
                  is_repeated ? 0 : client_sent_count(value->ref));
  else
    buffer_printf(out, ",\"number\":%" PRId64, value->integer);
  buffer_append_char(out, '}');
}

/* A ref among the variables, for the order by refs. */
struct held_ref {
  const struct jp_ref *ref;
  size_t index; /* of the variable */
};

static int order_refs(const void *left, const void *right)
{
  const struct held_ref *a = left;
  const struct held_ref *b = right;
  const uintptr_t refs[2] = {(uintptr_t)a->ref, (uintptr_t)b->ref};
  return refs[0] != refs[1] ? (refs[0] > refs[1]) - (refs[0] < refs[1])
                            : (a->index > b->index) - (a->index < b->index);
}

/* Two variables of one object share a handle: the first one has its count. Fills repeated for each variable. False: no
 * memory. */
static bool find_repeated(const struct evaluator *evaluator, size_t count, bool *repeated)
{
  struct held_ref *refs = calloc(count + 1, sizeof *refs);
  const struct value *value;
  if (refs == NULL)
    return false;
  for (size_t i = 0; i < count && evaluator_variable(evaluator, i, &value) != NULL; i++)
    refs[i] = (struct held_ref){value->ref, i};
  qsort(refs, count, sizeof *refs, order_refs);
  for (size_t i = 1; i < count; i++)
    repeated[refs[i].index] = refs[i].ref != NULL && refs[i].ref == refs[i - 1].ref;
  free(refs);
  return true;
}

/* Replaces the file: what others see is the old content or the new one. The draft is locked before it has the file's name,
 * so that who waits for the old one's lock waits on. */
static bool replace_file(struct session_file *file, struct text content)
{
  char draft[PATH_MAX];
  const char *name = strrchr(file->path, '/') + 1; /* which begins with no dot */
  text_format(draft, sizeof draft, "%.*s.%s.new", (int)(name - file->path), file->path, name);
  int written = open(draft, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (written < 0)
    return false;
  errno = ENOSPC; /* of a write that is cut */
  if (flock(written, LOCK_EX | LOCK_NB) == 0 &&
      write(written, content.data, content.len) == (ssize_t)content.len && rename(draft, file->path) == 0) {
    close(file->file);
    file->file = written;
    return true;
  }
  const int fault = errno;
  unlink(draft);
  close(written);
  errno = fault;
  return false;
}

int session_file_save(struct session_file *file, const struct command *command, const char *url)
{
  struct buffer out;
  const struct value *value;
  const char *name;
  size_t count = 0;
  buffer_init(&out);
  BUFFER_LITERAL(&out, "{\"url\":");
  json_write_string(&out, text_of(url));
  buffer_printf(&out, ",\"session\":\"%s\",\"epoch\":\"%016" PRIx64 "\",\"results\":%zu,\"variables\":[",
                file->id, client_session_epoch(command->client), evaluator_results(command->evaluator));
  while (evaluator_variable(command->evaluator, count, &value) != NULL)
    count++;
  bool *repeated = calloc(count + 1, sizeof *repeated);
  bool is_good = repeated != NULL && find_repeated(command->evaluator, count, repeated);
  for (size_t i = 0; is_good && (name = evaluator_variable(command->evaluator, i, &value)) != NULL; i++)
    write_variable(&out, name, value, repeated[i]);
  free(repeated);
  BUFFER_LITERAL(&out, "\n]}\n");
  errno = out.failed || !is_good ? ENOMEM : EFBIG; /* a larger file could not be read again */
  bool is_written = is_good && !out.failed && out.len <= FILE_MAX && replace_file(file, buffer_text(&out));
  buffer_fini(&out);
  if (is_written)
    return COMMAND_GOOD;
  fprintf(stderr, "jpeer %s: cannot write %s: %s\n", command->name, file->path, strerror(errno));
  return COMMAND_FAILED;
}

void session_file_remove(struct session_file *file)
{
  unlink(file->path);
}

void session_file_close(struct session_file *file)
{
  if (file == NULL)
    return;
  if (file->file >= 0)
    close(file->file);
  arena_fini(&file->arena);
  free(file);
}

/* ---- sessions, end ---- */

int command_sessions(struct command *command)
{
  char folder[PATH_MAX];
  (void)command;
  if (!find_folder(folder, sizeof folder))
    return COMMAND_FAILED;
  DIR *files = opendir(folder);
  for (const struct dirent *entry; files != NULL && (entry = readdir(files)) != NULL;) {
    struct session_file file = {.file = is_name(entry->d_name) ? openat(dirfd(files), entry->d_name,
                                                                        O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
                                                               : -1};
    if (file.file < 0)
      continue;
    arena_init(&file.arena);
    struct text content = read_content(&file); /* without its lock: a command may use it for long */
    if (content.len > 0 && !read_session(&file, content))
      printf("%-20s is broken: remove %s/%s\n", entry->d_name, folder, entry->d_name);
    else if (file.url != NULL)
      printf("%-20s %s  %zu variables\n", entry->d_name, file.url,
             jp_json_count(jp_json_member(file.json, "variables")));
    arena_fini(&file.arena);
    close(file.file);
  }
  if (files != NULL)
    closedir(files);
  return COMMAND_GOOD;
}

/* Nothing listens at the address any more: the session has ended with its peer. */
static bool has_ended(enum jp_client_status status, const struct jp_client_error *error)
{
  static const int faults[] = {ECONNREFUSED, ENOENT};
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
    if (status == JP_CLIENT_REFUSED && text_ends_with(text_of(error->text), text_of(strerror(faults[i]))))
      return true;
  }
  return false;
}

static int end_session(struct command *command, const char *url, const char *id)
{
  struct jp_client_config config = command_client_config(command);
  struct jp_request request = jp_build_delete_session();
  struct jp_answer *answer = NULL;
  struct jp_client *client = NULL;
  struct jp_client_error error;
  config.peer_id = id;
  enum jp_client_status status = jp_client_open(url, &config, &client, &error);
  if (has_ended(status, &error))
    return COMMAND_GOOD;
  if (status == JP_CLIENT_OK)
    status = jp_client_call(client, &request, END_MS, &answer, &error);
  int code = status == JP_CLIENT_OK || status == JP_CLIENT_STALE
                 ? COMMAND_GOOD
                 : command_report_status(command, status, &error, answer);
  jp_answer_free(answer);
  jp_client_close(client);
  return code;
}

int command_end(struct command *command)
{
  struct session_file *file;
  const char *id = NULL;
  const char *url = NULL;
  int code = session_file_open(command, command->words[0], &file, &id, &url);
  if (code == COMMAND_GOOD && url == NULL) {
    fprintf(stderr, "jpeer end: there is no session %s\n", command->words[0]);
    session_file_remove(file);
    code = COMMAND_FAILED;
  } else if (code == COMMAND_GOOD) {
    code = end_session(command, url, id);
    if (code == COMMAND_GOOD)
      session_file_remove(file);
  }
  session_file_close(file);
  return code;
}

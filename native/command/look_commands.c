/* Commands that look at peers: ls, describe, ping, stats, gc, ps, peers, calls and cancel. */
#include "command/command.h"

#include "command/peers.h"
#include "json/writer.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <time.h>

/* A String of JSON in the arena; "" if it is none. */
static void write_line(const struct command *command, struct text text)
{
  command_write_text(command, text);
  fputc('\n', command->out);
}

/* ---- ls ---- */

enum { NAMES_STANDARD = 1000, NAMES_MAX = 65536 };

/* pattern: of the names that are shown; NULL: all. */
static void print_names(const struct command *command, struct jp_json names, const char *member,
                        const char *end, const char *pattern)
{
  struct jp_json item;
  struct arena arena;
  arena_init(&arena);
  for (struct jp_json_cursor cursor = jp_json_enter(jp_json_member(names, member));
       jp_json_next(&cursor, NULL, &item);) {
    struct text name = value_read_text(&arena, item);
    if (pattern == NULL || (name.len > 0 && fnmatch(pattern, name.data, 0) == 0)) {
      command_write_text(command, name);
      fprintf(command->out, "%s\n", end);
    }
    arena_reset(&arena);
  }
  arena_fini(&arena);
}

/* Whether the only name is the package itself: then what is in it is wanted. */
static bool is_package_alone(struct jp_json names, struct text prefix)
{
  char name[1000];
  struct jp_json packages = jp_json_member(names, "packages");
  return jp_json_count(jp_json_member(names, "classes")) == 0 && jp_json_count(packages) == 1 &&
         jp_json_string(jp_json_at(packages, 0), name, sizeof name) == prefix.len &&
         text_equal(text_of(name), prefix);
}

static bool list_names(struct command *command, const char *prefix, struct jp_answer **answer,
                       struct jp_json *names, int *code)
{
  size_t most = command->options.elements != 0 ? command->options.elements
                : command->word_count == 0 || strchr(command->words[0], '*') == NULL ? NAMES_STANDARD
                                                                                     : NAMES_MAX;
  struct jp_request request = jp_build_list_names(prefix, (int64_t)most);
  const struct failure *failure;
  if (!evaluator_request(command->evaluator, &request, answer, &failure)) {
    *code = command_report(command, failure, TEXT_ABSENT);
    return false;
  }
  *code = COMMAND_GOOD;
  if (jp_json_parse(jp_answer_text(*answer), 8, names, NULL) != JP_JSONRPC_OK)
    *names = (struct jp_json){.kind = JP_JSON_ABSENT};
  return true;
}

int command_list(struct command *command)
{
  const char *prefix = command->word_count == 0 ? "" : command->words[0];
  const char *pattern = strchr(prefix, '*') == NULL ? NULL : prefix;
  struct jp_answer *answer;
  struct jp_json names;
  struct arena arena;
  bool is_complete = true;
  int code = COMMAND_FAILED;
  if (pattern != NULL && command->options.json)
    return command_fail_usage(command, "--json takes a prefix, not the pattern \"%.*s\"",
                              OPTION_SHOWN(prefix));
  arena_init(&arena);
  if (pattern != NULL)
    prefix = arena_printf(&arena, "%.*s", (int)strcspn(pattern, "*?["), pattern).data;
  bool is_listed = prefix != NULL && list_names(command, prefix, &answer, &names, &code);
  if (is_listed && pattern == NULL && is_package_alone(names, text_of(prefix))) {
    jp_answer_free(answer);
    prefix = arena_printf(&arena, "%s.", prefix).data;
    is_listed = list_names(command, prefix == NULL ? "" : prefix, &answer, &names, &code);
  }
  if (is_listed) {
    (void)jp_json_boolean(jp_json_member(names, "complete"), &is_complete);
    if (command->options.json) {
      write_line(command, (struct text){names.text.data == NULL ? "" : names.text.data, names.text.len});
    } else {
      print_names(command, names, "packages", ".", pattern);
      print_names(command, names, "classes", "", pattern);
    }
    if (!is_complete && !command->options.json)
      fputs("jpeer ls: there are more names (-n COUNT)\n", stderr);
    jp_answer_free(answer);
  }
  arena_fini(&arena);
  return code;
}

/* ---- describe ---- */

static void append_words(struct buffer *out, struct arena *arena, struct jp_json list, const char *before,
                         const char *between)
{
  struct jp_json item;
  size_t count = 0;
  for (struct jp_json_cursor cursor = jp_json_enter(list); jp_json_next(&cursor, NULL, &item);) {
    struct text word = value_read_text(arena, item);
    buffer_printf(out, "%s%.*s", count++ == 0 ? before : between, TEXT_ARGS(word));
  }
}

static void append_parameters(struct buffer *out, struct arena *arena, struct jp_json member)
{
  struct jp_json parameter;
  size_t count = 0;
  buffer_append_char(out, '(');
  for (struct jp_json_cursor cursor = jp_json_enter(jp_json_member(member, "parameters"));
       jp_json_next(&cursor, NULL, &parameter);) {
    buffer_printf(out, count++ == 0 ? "" : ", ");
    buffer_append_text(out, value_read_text(arena, jp_json_member(parameter, "type")));
    struct text name = value_read_text(arena, jp_json_member(parameter, "name"));
    if (!text_starts_with(name, TEXT("arg")))
      buffer_printf(out, " %.*s", TEXT_ARGS(name));
  }
  buffer_append_char(out, ')');
}

struct member_list {
  const char *member; /* of the description */
  const char *type;   /* the member with its type; NULL: none */
  bool has_parameters;
};

static void append_member(struct buffer *out, struct arena *arena, const struct member_list *list,
                          struct jp_json member)
{
  struct text modifiers = value_read_text(arena, jp_json_member(member, "modifiers"));
  buffer_printf(out, "  %.*s%s", TEXT_ARGS(modifiers), modifiers.len > 0 ? " " : "");
  if (list->type != NULL)
    buffer_printf(out, "%.*s ", TEXT_ARGS(value_read_text(arena, jp_json_member(member, list->type))));
  buffer_append_text(out, value_read_text(arena, jp_json_member(member, "name")));
  if (list->has_parameters)
    append_parameters(out, arena, member);
  BUFFER_LITERAL(out, ";\n");
}

static bool is_shown(const struct command *command, struct jp_json member, bool is_static)
{
  bool flag = false;
  (void)jp_json_boolean(jp_json_member(member, "isStatic"), &flag);
  bool is_inherited = jp_json_member(member, "inheritedFrom").kind == JP_JSON_STRING;
  return flag == is_static && (!is_inherited || command->options.inherited);
}

/* Static members first: a caller can use them at once. */
static void append_members(const struct command *command, struct buffer *out, struct arena *arena,
                           struct jp_json description)
{
  static const struct member_list lists[] = {
      {"fields", "type", false}, {"constructors", NULL, true}, {"methods", "returnType", true}};
  static const struct {
    size_t list;
    bool is_static;
  } order[] = {{0, true}, {2, true}, {1, false}, {0, false}, {2, false}};
  struct jp_json member;
  for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
    const struct member_list *list = &lists[order[i].list];
    for (struct jp_json_cursor cursor = jp_json_enter(jp_json_member(description, list->member));
         jp_json_next(&cursor, NULL, &member);) {
      if (is_shown(command, member, order[i].is_static))
        append_member(out, arena, list, member);
    }
  }
}

static void print_description(const struct command *command, struct jp_json description)
{
  struct arena arena;
  struct buffer out;
  arena_init(&arena);
  buffer_init(&out);
  struct text modifiers = value_read_text(&arena, jp_json_member(description, "modifiers"));
  const char *class_word = memmem(modifiers.data, modifiers.len, "interface", 9) != NULL ? "" : "class ";
  buffer_printf(&out, "%.*s%s%s%.*s", TEXT_ARGS(modifiers), modifiers.len > 0 ? " " : "", class_word,
                TEXT_ARGS(value_read_text(&arena, jp_json_member(description, "class"))));
  struct text super = value_read_text(&arena, jp_json_at(jp_json_member(description, "superclasses"), 0));
  if (super.len > 0 && !text_equal(super, TEXT("java.lang.Object")))
    buffer_printf(&out, " extends %.*s", TEXT_ARGS(super));
  append_words(&out, &arena, jp_json_member(description, "interfaces"),
               *class_word == '\0' ? " extends " : " implements ", ", ");
  BUFFER_LITERAL(&out, " {\n");
  append_members(command, &out, &arena, description);
  BUFFER_LITERAL(&out, "}\n");
  command_write_text(command, buffer_text(&out));
  buffer_fini(&out);
  arena_fini(&arena);
}

int command_describe(struct command *command)
{
  struct text source = text_of(command->words[0]);
  struct value *value;
  struct jp_answer *answer;
  const struct failure *failure;
  char words[120];
  if (!evaluator_resolve(command->evaluator, source, &value, &failure))
    return command_report(command, failure, source);
  struct jp_request request;
  if (value->kind == VALUE_CLASS)
    request = jp_build_describe_type(value->text.data);
  else if (value->kind == VALUE_OBJECT)
    request = jp_build_describe(jp_object(value->ref));
  else {
    fprintf(stderr, "jpeer describe: %s is neither a class nor an object\n", value_describe(value, words));
    value_release(value);
    return COMMAND_FAILED;
  }
  request.members_only = true;
  int code = COMMAND_GOOD;
  if (!evaluator_request(command->evaluator, &request, &answer, &failure)) {
    code = command_report(command, failure, TEXT_ABSENT);
  } else {
    struct jp_json description = jp_answer_json(answer);
    if (command->options.json)
      write_line(command, (struct text){description.text.data, description.text.len});
    else
      print_description(command, description);
    jp_answer_free(answer);
  }
  value_release(value);
  return code;
}

/* ---- ping, stats, gc ---- */

static int run_control(struct command *command, const struct jp_request *request, struct jp_answer **answer)
{
  const struct failure *failure;
  if (evaluator_request(command->evaluator, request, answer, &failure))
    return COMMAND_GOOD;
  return command_report(command, failure, TEXT_ABSENT);
}

int command_ping(struct command *command)
{
  struct jp_request request = jp_build_ping();
  struct jp_answer *answer = NULL;
  struct timespec begin;
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  int code = run_control(command, &request, &answer);
  clock_gettime(CLOCK_MONOTONIC, &end);
  if (code == COMMAND_GOOD)
    fprintf(command->out, "alive: %.2f ms\n",
            (double)(end.tv_sec - begin.tv_sec) * 1e3 + (double)(end.tv_nsec - begin.tv_nsec) / 1e6);
  jp_answer_free(answer);
  return code;
}

int command_stats(struct command *command)
{
  struct jp_request request = jp_build_stats();
  struct jp_answer *answer = NULL;
  int code = run_control(command, &request, &answer);
  struct jp_text text = jp_answer_text(answer);
  if (code == COMMAND_GOOD)
    write_line(command, (struct text){text.data == NULL ? "" : text.data, text.len});
  jp_answer_free(answer);
  return code;
}

int command_gc(struct command *command)
{
  struct jp_request request = jp_build_gc();
  struct jp_answer *answer = NULL;
  int code = run_control(command, &request, &answer);
  jp_answer_free(answer);
  return code;
}

/* ---- ps ---- */

int command_ps(struct command *command)
{
  struct arena arena;
  struct buffer out;
  arena_init(&arena);
  buffer_init(&out);
  struct running_peer *first;
  struct jp_error error;
  int code = COMMAND_GOOD;
  if (peers_list(&arena, &first, &error) != JP_OK) {
    fprintf(stderr, "jpeer ps: %s\n", error.text);
    code = COMMAND_FAILED;
  }
  if (command->options.jvms && !peers_add_jvms(&arena, &first)) {
    fputs("jpeer ps: out of memory\n", stderr);
    code = COMMAND_FAILED;
  }
  if (first != NULL && !command->options.json)
    buffer_printf(&out, "%-20s %8s  %-16s  %-36s  %s\n", "NAME", "PID", "SINCE", "UUID", "ADDRESSES");
  for (const struct running_peer *peer = first; peer != NULL; peer = peer->next) {
    char since[32];
    struct tm when;
    localtime_r(&peer->since, &when);
    strftime(since, sizeof since, command->options.json ? "%Y-%m-%dT%H:%M:%S%z" : "%Y-%m-%d %H:%M", &when);
    if (command->options.json) {
      BUFFER_LITERAL(&out, "{\"name\":");
      json_write_string(&out, peer->name);
      buffer_printf(&out, ",\"pid\":%lld,\"since\":\"%s\",\"uuid\":\"%.*s\",\"addresses\":[",
                    (long long)peer->pid, since, TEXT_ARGS(peer->uuid));
    } else {
      buffer_printf(&out, "%-20.*s %8lld  %-16s  %-36.*s ", TEXT_ARGS(peer->name), (long long)peer->pid,
                    since, TEXT_ARGS(peer->uuid));
    }
    for (size_t i = 0; peer->addresses[i] != NULL; i++) {
      buffer_printf(&out, "%s", command->options.json ? i > 0 ? "," : "" : " ");
      if (command->options.json)
        json_write_string(&out, text_of(peer->addresses[i]));
      else
        buffer_append_text(&out, text_of(peer->addresses[i]));
    }
    buffer_append_text(&out, command->options.json ? TEXT("]}\n") : TEXT("\n"));
  }
  if (out.len > 0)
    command_write_text(command, buffer_text(&out));
  buffer_fini(&out);
  arena_fini(&arena);
  return code;
}

/* ---- peers ---- */

static void append_json_member(struct buffer *out, const char *name, const char *value)
{
  buffer_printf(out, "%s\"%s\":", out->data[out->len - 1] == '{' ? "" : ",", name);
  if (value == NULL)
    BUFFER_LITERAL(out, "null");
  else
    json_write_string(out, text_of(value));
}

static void append_peer(const struct jp_directory_peer *peer, bool is_json, struct buffer *out)
{
  enum { MS_IN_S = 1000 };
  char since[40] = "";
  struct tm when;
  const time_t seconds = (time_t)(peer->since_ms / MS_IN_S);
  if (peer->since_ms > 0 && localtime_r(&seconds, &when) != NULL &&
      strftime(since, sizeof since, is_json ? "%Y-%m-%dT%H:%M:%S%z" : "%Y-%m-%d %H:%M", &when) == 0)
    since[0] = '\0'; /* a year that does not fit */
  if (!is_json) {
    const char *name = peer->name == NULL ? "-" : peer->name;
    buffer_printf(out, "%-20s  %-36s  %-16s %s%s%s%s\n", name, peer->uuid, since[0] == '\0' ? "-" : since,
                  peer->json_rpc == NULL ? "" : " ", peer->json_rpc == NULL ? "" : peer->json_rpc,
                  peer->zmq_rpc == NULL ? "" : " ", peer->zmq_rpc == NULL ? "" : peer->zmq_rpc);
    return;
  }
  buffer_append_char(out, '{');
  append_json_member(out, "name", peer->name);
  append_json_member(out, "uuid", peer->uuid);
  append_json_member(out, "since", since[0] == '\0' ? NULL : since);
  append_json_member(out, "jsonRpc", peer->json_rpc);
  append_json_member(out, "zmqRpc", peer->zmq_rpc);
  append_json_member(out, "zmqCurve", peer->zmq_curve);
  BUFFER_LITERAL(out, "}");
}

/* A table, or JSON: a line for each peer; with --watch an array for each state of the directory. */
static int print_peers(const struct command *command, const struct jp_directory_peers *peers)
{
  const bool is_json = command->options.json;
  const bool is_array = is_json && command->options.watch;
  const size_t count = jp_directory_peers_count(peers);
  struct buffer out;
  buffer_init(&out);
  if (is_array)
    buffer_append_char(&out, '[');
  else if (count > 0 && !is_json)
    buffer_printf(&out, "%-20s  %-36s  %-16s  %s\n", "NAME", "UUID", "SINCE", "ADDRESSES");
  for (size_t i = 0; i < count; i++) {
    if (is_array && i > 0)
      buffer_append_char(&out, ',');
    append_peer(jp_directory_peers_at(peers, i), is_json, &out);
    if (is_json && !is_array)
      buffer_append_char(&out, '\n');
  }
  if (is_array)
    BUFFER_LITERAL(&out, "]\n");
  if (command->options.watch && !is_json && command->is_terminal)
    fputs("\033[H\033[2J", command->out);
  else if (command->options.watch && !is_json)
    buffer_append_char(&out, '\n'); /* the lists are apart */
  command_write_text(command, out.failed || out.len == 0 ? TEXT("") : buffer_text(&out));
  bool is_short = out.failed;
  buffer_fini(&out);
  if (jp_directory_peers_fault(peers) != NULL)
    fprintf(stderr, "jpeer peers: %s\n", jp_directory_peers_fault(peers));
  if (!is_short)
    return command_flush_output(command);
  fputs("jpeer peers: out of memory\n", stderr);
  return COMMAND_FAILED;
}

static bool is_watch_over(void *context)
{
  (void)context;
  return command_is_interrupted();
}

int command_peers(struct command *command)
{
  const struct command_directory *directory = &command->options.directory;
  const struct jp_directory_config config = {.size = sizeof config,
                                             .endpoints = directory->endpoints,
                                             .name_space = directory->name_space,
                                             .ca_file = directory->ca_file,
                                             .cert_file = directory->cert_file,
                                             .key_file = directory->key_file,
                                             .user_file = directory->user_file,
                                             .timeout_ms = (int)directory->timeout_ms,
                                             .interrupted = is_watch_over};
  struct jp_directory_peers *peers = NULL;
  struct jp_client_error error = {0};
  int code = COMMAND_GOOD;
  if (directory->endpoints == NULL)
    return command_fail_usage(command, "needs -d HOST:PORT or JPEER_DIRECTORY");
  if (command->options.watch)
    command_watch_pipe();
  enum jp_client_status status;
  do {
    status = command->options.watch ? jp_directory_watch(&config, JP_FOREVER, &peers, &error)
                                    : jp_directory_list(&config, &peers, &error);
    if (status == JP_CLIENT_OK)
      code = print_peers(command, peers);
  } while (status == JP_CLIENT_OK && code == COMMAND_GOOD && command->options.watch &&
           !command_pipe_has_ended());
  jp_directory_peers_free(peers);
  if (status == JP_CLIENT_INTERRUPTED)
    return command_pipe_has_ended() ? COMMAND_GOOD : COMMAND_INTERRUPTED;
  if (status == JP_CLIENT_OK)
    return code;
  fprintf(stderr, "jpeer peers: %s\n", error.text);
  return status == JP_CLIENT_INVALID                                        ? COMMAND_USAGE
         : status == JP_CLIENT_NO_MEMORY || status == JP_CLIENT_UNSUPPORTED ? COMMAND_FAILED
                                                                            : COMMAND_UNREACHED;
}

/* ---- calls, cancel ---- */

static struct text member_text(struct arena *arena, struct jp_json call, const char *name)
{
  struct jp_json member = jp_json_member(call, name);
  return member.kind == JP_JSON_STRING ? value_read_text(arena, member)
                                       : (struct text){member.text.data, member.text.len};
}

int command_calls(struct command *command)
{
  struct jp_request request = jp_make_request(JP_CONTROL, NULL, "calls");
  struct jp_answer *answer = NULL;
  struct jp_json calls;
  struct jp_json call;
  struct arena arena;
  struct buffer out;
  int code = run_control(command, &request, &answer);
  if (code != COMMAND_GOOD)
    return code;
  arena_init(&arena);
  buffer_init(&out);
  struct jp_text text = jp_answer_text(answer);
  if (command->options.json) {
    buffer_printf(&out, "%.*s\n", (int)text.len, text.data);
  } else if (jp_json_parse(text, 100, &calls, NULL) == JP_JSONRPC_OK && jp_json_count(calls) > 0) {
    buffer_printf(&out, "%-14s %10s  %-12s  %-12s  %s\n", "CALL", "MS", "PRINCIPAL", "THREAD", "MEMBER");
    for (struct jp_json_cursor cursor = jp_json_enter(calls); jp_json_next(&cursor, NULL, &call);)
      buffer_printf(
          &out, "%-14.*s %10.*s  %-12.*s  %-12.*s  %.*s\n", TEXT_ARGS(member_text(&arena, call, "call")),
          TEXT_ARGS(member_text(&arena, call, "ms")), TEXT_ARGS(member_text(&arena, call, "principal")),
          TEXT_ARGS(member_text(&arena, call, "thread")), TEXT_ARGS(member_text(&arena, call, "member")));
  }
  if (out.len > 0)
    command_write_text(command, buffer_text(&out));
  buffer_fini(&out);
  arena_fini(&arena);
  jp_answer_free(answer);
  return COMMAND_GOOD;
}

int command_cancel(struct command *command)
{
  char json[80];
  char *end;
  const char *word = command->words[0];
  errno = 0;
  long long number = strtoll(word, &end, 10);
  if (errno != 0 || *word < '0' || *word > '9' || *end != '\0')
    return command_fail_usage(command, "takes the number of a call, not \"%.*s\"", OPTION_SHOWN(word));
  text_format(json, sizeof json, "{\"name\":\"call\",\"value\":%lld}", number);
  struct jp_argument argument = jp_json_argument(jp_text_of(json));
  struct jp_request request = jp_make_request(JP_CONTROL, NULL, "cancel");
  request.args = &argument;
  request.arg_count = 1;
  struct jp_answer *answer = NULL;
  bool is_cancelled = false;
  int code = run_control(command, &request, &answer);
  if (code == COMMAND_GOOD && (!jp_answer_boolean(answer, &is_cancelled) || !is_cancelled)) {
    fprintf(stderr, "jpeer cancel: no call %lld runs\n", number);
    code = COMMAND_FAILED;
  }
  jp_answer_free(answer);
  return code;
}

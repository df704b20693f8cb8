#include "command/completer.h"

#include "base/array.h"

#include <stdlib.h>

enum { NAMES_MAX = 300, TIMEOUT_MS = 3000 };

/* The members of a class, as jpeer.describe gives them, and what was asked for. */
struct known_class {
  struct known_class *next;
  struct text name;
  struct jp_answer *answer; /* NULL: it cannot be described */
};

struct completer {
  struct command *command;
  struct arena arena; /* of a completion */
  struct arena names; /* of the classes */
  struct known_class *classes;
  struct text *items;
  struct text *shown;
  size_t count;
  size_t item_capacity;
  size_t shown_capacity;
  bool is_cut;
};

struct completer *completer_create(struct command *command)
{
  struct completer *completer = calloc(1, sizeof *completer);
  if (completer == NULL)
    return NULL;
  completer->command = command;
  arena_init(&completer->arena);
  arena_init(&completer->names);
  return completer;
}

void completer_destroy(struct completer *completer)
{
  if (completer == NULL)
    return;
  for (struct known_class *known = completer->classes; known != NULL; known = known->next)
    jp_answer_free(known->answer);
  arena_fini(&completer->arena);
  arena_fini(&completer->names);
  free(completer->items);
  free(completer->shown);
  free(completer);
}

static void add_candidate(struct completer *completer, struct text item, struct text shown)
{
  for (size_t i = 0; i < completer->count; i++) {
    if (text_equal(completer->shown[i], shown))
      return;
  }
  struct text *items =
      array_grow(completer->items, completer->count, &completer->item_capacity, sizeof *items);
  if (items == NULL)
    return;
  completer->items = items;
  struct text *texts =
      array_grow(completer->shown, completer->count, &completer->shown_capacity, sizeof *texts);
  if (texts == NULL)
    return;
  completer->shown = texts;
  items[completer->count] = arena_text(&completer->arena, item);
  texts[completer->count] = arena_text(&completer->arena, shown);
  if (items[completer->count].data != NULL && texts[completer->count].data != NULL)
    completer->count++;
}

/* ---- names of packages and classes ---- */

/* Adds the names with a prefix. simple: classes by their simple names. Full names are not proposed if an imported class is. */
static void add_names(struct completer *completer, struct jp_json names, bool simple, bool has_class)
{
  struct jp_json item;
  bool is_complete = true;
  for (struct jp_json_cursor cursor = jp_json_enter(jp_json_member(names, "packages"));
       !simple && jp_json_next(&cursor, NULL, &item);) {
    struct text name = value_read_text(&completer->arena, item);
    struct text shown = arena_printf(&completer->arena, "%.*s.", TEXT_ARGS(name));
    if (shown.data != NULL)
      add_candidate(completer, shown, shown);
  }
  for (struct jp_json_cursor cursor = jp_json_enter(jp_json_member(names, "classes"));
       jp_json_next(&cursor, NULL, &item);) {
    struct text name = value_read_text(&completer->arena, item);
    size_t dot = text_find_last(name, '.');
    if (!simple && has_class)
      continue;
    if (simple && dot != SIZE_MAX)
      name = text_slice(name, dot + 1, name.len);
    if (memchr(name.data, '$', name.len) == NULL)
      add_candidate(completer, name, name);
  }
  (void)jp_json_boolean(jp_json_member(names, "complete"), &is_complete);
  completer->is_cut |= !is_complete;
}

/* One list_names for each prefix, in one round trip. The first `simple` of them are of imported packages. */
static void ask_names(struct completer *completer, const char **prefixes, size_t count, size_t simple)
{
  struct jp_client_error error;
  char step[24];
  struct jp_chain *chain = jp_chain_create(completer->command->client);
  for (size_t i = 0; i < count; i++) {
    struct jp_request request = jp_build_list_names(prefixes[i], NAMES_MAX);
    text_format(step, sizeof step, "s%zu", i);
    jp_chain_request(chain, step, &request);
  }
  (void)!jp_chain_send(chain, TIMEOUT_MS, &error);
  const size_t before = completer->count;
  for (size_t i = 0; i < count; i++) {
    struct jp_json names;
    text_format(step, sizeof step, "s%zu", i);
    struct jp_text text = jp_answer_text(jp_chain_answer(chain, step));
    if (text.data != NULL && jp_json_parse(text, 8, &names, NULL) == JP_JSONRPC_OK)
      add_names(completer, names, i<simple, completer->count> before && i >= simple && simple > 0);
  }
  jp_chain_destroy(chain);
}

static bool is_capital(char c)
{
  return c >= 'A' && c <= 'Z';
}

static void add_variables(struct completer *completer, struct text typed)
{
  static const char *const words[] = {"for",   "if",    "else",   "while",      "try",
                                      "catch", "throw", "return", "import",     "new",
                                      "true",  "false", "null",   "instanceof", "var"};
  const struct value *value;
  const char *name;
  for (size_t i = 0; (name = evaluator_variable(completer->command->evaluator, i, &value)) != NULL; i++) {
    if (text_starts_with(text_of(name), typed))
      add_candidate(completer, text_of(name), text_of(name));
  }
  for (size_t i = 0; typed.len > 0 && i < sizeof words / sizeof words[0]; i++) {
    if (text_starts_with(text_of(words[i]), typed))
      add_candidate(completer, text_of(words[i]), text_of(words[i]));
  }
}

static void add_simple_names(struct completer *completer, struct text typed)
{
  enum { PREFIXES_MAX = 40 };
  const char *prefixes[PREFIXES_MAX];
  const char *package;
  size_t count = 0;
  add_variables(completer, typed);
  if (typed.len == 0)
    return;
  if (is_capital(typed.data[0])) {
    for (size_t i = 0; count + 1 < PREFIXES_MAX &&
                       (package = evaluator_imported_package(completer->command->evaluator, i)) != NULL;
         i++)
      prefixes[count++] = arena_printf(&completer->arena, "%s.%.*s", package, TEXT_ARGS(typed)).data;
  }
  size_t simple = count;
  prefixes[count++] = arena_printf(&completer->arena, "%.*s", TEXT_ARGS(typed)).data;
  for (size_t i = 0; i < count; i++) {
    if (prefixes[i] == NULL)
      return;
  }
  ask_names(completer, prefixes, count, simple);
}

/* ---- members ---- */

static struct jp_json describe(struct completer *completer, struct text type)
{
  struct known_class *known = completer->classes;
  while (known != NULL && !text_equal(known->name, type))
    known = known->next;
  if (known == NULL) {
    struct jp_client_error error;
    known = arena_calloc(&completer->names, 1, sizeof *known);
    if (known == NULL)
      return (struct jp_json){.kind = JP_JSON_ABSENT};
    known->name = arena_printf(&completer->names, "%.*s", TEXT_ARGS(type));
    struct jp_request request = jp_build_describe_type(known->name.data);
    request.members_only = true;
    if (known->name.data == NULL || jp_client_call(completer->command->client, &request, TIMEOUT_MS,
                                                   &known->answer, &error) != JP_CLIENT_OK) {
      jp_answer_free(known->answer);
      known->answer = NULL;
      return (struct jp_json){.kind = JP_JSON_ABSENT}; /* asked for again: it may be a timeout */
    }
    known->next = completer->classes;
    completer->classes = known;
  }
  return jp_answer_json(known->answer);
}

static struct text write_signature(struct completer *completer, struct jp_json method, struct text name)
{
  struct jp_json parameter;
  struct buffer out;
  size_t count = 0;
  buffer_init(&out);
  buffer_printf(&out, "%.*s(", TEXT_ARGS(name));
  for (struct jp_json_cursor cursor = jp_json_enter(jp_json_member(method, "parameters"));
       jp_json_next(&cursor, NULL, &parameter);) {
    struct text type = value_read_text(&completer->arena, jp_json_member(parameter, "type"));
    struct text called = value_read_text(&completer->arena, jp_json_member(parameter, "name"));
    size_t dot = text_find_last(type, '.');
    buffer_printf(&out, "%s%.*s", count++ == 0 ? "" : ", ",
                  TEXT_ARGS(dot == SIZE_MAX ? type : text_slice(type, dot + 1, type.len)));
    if (!text_starts_with(called, TEXT("arg")))
      buffer_printf(&out, " %.*s", TEXT_ARGS(called));
  }
  struct text returned = value_read_text(&completer->arena, jp_json_member(method, "returnType"));
  size_t dot = text_find_last(returned, '.');
  buffer_printf(&out, ") %.*s",
                TEXT_ARGS(dot == SIZE_MAX ? returned : text_slice(returned, dot + 1, returned.len)));
  struct text kept = arena_text(&completer->arena, buffer_text(&out));
  buffer_fini(&out);
  return kept.data == NULL ? name : kept;
}

/* Members that begin with `typed`, after `before`: those of a class are static, those of an object all others. */
static void add_members(struct completer *completer, struct text type, bool is_static, struct text before,
                        struct text typed)
{
  struct jp_json description = describe(completer, type);
  static const char *const lists[] = {"fields", "methods"};
  struct jp_json member;
  for (size_t list = 0; list < 2; list++) {
    for (struct jp_json_cursor cursor = jp_json_enter(jp_json_member(description, lists[list]));
         jp_json_next(&cursor, NULL, &member);) {
      struct text name = value_read_text(&completer->arena, jp_json_member(member, "name"));
      bool flag = false;
      (void)jp_json_boolean(jp_json_member(member, "isStatic"), &flag);
      if (flag != is_static || !text_starts_with(name, typed))
        continue;
      struct text item = arena_printf(&completer->arena, "%.*s%.*s%s", TEXT_ARGS(before), TEXT_ARGS(name),
                                      list == 0                                                  ? ""
                                      : jp_json_count(jp_json_member(member, "parameters")) == 0 ? "()"
                                                                                                 : "(");
      if (item.data != NULL)
        add_candidate(completer, item, list == 0 ? name : write_signature(completer, member, name));
    }
  }
  struct text item = arena_printf(&completer->arena, "%.*sclass", TEXT_ARGS(before));
  if (is_static && completer->count > 0 && item.data != NULL && text_starts_with(TEXT("class"), typed))
    add_candidate(completer, item, TEXT("class"));
}

/* The class of the object that a variable holds; data NULL: none. */
static struct text find_variable_type(struct completer *completer, struct text name)
{
  const struct value *value;
  const char *other;
  for (size_t i = 0; (other = evaluator_variable(completer->command->evaluator, i, &value)) != NULL; i++) {
    if (!text_equal(text_of(other), name))
      continue;
    return value->kind == VALUE_OBJECT && value->type != NULL ? text_of(value->type)
           : value->kind == VALUE_TEXT                        ? TEXT("java.lang.String")
                                                              : TEXT_ABSENT;
  }
  return TEXT_ABSENT;
}

static void complete_dotted(struct completer *completer, struct text word, size_t dot)
{
  struct text owner = text_slice(word, 0, dot);
  struct text before = text_slice(word, 0, dot + 1);
  struct text typed = text_slice(word, dot + 1, word.len);
  struct text type = find_variable_type(completer, owner);
  size_t last = text_find_last(owner, '.');
  struct text name = last == SIZE_MAX ? owner : text_slice(owner, last + 1, owner.len);
  if (type.data != NULL) {
    add_members(completer, type, false, before, typed);
    return;
  }
  if (name.len > 0 && is_capital(name.data[0])) {
    type = evaluator_find_class(completer->command->evaluator, owner);
    if (type.data != NULL)
      add_members(completer, type, true, before, typed);
    return;
  }
  const char *prefix = arena_printf(&completer->arena, "%.*s", TEXT_ARGS(word)).data;
  if (prefix != NULL)
    ask_names(completer, &prefix, 1, 0);
}

/* ---- */

static bool is_name_byte(char c)
{
  return (c >= 'a' && c <= 'z') || is_capital(c) || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         (unsigned char)c >= 0x80;
}

void completer_complete(void *context, struct text line, size_t cursor, struct completion *completion)
{
  struct completer *completer = context;
  size_t from = cursor;
  while (from > 0 && (is_name_byte(line.data[from - 1]) || line.data[from - 1] == '.'))
    from--;
  if (from == cursor && cursor > 0 && line.data[cursor - 1] == '(') { /* its overloads are listed */
    from--;
    while (from > 0 && (is_name_byte(line.data[from - 1]) || line.data[from - 1] == '.'))
      from--;
    cursor--;
  }
  arena_reset(&completer->arena);
  completer->count = 0;
  completer->is_cut = false;
  struct text word = text_slice(line, from, cursor);
  size_t dot = text_find_last(word, '.');
  if (word.len > 0 && (word.data[0] == '.' || (word.data[0] >= '0' && word.data[0] <= '9')))
    from = cursor; /* after a call or a number: the class is not known */
  else if (dot == SIZE_MAX)
    add_simple_names(completer, word);
  else
    complete_dotted(completer, word, dot);
  *completion = (struct completion){.from = from,
                                    .items = completer->items,
                                    .shown = completer->shown,
                                    .count = completer->count,
                                    .is_cut = completer->is_cut};
}

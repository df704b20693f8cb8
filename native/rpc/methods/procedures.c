#include "rpc/methods/procedures.h"

#include "base/number.h"

const struct text rpc_param_names[RPC_PARAMS] = {
    [RPC_PARAM_TYPE] = TEXT("type"),
    [RPC_PARAM_METHOD] = TEXT("method"),
    [RPC_PARAM_FIELD] = TEXT("field"),
    [RPC_PARAM_INSTANCE] = TEXT("instance"),
    [RPC_PARAM_ARGS] = TEXT("args"),
    [RPC_PARAM_VALUE] = TEXT("value"),
    [RPC_PARAM_ENCODING] = TEXT("encoding"),
    [RPC_PARAM_CLASSES] = TEXT("classes"),
    [RPC_PARAM_OPENRPC] = TEXT("openrpc"),
    [RPC_PARAM_NAMES] = TEXT("names"),
    [RPC_PARAM_MAX] = TEXT("max"),
    [RPC_PARAM_FROM] = TEXT("from"),
    [RPC_PARAM_MEMBERS_ONLY] = TEXT("members_only"),
    [RPC_PARAM_REF] = TEXT("ref"),
    [RPC_PARAM_COLUMNS] = TEXT("columns"),
    [RPC_PARAM_ROWS] = TEXT("rows"),
};

#define REQUIRED .required = true
#define TYPE                                                                                                 \
  {                                                                                                          \
    .param = RPC_PARAM_TYPE, .wants = RPC_WANTS_TEXT, REQUIRED,                                              \
    .summary = "The fully qualified name of the class"                                                       \
  }
#define TARGET_TYPE                                                                                          \
  {                                                                                                          \
    .param = RPC_PARAM_TYPE, .wants = RPC_WANTS_TEXT, REQUIRED, .or_instance = true,                         \
    .summary = "The fully qualified name of the class"                                                       \
  }
#define INSTANCE                                                                                             \
  {                                                                                                          \
    .param = RPC_PARAM_INSTANCE, .wants = RPC_WANTS_NUMBER,                                                  \
    .summary = "The reference of the object; none for a static member"                                       \
  }
#define OBJECT                                                                                               \
  {                                                                                                          \
    .param = RPC_PARAM_INSTANCE, .wants = RPC_WANTS_OBJECT, REQUIRED, .summary = "The object"                \
  }
#define ARGS(words)                                                                                          \
  {                                                                                                          \
    .param = RPC_PARAM_ARGS, .wants = RPC_WANTS_LIST, .summary = (words)                                     \
  }
#define ENCODING                                                                                             \
  {                                                                                                          \
    .param = RPC_PARAM_ENCODING, .wants = RPC_WANTS_TEXT, .by_name_only = true,                              \
    .summary = "base64: a result that is a byte[] comes as base64"                                           \
  }
#define NAMED(which, words)                                                                                  \
  {                                                                                                          \
    .param = (which), .wants = RPC_WANTS_TEXT, REQUIRED, .summary = (words)                                  \
  }

const struct rpc_procedure rpc_procedures[] = {
    {.name = TEXT("call"),
     .op = OP_CALL,
     .summary = "Calls a method of an object or of a class",
     .params = {TARGET_TYPE, NAMED(RPC_PARAM_METHOD, "The name of the method"), INSTANCE,
                ARGS("The arguments"), ENCODING},
     .param_count = 5,
     .returns = RPC_WANTS_OBJECT},
    {.name = TEXT("new"),
     .op = OP_NEW,
     .summary = "Creates an object or an array",
     .params = {TYPE, ARGS("The arguments of the constructor"), ENCODING},
     .param_count = 3,
     .returns = RPC_WANTS_OBJECT},
    {.name = TEXT("get"),
     .op = OP_GET,
     .safety = RPC_SAFE_ALWAYS,
     .summary = "Reads a field of an object or of a class",
     .params = {TARGET_TYPE, NAMED(RPC_PARAM_FIELD, "The name of the field"), INSTANCE, ENCODING},
     .param_count = 4,
     .returns = RPC_WANTS_OBJECT},
    {.name = TEXT("put"),
     .op = OP_PUT,
     .summary = "Writes a field of an object or of a class",
     .params = {TARGET_TYPE,
                NAMED(RPC_PARAM_FIELD, "The name of the field"),
                {.param = RPC_PARAM_VALUE, .wants = RPC_WANTS_ANY, REQUIRED, .summary = "The new value"},
                INSTANCE},
     .param_count = 4,
     .returns = RPC_WANTS_OBJECT},
    {.name = TEXT("control"),
     .op = OP_CONTROL,
     .safety = RPC_SAFE_BY_CONTROL,
     .summary = "Calls a method of the peer itself, such as ping, delete_object, delete_session or gc",
     .params = {NAMED(RPC_PARAM_METHOD, "The name of the control method"),
                ARGS("The references of the objects to delete")},
     .param_count = 2,
     .returns = RPC_WANTS_OBJECT},
    {.name = TEXT("meta"),
     .op = OP_META,
     .safety = RPC_SAFE_ALWAYS,
     .summary = "Describes or names the classes that the caller may use",
     .params = {NAMED(RPC_PARAM_METHOD, "fetch_classes_info or list_names"),
                ARGS("The arguments, each an object with name, type and value")},
     .param_count = 2,
     .returns = RPC_WANTS_OBJECT},
    {.name = TEXT("jpeer.fetch"),
     .op = OP_FETCH,
     .is_own = true,
     .summary =
         "Returns the next elements of an iterator, a stream or an object with an iterator, or a piece of "
         "an array, a String or an InputStream",
     .params = {OBJECT,
                {.param = RPC_PARAM_MAX,
                 .wants = RPC_WANTS_NUMBER,
                 .summary = "The most elements; 1000 if left out"},
                {.param = RPC_PARAM_FROM,
                 .wants = RPC_WANTS_NUMBER,
                 .summary = "Of an array or a String, the index to begin at; 0 if left out"},
                {.param = RPC_PARAM_ENCODING,
                 .wants = RPC_WANTS_TEXT,
                 .by_name_only = true,
                 .summary = "base64: bytes, and elements of an array of primitives, come as one text"}},
     .param_count = 4,
     .returns = RPC_WANTS_OBJECT},
    {.name = TEXT("jpeer.columns"),
     .op = OP_COLUMNS,
     .is_own = true,
     .summary =
         "Returns the next rows of a ResultSet, an iterator, a stream, an object with an iterator or an "
         "array, as columns in the layout of Apache Arrow",
     .params = {OBJECT,
                {.param = RPC_PARAM_MAX,
                 .wants = RPC_WANTS_NUMBER,
                 .summary = "The most rows; 10000 if left out"},
                {.param = RPC_PARAM_COLUMNS,
                 .wants = RPC_WANTS_LIST,
                 .summary = "The columns of a ResultSet, or the paths in the elements; all if left out"},
                {.param = RPC_PARAM_FROM,
                 .wants = RPC_WANTS_NUMBER,
                 .summary = "Of an array, the index to begin at; 0 if left out"}},
     .param_count = 4,
     .returns = RPC_WANTS_OBJECT},
    {.name = TEXT("jpeer.rows"),
     .op = OP_ROWS,
     .is_own = true,
     .summary = "Adds rows, as columns in the layout of Apache Arrow, to a Collection, or executes them as a "
                "batch of a PreparedStatement",
     .params =
         {OBJECT,
          {.param = RPC_PARAM_ROWS, .wants = RPC_WANTS_NUMBER, REQUIRED, .summary = "The number of rows"},
          {.param = RPC_PARAM_COLUMNS,
           .wants = RPC_WANTS_LIST,
           REQUIRED,
           .summary = "The columns, as jpeer.columns returns them"},
          {.param = RPC_PARAM_FROM,
           .wants = RPC_WANTS_NUMBER,
           .summary = "The number of the first row in errors; 0 if left out"},
          {.param = RPC_PARAM_TYPE,
           .wants = RPC_WANTS_TEXT,
           .by_name_only = true,
           .summary = "What a row becomes in a Collection: java.lang.Object[], java.util.List or "
                      "java.util.Map; Object[] if left out"}},
     .param_count = 5,
     .returns = RPC_WANTS_OBJECT},
    {.name = TEXT("jpeer.describe"),
     .op = OP_DESCRIBE,
     .is_own = true,
     .summary =
         "Shows an object or a class: its class and text, its superclasses and interfaces, and the members "
         "that the caller may use",
     .params = {{.param = RPC_PARAM_INSTANCE,
                 .wants = RPC_WANTS_OBJECT,
                 .summary = "The object; none where a type is given"},
                {.param = RPC_PARAM_TYPE,
                 .wants = RPC_WANTS_TEXT,
                 .by_name_only = true,
                 .summary = "In place of an object the fully qualified name of a class"},
                {.param = RPC_PARAM_MEMBERS_ONLY,
                 .wants = RPC_WANTS_BOOLEAN,
                 .by_name_only = true,
                 .summary = "true: without text and length, for which code of the object would run"}},
     .param_count = 3,
     .returns = RPC_WANTS_OBJECT},
    {.name = TEXT("jpeer.assemble"),
     .op = OP_ASSEMBLE,
     .is_own = true,
     .summary = "Puts an array of primitives, a String, a List or a Map together from pieces, which are too "
                "long for one "
                "message",
     .params = {NAMED(RPC_PARAM_TYPE, "The type of the whole and of each piece"),
                {.param = RPC_PARAM_VALUE, .wants = RPC_WANTS_ANY, REQUIRED, .summary = "The next piece"},
                {.param = RPC_PARAM_REF,
                 .wants = RPC_WANTS_NUMBER,
                 .summary =
                     "The reference that the first piece was answered with; none with the first piece"},
                {.param = RPC_PARAM_ENCODING,
                 .wants = RPC_WANTS_TEXT,
                 .by_name_only = true,
                 .summary = "base64: the piece is the elements of an array of primitives as one text"}},
     .param_count = 4,
     .returns = RPC_WANTS_OBJECT},
    {.name = TEXT("rpc.discover"),
     .kind = RPC_PROCEDURE_DISCOVER,
     .safety = RPC_SAFE_ALWAYS,
     .summary = "Describes this service, or the Java members of classes as methods, as an OpenRPC document",
     .params = {{.param = RPC_PARAM_CLASSES,
                 .wants = RPC_WANTS_LIST,
                 .summary = "Patterns of the classes to describe; * matches anything without a dot, ** "
                            "anything"},
                {.param = RPC_PARAM_OPENRPC,
                 .wants = RPC_WANTS_BOOLEAN,
                 .summary = "The form of the description; true, which is also the default"},
                {.param = RPC_PARAM_NAMES,
                 .wants = RPC_WANTS_TEXT,
                 .summary = "identifiers: the names of methods are identifiers, for generators"}},
     .param_count = 3,
     .returns = RPC_WANTS_OBJECT},
    {.name = TEXT("system.describe"),
     .kind = RPC_PROCEDURE_DESCRIBE,
     .safety = RPC_SAFE_ALWAYS,
     .only_1_1 = true,
     .unlisted = true,
     .summary = "Describes this service and its procedures",
     .returns = RPC_WANTS_OBJECT},
};

const size_t rpc_procedure_count = sizeof rpc_procedures / sizeof rpc_procedures[0];

struct text rpc_wants_word(enum rpc_wants wants)
{
  static const struct text words[] = {
      [RPC_WANTS_ANY] = TEXT("any"),     [RPC_WANTS_TEXT] = TEXT("str"), [RPC_WANTS_NUMBER] = TEXT("num"),
      [RPC_WANTS_BOOLEAN] = TEXT("bit"), [RPC_WANTS_LIST] = TEXT("arr"), [RPC_WANTS_OBJECT] = TEXT("obj"),
  };
  return words[wants];
}

const struct rpc_procedure *rpc_procedure_find(struct text name)
{
  for (size_t i = 0; i < rpc_procedure_count; i++) {
    if (text_equal(rpc_procedures[i].name, name))
      return &rpc_procedures[i];
  }
  return NULL;
}

/* ---- coercion of values (JSON-RPC 1.1, 6.6.1) ---- */

static enum jp_status enclose_text(struct json_value value, const char *format, enum json_kind kind,
                                   struct arena *arena, struct json_value *near)
    __attribute__((format(printf, 2, 0)));

/* Puts the value's text between brackets or quotes. The text is a number or a literal, so it needs no
 * escapes. */
static enum jp_status enclose_text(struct json_value value, const char *format, enum json_kind kind,
                                   struct arena *arena, struct json_value *near)
{
  *near = (struct json_value){.kind = kind, .span = arena_printf(arena, format, TEXT_ARGS(value.span))};
  return near->span.data == NULL ? JP_NO_MEMORY : JP_OK;
}

static bool is_boolean(struct json_value value)
{
  return value.kind == JSON_KIND_TRUE || value.kind == JSON_KIND_FALSE;
}

static enum jp_status make_text(struct json_value value, struct arena *arena, struct json_value *near)
{
  if (value.kind == JSON_KIND_NUMBER || is_boolean(value))
    return enclose_text(value, "\"%.*s\"", JSON_KIND_STRING, arena, near);
  return JP_OK;
}

static enum jp_status make_number(struct json_value value, struct arena *arena, struct json_value *near)
{
  if (is_boolean(value)) {
    *near = (struct json_value){.kind = JSON_KIND_NUMBER,
                                .span = value.kind == JSON_KIND_TRUE ? TEXT("1") : TEXT("0")};
  } else if (value.kind == JSON_KIND_STRING) {
    struct text content = json_read_string(value, arena);
    struct number number;
    if (content.data == NULL)
      return JP_NO_MEMORY;
    if (number_parse(content, &number) && number.suffix == 0)
      *near = (struct json_value){.kind = JSON_KIND_NUMBER, .span = content};
  }
  return JP_OK;
}

static enum jp_status make_boolean(struct json_value value, struct arena *arena, struct json_value *near)
{
  struct text content = value.span;
  if (value.kind == JSON_KIND_STRING)
    content = json_read_string(value, arena);
  else if (value.kind != JSON_KIND_NUMBER)
    return JP_OK;
  if (content.data == NULL)
    return JP_NO_MEMORY;
  if (text_equal(content, TEXT("true")) || text_equal(content, TEXT("1")))
    *near = (struct json_value){.kind = JSON_KIND_TRUE, .span = TEXT("true")};
  else if (text_equal(content, TEXT("false")) || text_equal(content, TEXT("0")))
    *near = (struct json_value){.kind = JSON_KIND_FALSE, .span = TEXT("false")};
  return JP_OK;
}

static enum jp_status make_list(struct json_value value, struct arena *arena, struct json_value *near)
{
  return value.kind == JSON_KIND_ARRAY ? JP_OK : enclose_text(value, "[%.*s]", JSON_KIND_ARRAY, arena, near);
}

enum jp_status rpc_value_coerce(struct json_value value, enum rpc_wants wants, struct arena *arena,
                                struct json_value *near)
{
  static enum jp_status (*const makers[])(struct json_value value, struct arena * arena,
                                          struct json_value * near) = {
      [RPC_WANTS_TEXT] = make_text, [RPC_WANTS_NUMBER] = make_number, [RPC_WANTS_BOOLEAN] = make_boolean,
      [RPC_WANTS_LIST] = make_list, [RPC_WANTS_OBJECT] = NULL,
  };
  *near = value;
  return makers[wants] == NULL ? JP_OK : makers[wants](value, arena, near);
}

/* ---- params of JSON-RPC 1.1 ---- */

enum { NO_PARAM = -1 };

struct placing {
  const struct rpc_procedure *procedure;
  struct arena *arena;
  struct json_members *members;
  struct outcome *outcome;
};

/* index NO_PARAM: the procedure does not have this parameter; the value is dropped. */
static enum jp_status place_param(struct placing *placing, int index, struct json_value value)
{
  if (index == NO_PARAM || value.kind == JSON_KIND_NULL)
    return JP_OK;
  const struct rpc_procedure_param *param = &placing->procedure->params[index];
  if (placing->members->has[param->param]) {
    outcome_fail(placing->outcome, placing->arena, FAILURE_INVALID_PARAMS, NULL,
                 "'%s' is given twice in params", rpc_param_names[param->param].data);
    return JP_INVALID;
  }
  placing->members->has[param->param] = true;
  enum jp_status status =
      rpc_value_coerce(value, param->wants, placing->arena, &placing->members->value[param->param]);
  return status == JP_OK ? JP_OK : outcome_fail_memory(placing->outcome);
}

static int param_at(const struct rpc_procedure *procedure, size_t position)
{
  bool is_there = position < procedure->param_count && !procedure->params[position].by_name_only;
  return is_there ? (int)position : NO_PARAM;
}

/* A name that has only digits is a position (JSON-RPC 1.1, 6.2.1). */
static bool is_position(struct text name)
{
  for (size_t i = 0; i < name.len; i++) {
    if (name.data[i] < '0' || name.data[i] > '9')
      return false;
  }
  return name.len > 0;
}

static size_t read_position(struct text digits)
{
  size_t position = 0;
  for (size_t i = 0; i < digits.len && position < RPC_PROCEDURE_PARAMS_MAX; i++)
    position = position * 10 + (size_t)(digits.data[i] - '0');
  return position;
}

static int find_param(const struct rpc_procedure *procedure, struct text name)
{
  if (is_position(name))
    return param_at(procedure, read_position(name));
  for (size_t i = 0; i < procedure->param_count; i++) {
    if (text_equal(rpc_param_names[procedure->params[i].param], name))
      return (int)i;
  }
  return NO_PARAM;
}

static enum jp_status place_elements(struct placing *placing, struct json_value params)
{
  struct json_cursor cursor = json_enter(params);
  struct json_value value;
  enum jp_status status = JP_OK;
  for (size_t i = 0; status == JP_OK && json_next_element(&cursor, &value); i++)
    status = place_param(placing, param_at(placing->procedure, i), value);
  return status;
}

static enum jp_status place_members(struct placing *placing, struct json_value params)
{
  struct json_cursor cursor = json_enter(params);
  struct text raw_key;
  struct json_value value;
  enum jp_status status = JP_OK;
  while (status == JP_OK && json_next_member(&cursor, &raw_key, &value)) {
    struct text name = json_unescape(raw_key, placing->arena);
    status = name.data == NULL ? outcome_fail_memory(placing->outcome)
                               : place_param(placing, find_param(placing->procedure, name), value);
  }
  return status;
}

enum jp_status rpc_params_coerce(const struct rpc_procedure *procedure, struct json_value params,
                                 struct arena *arena, struct json_members *members, struct outcome *outcome)
{
  struct placing placing = {procedure, arena, members, outcome};
  return params.kind == JSON_KIND_ARRAY ? place_elements(&placing, params) : place_members(&placing, params);
}

#include "rpc/jsonrpc/procedures.h"

const struct text rpc_param_names[RPC_PARAMS] = {
    [RPC_PARAM_TYPE] = TEXT("type"),         [RPC_PARAM_METHOD] = TEXT("method"),
    [RPC_PARAM_FIELD] = TEXT("field"),       [RPC_PARAM_INSTANCE] = TEXT("instance"),
    [RPC_PARAM_ARGS] = TEXT("args"),         [RPC_PARAM_VALUE] = TEXT("value"),
    [RPC_PARAM_ENCODING] = TEXT("encoding"), [RPC_PARAM_CLASSES] = TEXT("classes"),
    [RPC_PARAM_OPENRPC] = TEXT("openrpc"),   [RPC_PARAM_NAMES] = TEXT("names"),
    [RPC_PARAM_MAX] = TEXT("max"),           [RPC_PARAM_FROM] = TEXT("from"),
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
     .summary = "Asks something of the peer itself, such as ping, delete_object, delete_session or gc",
     .params = {NAMED(RPC_PARAM_METHOD, "The name of the control method"),
                ARGS("The references of the objects to delete")},
     .param_count = 2,
     .returns = RPC_WANTS_OBJECT},
    {.name = TEXT("meta"),
     .op = OP_META,
     .safety = RPC_SAFE_ALWAYS,
     .summary = "Describes the classes and members that the caller may use",
     .params = {NAMED(RPC_PARAM_METHOD, "fetch_classes_info"),
                ARGS("The arguments, each an object with name, type and value")},
     .param_count = 2,
     .returns = RPC_WANTS_OBJECT},
    {.name = TEXT("jpeer.fetch"),
     .op = OP_FETCH,
     .is_own = true,
     .summary = "Takes the next elements of an iterator, a stream or what has an iterator, or a piece of an "
                "array, a "
                "String or an InputStream",
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
                 .summary = "In place of an object the fully qualified name of a class"}},
     .param_count = 2,
     .returns = RPC_WANTS_OBJECT},
    {.name = TEXT("rpc.discover"),
     .kind = RPC_PROCEDURE_DISCOVER,
     .safety = RPC_SAFE_ALWAYS,
     .summary = "Describes this service, or the Java members of classes as methods, as an OpenRPC document",
     .params = {{.param = RPC_PARAM_CLASSES,
                 .wants = RPC_WANTS_LIST,
                 .summary =
                     "Patterns of the classes to describe; * stands for anything without a dot, ** for "
                     "anything"},
                {.param = RPC_PARAM_OPENRPC,
                 .wants = RPC_WANTS_BOOLEAN,
                 .summary = "The form of the description; true, which is also what it is when left out"},
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

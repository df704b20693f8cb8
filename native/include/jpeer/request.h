#ifndef JPEER_PUBLIC_REQUEST_H
#define JPEER_PUBLIC_REQUEST_H
/*
 * Requests of libjpeer-client: values for Java, and requests with them. The functions here fill structs
 * without allocating, and the structs borrow their parts. The functions of jpeer/client.h send requests. The
 * functions at the end of this file write requests as messages, for programs with their own transport.
 *
 * Threads: pure functions, any thread.
 */
#include "jpeer/jsonrpc.h"

#ifdef __cplusplus
extern "C" {
#endif

#define JP_CLIENT_MUST_CHECK __attribute__((warn_unused_result))

enum jp_client_status {
  JP_CLIENT_OK = 0,
  JP_CLIENT_REMOTE,      /* the peer answered with an error, which is in the answer */
  JP_CLIENT_TIMEOUT,     /* no answer in time; the request may have run, or may still run */
  JP_CLIENT_CLOSED,      /* the connection has ended; a request that was sent may have run */
  JP_CLIENT_REFUSED,     /* the peer or the system refused the connection */
  JP_CLIENT_INVALID,     /* the caller's input is invalid */
  JP_CLIENT_LIMIT,       /* a limit was reached; the error's text names it */
  JP_CLIENT_UNSUPPORTED, /* not supported by the transport or the form of messages */
  JP_CLIENT_PROTOCOL,    /* the peer sent an invalid message; the connection ends */
  JP_CLIENT_NO_MEMORY,
  JP_CLIENT_INTERRUPTED, /* config->interrupted ended the wait; the request may have run, or may still run */
  JP_CLIENT_STALE,       /* an object belongs to a peer that has ended, or to another session; not run */
  JP_CLIENT_TOO_LONG,    /* the request is longer than the peer's message-max; it was not sent */
  JP_CLIENT_NO_TOKEN,    /* there is no valid token, or it must not be sent over this connection; not sent */
  JP_CLIENT_UNSENT /* only with a dir: URL: there was no connection, or it ended before the request was sent; not run */
};

struct jp_client_error {
  enum jp_client_status status;
  char text[1000]; /* UTF-8, NUL-terminated; longer texts are cut and end with "..." */
};

/* "timeout" and so on; static. */
JP_API const char *jp_client_status_text(enum jp_client_status status);

struct jp_ref;      /* an object in the peer (jpeer/client.h) */
struct jp_callback; /* an object of the program that Java can call */

/* ---- arguments ---- */

enum jp_argument_kind {
  JP_ARGUMENT_NONE, /* an absent instance: the member is static */
  JP_ARGUMENT_NULL,
  JP_ARGUMENT_BOOLEAN,
  JP_ARGUMENT_INTEGER,
  JP_ARGUMENT_NUMBER,
  JP_ARGUMENT_TEXT,
  JP_ARGUMENT_REF,        /* an object, by a handle */
  JP_ARGUMENT_REF_NUMBER, /* an object, by its number */
  JP_ARGUMENT_NAMED,      /* a named result in a chain */
  JP_ARGUMENT_LIST,
  JP_ARGUMENT_MAP,
  JP_ARGUMENT_ARRAY, /* elements of a primitive type, packed as C packs them */
  JP_ARGUMENT_JSON,  /* the caller's JSON */
  JP_ARGUMENT_CALLBACK
};

/*
 * A value for Java; make one with the functions below. It borrows its parts until the request is sent or
 * written, or the step is added to a chain.
 */
struct jp_argument {
  enum jp_argument_kind kind;
  const char *type; /* "int", "java.lang.String"; NULL: the peer infers it (docs/values.md, "Bare values") */
  union {
    bool boolean;
    int64_t integer;
    double number;
    struct jp_text text; /* TEXT, NAMED and JSON */
    const struct jp_ref *ref;
    uint32_t ref_number;
    struct {
      const struct jp_argument *items;
      size_t count;
    } list;
    struct {
      const struct jp_entry *entries;
      size_t count;
    } map;
    struct {
      const void *elements;
      size_t count;
    } array;
    const struct jp_callback *callback;
  } as;
  /* For an ARRAY: the primitive type of the given elements, if the array in Java may have another element
   * type; NULL: the element type of `type`. For a LIST or MAP: "long" or "java.math.BigInteger", the type of
   * bare integers without a declared type; NULL: the type depends on their size. */
  const char *elements;
  /* For a MAP: the primitive type, or "java.math.BigInteger", of keys without a declared type; NULL:
   * Strings. */
  const char *keys;
  uintptr_t out; /* for an ARRAY: not 0: jp_answer_out returns the changed elements */
};

struct jp_entry {
  struct jp_text key;
  struct jp_argument value;
};

/* The arguments of a call: JP_ARGUMENTS(jp_int(5), jp_string("a")), or JP_NO_ARGUMENTS. Each macro stands for
 * two parameters, the list and its length. The list lives as long as its block (C11, 6.5.2.5): a function
 * cannot return a request that borrows it. In C++ a list made in this way would end with its statement; the
 * end of this file defines the macro for C++. */
#ifndef __cplusplus
#define JP_ARGUMENTS(...)                                                                                    \
  ((const struct jp_argument[]){__VA_ARGS__}),                                                               \
      (sizeof((const struct jp_argument[]){__VA_ARGS__}) / sizeof(struct jp_argument))
#endif
#define JP_NO_ARGUMENTS NULL, 0

/* Initialises a struct with zeros, in C and in C++. */
/* clang-format off */
#ifdef __cplusplus
#define JP_ZEROS {}
#else
#define JP_ZEROS {0}
#endif
/* clang-format on */

static inline struct jp_argument jp_make_argument(enum jp_argument_kind kind, const char *type)
{
  struct jp_argument made = JP_ZEROS;
  made.kind = kind;
  made.type = type;
  return made;
}

static inline struct jp_text jp_text_of(const char *utf8)
{
  struct jp_text text = JP_ZEROS;
  text.data = utf8;
  text.len = __builtin_strlen(utf8);
  return text;
}

static inline struct jp_argument jp_boolean(bool value)
{
  struct jp_argument made = jp_make_argument(JP_ARGUMENT_BOOLEAN, "boolean");
  made.as.boolean = value;
  return made;
}

static inline struct jp_argument jp_make_integer(const char *type, int64_t value)
{
  struct jp_argument made = jp_make_argument(JP_ARGUMENT_INTEGER, type);
  made.as.integer = value;
  return made;
}

static inline struct jp_argument jp_byte(int8_t value)
{
  return jp_make_integer("byte", value);
}

static inline struct jp_argument jp_short(int16_t value)
{
  return jp_make_integer("short", value);
}

static inline struct jp_argument jp_int(int32_t value)
{
  return jp_make_integer("int", value);
}

static inline struct jp_argument jp_long(int64_t value)
{
  return jp_make_integer("long", value);
}

/* NaN and infinities are supported. */
static inline struct jp_argument jp_float(float value)
{
  struct jp_argument made = jp_make_argument(JP_ARGUMENT_NUMBER, "float");
  made.as.number = value;
  return made;
}

static inline struct jp_argument jp_double(double value)
{
  struct jp_argument made = jp_make_argument(JP_ARGUMENT_NUMBER, "double");
  made.as.number = value;
  return made;
}

/* One character of UTF-8, which is one UTF-16 unit in Java. */
static inline struct jp_argument jp_char(const char *utf8)
{
  struct jp_argument made = jp_make_argument(JP_ARGUMENT_TEXT, "char");
  made.as.text = jp_text_of(utf8);
  return made;
}

static inline struct jp_argument jp_string(const char *utf8)
{
  struct jp_argument made = jp_make_argument(JP_ARGUMENT_TEXT, "java.lang.String");
  made.as.text = jp_text_of(utf8);
  return made;
}

/* UTF-8 with a length; may contain NULs. */
static inline struct jp_argument jp_text_argument(struct jp_text utf8)
{
  struct jp_argument made = jp_make_argument(JP_ARGUMENT_TEXT, "java.lang.String");
  made.as.text = utf8;
  return made;
}

/* A text that is converted to the type: an enum constant, or a class that is made from a text
 * (docs/values.md). */
static inline struct jp_argument jp_text_of_type(const char *type, const char *utf8)
{
  struct jp_argument made = jp_make_argument(JP_ARGUMENT_TEXT, type);
  made.as.text = jp_text_of(utf8);
  return made;
}

/* The value null. type selects among overloads, and may be NULL. */
static inline struct jp_argument jp_null(const char *type)
{
  return jp_make_argument(JP_ARGUMENT_NULL, type);
}

/* An object of the peer. The caller still owns the handle. */
static inline struct jp_argument jp_object(const struct jp_ref *ref)
{
  struct jp_argument made = jp_make_argument(JP_ARGUMENT_REF, NULL);
  made.as.ref = ref;
  return made;
}

static inline struct jp_argument jp_object_number(uint32_t number)
{
  struct jp_argument made = jp_make_argument(JP_ARGUMENT_REF_NUMBER, NULL);
  made.as.ref_number = number;
  return made;
}

/* In a chain: the result of the step with that name. */
static inline struct jp_argument jp_named(const char *name)
{
  struct jp_argument made = jp_make_argument(JP_ARGUMENT_NAMED, NULL);
  made.as.text = jp_text_of(name);
  return made;
}

/* A collection of that class, or an array ("java.lang.String[]"); NULL: a List. */
static inline struct jp_argument jp_list(const char *type, const struct jp_argument *items, size_t count)
{
  struct jp_argument made = jp_make_argument(JP_ARGUMENT_LIST, type);
  made.as.list.items = items;
  made.as.list.count = count;
  return made;
}

/* NULL: a Map. */
static inline struct jp_argument jp_map(const char *type, const struct jp_entry *entries, size_t count)
{
  struct jp_argument made = jp_make_argument(JP_ARGUMENT_MAP, type);
  made.as.map.entries = entries;
  made.as.map.count = count;
  return made;
}

/* type: "byte[]", "int[]", "double[]" or another array of primitives; elements: in C's representation (char:
 * uint16_t; boolean: one byte, 0 or 1). The elements are sent as one base64 text, not one by one. */
static inline struct jp_argument jp_array(const char *type, const void *elements, size_t count)
{
  struct jp_argument made = jp_make_argument(JP_ARGUMENT_ARRAY, type);
  made.as.array.elements = elements;
  made.as.array.count = count;
  return made;
}

/* Elements for a parameter that is an array of any primitive type. The array in Java has the given element
 * type if possible, otherwise another type that holds all values exactly; but floats and doubles may be
 * rounded. element: "int", "double", ... */
static inline struct jp_argument jp_elements(const char *element, const void *elements, size_t count)
{
  struct jp_argument made = jp_make_argument(JP_ARGUMENT_ARRAY, NULL);
  made.as.array.elements = elements;
  made.as.array.count = count;
  made.elements = element;
  return made;
}

/* Any argument of docs/protocol.md, as JSON. Not for binary messages. */
static inline struct jp_argument jp_json_argument(struct jp_text json)
{
  struct jp_argument made = jp_make_argument(JP_ARGUMENT_JSON, NULL);
  made.as.text = json;
  return made;
}

/* An object of the program that Java can call (jpeer/client.h, "callbacks"). jp_as_type sets its
 * interface. */
static inline struct jp_argument jp_callback_argument(const struct jp_callback *callback)
{
  struct jp_argument made = jp_make_argument(JP_ARGUMENT_CALLBACK, NULL);
  made.as.callback = callback;
  return made;
}

/* The same argument with another declared type. The type selects among overloads, as a cast does in Java. */
static inline struct jp_argument jp_as_type(const char *type, struct jp_argument argument)
{
  argument.type = type;
  return argument;
}

/* ---- requests ---- */

enum jp_operation {
  JP_NEW,
  JP_CALL,
  JP_GET,
  JP_PUT,
  JP_CONTROL,
  JP_META,
  JP_FETCH,    /* jpeer.fetch */
  JP_DESCRIBE, /* jpeer.describe */
  /* jpeer.assemble: the argument is a piece of `instance`, or the first piece of a new object; the argument
   * has a type */
  JP_ASSEMBLE,
  JP_METHOD,  /* any other method of JSON-RPC: a member by its own name, rpc.discover */
  JP_COLUMNS, /* jpeer.columns; `params` may have the JSON array of the columns */
  JP_ROWS     /* jpeer.rows: `max` is the number of rows, and each argument a column */
};

/* The options of a request (docs/protocol.md, "Options of a request"). All zero: none. */
struct jp_options {
  size_t size;               /* sizeof(struct jp_options) */
  struct jp_argument loader; /* the class loader that resolves names */
  bool base64;             /* arrays of primitives are returned as base64; jp_answer_array reads both forms */
  int64_t array_value_max; /* the most elements of a returned array; 0: the peer's own limit */
  bool elements;           /* arrays of objects are returned with their elements */
  bool longs_as_text;
  bool types;                  /* for FETCH: elements that are not plain JSON are returned with their types */
  bool throwables;             /* an error has a handle of its throwable: jp_answer_ref */
  const char *thread_affinity; /* the name of an executor of the peer */
  /* jp_callback_id of a call: the request runs on the Java thread that waits for the answer to that call.
   * NULL: the call whose function makes the request, if there is one; "": no call. */
  const char *within;
  /* Refused (-32001) if the peer's operator has not named the member idempotent; fields are read */
  bool idempotent;
};

/* One request; make one with the functions below. It borrows its texts, arguments and options. The order of
 * the members must not change, because programs are compiled with it. */
/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding) */
struct jp_request {
  enum jp_operation operation;
  const char *type;               /* the class; NULL: the instance's own class */
  const char *member;             /* a method or field; for CONTROL, META and METHOD the method */
  struct jp_argument instance;    /* JP_ARGUMENT_NONE: the member is static */
  const struct jp_argument *args; /* for PUT: the value */
  size_t arg_count;
  const struct jp_options *options; /* NULL: none */
  struct jp_text params; /* for METHOD and COLUMNS: the JSON of an array or object; data NULL: none */
  int64_t from;          /* for FETCH and COLUMNS */
  int64_t max;
  bool compress; /* for META: fetch_classes_info */
  bool merge_ancestry;
  bool members_only; /* for DESCRIBE: omits text and length, which would run the object's code */
  const char *const *include_classes; /* NULL-terminated; NULL: all */
  const char *const *exclude_prefixes;
  const char *prefix; /* for META: list_names, with max */
  uintptr_t reserved[3];
};

static inline struct jp_request jp_make_request(enum jp_operation operation, const char *type,
                                                const char *member)
{
  struct jp_request made = JP_ZEROS;
  made.operation = operation;
  made.type = type;
  made.member = member;
  return made;
}

static inline struct jp_request jp_build_constructor_call(const char *type, const struct jp_argument *args,
                                                          size_t arg_count)
{
  struct jp_request made = jp_make_request(JP_NEW, type, NULL);
  made.args = args;
  made.arg_count = arg_count;
  return made;
}

static inline struct jp_request jp_build_class_method_call(const char *type, const char *method,
                                                           const struct jp_argument *args, size_t arg_count)
{
  struct jp_request made = jp_make_request(JP_CALL, type, method);
  made.args = args;
  made.arg_count = arg_count;
  return made;
}

/* instance: jp_object(ref), jp_object_number(42), jp_named("list") in a chain, or a value with a type. type:
 * a class or interface of the instance; NULL: the instance's own class. The functions for instance fields
 * have the same parameters. */
static inline struct jp_request jp_build_instance_method_call(const char *type, const char *method,
                                                              struct jp_argument instance,
                                                              const struct jp_argument *args,
                                                              size_t arg_count)
{
  struct jp_request made = jp_make_request(JP_CALL, type, method);
  made.instance = instance;
  made.args = args;
  made.arg_count = arg_count;
  return made;
}

static inline struct jp_request jp_build_static_field_get(const char *type, const char *field)
{
  return jp_make_request(JP_GET, type, field);
}

/* field: a name, or, for an array, "[3]", "[-1]", "[10:20]". */
static inline struct jp_request jp_build_instance_field_get(const char *type, struct jp_argument instance,
                                                            const char *field)
{
  struct jp_request made = jp_make_request(JP_GET, type, field);
  made.instance = instance;
  return made;
}

/* *value is borrowed, as arguments are. */
static inline struct jp_request jp_build_static_field_put(const char *type, const char *field,
                                                          const struct jp_argument *value)
{
  struct jp_request made = jp_make_request(JP_PUT, type, field);
  made.args = value;
  made.arg_count = 1;
  return made;
}

static inline struct jp_request jp_build_instance_field_put(const char *type, struct jp_argument instance,
                                                            const char *field,
                                                            const struct jp_argument *value)
{
  struct jp_request made = jp_make_request(JP_PUT, type, field);
  made.instance = instance;
  made.args = value;
  made.arg_count = 1;
  return made;
}

/* include_classes, exclude_prefixes: NULL-terminated, or NULL. The answer is a String: the JSON of the list,
 * or, with compress, its gzip in base64. */
static inline struct jp_request jp_build_fetch_classes_info(const char *const *include_classes,
                                                            const char *const *exclude_prefixes,
                                                            bool compress, bool merge_ancestry)
{
  struct jp_request made = jp_make_request(JP_META, NULL, "fetch_classes_info");
  made.compress = compress;
  made.merge_ancestry = merge_ancestry;
  made.include_classes = include_classes;
  made.exclude_prefixes = exclude_prefixes;
  return made;
}

/* The packages and classes whose names begin with prefix, at most max. The answer is a String: the JSON of
 * {"packages": [...], "classes": [...], "complete": true}. */
static inline struct jp_request jp_build_list_names(const char *prefix, int64_t max)
{
  struct jp_request made = jp_make_request(JP_META, NULL, "list_names");
  made.prefix = prefix;
  made.max = max;
  return made;
}

/* objects: jp_object or jp_object_number, at least one. Prefer jp_ref_release to release handles. */
static inline struct jp_request jp_build_delete_object(const struct jp_argument *objects, size_t count)
{
  struct jp_request made = jp_make_request(JP_CONTROL, NULL, "delete_object");
  made.args = objects;
  made.arg_count = count;
  return made;
}

static inline struct jp_request jp_build_delete_session(void)
{
  return jp_make_request(JP_CONTROL, NULL, "delete_session");
}

static inline struct jp_request jp_build_gc(void)
{
  return jp_make_request(JP_CONTROL, NULL, "gc");
}

static inline struct jp_request jp_build_ping(void)
{
  return jp_make_request(JP_CONTROL, NULL, "ping");
}

static inline struct jp_request jp_build_stats(void)
{
  return jp_make_request(JP_CONTROL, NULL, "stats");
}

/* The next elements of an iterator, collection, map, array, String or stream, at most max; from: for arrays
 * and Strings, otherwise 0. The answer is JSON: {"elements": [...], "done": false, "ref": N}. */
static inline struct jp_request jp_build_fetch(struct jp_argument instance, int64_t max, int64_t from)
{
  struct jp_request made = jp_make_request(JP_FETCH, NULL, NULL);
  made.instance = instance;
  made.from = from;
  made.max = max;
  return made;
}

/* The next rows of a ResultSet, iterator, stream, collection, map or array, at most max, as columns; from: for
 * arrays, otherwise 0. columns: the JSON array of their names; data NULL: all. The answer is JSON: {"rows": N,
 * "done": false, "ref": N, "columns": [...]}. */
static inline struct jp_request jp_build_columns(struct jp_argument instance, int64_t max, int64_t from,
                                                 struct jp_text columns)
{
  struct jp_request made = jp_make_request(JP_COLUMNS, NULL, NULL);
  made.instance = instance;
  made.from = from;
  made.max = max;
  made.params = columns;
  return made;
}

/* Adds rows to a Collection, or executes them as a batch of a PreparedStatement (docs/tables.md). A column is a
 * jp_map of its members: name, type, unit (texts), scale (an integer), data, offsets, valid (arrays; the data of
 * objects is a list). The answer is JSON: {"rows": N, "counts": base64}. */
static inline struct jp_request jp_build_rows(struct jp_argument instance, int64_t rows,
                                              const struct jp_argument *columns, size_t count)
{
  struct jp_request made = jp_make_request(JP_ROWS, NULL, NULL);
  made.instance = instance;
  made.max = rows;
  made.args = columns;
  made.arg_count = count;
  return made;
}

/* Describes an object and its members. The answer is JSON. */
static inline struct jp_request jp_build_describe(struct jp_argument instance)
{
  struct jp_request made = jp_make_request(JP_DESCRIBE, NULL, NULL);
  made.instance = instance;
  return made;
}

/* Describes a class and its static members. The answer is JSON. */
static inline struct jp_request jp_build_describe_type(const char *type)
{
  return jp_make_request(JP_DESCRIBE, type, NULL);
}

/* A member by its own name ("java.lang.Math.max"), rpc.discover, or another method. The answer is
 * JSON. params: the JSON of an array or object; data NULL: none. */
static inline struct jp_request jp_build_method(const char *method, struct jp_text params)
{
  struct jp_request made = jp_make_request(JP_METHOD, NULL, method);
  made.params = params;
  return made;
}

/* The same request with options, which are borrowed. */
static inline struct jp_request jp_with_options(struct jp_request request, const struct jp_options *options)
{
  request.options = options;
  return request;
}

/*
 * Writes the request as a JSON-RPC 2.0 message, for programs with their own transport. id: the JSON of a
 * string or number; data NULL: a notification. JP_CLIENT_INVALID: the request is incomplete, or a text is not
 * UTF-8. (jpeer/client_jansson.h returns a tree.)
 */
JP_API enum jp_client_status jp_request_write_json(const struct jp_request *request, struct jp_text id,
                                                   struct jp_json_writer *writer,
                                                   struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/*
 * Writes the request as a binary message (docs/binary.md). session: 16 bytes, or NULL; message_id: the reply
 * contains it. Returns the length in *length, and writes the message if it fits: call with size 0 to get the
 * length. JP_CLIENT_UNSUPPORTED: the binary form cannot express the request.
 */
JP_API enum jp_client_status jp_request_write_binary(const struct jp_request *request,
                                                     const uint8_t session[16], const char *message_id,
                                                     void *out, size_t size, size_t *length,
                                                     struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

#ifdef __cplusplus
} /* extern "C" */

/*
 * The arguments of a call in C++: JP_ARGUMENTS(...) is one parameter, an array that the functions for
 * requests copy.
 *
 *   auto add = jp_build_class_method_call("java.lang.Math", "max", JP_ARGUMENTS(jp_int(5), jp_int(3)));
 *   jp_client_call(client, &add, ...);
 *
 * Such a request contains its arguments, and is copied and returned with them. Its type is not struct
 * jp_request, which would borrow the arguments from a temporary array: `struct jp_request add = ...` does not
 * compile. The parts of the arguments (texts, the items of lists) are borrowed as in C: jp_list(NULL,
 * JP_ARGUMENTS(...)) does not compile, because the items would end with the statement. `const auto items =
 * JP_ARGUMENTS(...)` and jp_list(NULL, items) does. (jpeer/client.hpp is the library for C++.)
 */
#define JP_ARGUMENTS(...) (jp_make_arguments(__VA_ARGS__))

template <size_t COUNT> struct jp_arguments {
  struct jp_argument items[COUNT];
};

template <class... ARGUMENT>
inline jp_arguments<sizeof...(ARGUMENT)> jp_make_arguments(const ARGUMENT &...arguments)
{
  return {{arguments...}};
}

/* Borrows the items. */
template <size_t COUNT> inline struct jp_argument jp_list(const char *type, const jp_arguments<COUNT> &items)
{
  return jp_list(type, items.items, COUNT);
}
template <size_t COUNT>
struct jp_argument jp_list(const char *type, const jp_arguments<COUNT> &&items) = delete;

template <size_t COUNT> class jp_request_with
{
public:
  jp_request_with(const struct jp_request &made, const jp_arguments<COUNT> &copied)
      : request(made), arguments(copied)
  {
  }
  /* Borrowed from this object. */
  const struct jp_request *operator&() const
  {
    request.args = arguments.items;
    request.arg_count = COUNT;
    return &request;
  }
  operator struct jp_request() const = delete;
  jp_request_with with_options(const struct jp_options *options) const
  {
    return jp_request_with(jp_with_options(request, options), arguments);
  }

private:
  mutable struct jp_request request; /* changed by operator& of const objects */
  jp_arguments<COUNT> arguments;
};

template <size_t COUNT>
inline jp_request_with<COUNT> jp_build_constructor_call(const char *type, const jp_arguments<COUNT> &args)
{
  return {jp_build_constructor_call(type, JP_NO_ARGUMENTS), args};
}

template <size_t COUNT>
inline jp_request_with<COUNT> jp_build_class_method_call(const char *type, const char *method,
                                                         const jp_arguments<COUNT> &args)
{
  return {jp_build_class_method_call(type, method, JP_NO_ARGUMENTS), args};
}

template <size_t COUNT>
inline jp_request_with<COUNT> jp_build_instance_method_call(const char *type, const char *method,
                                                            struct jp_argument instance,
                                                            const jp_arguments<COUNT> &args)
{
  return {jp_build_instance_method_call(type, method, instance, JP_NO_ARGUMENTS), args};
}

template <size_t COUNT>
inline jp_request_with<COUNT> jp_build_delete_object(const jp_arguments<COUNT> &objects)
{
  return {jp_build_delete_object(JP_NO_ARGUMENTS), objects};
}

template <size_t COUNT>
inline jp_request_with<COUNT> jp_with_options(const jp_request_with<COUNT> &request,
                                              const struct jp_options *options)
{
  return request.with_options(options);
}
#endif

#endif

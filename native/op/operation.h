#ifndef JPEER_OP_OPERATION_H
#define JPEER_OP_OPERATION_H
/*
 * The operation of a request. A codec makes it from the request, and rpc/run.h runs it. Plain data;
 * everything is borrowed (op/value.h).
 */
#include "op/control_methods.h"
#include "op/piece.h"
#include "op/value.h"

enum op_meta_service {
  OP_META_CLASSES, /* fetch_classes_info */
  OP_META_NAMES    /* list_names */
};

enum op_kind {
  OP_NEW,
  OP_CALL,
  OP_GET,
  OP_PUT,
  OP_CONTROL,
  OP_META,
  OP_FETCH,
  OP_DESCRIBE,
  OP_ASSEMBLE,
  OP_COLUMNS,
  OP_ROWS
};

enum op_channel { OP_CHANNEL_WEBSOCKET, OP_CHANNEL_HTTP, OP_CHANNEL_ZMQ, OP_CHANNELS };

/* A column of an OP_ROWS, as its client has written it. data NULL: the column has no such member. */
struct op_sent_column {
  struct text name;
  struct text type;
  struct text unit;
  struct text data; /* this and the next two: base64 */
  struct text offsets;
  struct text valid;
  struct op_value *objects; /* an OP_LIST; NULL: the data is base64 */
  bool has_scale;
  int64_t scale;
};

struct operation {
  enum op_kind kind;
  bool base64_result;     /* the request asks for arrays of primitives in base64 */
  bool base64_bytes;      /* the request asks for base64 only for lists of bytes */
  bool longs_as_text;     /* the request asks for longs and Longs as text, if it is by_value */
  bool element_values;    /* the value of an array of objects is the list of their values or refs */
  bool returns_throwable; /* an error has the ref of what Java threw */
  bool only_idempotent;   /* runs no member that the policy does not name idempotent; reads are allowed */
  bool element_types;     /* elements of lists in a result, and the elements of OP_FETCH, have their types */
  bool is_notification;   /* nobody reads the result */
  bool has_array_value_max;
  size_t array_value_max; /* replaces the peer's limit if has_array_value_max */
  bool element_refs;      /* the value of an array of objects is the list of their refs, as whole numbers */
  bool by_value; /* arrays, collections and maps are returned whole, as an OP_LIST, OP_MAP or OP_PACKED */
  bool
      /* primitives, wrappers and Strings in results have a ref, too. If there are too many such refs, the
       * oldest ones end */
      value_refs;
  /* a small collection or map of values is sent with its ref and the JSON text of the values */
  bool collection_values;
  struct text thread_affinity; /* the executor that the caller wants to run it; data NULL: any */
  int64_t timeout_ms;          /* the caller waits at most this long; 0: without a limit */

  /* OP_NEW, OP_CALL, OP_GET, OP_PUT; OP_FETCH has only the instance, OP_DESCRIBE the instance or the type */
  struct text type;   /* the type as the caller wrote it; data NULL: the type is the class of the instance */
  bool implies_type;  /* the caller named no type: type is Class.getName() of the instance's class */
  struct text member; /* method or field; for OP_NEW "<init>"; for a piece of an array OP_PIECE_NAME */
  bool has_instance;
  uint32_t instance;            /* valid where has_instance */
  struct op_value *receiver;    /* the instance is made from this value; NULL: see has_instance */
  const struct op_piece *piece; /* of an OP_GET or OP_PUT on an array; NULL: of a field */
  bool lists_loaders;           /* an error lists the loaders if several have a class of the name */
  uint32_t loader;              /* the ref of the class loader for names; 0: none is given */
  struct op_value *args;        /* OP_PUT: args[0] is the value */
  size_t arg_count;

  /* OP_CONTROL; the refs to delete are OP_REF values in args */
  enum op_command command;

  union {
    /* OP_CONTROL */
    struct {
      struct text command_text; /* op_control_method.text; data NULL: none is given */
      uint64_t command_call;    /* of cancel: the number of a call; 0: the text is a request's id */
    };

    /* OP_META: fetch_classes_info */
    struct {
      enum op_meta_service service;
      bool compress_encode;
      bool merge_ancestry;
      struct text *exclude_prefixes;
      size_t exclude_count;
      struct text *include_classes; /* NULL: all */
      size_t include_count;
    } meta;

    /* OP_META: list_names */
    struct {
      enum op_meta_service service; /* the same as in meta: C11, 6.5.2.3 */
      struct text prefix;
      size_t max;
    } names;

    /* OP_FETCH: the next elements of the object `instance`, by value */
    struct {
      size_t max;
      size_t from;
      size_t room;     /* bytes available for the text of the elements */
      size_t room_max; /* bytes available for the elements in an answer that contains nothing else */
      /* The codec's upper bound for the bytes of a value's text. */
      size_t (*text_length)(const struct op_value *value);
    } fetch;

    /* OP_COLUMNS: the next rows of the object `instance`, as columns */
    struct {
      size_t max;
      size_t from;        /* of an array: the row to begin at */
      struct text *paths; /* which columns, if has_paths */
      size_t path_count;
      bool has_paths;
      size_t cells_max; /* the most values of an answer */
      size_t room;      /* as of OP_FETCH */
      size_t room_max;
      size_t (*text_length)(const struct op_value *value);
    } columns;

    /* OP_ROWS: rows for the object `instance` */
    struct {
      size_t count;
      size_t from; /* the number of the first row in errors */
      const struct op_sent_column *columns;
      size_t column_count;
      struct text element; /* the class of a row in a Collection; data NULL: none is given */
    } rows;

    /* OP_DESCRIBE: if true, the peer calls no method of the object */
    bool members_only;

    /* OP_ASSEMBLE: the receiver is a piece of the object `instance`, or, without an instance, the first piece
     * of a new object */
    struct {
      size_t size; /* bytes of the piece in its message */
    } assemble;
  };
};

#endif

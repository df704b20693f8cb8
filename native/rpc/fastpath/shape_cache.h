#ifndef JPEER_RPC_FASTPATH_SHAPE_CACHE_H
#define JPEER_RPC_FASTPATH_SHAPE_CACHE_H
/*
 * A worker's shapes (rpc/fastpath/fastpath.h). A text fits a shape if it has the same bytes outside of the
 * holes, and in each hole a value of the same kind: a number or a plain string or, for a list, any number of
 * these (struct shape_list). It is then a valid request of the same structure and the same operation with
 * other values. For this folder and its tests only; on the worker's own thread.
 */
#include "rpc/fastpath/fastpath.h"
#include "rpc/fastpath/whole_number_path.h"

/* A text is compared with several shapes, each of which may make items of all its elements. Longer lists are
 * left to the general path, which checks values-max. values-max is never below the number of elements that
 * the lists of a shape may have together. */
enum { SHAPE_LIST_ITEMS_MAX = 16384 };

/* Longer numbers take the general path, which checks the limit of digits. values-max is never below this
 * number. */
enum { SHAPE_NUMBER_LENGTH_MAX = 32 };

enum { SHAPES = 8, SHAPE_TEXT_MAX = 512, SHAPE_ARGS = 8, SHAPE_HOLES = SHAPE_ARGS + 2, SHAPE_LISTS = 2 };

enum hole_kind { HOLE_ID, HOLE_INSTANCE, HOLE_ARGUMENT, HOLE_CALLBACK, HOLE_LIST };

struct shape_hole {
  enum hole_kind kind;
  bool is_string;
  size_t at;     /* in the shape's text: where the hole is */
  size_t length; /* of the hole's content in the text that was kept */
  size_t arg;    /* index of an argument */
  size_t list;   /* HOLE_LIST: index of its form */
};

/*
 * The common form of the lists in a hole: their elements have the same text except for one number or plain
 * string each, and the same text between two elements. If one such list was valid, a list of the same form is
 * valid at any length.
 */
struct shape_list {
  struct text between;     /* the scalars of two elements; empty: the list has one element */
  bool is_string;          /* the scalars are strings, not numbers */
  struct op_value element; /* an element without its scalar */
  size_t last_count;       /* of the last list: the next list usually has the same length */
};

struct shape {
  /* The request of the text that fitted last: the contents of the holes are borrowed from that text, the
   * rest from the shape's text. */
  struct rpc_cached_request request;
  /* the shape's text without the contents of the holes, and after it the texts of lists */
  char text[SHAPE_TEXT_MAX];
  size_t length; /* 0: no shape is kept here */
  struct shape_hole holes[SHAPE_HOLES];
  size_t hole_count;
  struct op_value args[SHAPE_ARGS];
  struct op_callback callback; /* of the argument that gives a callback, if any */
  struct shape_list lists[SHAPE_LISTS];
  size_t list_count;
  struct whole_number_path path;
};

struct rpc_fastpath {
  struct shape shapes[SHAPES];
  size_t last;     /* the shape that fitted last */
  size_t oldest;   /* the shape that is replaced next */
  unsigned misses; /* how many texts have fitted no shape since the last text that did */
};

#endif

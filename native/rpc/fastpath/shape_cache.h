#ifndef JPEER_RPC_FASTPATH_SHAPE_CACHE_H
#define JPEER_RPC_FASTPATH_SHAPE_CACHE_H
/*
 * A worker's shapes (rpc/fastpath/fastpath.h). A text that fits a shape byte for byte outside of the holes, with a
 * number or a plain string in each hole as before, or with any number of them for a list (struct shape_list), is a
 * valid request of the same structure and the same operation with other values. For this folder and its tests alone;
 * on the worker's own thread.
 */
#include "rpc/fastpath/fastpath.h"
#include "rpc/fastpath/whole_number_path.h"

/* A text is held against several shapes, each of which may make items of all its elements: longer lists go
 * the general path, where their elements are counted against values-max, which is never below what the lists of a
 * shape may have together. */
enum { SHAPE_LIST_ITEMS_MAX = 16384 };

/* Longer numbers go the general path, where their digits are held against their limit, which is never below
 * this. */
enum { SHAPE_NUMBER_LENGTH_MAX = 32 };

enum { SHAPES = 8, SHAPE_TEXT_MAX = 512, SHAPE_ARGS = 8, SHAPE_HOLES = SHAPE_ARGS + 2, SHAPE_LISTS = 2 };

enum hole_kind { HOLE_ID, HOLE_INSTANCE, HOLE_ARGUMENT, HOLE_CALLBACK, HOLE_LIST };

struct shape_hole {
  enum hole_kind kind;
  bool is_string;
  size_t at;     /* in the shape's text: what comes before it */
  size_t length; /* of what was there in the text that was kept */
  size_t arg;    /* index of an argument */
  size_t list;   /* HOLE_LIST: index of its form */
};

/*
 * What the lists in a hole have in common: their elements are the same text but for one number or plain string each,
 * with the same text between two of them. Where one such list was valid, any other with the same texts around its
 * scalars is valid, too, whatever their number.
 */
struct shape_list {
  struct text between;     /* the scalars of two elements; empty: there is one element alone */
  bool is_string;          /* the scalars are strings, not numbers */
  struct op_value element; /* what each element is, without its scalar */
  size_t last_count;       /* of the list that was taken last: the next one is usually as long */
};

struct shape {
  /* What the text that fitted last means: what was in a hole is borrowed from it, all else from the shape's
   * text. */
  struct rpc_cached_request request;
  char text[SHAPE_TEXT_MAX]; /* without what was in the holes; behind it, of lists */
  size_t length;             /* 0: no shape is kept here */
  struct shape_hole holes[SHAPE_HOLES];
  size_t hole_count;
  struct op_value args[SHAPE_ARGS];
  struct op_callback callback; /* of the one argument that gives one */
  struct shape_list lists[SHAPE_LISTS];
  size_t list_count;
  struct whole_number_path path;
};

struct rpc_fastpath {
  struct shape shapes[SHAPES];
  size_t last;     /* the shape that fitted last */
  size_t oldest;   /* the shape that is replaced next */
  unsigned misses; /* since a text last fitted */
};

#endif

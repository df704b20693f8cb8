#ifndef JPEER_POLICY_TREE_H
#define JPEER_POLICY_TREE_H
/*
 * Makes a small tree with line numbers from libyaml's events, for the policy loader.
 *
 * Accepts one document of strict UTF-8, at most POLICY_TREE_BYTES long and POLICY_TREE_DEPTH levels deep. An
 * alias means the node that its anchor marks: the node is shared, not copied, and can never contain itself.
 * Tags are refused, and so are keys other than scalars. One thread; nodes live as long as the arena.
 */
#include "base/arena.h"
#include "base/status.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

enum { POLICY_TREE_BYTES = 1024 * 1024, POLICY_TREE_DEPTH = 8 };

enum policy_node_kind { POLICY_SCALAR, POLICY_LIST, POLICY_MAP };

struct policy_node;

struct policy_item {
  struct text key; /* absent in a list */
  int key_line;
  int key_column;
  const struct policy_node *value;
  struct policy_item *next;
};

struct policy_node {
  enum policy_node_kind kind;
  int line;         /* from 1 */
  int column;       /* from 1 */
  struct text text; /* of a scalar */
  bool null;        /* a scalar without quotes that is empty, "~" or "null" */
  struct policy_item *first;
  size_t count; /* items of a list or map */
};

/* Whether the places in errors have columns. */
enum policy_places { POLICY_LINES, POLICY_LINES_AND_COLUMNS };

/* root is NULL if the input has no document. JP_INVALID: the error's text begins with "name:line: ", or with
 * "name:line:column: ". */
enum jp_status policy_tree_parse(struct text yaml, const char *name, enum policy_places places,
                                 struct arena *arena, const struct policy_node **root,
                                 struct jp_error *error) JP_MUST_CHECK;

/* The part of a word that an error message quotes: its first bytes, in whole characters. */
struct text policy_shortened(struct text word);

#endif

/* The parser: recursive descent, one token ahead; decides with a scan of more tokens where Java needs it (lambdas, casts,
 * declared types). */
#include "base/primitives.h"
#include "command/tokens.h"

#include <inttypes.h>

struct parser {
  struct text source;
  struct arena *arena;
  struct language_error *error;
  const struct language_names *names;
  struct token token; /* the next one */
  unsigned brackets;  /* open ( and [ in this block: inside them line ends do not end a statement */
  unsigned nesting;   /* calls of the parser by itself */
  unsigned loops;     /* around, in this lambda: break and continue need one */
  struct known_name
      *variables; /* names that the text itself has given to variables so far: the latest first */
  struct known_name **buckets; /* the same by their hashes; NULL: none yet */
};

enum { BUCKETS = 1024 };

struct known_name {
  struct known_name *before; /* in the text */
  struct known_name *next;   /* of its bucket: the latest first */
  struct text name;
};

static const char *const reserved[] = {
    "import", "var",      "for", "if",         "else", "while", "try",   "catch", "throw", "return",
    "break",  "continue", "new", "instanceof", "null", "true",  "false", "final", NULL};

static bool is_reserved(struct text word)
{
  for (size_t i = 0; reserved[i] != NULL; i++) {
    if (text_equal(word, text_of(reserved[i])))
      return true;
  }
  return false;
}

/* ---- tokens ---- */

static enum jp_status advance(struct parser *p)
{
  return token_read(p->source, p->token.end, p->arena, &p->token, p->error);
}

static bool is_sign(const struct parser *p, const char *sign)
{
  return p->token.kind == TOKEN_SIGN && text_equal(p->token.span, text_of(sign));
}

static bool is_word(const struct parser *p, const char *word)
{
  return p->token.kind == TOKEN_NAME && text_equal(p->token.span, text_of(word));
}

static bool is_name(const struct parser *p)
{
  return p->token.kind == TOKEN_NAME && !is_reserved(p->token.span);
}

/* Java's assignments with an operator: "x += 1" and "x++". */
static bool is_assigning_sign(const struct parser *p)
{
  static const char *const signs[] = {"++", "--", "+=", "-=", "*=", "/=", "%="};
  for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
    if (is_sign(p, signs[i]))
      return true;
  }
  return false;
}

static enum jp_status fail_assigning(struct parser *p)
{
  return language_fail(p->error, p->token.at, false, "%.*s is no part of the language: write x = x %c %s",
                       TEXT_ARGS(p->token.span), p->token.span.data[0],
                       p->token.span.data[1] == '=' ? "..." : "1");
}

static enum jp_status fail_expected(struct parser *p, const char *expected)
{
  bool at_end = p->token.kind == TOKEN_END;
  if (is_assigning_sign(p))
    return fail_assigning(p);
  if (at_end)
    return language_fail(p->error, p->token.at, true, "expected %s, but the text ends here", expected);
  struct text found = text_slice(p->source, p->token.at, p->token.end);
  return language_fail(p->error, p->token.at, false, "expected %s before \"%.*s\"", expected,
                       TEXT_ARGS(text_cut(found, 40)));
}

static enum jp_status expect_sign(struct parser *p, const char *sign)
{
  char expected[8];
  if (is_sign(p, sign))
    return advance(p);
  text_format(expected, sizeof expected, "\"%s\"", sign);
  return fail_expected(p, expected);
}

/* The opening bracket was read; the closing one is next, and is read after the bracket is closed, because a line end
 * after it counts. */
static enum jp_status close_bracket(struct parser *p, const char *sign)
{
  p->brackets--;
  return expect_sign(p, sign);
}

/* Whether the next token continues the expression before it, although it could begin a statement. */
static bool is_continued(const struct parser *p)
{
  return !p->token.after_newline || p->brackets > 0;
}

/* ---- looking ahead ---- */

/* The parser at another place, whose errors do not count. */
struct lookahead {
  struct parser parser;
  struct language_error error;
};

static void look_ahead(const struct parser *p, struct lookahead *ahead)
{
  ahead->parser = *p;
  ahead->parser.error = &ahead->error;
}

static bool skip_token(struct parser *p)
{
  return p->token.kind != TOKEN_END && advance(p) == JP_OK;
}

static bool skip_sign(struct parser *p, const char *sign)
{
  return is_sign(p, sign) && skip_token(p);
}

/* From "<" to its ">". */
static bool skip_type_arguments(struct parser *p)
{
  unsigned open = 0;
  do {
    if (is_sign(p, "<"))
      open++;
    else if (is_sign(p, ">"))
      open--;
    else if (p->token.kind != TOKEN_NAME && !is_sign(p, ".") && !is_sign(p, ",") && !is_sign(p, "?") &&
             !is_sign(p, "[") && !is_sign(p, "]"))
      return false;
    if (!skip_token(p))
      return false;
  } while (open > 0);
  return true;
}

/* Reads a type: "java.util.Map<K, V>.Entry[]"; *type is without type arguments. False: there is none. */
static bool read_type(struct parser *p, bool with_brackets, struct text *type)
{
  struct buffer name;
  buffer_init(&name);
  bool is_type = is_name(p);
  while (is_type) {
    buffer_append_text(&name, p->token.span);
    is_type = skip_token(p);
    if (is_type && is_sign(p, "<"))
      is_type = skip_type_arguments(p);
    if (!is_type || !is_sign(p, "."))
      break;
    is_type = skip_token(p) && is_name(p);
    buffer_append_char(&name, '.');
  }
  while (is_type && with_brackets && is_sign(p, "[")) {
    is_type = skip_token(p) && skip_sign(p, "]");
    BUFFER_LITERAL(&name, "[]");
  }
  *type = is_type ? arena_text(p->arena, buffer_text(&name)) : TEXT_ABSENT;
  buffer_fini(&name);
  return type->data != NULL;
}

/* At "(": whether a lambda begins here. Its parameters may have types. */
static bool is_lambda_ahead(const struct parser *p)
{
  struct lookahead ahead;
  struct text type;
  look_ahead(p, &ahead);
  struct parser *q = &ahead.parser;
  if (!skip_sign(q, "("))
    return false;
  while (is_name(q) || is_word(q, "final") || is_word(q, "var")) {
    if (is_word(q, "final") || is_word(q, "var")) {
      if (!skip_token(q) || !is_name(q))
        return false;
    }
    if (!read_type(q, true, &type) || (is_name(q) && !skip_token(q)))
      return false;
    if (!is_sign(q, ","))
      break;
    if (!skip_token(q))
      return false;
  }
  return skip_sign(q, ")") && is_sign(q, "->");
}

static bool is_variable(const struct parser *p, struct text name)
{
  const struct known_name *known = p->buckets == NULL ? NULL : p->buckets[text_hash(name) % BUCKETS];
  for (; known != NULL; known = known->next) {
    if (text_equal(known->name, name))
      return true;
  }
  return p->names != NULL && p->names->is_variable(p->names, name);
}

/* At "(": whether "(Type)" and an operand follow. */
static bool is_cast_ahead(const struct parser *p)
{
  struct lookahead ahead;
  struct text type;
  look_ahead(p, &ahead);
  struct parser *q = &ahead.parser;
  if (!skip_sign(q, "(") || !is_name(q) || !read_type(q, true, &type) || !is_sign(q, ")"))
    return false;
  if (advance(q) != JP_OK)
    return true; /* the error is reported where the operand is read */
  if (primitive_find_keyword(type) != NULL)
    return q->token.kind == TOKEN_NAME || q->token.kind == TOKEN_LITERAL || is_sign(q, "(") ||
           is_sign(q, "-");
  if (q->token.after_newline && p->brackets == 0)
    return false;
  if (q->token.kind == TOKEN_LITERAL || is_name(q) || is_word(q, "new") || is_word(q, "null") ||
      is_word(q, "true") || is_word(q, "false"))
    return true;
  return (is_sign(q, "(") || is_sign(q, "[") || is_sign(q, "{") || is_sign(q, "!")) && !is_variable(p, type);
}

/* Whether "Type name =" or "Type name :" is next: a declaration as Java has it. */
static bool is_declaration_ahead(const struct parser *p)
{
  struct lookahead ahead;
  struct text type;
  look_ahead(p, &ahead);
  struct parser *q = &ahead.parser;
  if (!is_name(q) || !read_type(q, true, &type) || !is_name(q) || q->token.after_newline || !skip_token(q))
    return false;
  return is_sign(q, "=") || is_sign(q, ":");
}

/* ---- nodes ---- */

static unsigned depth_of(const struct node *node)
{
  return node == NULL ? 0 : node->depth;
}

/* Sets the depth. */
static enum jp_status finish(struct parser *p, struct node *node, struct node **out)
{
  const struct node *below[] = {node->first, node->second, node->third};
  unsigned depth = 0;
  for (size_t i = 0; i < 3; i++)
    depth = depth_of(below[i]) > depth ? depth_of(below[i]) : depth;
  for (const struct node *item = node->items; item != NULL; item = item->next)
    depth = item->depth > depth ? item->depth : depth;
  node->depth = depth + 1;
  *out = node;
  if (node->depth > LANGUAGE_DEPTH_MAX)
    return language_fail(p->error, node->at, false, "this is nested more than %d times", LANGUAGE_DEPTH_MAX);
  return JP_OK;
}

static enum jp_status make_node(struct parser *p, enum node_kind kind, size_t at, struct node **node)
{
  *node = arena_calloc(p->arena, 1, sizeof **node);
  if (*node == NULL) {
    p->error->at = at;
    return jp_fail_memory(&p->error->error, "the expression");
  }
  (*node)->kind = kind;
  (*node)->at = at;
  (*node)->depth = 1;
  return JP_OK;
}

/* The list's end, from which further items are appended. */
struct node_list {
  struct node **end;
};

static void append_item(struct node_list *list, struct node *item)
{
  *list->end = item;
  list->end = &item->next;
}

static enum jp_status parse_expression(struct parser *p, struct node **out);
static enum jp_status parse_block(struct parser *p, struct node **out);
static enum jp_status parse_simple_statement(struct parser *p, struct node **out);
static enum jp_status parse_unary(struct parser *p, struct node **out);

static enum jp_status note_variable(struct parser *p, struct text name)
{
  struct known_name *known = arena_calloc(p->arena, 1, sizeof *known);
  if (p->buckets == NULL)
    p->buckets = arena_calloc(p->arena, BUCKETS, sizeof(struct known_name *));
  if (known == NULL || p->buckets == NULL)
    return jp_fail_memory(&p->error->error, "the expression");
  struct known_name **bucket = &p->buckets[text_hash(name) % BUCKETS];
  *known = (struct known_name){.before = p->variables, .next = *bucket, .name = name};
  p->variables = known;
  *bucket = known;
  return JP_OK;
}

/* Forgets the names after that one: those of a lambda. */
static void forget_variables(struct parser *p, const struct known_name *last)
{
  for (; p->variables != last; p->variables = p->variables->before)
    p->buckets[text_hash(p->variables->name) % BUCKETS] = p->variables->next;
}

static enum jp_status take_name(struct parser *p, const char *what, struct text *name)
{
  if (!is_name(p))
    return fail_expected(p, what);
  *name = p->token.span;
  return advance(p);
}

/* Items up to the closing sign, whose opening one was read. */
static enum jp_status parse_items(struct parser *p, const char *close, struct node *list_node)
{
  struct node_list list = {&list_node->items};
  enum jp_status status = JP_OK;
  while (status == JP_OK && !is_sign(p, close)) {
    struct node *item;
    status = parse_expression(p, &item);
    if (status != JP_OK)
      break;
    append_item(&list, item);
    if (!is_sign(p, ","))
      break;
    status = advance(p);
    if (status == JP_OK && is_sign(p, close))
      status = fail_expected(p, "an expression");
  }
  return status == JP_OK ? close_bracket(p, close) : status;
}

/* At the opening sign. */
static enum jp_status parse_bracketed(struct parser *p, const char *close, struct node *list_node)
{
  p->brackets++;
  enum jp_status status = advance(p);
  return status == JP_OK ? parse_items(p, close, list_node) : status;
}

/* Parsing fails before the stack ends, whatever the text is. */
static enum jp_status enter(struct parser *p)
{
  if (++p->nesting <= LANGUAGE_DEPTH_MAX)
    return JP_OK;
  return language_fail(p->error, p->token.at, false, "this is nested more than %d times", LANGUAGE_DEPTH_MAX);
}

/* ---- primaries ---- */

static enum jp_status parse_literal(struct parser *p, struct node **out)
{
  struct node *node;
  if (p->token.is_least)
    return language_fail(p->error, p->token.at, false, "the number is out of range for %s",
                         p->token.literal == LITERAL_INT ? "int; 2147483648L is a long" : "long");
  enum jp_status status = make_node(p, NODE_LITERAL, p->token.at, &node);
  if (status != JP_OK)
    return status;
  node->literal = p->token.literal;
  node->integer = p->token.integer;
  node->number = p->token.number;
  node->text = p->token.text;
  *out = node;
  return advance(p);
}

static enum jp_status parse_word_literal(struct parser *p, enum literal_kind kind, int64_t value,
                                         struct node **out)
{
  enum jp_status status = make_node(p, NODE_LITERAL, p->token.at, out);
  if (status != JP_OK)
    return status;
  (*out)->literal = kind;
  (*out)->integer = value;
  return advance(p);
}

/* At the "]" of empty brackets, further ones may follow: the node's type gets them. */
static enum jp_status parse_empty_brackets(struct parser *p, struct node *node)
{
  while (true) {
    node->type = arena_printf(p->arena, "%.*s[]", TEXT_ARGS(node->type));
    enum jp_status status = close_bracket(p, "]");
    if (status != JP_OK || !is_sign(p, "[") || !is_continued(p))
      return status;
    p->brackets++;
    status = advance(p);
    if (status == JP_OK && !is_sign(p, "]"))
      status = fail_expected(p, "\"]\"");
    if (status != JP_OK)
      return status;
  }
}

/* After the first "[" of "new int[5][2][]": the lengths. */
static enum jp_status parse_lengths(struct parser *p, struct node *node)
{
  struct node_list list = {&node->items};
  struct node *length;
  enum jp_status status = parse_expression(p, &length);
  while (status == JP_OK) {
    append_item(&list, length);
    status = close_bracket(p, "]");
    if (status != JP_OK || !is_sign(p, "[") || !is_continued(p))
      break;
    p->brackets++;
    status = advance(p);
    if (status == JP_OK && is_sign(p, "]"))
      return parse_empty_brackets(p, node);
    if (status == JP_OK)
      status = parse_expression(p, &length);
  }
  return status;
}

/* At the "{" with the elements of a NEW_ELEMENTS; those of an array of arrays may be in braces, too. */
static enum jp_status parse_elements(struct parser *p, struct node *node)
{
  struct node_list list = {&node->items};
  struct text element = text_slice(node->type, 0, node->type.len - 2);
  bool is_nested = text_ends_with(element, TEXT("[]"));
  enum jp_status status = enter(p);
  p->brackets++;
  if (status == JP_OK)
    status = advance(p);
  while (status == JP_OK && !is_sign(p, "}")) {
    struct node *item = NULL;
    if (is_nested && is_sign(p, "{")) {
      status = make_node(p, NODE_NEW_ELEMENTS, p->token.at, &item);
      if (status == JP_OK) {
        item->type = element;
        status = parse_elements(p, item);
      }
    } else {
      status = parse_expression(p, &item);
    }
    if (status != JP_OK)
      break;
    append_item(&list, item);
    if (!is_sign(p, ","))
      break;
    status = advance(p);
  }
  p->nesting--;
  if (status == JP_OK)
    status = close_bracket(p, "}");
  return status == JP_OK ? finish(p, node, &node) : status;
}

/* After "new". */
static enum jp_status parse_new(struct parser *p, struct node **out)
{
  struct node *node;
  enum jp_status status = make_node(p, NODE_NEW, p->token.at, &node);
  if (status == JP_OK)
    status = advance(p);
  if (status != JP_OK)
    return status;
  if (!is_name(p) || !read_type(p, false, &node->type))
    return fail_expected(p, "the name of a class");
  if (is_sign(p, "(")) {
    status = parse_bracketed(p, ")", node);
  } else if (is_sign(p, "[")) {
    p->brackets++;
    status = advance(p);
    if (status != JP_OK)
      return status;
    if (is_sign(p, "]")) {
      node->kind = NODE_NEW_ELEMENTS;
      status = parse_empty_brackets(p, node);
      if (status == JP_OK && !is_sign(p, "{"))
        return fail_expected(p, "\"{\" with the elements");
      if (status == JP_OK)
        status = parse_elements(p, node);
    } else {
      node->kind = NODE_NEW_ARRAY;
      status = parse_lengths(p, node);
    }
  } else {
    return fail_expected(p, "\"(\" with arguments, or \"[\"");
  }
  return status == JP_OK ? finish(p, node, out) : status;
}

/* At the arrow. */
static enum jp_status parse_lambda_body(struct parser *p, struct node *node, struct node **out)
{
  const struct known_name *known = p->variables;
  const unsigned loops = p->loops;
  enum jp_status status = expect_sign(p, "->");
  p->loops = 0;
  for (const struct node *item = node->items; status == JP_OK && item != NULL; item = item->next)
    status = note_variable(p, item->name);
  if (status == JP_OK)
    status = is_sign(p, "{") ? parse_block(p, &node->first) : parse_simple_statement(p, &node->first);
  forget_variables(p, known);
  p->loops = loops;
  return status == JP_OK ? finish(p, node, out) : status;
}

static enum jp_status parse_parameter(struct parser *p, struct node_list *list)
{
  struct node *parameter;
  struct text type;
  enum jp_status status = JP_OK;
  while (status == JP_OK && (is_word(p, "final") || is_word(p, "var")))
    status = advance(p);
  size_t at = p->token.at;
  struct text name = p->token.span;
  if (status != JP_OK || !read_type(p, true, &type))
    return status != JP_OK ? status : fail_expected(p, "a parameter");
  if (is_name(p)) {
    at = p->token.at;
    name = p->token.span;
    status = advance(p);
  }
  if (status == JP_OK)
    status = make_node(p, NODE_NAME, at, &parameter);
  if (status != JP_OK)
    return status;
  parameter->name = name;
  append_item(list, parameter);
  return JP_OK;
}

static enum jp_status parse_lambda(struct parser *p, struct node **out)
{
  struct node *node;
  enum jp_status status = make_node(p, NODE_LAMBDA, p->token.at, &node);
  if (status != JP_OK)
    return status;
  struct node_list list = {&node->items};
  if (!is_sign(p, "(")) {
    status = parse_parameter(p, &list);
  } else {
    p->brackets++;
    status = advance(p);
    while (status == JP_OK && !is_sign(p, ")")) {
      status = parse_parameter(p, &list);
      if (status != JP_OK || !is_sign(p, ","))
        break;
      status = advance(p);
      if (status == JP_OK && is_sign(p, ")"))
        status = fail_expected(p, "a parameter");
    }
    if (status == JP_OK)
      status = close_bracket(p, ")");
  }
  return status == JP_OK ? parse_lambda_body(p, node, out) : status;
}

static enum jp_status parse_cast(struct parser *p, struct node **out)
{
  struct node *node;
  enum jp_status status = make_node(p, NODE_CAST, p->token.at, &node);
  if (status == JP_OK)
    status = advance(p);
  if (status == JP_OK && !read_type(p, true, &node->type))
    status = fail_expected(p, "a type");
  if (status == JP_OK)
    status = expect_sign(p, ")");
  if (status == JP_OK)
    status = parse_unary(p, &node->first);
  return status == JP_OK ? finish(p, node, out) : status;
}

static enum jp_status parse_parenthesis(struct parser *p, struct node **out)
{
  p->brackets++;
  enum jp_status status = advance(p);
  if (status == JP_OK)
    status = parse_expression(p, out);
  return status == JP_OK ? close_bracket(p, ")") : status;
}

static enum jp_status parse_map_key(struct parser *p, struct node **out)
{
  struct lookahead ahead;
  look_ahead(p, &ahead);
  if (p->token.kind != TOKEN_NAME || !skip_token(&ahead.parser) || !is_sign(&ahead.parser, ":"))
    return parse_expression(p, out);
  enum jp_status status = make_node(p, NODE_LITERAL, p->token.at, out);
  if (status != JP_OK)
    return status;
  (*out)->literal = LITERAL_TEXT;
  (*out)->text = p->token.span;
  return advance(p);
}

static enum jp_status parse_map(struct parser *p, struct node **out)
{
  struct node *node;
  enum jp_status status = make_node(p, NODE_MAP, p->token.at, &node);
  if (status != JP_OK)
    return status;
  struct node_list list = {&node->items};
  p->brackets++;
  status = advance(p);
  while (status == JP_OK && !is_sign(p, "}")) {
    struct node *key;
    struct node *value;
    status = parse_map_key(p, &key);
    if (status == JP_OK)
      status = expect_sign(p, ":");
    if (status == JP_OK)
      status = parse_expression(p, &value);
    if (status != JP_OK)
      return status;
    append_item(&list, key);
    append_item(&list, value);
    if (!is_sign(p, ","))
      break;
    status = advance(p);
  }
  if (status == JP_OK)
    status = close_bracket(p, "}");
  return status == JP_OK ? finish(p, node, out) : status;
}

/* "Type::name" or "int[]::new", where the type may have type arguments or brackets. */
static bool is_reference_ahead(const struct parser *p)
{
  struct lookahead ahead;
  struct text type;
  look_ahead(p, &ahead);
  return is_name(&ahead.parser) && read_type(&ahead.parser, true, &type) && is_sign(&ahead.parser, "::");
}

static enum jp_status parse_reference(struct parser *p, struct node **out)
{
  struct node *node;
  enum jp_status status = make_node(p, NODE_REFERENCE, p->token.at, &node);
  if (status != JP_OK)
    return status;
  if (!read_type(p, true, &node->type))
    return fail_expected(p, "a type");
  status = expect_sign(p, "::");
  if (status == JP_OK && p->token.kind != TOKEN_NAME)
    status = fail_expected(p, "the name of a method, or new");
  if (status != JP_OK)
    return status;
  node->name = p->token.span;
  *out = node;
  return advance(p);
}

static enum jp_status parse_name(struct parser *p, struct node **out)
{
  struct lookahead ahead;
  look_ahead(p, &ahead);
  if (skip_token(&ahead.parser) && is_sign(&ahead.parser, "->"))
    return parse_lambda(p, out);
  if (is_reference_ahead(p))
    return parse_reference(p, out);
  struct node *node;
  enum jp_status status = make_node(p, NODE_NAME, p->token.at, &node);
  if (status != JP_OK)
    return status;
  node->name = p->token.span;
  status = advance(p);
  if (status == JP_OK && is_sign(p, "(") && is_continued(p)) {
    node->kind = NODE_CALL;
    status = parse_bracketed(p, ")", node);
  }
  return status == JP_OK ? finish(p, node, out) : status;
}

static enum jp_status parse_primary(struct parser *p, struct node **out)
{
  if (p->token.kind == TOKEN_LITERAL)
    return parse_literal(p, out);
  if (is_sign(p, "("))
    return is_lambda_ahead(p) ? parse_lambda(p, out)
           : is_cast_ahead(p) ? parse_cast(p, out)
                              : parse_parenthesis(p, out);
  if (is_sign(p, "[")) {
    struct node *node;
    enum jp_status status = make_node(p, NODE_LIST, p->token.at, &node);
    if (status == JP_OK)
      status = parse_bracketed(p, "]", node);
    return status == JP_OK ? finish(p, node, out) : status;
  }
  if (is_sign(p, "{"))
    return parse_map(p, out);
  if (is_word(p, "null"))
    return parse_word_literal(p, LITERAL_NULL, 0, out);
  if (is_word(p, "true") || is_word(p, "false"))
    return parse_word_literal(p, LITERAL_BOOLEAN, is_word(p, "true"), out);
  if (is_word(p, "new"))
    return parse_new(p, out);
  if (is_name(p))
    return parse_name(p, out);
  return fail_expected(p, "an expression");
}

/* ---- what follows a primary ---- */

static enum jp_status parse_member(struct parser *p, struct node *object, struct node **out)
{
  struct node *node;
  enum jp_status status = advance(p);
  if (status == JP_OK && is_sign(p, "<")) { /* List.<String>of() */
    if (!skip_type_arguments(p))
      return fail_expected(p, "type arguments");
  }
  if (status == JP_OK && p->token.kind != TOKEN_NAME)
    status = fail_expected(p, "the name of a member");
  if (status == JP_OK)
    status = make_node(p, NODE_MEMBER, p->token.at, &node);
  if (status != JP_OK)
    return status;
  node->first = object;
  node->name = p->token.span;
  status = advance(p);
  if (status == JP_OK && is_sign(p, "(") && is_continued(p)) {
    node->kind = NODE_CALL;
    status = parse_bracketed(p, ")", node);
  }
  return status == JP_OK ? finish(p, node, out) : status;
}

/* At "[". */
static enum jp_status parse_index(struct parser *p, struct node *object, struct node **out)
{
  struct node *node;
  enum jp_status status = make_node(p, NODE_INDEX, p->token.at, &node);
  if (status != JP_OK)
    return status;
  node->first = object;
  p->brackets++;
  status = advance(p);
  if (status == JP_OK && !is_sign(p, ":"))
    status = parse_expression(p, &node->second);
  if (status == JP_OK && is_sign(p, ":")) {
    node->kind = NODE_SLICE;
    status = advance(p);
    if (status == JP_OK && !is_sign(p, "]"))
      status = parse_expression(p, &node->third);
  }
  if (status == JP_OK)
    status = close_bracket(p, "]");
  return status == JP_OK ? finish(p, node, out) : status;
}

static enum jp_status parse_postfix(struct parser *p, struct node **out)
{
  enum jp_status status = parse_primary(p, out);
  while (status == JP_OK) {
    if (is_sign(p, "."))
      status = parse_member(p, *out, out);
    else if (is_sign(p, "[") && is_continued(p))
      status = parse_index(p, *out, out);
    else if (is_sign(p, "(") && is_continued(p))
      return language_fail(p->error, p->token.at, false, "only a method can be called");
    else
      break;
  }
  return status;
}

static enum jp_status fold_least(struct parser *p, struct node **out)
{
  p->token.is_least = false;
  p->token.integer = p->token.literal == LITERAL_INT ? INT32_MIN : INT64_MIN;
  return parse_literal(p, out);
}

static enum jp_status parse_prefixed(struct parser *p, enum node_kind kind, struct node **out)
{
  struct node *node;
  enum jp_status status = make_node(p, kind, p->token.at, &node);
  if (status == JP_OK)
    status = advance(p);
  if (status == JP_OK && kind == NODE_NEGATE && p->token.kind == TOKEN_LITERAL && p->token.is_least)
    return fold_least(p, out);
  if (status == JP_OK)
    status = parse_unary(p, &node->first);
  return status == JP_OK ? finish(p, node, out) : status;
}

static enum jp_status parse_unary(struct parser *p, struct node **out)
{
  enum jp_status status = enter(p);
  if (status != JP_OK)
    return status;
  if (is_sign(p, "-"))
    status = parse_prefixed(p, NODE_NEGATE, out);
  else if (is_sign(p, "!"))
    status = parse_prefixed(p, NODE_NOT, out);
  else
    status = parse_postfix(p, out);
  p->nesting--;
  return status;
}

/* ---- operators ---- */

static const struct {
  const char *text;
  unsigned precedence;
} operators[] = {
#define OPERATOR_ROW(NAME, text, precedence) {text, precedence},
    BINARY_OPERATORS(OPERATOR_ROW)
#undef OPERATOR_ROW
};
enum { OPERATORS = sizeof operators / sizeof operators[0], PRECEDENCE_INSTANCEOF = 4 };

const char *language_operator_text(enum binary_operator op)
{
  return operators[op].text;
}

static bool find_operator(const struct parser *p, unsigned least, enum binary_operator *op)
{
  for (size_t i = 0; i < OPERATORS; i++) {
    if (is_sign(p, operators[i].text)) {
      *op = (enum binary_operator)i;
      /* A line that begins with "-" is a statement. */
      return operators[i].precedence >= least && (i != BINARY_SUBTRACT || is_continued(p));
    }
  }
  return false;
}

static enum jp_status parse_binary(struct parser *p, unsigned least, struct node **out)
{
  enum binary_operator op;
  enum jp_status status = parse_unary(p, out);
  while (status == JP_OK) {
    struct node *node;
    if (is_word(p, "instanceof") && PRECEDENCE_INSTANCEOF >= least) {
      status = make_node(p, NODE_INSTANCEOF, p->token.at, &node);
      if (status == JP_OK)
        status = advance(p);
      if (status == JP_OK && (!is_name(p) || !read_type(p, true, &node->type)))
        status = fail_expected(p, "a type");
    } else if (find_operator(p, least, &op)) {
      status = make_node(p, NODE_BINARY, p->token.at, &node);
      if (status == JP_OK)
        status = advance(p);
      if (status == JP_OK)
        status = parse_binary(p, operators[op].precedence + 1, &node->second);
      if (status == JP_OK)
        node->op = op;
    } else {
      break;
    }
    if (status == JP_OK) {
      node->first = *out;
      status = finish(p, node, out);
    }
  }
  return status;
}

static enum jp_status parse_conditional(struct parser *p, struct node **out)
{
  struct node *node;
  enum jp_status status = parse_binary(p, 1, out);
  if (status != JP_OK || !is_sign(p, "?"))
    return status;
  status = make_node(p, NODE_CONDITIONAL, p->token.at, &node);
  if (status == JP_OK)
    status = advance(p);
  if (status == JP_OK)
    status = parse_expression(p, &node->second);
  if (status == JP_OK)
    status = expect_sign(p, ":");
  if (status == JP_OK)
    status = parse_expression(p, &node->third);
  if (status != JP_OK)
    return status;
  node->first = *out;
  return finish(p, node, out);
}

static enum jp_status parse_expression(struct parser *p, struct node **out)
{
  enum jp_status status = enter(p);
  if (status == JP_OK)
    status = parse_conditional(p, out);
  p->nesting--;
  return status;
}

/* ---- statements ---- */

static bool is_statement_end(const struct parser *p)
{
  return p->token.after_newline || p->token.kind == TOKEN_END || is_sign(p, ";") || is_sign(p, "}");
}

static enum jp_status parse_import(struct parser *p, struct node **out)
{
  struct buffer name;
  enum jp_status status = make_node(p, NODE_IMPORT, p->token.at, out);
  if (status == JP_OK)
    status = advance(p);
  if (status != JP_OK)
    return status;
  buffer_init(&name);
  while (status == JP_OK) {
    bool is_package = is_sign(p, "*") && name.len > 0;
    if (!is_name(p) && !is_package) {
      status = fail_expected(p, "the name of a class or package");
      break;
    }
    buffer_append_text(&name, p->token.span);
    status = advance(p);
    if (status != JP_OK || is_package || !is_sign(p, "."))
      break;
    buffer_append_char(&name, '.');
    status = advance(p);
  }
  if (status == JP_OK) {
    (*out)->name = arena_text(p->arena, buffer_text(&name));
    if ((*out)->name.data == NULL || name.failed)
      status = jp_fail_memory(&p->error->error, "the expression");
  }
  buffer_fini(&name);
  return status;
}

/* The value of a declaration with the type: primitives convert, "{1, 2}" is an array. */
static enum jp_status parse_declared_value(struct parser *p, struct text type, struct node **out)
{
  struct node *node;
  bool is_array = text_ends_with(type, TEXT("[]"));
  if (!(is_array && is_sign(p, "{")) && primitive_find_keyword(type) == NULL)
    return parse_expression(p, out);
  enum jp_status status = make_node(p, is_array ? NODE_NEW_ELEMENTS : NODE_CAST, p->token.at, &node);
  if (status != JP_OK)
    return status;
  node->type = type;
  status = is_array ? parse_elements(p, node) : parse_expression(p, &node->first);
  return status == JP_OK ? finish(p, node, out) : status;
}

/* [var | TYPE] NAME and the sign; *target is the NAME, *type "" without a type. */
static enum jp_status parse_declared_name(struct parser *p, const char *sign, struct text *type,
                                          struct node **target)
{
  enum jp_status status = JP_OK;
  *type = TEXT("");
  while (status == JP_OK && is_word(p, "final"))
    status = advance(p);
  if (status == JP_OK && is_word(p, "var"))
    status = advance(p);
  else if (status == JP_OK && is_declaration_ahead(p) && !read_type(p, true, type))
    status = fail_expected(p, "a type");
  if (status == JP_OK)
    status = make_node(p, NODE_NAME, p->token.at, target);
  if (status == JP_OK)
    status = take_name(p, "the name of a variable", &(*target)->name);
  return status == JP_OK ? expect_sign(p, sign) : status;
}

/* [var | TYPE] NAME = expression; *target is the NAME. */
static enum jp_status parse_declaration(struct parser *p, struct node **target, struct node **value)
{
  struct text type;
  enum jp_status status = parse_declared_name(p, "=", &type, target);
  if (status == JP_OK)
    status = parse_declared_value(p, type, value);
  if (status == JP_OK)
    status = note_variable(p, (*target)->name);
  return status;
}

static enum jp_status finish_assignment(struct parser *p, size_t at, struct node *target, struct node *value,
                                        struct node **out)
{
  struct node *node;
  enum jp_status status = make_node(p, NODE_ASSIGN, at, &node);
  if (status != JP_OK)
    return status;
  node->first = target;
  node->second = value;
  return finish(p, node, out);
}

/* An expression or an assignment. */
static enum jp_status parse_simple_statement(struct parser *p, struct node **out)
{
  struct node *target;
  struct node *value;
  size_t at = p->token.at;
  if (is_word(p, "var") || is_word(p, "final") || is_declaration_ahead(p)) {
    enum jp_status declared = parse_declaration(p, &target, &value);
    return declared == JP_OK ? finish_assignment(p, at, target, value, out) : declared;
  }
  enum jp_status status = parse_expression(p, out);
  if (status != JP_OK || !is_sign(p, "="))
    return status;
  target = *out;
  if (target->kind != NODE_NAME && target->kind != NODE_MEMBER && target->kind != NODE_INDEX &&
      target->kind != NODE_SLICE)
    return language_fail(p->error, p->token.at, false,
                         "only a variable, a field or an element can be assigned to; == compares");
  status = advance(p);
  if (status == JP_OK)
    status = parse_expression(p, &value);
  if (status == JP_OK && target->kind == NODE_NAME)
    status = note_variable(p, target->name);
  return status == JP_OK ? finish_assignment(p, at, target, value, out) : status;
}

/* At "(", which the keyword before it needs. */
static enum jp_status open_condition(struct parser *p)
{
  if (!is_sign(p, "("))
    return fail_expected(p, "\"(\"");
  p->brackets++;
  return advance(p);
}

static enum jp_status parse_condition(struct parser *p, struct node **out)
{
  enum jp_status status = open_condition(p);
  if (status == JP_OK)
    status = parse_expression(p, out);
  return status == JP_OK ? close_bracket(p, ")") : status;
}

static enum jp_status parse_loop_body(struct parser *p, struct node **out)
{
  p->loops++;
  enum jp_status status = parse_block(p, out);
  p->loops--;
  return status;
}

static enum jp_status parse_for(struct parser *p, struct node *node)
{
  struct node *variable = NULL;
  struct text type;
  enum jp_status status = open_condition(p);
  if (status == JP_OK)
    status = parse_declared_name(p, ":", &type, &variable);
  if (status == JP_OK)
    status = parse_expression(p, &node->first);
  if (status == JP_OK)
    status = note_variable(p, variable->name);
  if (status == JP_OK)
    status = close_bracket(p, ")");
  if (status != JP_OK)
    return status;
  node->name = variable->name;
  if (primitive_find_keyword(type) != NULL)
    node->type = type;
  return parse_loop_body(p, &node->second);
}

static enum jp_status parse_if(struct parser *p, struct node *node)
{
  struct lookahead ahead;
  enum jp_status status = parse_condition(p, &node->first);
  if (status == JP_OK)
    status = parse_block(p, &node->second);
  if (status != JP_OK)
    return status;
  look_ahead(p, &ahead);
  if (is_sign(&ahead.parser, ";") && skip_token(&ahead.parser) && is_word(&ahead.parser, "else"))
    status = advance(p);
  if (status != JP_OK || !is_word(p, "else"))
    return status;
  status = advance(p);
  return status == JP_OK ? parse_block(p, &node->third) : status;
}

static enum jp_status parse_catch(struct parser *p, struct node **out)
{
  struct node *node;
  struct text type = TEXT_ABSENT;
  enum jp_status status = make_node(p, NODE_CATCH, p->token.at, &node);
  if (status == JP_OK)
    status = advance(p);
  if (status == JP_OK)
    status = open_condition(p);
  if (status == JP_OK && is_word(p, "final"))
    status = advance(p);
  node->name = p->token.span;
  if (status == JP_OK && (!is_name(p) || !read_type(p, false, &type)))
    status = fail_expected(p, "a name");
  if (status == JP_OK && is_name(p)) {
    node->type = type;
    node->name = p->token.span;
    status = advance(p);
  }
  if (status == JP_OK)
    status = close_bracket(p, ")");
  if (status == JP_OK)
    status = note_variable(p, node->name);
  if (status == JP_OK)
    status = parse_block(p, &node->first);
  return status == JP_OK ? finish(p, node, out) : status;
}

static enum jp_status parse_try(struct parser *p, struct node *node)
{
  struct node *variable = NULL;
  enum jp_status status = JP_OK;
  if (is_sign(p, "(")) {
    status = open_condition(p);
    if (status == JP_OK)
      status = parse_declaration(p, &variable, &node->first);
    if (status == JP_OK)
      status = close_bracket(p, ")");
    if (status == JP_OK)
      node->name = variable->name;
  }
  if (status == JP_OK && !is_sign(p, "{"))
    status = fail_expected(p, "\"{\"");
  if (status == JP_OK)
    status = parse_block(p, &node->second);
  if (status == JP_OK && is_word(p, "catch"))
    status = parse_catch(p, &node->third);
  if (status == JP_OK && node->first == NULL && node->third == NULL)
    status = fail_expected(p, "catch");
  return status;
}

static enum jp_status parse_throw(struct parser *p, struct node *node)
{
  return parse_expression(p, &node->first);
}

static enum jp_status parse_return(struct parser *p, struct node *node)
{
  return is_statement_end(p) ? JP_OK : parse_expression(p, &node->first);
}

static enum jp_status parse_while(struct parser *p, struct node *node)
{
  enum jp_status status = parse_condition(p, &node->first);
  return status == JP_OK ? parse_loop_body(p, &node->second) : status;
}

static enum jp_status parse_jump(struct parser *p, struct node *node)
{
  if (p->loops > 0)
    return JP_OK;
  return language_fail(p->error, node->at, false, "there is no loop around %s",
                       node->kind == NODE_BREAK ? "break" : "continue");
}

/* The statements that begin with a word; the parser is after that word. */
static const struct {
  const char *word;
  enum node_kind kind;
  enum jp_status (*parse)(struct parser *p, struct node *node);
} statements[] = {{"for", NODE_FOR, parse_for},       {"if", NODE_IF, parse_if},
                  {"while", NODE_WHILE, parse_while}, {"try", NODE_TRY, parse_try},
                  {"throw", NODE_THROW, parse_throw}, {"return", NODE_RETURN, parse_return},
                  {"break", NODE_BREAK, parse_jump},  {"continue", NODE_CONTINUE, parse_jump}};

static enum jp_status parse_command(struct parser *p, struct node **out)
{
  enum jp_status status = make_node(p, NODE_COMMAND, p->token.at, out);
  if (*out == NULL)
    return status;
  (*out)->name = p->token.span;
  return advance(p);
}

static enum jp_status parse_statement(struct parser *p, struct node **out)
{
  if (p->token.kind == TOKEN_COMMAND)
    return parse_command(p, out);
  if (is_word(p, "import"))
    return parse_import(p, out);
  for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) {
    if (!is_word(p, statements[i].word))
      continue;
    struct node *node;
    enum jp_status status = make_node(p, statements[i].kind, p->token.at, &node);
    if (status == JP_OK)
      status = advance(p);
    if (status == JP_OK)
      status = statements[i].parse(p, node);
    return status == JP_OK ? finish(p, node, out) : status;
  }
  return parse_simple_statement(p, out);
}

/* Statements up to "}" or the end of the text. */
static enum jp_status parse_statements(struct parser *p, struct node **out)
{
  struct node *block;
  enum jp_status status = make_node(p, NODE_BLOCK, p->token.at, &block);
  if (status != JP_OK)
    return status;
  struct node_list list = {&block->items};
  while (status == JP_OK && p->token.kind != TOKEN_END && !is_sign(p, "}")) {
    struct node *statement;
    if (is_sign(p, ";")) {
      status = advance(p);
      continue;
    }
    status = parse_statement(p, &statement);
    if (status != JP_OK)
      break;
    append_item(&list, statement);
    if (!is_statement_end(p))
      status = fail_expected(p, "the end of the statement");
  }
  return status == JP_OK ? finish(p, block, out) : status;
}

static enum jp_status parse_braces(struct parser *p, struct node **out)
{
  enum jp_status status = advance(p);
  if (status == JP_OK)
    status = parse_statements(p, out);
  if (status == JP_OK && !is_sign(p, "}"))
    status = fail_expected(p, "\"}\"");
  return status;
}

/* "{" statements "}", or one statement. Line ends count again inside. */
static enum jp_status parse_block(struct parser *p, struct node **out)
{
  const unsigned brackets = p->brackets;
  enum jp_status status = enter(p);
  if (status != JP_OK)
    return status;
  p->brackets = 0;
  if (is_sign(p, "{")) {
    status = parse_braces(p, out);
    p->brackets = brackets;
    if (status == JP_OK)
      status = advance(p); /* the "}" */
  } else {
    status = parse_statement(p, out);
    p->brackets = brackets;
  }
  p->nesting--;
  return status;
}

enum jp_status language_parse(struct text source, const struct language_names *names, struct arena *arena,
                              struct node **program, struct language_error *error)
{
  struct parser p = {.source = source, .arena = arena, .error = error, .names = names};
  *error = (struct language_error){0};
  size_t valid = text_valid_utf8(source);
  if (valid < source.len)
    return language_fail(error, valid, false, "the text is not UTF-8");
  enum jp_status status = advance(&p);
  if (status == JP_OK)
    status = parse_statements(&p, program);
  if (status == JP_OK && p.token.kind != TOKEN_END)
    status = language_fail(error, p.token.at, false, "there is no \"{\" for this \"}\"");
  return status;
}

/* ---- places ---- */

void language_locate(struct text source, size_t at, size_t *line, size_t *column)
{
  *line = 1;
  *column = 1;
  for (size_t i = 0; i < at && i < source.len; i++) {
    if (source.data[i] == '\n') {
      ++*line;
      *column = 1;
    } else if (((unsigned char)source.data[i] & 0xC0) != 0x80) {
      ++*column;
    }
  }
}

enum { SHOWN_BEFORE = 60, SHOWN_AFTER = 60 };

/* The part of the line around the place, as a terminal shows it; returns how many columns of it are before the place. */
static size_t write_line(struct buffer *out, struct text source, size_t at)
{
  size_t start = at < source.len ? at : source.len;
  size_t columns = 0;
  while (start > 0 && source.data[start - 1] != '\n' && columns < SHOWN_BEFORE) {
    start--;
    columns += ((unsigned char)source.data[start] & 0xC0) != 0x80;
  }
  while (start > 0 && start < at && ((unsigned char)source.data[start] & 0xC0) == 0x80)
    start--;
  size_t end = at < source.len ? at : source.len;
  while (end < source.len && source.data[end] != '\n' && end - start < SHOWN_BEFORE * 4 + SHOWN_AFTER)
    end++;
  columns = 0;
  for (size_t i = start; i < end; i++) {
    char c = source.data[i];
    bool is_control = (unsigned char)c < ' ' || c == 0x7F;
    buffer_append_char(out, is_control ? ' ' : c); /* a caret below a tab would be misplaced */
    columns += i < at && ((unsigned char)c & 0xC0) != 0x80;
  }
  return columns;
}

static void write_place(struct buffer *out, struct text source, size_t at)
{
  size_t before = write_line(out, source, at);
  buffer_printf(out, "\n  %*s^\n", (int)before, "");
}

void language_write_fault(struct buffer *out, const char *name, struct text source, size_t at,
                          const char *message)
{
  size_t line;
  size_t column;
  language_locate(source, at, &line, &column);
  if (name != NULL)
    buffer_printf(out, "%s:%zu:%zu: %s\n  ", name, line, column, message);
  else
    buffer_printf(out, "line %zu, column %zu: %s\n  ", line, column, message);
  write_place(out, source, at);
}

void language_write_place(struct buffer *out, struct text source, size_t at)
{
  BUFFER_LITERAL(out, "  ");
  write_place(out, source, at);
}

/* ---- trees as text ---- */

static void write_literal(struct buffer *out, const struct node *node)
{
  static const char *const words[] = {"null", "boolean", "int", "long", "float", "double", "char", "text"};
  char shown[200];
  buffer_printf(out, "%s", words[node->literal]);
  if (node->literal == LITERAL_FLOAT || node->literal == LITERAL_DOUBLE) {
    buffer_printf(out, " %.17g", node->number);
  } else if (node->literal == LITERAL_TEXT) {
    text_escape(node->text, "", "\"\\", shown, sizeof shown);
    buffer_printf(out, " \"%s\"", shown);
  } else if (node->literal != LITERAL_NULL) {
    buffer_printf(out, " %" PRId64, node->integer);
  }
}

static const char *const kind_words[] = {
#define KIND_WORD(KIND, word) word,
    NODE_KINDS(KIND_WORD)
#undef KIND_WORD
};

void language_write(struct buffer *out, const struct node *node)
{
  if (node == NULL) {
    BUFFER_LITERAL(out, "()");
    return;
  }
  if (node->kind == NODE_NAME) {
    buffer_append_text(out, node->name);
    return;
  }
  buffer_append_char(out, '(');
  if (node->kind == NODE_LITERAL)
    write_literal(out, node);
  else
    buffer_printf(out, "%s", node->kind == NODE_BINARY ? operators[node->op].text : kind_words[node->kind]);
  if (node->name.data != NULL)
    buffer_printf(out, " %.*s", TEXT_ARGS(node->name));
  if (node->type.data != NULL)
    buffer_printf(out, " <%.*s>", TEXT_ARGS(node->type));
  const struct node *below[] = {node->first, node->second, node->third};
  size_t count = node->third != NULL ? 3 : node->second != NULL ? 2 : node->first != NULL ? 1 : 0;
  for (size_t i = 0; i < count; i++) {
    buffer_append_char(out, ' ');
    language_write(out, below[i]);
  }
  for (const struct node *item = node->items; item != NULL; item = item->next) {
    buffer_append_char(out, ' ');
    language_write(out, item);
  }
  buffer_append_char(out, ')');
}

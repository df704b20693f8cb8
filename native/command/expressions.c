/* Expressions. */
#include "command/evaluator_state.h"

enum { CALLS_DEPTH_MAX = 60 };

/* ---- calls and programs ---- */

/* How often the values that the pool has got since then are the value. */
static size_t count_in_pool(const struct value_pool *pool, size_t from, const struct value *value)
{
  size_t count = 0;
  for (size_t i = from; i < pool->count; i++)
    count += pool->values[i] == value;
  return count;
}

/* The end of a call. If nothing holds its scope except lambdas of its own variables, they would hold each other for ever.
 * mark: what the pool had before the call. */
static void end_call_scope(const struct evaluator *ev, struct scope *scope, size_t mark,
                           const struct value *result)
{
  size_t own = 1;
  for (size_t i = 0; scope->holders > 1 && i < scope->count; i++) {
    const struct value *value = scope->variables[i]->value;
    own += value->kind == VALUE_LAMBDA && value != result && value->lambda->holders == 1 &&
           value->lambda->scope == scope && value->holders == 1 + count_in_pool(&ev->pool, mark, value);
  }
  if (own > 1 && own == scope->holders)
    scope_drop_all(scope);
  scope_release(scope);
}

void program_release(struct program *program)
{
  if (program == NULL || --program->holders > 0)
    return;
  arena_fini(&program->arena);
  free(program);
}

static void lambda_free(struct lambda *lambda)
{
  if (--lambda->holders > 0)
    return;
  scope_release(lambda->scope);
  program_release(lambda->program);
  free(lambda);
}

void lambda_end_callback(void *context)
{
  struct lambda *lambda = context;
  struct evaluator *ev = lambda->evaluator;
  lambda_free(lambda);
  if (--ev->callbacks == 0 && ev->is_ended)
    free(ev);
}

/* A value does not hold the lambda any more. */
void lambda_release(struct lambda *lambda)
{
  struct jp_callback *callback = lambda->callback;
  lambda->callback = NULL;
  if (callback != NULL)
    jp_callback_release(callback); /* calls lambda_end_callback when Java has released it, too */
  lambda_free(lambda);
}

/* ---- expressions ---- */

struct value *evaluator_evaluate_known(struct evaluator *ev, const struct node *node)
{
  struct value *value = evaluator_evaluate(ev, node);
  return value == NULL ? NULL : evaluator_know(ev, value);
}

static struct value *evaluate_literal(struct evaluator *ev, const struct node *node)
{
  switch (node->literal) {
  case LITERAL_NULL:
    return evaluator_or_no_memory(ev, value_create(&ev->pool, VALUE_NULL));
  case LITERAL_BOOLEAN:
    return evaluator_or_no_memory(ev, value_boolean(&ev->pool, node->integer != 0));
  case LITERAL_INT:
    return evaluator_or_no_memory(ev, value_integer(&ev->pool, 'I', node->integer));
  case LITERAL_LONG:
    return evaluator_or_no_memory(ev, value_integer(&ev->pool, 'J', node->integer));
  case LITERAL_CHAR:
    return evaluator_or_no_memory(ev, value_integer(&ev->pool, 'C', node->integer));
  case LITERAL_FLOAT:
    return evaluator_or_no_memory(ev, value_number(&ev->pool, 'F', node->number));
  case LITERAL_DOUBLE:
    return evaluator_or_no_memory(ev, value_number(&ev->pool, 'D', node->number));
  case LITERAL_TEXT:
    break;
  }
  return evaluator_or_no_memory(ev, value_text(&ev->pool, node->text));
}

static struct value *make_name(struct evaluator *ev, enum value_kind kind, struct text name)
{
  struct value *value = value_create(&ev->pool, kind);
  return evaluator_or_no_memory(ev, value != NULL && value_set_text(value, name) ? value : NULL);
}

static struct value *make_class(struct evaluator *ev, struct text name)
{
  struct value *literal = value_text(&ev->pool, name);
  return evaluator_or_no_memory(
      ev, literal != NULL && value_set_type(literal, TEXT("java.lang.Class")) ? literal : NULL);
}

static bool begins_class(struct text name)
{
  return name.len > 0 && name.data[0] >= 'A' && name.data[0] <= 'Z';
}

/* A variable's value, which the pool holds from now on: what is evaluated before it is used may assign to the variable. A
 * List or Map is made an object of Java, because methods may change it. */
static struct value *read_variable(struct evaluator *ev, size_t at, struct variable *variable)
{
  struct value *value = value_hold(&ev->pool, variable->value);
  struct value *object = value == NULL ? evaluator_fail_memory(ev) : evaluator_make_collection(ev, at, value);
  if (object != NULL && object != value) {
    value_release(variable->value);
    variable->value = value_keep(object);
  }
  return object;
}

/* A variable's value, a class, or the beginning of a class's name. */
static struct value *resolve_name(struct evaluator *ev, const struct node *node)
{
  struct variable *variable = evaluator_find_variable(ev, node->name);
  if (variable != NULL)
    return read_variable(ev, node->at, variable);
  if (!begins_class(node->name) && class_name_find(ev->classes, node->name) == NULL)
    return make_name(ev, VALUE_PACKAGE, node->name);
  struct text full = evaluator_resolve_simple(ev, node->at, node->name);
  return full.data == NULL ? NULL : make_name(ev, VALUE_CLASS, full);
}

static struct value *read_field(struct evaluator *ev, size_t at, struct value *object, struct text name)
{
  struct invocation get = {.operation = JP_GET, .at = at, .member = name, .type = TEXT("")};
  if (object->kind == VALUE_CLASS)
    get.type = object->text;
  else
    get.receiver = object;
  return evaluator_invoke(ev, &get);
}

static struct value *resolve_member(struct evaluator *ev, const struct node *node, struct value *object)
{
  struct text nested;
  if ((object->kind == VALUE_CLASS || object->kind == VALUE_PACKAGE) && text_equal(node->name, TEXT("class")))
    return make_class(ev, object->text);
  if (object->kind == VALUE_PACKAGE) {
    struct text full = arena_printf(&ev->names, "%.*s.%.*s", TEXT_ARGS(object->text), TEXT_ARGS(node->name));
    return full.data == NULL ? evaluator_fail_memory(ev)
                             : make_name(ev, begins_class(node->name) ? VALUE_CLASS : VALUE_PACKAGE, full);
  }
  if (object->kind != VALUE_CLASS)
    return read_field(ev, node->at, object, node->name);
  if (!evaluator_find_nested(ev, object->text, node->name, &nested))
    return NULL;
  return nested.len > 0 ? make_name(ev, VALUE_CLASS, nested) : read_field(ev, node->at, object, node->name);
}

static void *fail_variable(struct evaluator *ev, size_t at, const char *words, struct text name)
{
  struct text near = evaluator_near_variable(ev, name);
  return evaluator_fail(ev, at, "", "%s %.*s%s%.*s%s", words, TEXT_ARGS(name),
                        near.data == NULL ? "" : ": did you mean ",
                        TEXT_ARGS(near.data == NULL ? TEXT("") : near), near.data == NULL ? "" : "?");
}

/* As evaluate, but the result may be a CLASS or a PACKAGE. */
struct value *evaluator_resolve_node(struct evaluator *ev, const struct node *node)
{
  if (node->kind == NODE_NAME)
    return resolve_name(ev, node);
  if (node->kind != NODE_MEMBER)
    return evaluator_evaluate(ev, node);
  struct value *object = evaluator_resolve_node(ev, node->first);
  return object == NULL ? NULL : resolve_member(ev, node, object);
}

static struct value *evaluate_name(struct evaluator *ev, const struct node *node)
{
  struct value *value = evaluator_resolve_node(ev, node);
  if (value == NULL)
    return NULL;
  if (value->kind == VALUE_CLASS)
    return evaluator_fail(ev, node->at, "", "%.*s is a class: its object is %.*s.class",
                          TEXT_ARGS(value->text), TEXT_ARGS(node->name));
  if (value->kind == VALUE_PACKAGE && node->kind == NODE_MEMBER) {
    /* "a.b.c" without a capital: the field c of the class a.b. */
    size_t dot = text_find_last(value->text, '.');
    struct value *owner = make_name(ev, VALUE_CLASS, text_slice(value->text, 0, dot));
    return owner == NULL ? NULL : read_field(ev, node->at, owner, node->name);
  }
  if (value->kind == VALUE_PACKAGE)
    return fail_variable(ev, node->at, "there is no variable", value->text);
  return value;
}

/* Evaluates the items of a list of arguments into *values, an array that the caller frees. */
static bool evaluate_items(struct evaluator *ev, const struct node *node, struct value ***values,
                           size_t *count)
{
  *count = 0;
  for (const struct node *item = node->items; item != NULL; item = item->next)
    ++*count;
  *values = calloc(*count + 1, sizeof(struct value *));
  if (*values == NULL)
    return evaluator_fail_memory(ev) != NULL;
  size_t at = 0;
  for (const struct node *item = node->items; item != NULL; item = item->next) {
    (*values)[at] = evaluator_evaluate(ev, item);
    if ((*values)[at++] == NULL)
      return false;
  }
  return true;
}

/* ---- lambdas ---- */

static struct value *make_lambda(struct evaluator *ev, const struct node *node)
{
  struct value *value = value_create(&ev->pool, VALUE_LAMBDA);
  struct lambda *lambda = value == NULL ? NULL : calloc(1, sizeof *lambda);
  if (lambda == NULL)
    return evaluator_fail_memory(ev);
  *lambda = (struct lambda){
      .evaluator = ev, .holders = 1, .node = node, .program = ev->program, .scope = ev->scope};
  ev->program->holders++;
  ev->scope->holders++;
  value->lambda = lambda;
  if (node->kind == NODE_REFERENCE) {
    struct text owner = evaluator_resolve_type(ev, node->at, node->type);
    if (owner.data == NULL)
      return NULL;
    lambda->owner = arena_text(&ev->program->arena, owner);
  }
  return value;
}

/* TYPE::new and TYPE::method, which is static, or a method of the first argument: a request that finds no member has run
 * nothing. */
static struct value *call_reference(struct evaluator *ev, const struct lambda *lambda, struct value **values,
                                    size_t count)
{
  const struct node *node = lambda->node;
  struct invocation call = {.operation = text_equal(node->name, TEXT("new")) ? JP_NEW : JP_CALL,
                            .at = node->at,
                            .type = lambda->owner,
                            .member = node->name,
                            .values = values,
                            .count = count};
  struct value *result = evaluator_invoke(ev, &call);
  if (result != NULL && evaluator_flush(ev))
    return result;
  bool was_refused = ev->failure.code == FAILURE_CODE_NO_MEMBER || ev->failure.code == FAILURE_CODE_PARAMS;
  if (call.operation != JP_CALL || count == 0 || !was_refused)
    return NULL;
  call.type = TEXT("");
  call.receiver = values[0];
  call.values = values + 1;
  call.count = count - 1;
  return evaluator_invoke(ev, &call);
}

static struct value *call_lambda(struct evaluator *ev, size_t at, struct lambda *lambda,
                                 struct value **values, size_t count)
{
  if (ev->calls >= CALLS_DEPTH_MAX)
    return evaluator_fail(ev, at, "java.lang.StackOverflowError",
                          "lambdas call each other more than %d times", CALLS_DEPTH_MAX);
  if (lambda->node->kind == NODE_REFERENCE)
    return call_reference(ev, lambda, values, count);
  struct scope *scope = scope_create(lambda->scope, false);
  struct scope *outer = ev->scope;
  struct program *program = ev->program;
  struct value *result = NULL;
  const size_t mark = ev->pool.count;
  size_t index = 0;
  bool is_good = scope != NULL;
  for (const struct node *item = lambda->node->items; is_good && item != NULL; item = item->next) {
    if (index < count)
      is_good = scope_define(scope, item->name, values[index]);
    index++;
  }
  if (!is_good) {
    scope_release(scope);
    return evaluator_fail_memory(ev);
  }
  if (index != count) {
    scope_release(scope);
    return evaluator_fail(ev, at, "", "the lambda has %zu parameters, and is called with %zu arguments",
                          index, count);
  }
  lambda->holders++; /* the body may end what has held it */
  ev->scope = scope;
  ev->program = lambda->program;
  ev->calls++;
  if (!evaluator_run_body(ev, lambda->node->first, &result))
    result = NULL;
  ev->calls--;
  ev->scope = outer;
  ev->program = program;
  end_call_scope(ev, scope, mark, result);
  lambda_free(lambda);
  return result;
}

/* Whether the description of an interface has a method that returns a value. */
static bool has_result(struct jp_json description, const char *name, size_t arity)
{
  struct jp_json method;
  char text[256];
  for (struct jp_json_cursor cursor = jp_json_enter(jp_json_member(description, "methods"));
       jp_json_next(&cursor, NULL, &method);) {
    if (jp_json_string(jp_json_member(method, "name"), text, sizeof text) == strlen(name) &&
        strcmp(text, name) == 0 && jp_json_count(jp_json_member(method, "parameters")) == arity &&
        jp_json_string(jp_json_member(method, "returnType"), text, sizeof text) != SIZE_MAX &&
        strcmp(text, "void") != 0)
      return true;
  }
  return false;
}

/* Whether the method that Java calls is void: then the value of a lambda is not its answer. An interface is described once. */
static bool returns_void(struct evaluator *ev, const struct jp_callback_call *call)
{
  const char *interface = jp_callback_interface(call);
  const char *method = jp_callback_method(call);
  struct jp_request request = jp_build_describe_type(interface);
  struct jp_answer *answer = NULL;
  struct jp_client_error error;
  struct text key =
      arena_printf(&ev->names, "%s.%s/%zu", interface, method, jp_callback_argument_count(call));
  if (strcmp(interface, "java.lang.Runnable") == 0)
    return true;
  if (text_starts_with(text_of(interface), TEXT("java.util.function.")))
    return strcmp(method, "accept") == 0;
  struct class_name *known = key.data == NULL ? NULL : class_name_find(ev->methods, key);
  if (known != NULL)
    return known->full.len > 0;
  request.members_only = true;
  ev->round_trips++;
  bool is_void =
      jp_client_call(ev->config.client, &request, ev->config.timeout_ms, &answer, &error) == JP_CLIENT_OK &&
      !has_result(jp_answer_json(answer), method, jp_callback_argument_count(call));
  jp_answer_free(answer);
  (void)!(key.data != NULL && evaluator_note_class(ev, &ev->methods, key, is_void ? TEXT("void") : TEXT("")));
  return is_void;
}

/* Answers Java's call with the result, or throws what failed. */
static void answer_callback(struct evaluator *ev, struct jp_callback_call *call, size_t at,
                            struct value *result)
{
  struct jp_argument argument = jp_null(NULL);
  bool is_good = result != NULL && evaluator_flush(ev);
  if (is_good && result->kind != VALUE_VOID && result->kind != VALUE_NULL && !returns_void(ev, call)) {
    result = evaluator_make_entry(ev, at, result);
    is_good = result != NULL && evaluator_know(ev, result) != NULL &&
              evaluator_make_argument(ev, at, result, &argument);
  }
  struct jp_client_error error = {0};
  if (is_good && jp_callback_return(call, &argument, &error) == JP_CLIENT_OK)
    return;
  const struct failure *failure = &ev->failure;
  if (!is_good && failure->thrown != NULL && failure->thrown->kind == VALUE_OBJECT)
    (void)jp_callback_throw_object(call, failure->thrown->ref, NULL);
  else if (!is_good)
    (void)jp_callback_throw(call, failure->type[0] == '\0' ? NULL : failure->type, failure->error.text, NULL);
  else
    (void)jp_callback_throw(call, NULL, error.text, NULL);
}

/* Java calls a lambda, while this thread waits for an answer. */
void lambda_run_callback(void *context, struct jp_callback_call *call)
{
  struct lambda *lambda = context;
  struct evaluator *ev = lambda->evaluator;
  if (ev->is_ended) {
    (void)jp_callback_throw(call, NULL, "the program of the lambda has ended", NULL);
    return;
  }
  struct batch outer = ev->batch;
  struct failure failure = ev->failure;
  const size_t mark = ev->pool.count;
  size_t count = jp_callback_argument_count(call);
  struct value **values = calloc(count + 1, sizeof(struct value *));
  if (values == NULL || !batch_begin(ev, &ev->batch)) {
    (void)jp_callback_throw(call, NULL, "out of memory", NULL);
    ev->batch = outer;
    free(values);
    return;
  }
  const size_t at = lambda->node->at;
  failure_init(&ev->failure);
  ev->guards++;
  bool is_good = true;
  for (size_t i = 0; i < count && is_good; i++) {
    values[i] = value_create(&ev->pool, VALUE_VOID);
    is_good = values[i] != NULL && value_set_answer(values[i], jp_callback_argument_at(call, i));
  }
  struct value *result = is_good ? call_lambda(ev, at, lambda, values, count) : evaluator_fail_memory(ev);
  answer_callback(ev, call, at, result);
  ev->guards--;
  arena_reset(&ev->step);
  batch_end(&ev->batch);
  failure_fini(&ev->failure);
  value_pool_drain(&ev->pool, mark);
  free(values);
  ev->batch = outer;
  ev->failure = failure;
}

/* ---- calls ---- */

/* The methods of Java's functional interfaces: a lambda has no interface before Java gets it. */
static bool is_functional(struct text name)
{
  static const char *const names[] = {"accept", "apply", "call", "compare", "get", "run", "test"};
  static const char *const prefixes[] = {"applyAs", "getAs"};
  bool found = false;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    found |= text_equal(name, text_of(names[i]));
  for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
    found |= text_starts_with(name, text_of(prefixes[i]));
  return found;
}

/* A lambda with the interface that it was cast to, as an object of Java. */
static struct value *make_function(struct evaluator *ev, size_t at, struct value *cast)
{
  struct invocation call = {.operation = JP_CALL,
                            .at = at,
                            .type = TEXT("java.util.Objects"),
                            .member = TEXT("requireNonNull"),
                            .values = &cast,
                            .count = 1};
  return evaluator_invoke(ev, &call);
}

static struct value *call_member(struct evaluator *ev, const struct node *node, struct value *object,
                                 struct value **values, size_t count)
{
  struct invocation call = {.operation = JP_CALL,
                            .at = node->at,
                            .type = TEXT(""),
                            .member = node->name,
                            .values = values,
                            .count = count};
  if (object->kind == VALUE_LAMBDA) {
    if (node->first == NULL || is_functional(node->name))
      return call_lambda(ev, node->at, object->lambda, values, count);
    return evaluator_fail(ev, node->at, "",
                          "a lambda has no method %.*s: call it, f(...), or cast it to its interface",
                          TEXT_ARGS(node->name));
  }
  if (object->kind == VALUE_ENTRY && count == 0 && object->item_count == 2) {
    if (text_equal(node->name, TEXT("getKey")))
      return object->items[0];
    if (text_equal(node->name, TEXT("getValue")))
      return object->items[1];
  }
  if (object->kind == VALUE_CLASS || object->kind == VALUE_PACKAGE)
    call.type = object->text;
  else
    call.receiver = object;
  return evaluator_invoke(ev, &call);
}

static struct value *evaluate_call(struct evaluator *ev, const struct node *node)
{
  struct value **values = NULL;
  size_t count = 0;
  struct value *object = NULL;
  struct value *result = NULL;
  if (node->first == NULL) {
    struct variable *variable = evaluator_find_variable(ev, node->name);
    if (variable == NULL || variable->value->kind != VALUE_LAMBDA)
      return evaluator_fail(ev, node->at, "",
                            "a method needs an object or a class before it: Math.max(3, 5)");
    object = read_variable(ev, node->at, variable);
  } else {
    object = evaluator_resolve_node(ev, node->first);
  }
  if (node->first != NULL && object != NULL && object->kind == VALUE_PACKAGE &&
      node->first->kind == NODE_NAME)
    object = fail_variable(ev, node->first->at, "there is no variable or class", node->first->name);
  if (object != NULL && object->kind == VALUE_CAST && object->items[0]->kind == VALUE_LAMBDA)
    object = make_function(ev, node->at, object);
  if (object != NULL && evaluate_items(ev, node, &values, &count))
    result = call_member(ev, node, object, values, count);
  free(values);
  return result;
}

/* new int[5], or new int[5][2] by java.lang.reflect.Array. */
static struct value *make_array(struct evaluator *ev, const struct node *node, struct text type,
                                struct value **lengths, size_t count)
{
  struct invocation call = {.operation = JP_NEW, .at = node->at, .values = lengths, .count = 1};
  if (count == 1) {
    call.type = arena_printf(&ev->names, "%.*s[]", TEXT_ARGS(type));
    return call.type.data == NULL ? evaluator_fail_memory(ev) : evaluator_invoke(ev, &call);
  }
  struct value *list = value_create(&ev->pool, VALUE_LIST);
  struct value *dimensions = value_create(&ev->pool, VALUE_CAST);
  bool is_good = list != NULL && dimensions != NULL && value_append(dimensions, list) &&
                 value_set_type(dimensions, TEXT("int[]"));
  for (size_t i = 0; is_good && i < count; i++)
    is_good = value_append(list, lengths[i]);
  struct value *both[2] = {make_class(ev, type), dimensions};
  call = (struct invocation){.operation = JP_CALL,
                             .at = node->at,
                             .type = TEXT("java.lang.reflect.Array"),
                             .member = TEXT("newInstance"),
                             .values = both,
                             .count = 2};
  return is_good && both[0] != NULL ? evaluator_invoke(ev, &call) : evaluator_fail_memory(ev);
}

/* new int[] {5}: as the only argument of `new`, one int would be the length. */
static struct value *make_single(struct evaluator *ev, const struct node *node, struct text type,
                                 struct value *element)
{
  struct value *cast = value_create(&ev->pool, VALUE_CAST);
  struct value *list = value_create(&ev->pool, VALUE_LIST);
  struct value *both[2] = {cast, value_integer(&ev->pool, 'I', 1)};
  struct invocation copy = {.operation = JP_CALL,
                            .at = node->at,
                            .type = TEXT("java.util.Arrays"),
                            .member = TEXT("copyOf"),
                            .values = both,
                            .count = 2};
  if (list == NULL || cast == NULL || both[1] == NULL || !value_append(list, element) ||
      !value_append(cast, list) || !value_set_type(cast, type))
    return evaluator_fail_memory(ev);
  return evaluator_invoke(ev, &copy);
}

static struct value *evaluate_new(struct evaluator *ev, const struct node *node)
{
  struct value **values = NULL;
  struct text type = evaluator_resolve_type(ev, node->at, node->type);
  struct invocation call = {.operation = JP_NEW, .at = node->at, .type = type};
  struct value *result = NULL;
  if (type.data == NULL)
    return NULL;
  if (evaluate_items(ev, node, &values, &call.count)) {
    call.values = values;
    if (node->kind == NODE_NEW_ARRAY)
      result = make_array(ev, node, type, values, call.count);
    else if (node->kind == NODE_NEW_ELEMENTS && call.count == 1)
      result = make_single(ev, node, type, values[0]);
    else
      result = evaluator_invoke(ev, &call);
  }
  free(values);
  return result;
}

static struct value *evaluate_index(struct evaluator *ev, const struct node *node)
{
  struct value *object = evaluator_evaluate_known(ev, node->first);
  struct value *index = object == NULL ? NULL : evaluator_evaluate(ev, node->second);
  if (index == NULL)
    return NULL;
  while (object->kind == VALUE_CAST)
    object = object->items[0];
  if (object->kind == VALUE_LIST || object->kind == VALUE_ENTRY ||
      (object->kind == VALUE_OBJECT && value_is_array(object))) {
    char field[40];
    index = evaluator_know(ev, index);
    if (index == NULL || index->kind != VALUE_INTEGER)
      return index == NULL ? NULL : evaluator_fail(ev, node->at, "", "the index of an array is an int");
    if (object->kind == VALUE_OBJECT) {
      text_format(field, sizeof field, "[%" PRId64 "]", index->integer);
      return read_field(ev, node->at, object, text_of(field));
    }
    int64_t at = index->integer < 0 ? index->integer + (int64_t)object->item_count : index->integer;
    if (at < 0 || at >= (int64_t)object->item_count)
      return evaluator_fail(ev, node->at, "java.lang.IndexOutOfBoundsException",
                            "index %" PRId64 " of %zu elements", index->integer, object->item_count);
    return object->items[at];
  }
  struct invocation get = {.operation = JP_CALL,
                           .at = node->at,
                           .type = TEXT(""),
                           .member = object->kind == VALUE_TEXT ? TEXT("charAt") : TEXT("get"),
                           .receiver = object,
                           .values = &index,
                           .count = 1};
  return evaluator_invoke(ev, &get);
}

/* Writes an end of a range; NULL is "". */
static bool write_bound(struct evaluator *ev, const struct node *node, struct value *end, struct buffer *out)
{
  if (end == NULL)
    return true;
  if (evaluator_know(ev, end) == NULL)
    return false;
  if (end->kind != VALUE_INTEGER)
    return evaluator_fail(ev, node->at, "", "the ends of a range are ints") != NULL;
  return value_write_text(end, out);
}

static struct value *read_array_slice(struct evaluator *ev, const struct node *node, struct value *object,
                                      struct value *const ends[2])
{
  struct buffer range;
  buffer_init(&range);
  buffer_append_char(&range, '[');
  bool is_good = write_bound(ev, node->second, ends[0], &range);
  buffer_append_char(&range, ':');
  is_good = is_good && write_bound(ev, node->third, ends[1], &range);
  buffer_append_char(&range, ']');
  struct value *result = is_good ? read_field(ev, node->at, object, buffer_text(&range)) : NULL;
  buffer_fini(&range);
  return result;
}

static struct value *evaluate_slice(struct evaluator *ev, const struct node *node)
{
  struct value *ends[2] = {NULL, NULL};
  struct value *object = evaluator_evaluate_known(ev, node->first);
  if (object == NULL || (node->second != NULL && (ends[0] = evaluator_evaluate(ev, node->second)) == NULL) ||
      (node->third != NULL && (ends[1] = evaluator_evaluate(ev, node->third)) == NULL))
    return NULL;
  if (object->kind == VALUE_OBJECT && value_is_array(object))
    return read_array_slice(ev, node, object, ends);
  if (ends[0] == NULL)
    ends[0] = value_integer(&ev->pool, 'I', 0);
  if (ends[0] == NULL)
    return evaluator_fail_memory(ev);
  const bool is_text = object->kind == VALUE_TEXT;
  if (ends[1] == NULL && !is_text) {
    struct invocation size = {
        .operation = JP_CALL, .at = node->at, .type = TEXT(""), .member = TEXT("size"), .receiver = object};
    ends[1] = evaluator_invoke(ev, &size);
    if (ends[1] == NULL)
      return NULL;
  }
  struct invocation sub = {.operation = JP_CALL,
                           .at = node->at,
                           .type = TEXT(""),
                           .member = is_text ? TEXT("substring") : TEXT("subList"),
                           .receiver = object,
                           .values = ends,
                           .count = ends[1] == NULL ? 1 : 2};
  return evaluator_invoke(ev, &sub);
}

/* Java's conversion to a primitive type. */
struct value *evaluator_convert(struct evaluator *ev, size_t at, struct value *value, struct text type)
{
  struct jp_error error = {0};
  struct value *known = evaluator_know(ev, value);
  struct value *converted = NULL;
  while (known != NULL && known->kind == VALUE_CAST)
    known = known->items[0];
  if (known != NULL)
    converted = value_convert(&ev->pool, known, primitive_find_keyword(type)->letter, &error);
  return known == NULL || converted != NULL
             ? converted
             : evaluator_fail(ev, at,
                              known->kind == VALUE_NULL ? "java.lang.NullPointerException"
                                                        : "java.lang.ClassCastException",
                              "%s", error.text);
}

static struct value *evaluate_cast(struct evaluator *ev, const struct node *node)
{
  if (primitive_find_keyword(node->type) != NULL) {
    struct value *value = evaluator_evaluate(ev, node->first);
    return value == NULL ? NULL : evaluator_convert(ev, node->at, value, node->type);
  }
  struct text type = evaluator_resolve_type(ev, node->at, node->type);
  struct value *inner = type.data == NULL ? NULL : evaluator_evaluate(ev, node->first);
  inner = inner == NULL ? NULL : evaluator_make_entry(ev, node->at, inner);
  if (inner == NULL)
    return NULL;
  struct value *cast = value_create(&ev->pool, VALUE_CAST);
  return evaluator_or_no_memory(
      ev, cast != NULL && value_append(cast, inner) && value_set_type(cast, type) ? cast : NULL);
}

/* Whether the value is of the class: a boolean, which may be PENDING. */
struct value *evaluator_test_class(struct evaluator *ev, size_t at, struct value *value, struct text type)
{
  struct invocation call = {.operation = JP_CALL,
                            .at = at,
                            .type = TEXT(""),
                            .member = TEXT("isInstance"),
                            .receiver = make_class(ev, type),
                            .values = &value,
                            .count = 1,
                            .is_of_language = true};
  return call.receiver == NULL ? NULL : evaluator_invoke(ev, &call);
}

static struct value *evaluate_instanceof(struct evaluator *ev, const struct node *node)
{
  struct value *value = evaluator_evaluate(ev, node->first);
  struct text type = value == NULL ? TEXT_ABSENT : evaluator_resolve_type(ev, node->at, node->type);
  return type.data == NULL ? NULL : evaluator_test_class(ev, node->at, value, type);
}

static struct value *evaluate_list(struct evaluator *ev, const struct node *node)
{
  struct value *list = value_create(&ev->pool, node->kind == NODE_MAP ? VALUE_MAP : VALUE_LIST);
  if (list == NULL)
    return evaluator_fail_memory(ev);
  for (const struct node *item = node->items; item != NULL; item = item->next) {
    /* The keys of a Map are written as texts, so they have to be known. */
    bool is_key = node->kind == NODE_MAP && list->item_count % 2 == 0;
    struct value *value = is_key ? evaluator_evaluate_known(ev, item) : evaluator_evaluate(ev, item);
    value = value == NULL ? NULL : evaluator_make_entry(ev, item->at, value);
    if (value == NULL)
      return NULL;
    if (!value_append(list, value))
      return evaluator_fail_memory(ev);
  }
  return list;
}

/* ---- operators ---- */

/* What an operator works on: a cast's value itself. */
static struct value *evaluate_operand(struct evaluator *ev, const struct node *node)
{
  struct value *value = evaluator_evaluate_known(ev, node);
  while (value != NULL && value->kind == VALUE_CAST)
    value = value->items[0];
  return value;
}

bool evaluator_is_true(struct evaluator *ev, const struct node *node, bool *truth)
{
  char words[120];
  struct value *value = evaluate_operand(ev, node);
  if (value != NULL && value->kind != VALUE_BOOLEAN)
    value =
        evaluator_fail(ev, node->at, "", "a boolean is needed, and this is %s", value_describe(value, words));
  *truth = value != NULL && value->integer != 0;
  return value != NULL;
}

/* Java's text of a value; an object's is asked for. */
static bool append_text_of(struct evaluator *ev, size_t at, struct value *value, struct buffer *out)
{
  if (value->kind != VALUE_OBJECT && value_write_text(value, out))
    return true;
  value = evaluator_make_entry(ev, at, value);
  if (value == NULL)
    return false;
  struct invocation call = {.operation = JP_CALL,
                            .at = at,
                            .type = TEXT("java.lang.String"),
                            .member = TEXT("valueOf"),
                            .values = &value,
                            .count = 1};
  struct value *cast = value_create(&ev->pool, VALUE_CAST);
  if (cast == NULL || !value_append(cast, value) || !value_set_type(cast, TEXT("java.lang.Object")))
    return evaluator_fail_memory(ev) != NULL;
  call.values = &cast;
  struct value *text = evaluator_invoke(ev, &call);
  return text != NULL && evaluator_know(ev, text) != NULL && value_write_text(text, out);
}

static struct value *concatenate(struct evaluator *ev, size_t at, struct value *left, struct value *right)
{
  struct buffer text;
  struct value *result = NULL;
  buffer_init(&text);
  if (append_text_of(ev, at, left, &text) && append_text_of(ev, at, right, &text))
    result = evaluator_or_no_memory(
        ev, text.failed ? NULL : value_text(&ev->pool, text.len == 0 ? TEXT("") : buffer_text(&text)));
  buffer_fini(&text);
  return result;
}

static bool is_text(const struct value *value)
{
  return value->kind == VALUE_TEXT && value->type == NULL;
}

static bool is_class(const struct value *value)
{
  return value->type != NULL && strcmp(value->type, "java.lang.Class") == 0;
}

/* *truth: whether == holds. Java is asked for a class that the program names and one that the peer has. */
static bool are_equal(struct evaluator *ev, size_t at, struct value *left, struct value *right, bool *truth)
{
  struct invocation call = {.operation = JP_CALL,
                            .at = at,
                            .type = TEXT(""),
                            .member = TEXT("equals"),
                            .receiver = left, /* a class */
                            .values = &right,
                            .count = 1,
                            .is_of_language = true};
  *truth = value_equal(left, right);
  if (left->kind == right->kind || !is_class(left) || !is_class(right))
    return true;
  struct value *answer = evaluator_invoke(ev, &call);
  *truth = answer != NULL && evaluator_know(ev, answer) != NULL && answer->integer != 0;
  return answer != NULL && answer->kind == VALUE_BOOLEAN;
}

static struct value *evaluate_binary(struct evaluator *ev, const struct node *node)
{
  struct jp_error error = {0};
  const char *throws = "";
  bool truth;
  if (node->op == BINARY_AND || node->op == BINARY_OR) {
    if (!evaluator_is_true(ev, node->first, &truth))
      return NULL;
    if (truth == (node->op == BINARY_AND) && !evaluator_is_true(ev, node->second, &truth))
      return NULL;
    return evaluator_or_no_memory(ev, value_boolean(&ev->pool, truth));
  }
  /* Both operands are evaluated before either is needed: one round trip where the order allows it. */
  struct value *left = evaluator_evaluate(ev, node->first);
  struct value *right = left == NULL ? NULL : evaluator_evaluate(ev, node->second);
  if (right == NULL || evaluator_know(ev, left) == NULL || evaluator_know(ev, right) == NULL)
    return NULL;
  while (left->kind == VALUE_CAST)
    left = left->items[0];
  while (right->kind == VALUE_CAST)
    right = right->items[0];
  if (node->op == BINARY_EQUAL || node->op == BINARY_UNEQUAL)
    return are_equal(ev, node->at, left, right, &truth)
               ? evaluator_or_no_memory(ev, value_boolean(&ev->pool, truth == (node->op == BINARY_EQUAL)))
               : NULL;
  if (node->op == BINARY_ADD && (is_text(left) || is_text(right)))
    return concatenate(ev, node->at, left, right);
  struct value *result = value_operate(&ev->pool, node->op, left, right, &throws, &error);
  return result != NULL ? result : evaluator_fail(ev, node->at, throws, "%s", error.text);
}

static struct value *evaluate_prefix(struct evaluator *ev, const struct node *node)
{
  struct jp_error error = {0};
  bool truth;
  if (node->kind == NODE_NOT)
    return evaluator_is_true(ev, node->first, &truth)
               ? evaluator_or_no_memory(ev, value_boolean(&ev->pool, !truth))
               : NULL;
  struct value *value = evaluate_operand(ev, node->first);
  struct value *result = value == NULL ? NULL : value_negate(&ev->pool, value, &error);
  return value == NULL || result != NULL ? result : evaluator_fail(ev, node->at, "", "%s", error.text);
}

/* The type of an expression that need not be evaluated for it: 'D' of `2.0`, `-x * 2.0` or `(double) x`. '\0': unknown. */
static char numeric_type(const struct node *node)
{
  static const char literals[] = {
      [LITERAL_INT] = 'I',    [LITERAL_LONG] = 'J', [LITERAL_FLOAT] = 'F',
      [LITERAL_DOUBLE] = 'D', [LITERAL_CHAR] = 'C', [LITERAL_TEXT] = '\0',
  };
  if (node->kind == NODE_LITERAL)
    return literals[node->literal];
  if (node->kind == NODE_CAST) {
    const struct primitive *primitive = primitive_find_keyword(node->type);
    return primitive == NULL || primitive->letter == 'Z' ? '\0' : primitive->letter;
  }
  char type = node->kind == NODE_NEGATE || node->kind == NODE_BINARY ? numeric_type(node->first) : '\0';
  char other = node->kind == NODE_BINARY && node->op >= BINARY_ADD && type != '\0'
                   ? numeric_type(node->second)
               : node->kind == NODE_NEGATE ? type
                                           : '\0';
  return type == '\0' || other == '\0' ? '\0' : value_promote(type, other);
}

/* A number becomes what Java's numeric promotion makes of both arms (JLS 15.25.2), if the type of the arm that is not taken
 * is known without its evaluation. */
static struct value *evaluate_conditional(struct evaluator *ev, const struct node *node)
{
  bool truth;
  struct jp_error error = {0};
  if (!evaluator_is_true(ev, node->first, &truth))
    return NULL;
  struct value *value = evaluator_evaluate(ev, truth ? node->second : node->third);
  char other = value == NULL ? '\0' : numeric_type(truth ? node->third : node->second);
  if (other != 'J' && other != 'F' && other != 'D') /* no wider than what the arm can be */
    return value;
  if (evaluator_know(ev, value) == NULL)
    return NULL;
  if (value->kind != VALUE_INTEGER && value->kind != VALUE_NUMBER && value->kind != VALUE_CHAR)
    return value;
  struct value *result = value_convert(&ev->pool, value, value_promote(value->primitive, other), &error);
  return evaluator_or_no_memory(ev, result);
}

struct value *evaluator_evaluate(struct evaluator *ev, const struct node *node)
{
  switch (node->kind) {
  case NODE_LITERAL:
    return evaluate_literal(ev, node);
  case NODE_NAME:
  case NODE_MEMBER:
    return evaluate_name(ev, node);
  case NODE_CALL:
    return evaluate_call(ev, node);
  case NODE_NEW:
  case NODE_NEW_ARRAY:
  case NODE_NEW_ELEMENTS:
    return evaluate_new(ev, node);
  case NODE_INDEX:
    return evaluate_index(ev, node);
  case NODE_SLICE:
    return evaluate_slice(ev, node);
  case NODE_LAMBDA:
  case NODE_REFERENCE:
    return make_lambda(ev, node);
  case NODE_CAST:
    return evaluate_cast(ev, node);
  case NODE_LIST:
  case NODE_MAP:
    return evaluate_list(ev, node);
  case NODE_NEGATE:
  case NODE_NOT:
    return evaluate_prefix(ev, node);
  case NODE_BINARY:
    return evaluate_binary(ev, node);
  case NODE_CONDITIONAL:
    return evaluate_conditional(ev, node);
  case NODE_INSTANCEOF:
    return evaluate_instanceof(ev, node);
  default:
    return evaluator_fail(ev, node->at, "", "a statement has no value here");
  }
}

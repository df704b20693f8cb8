/* Statements. */
#include "command/element_pages.h"
#include "command/evaluator_state.h"

enum { PAGE = 1000 };

struct value *evaluator_make_collection(struct evaluator *ev, size_t at, struct value *value)
{
  if (value->kind != VALUE_LIST && value->kind != VALUE_MAP)
    return value;
  struct invocation call = {.operation = JP_NEW,
                            .at = at,
                            .type = value->kind == VALUE_LIST ? TEXT("java.util.ArrayList")
                                                              : TEXT("java.util.LinkedHashMap"),
                            .values = &value,
                            .count = value->item_count > 0 ? 1 : 0,
                            .is_of_language = true};
  return evaluator_invoke(ev, &call);
}

static bool assign_variable(struct evaluator *ev, const struct node *node, struct value *value)
{
  char words[120];
  if (value->kind == VALUE_VOID)
    return evaluator_fail(ev, node->at, "", "%s cannot be assigned", value_describe(value, words)) != NULL;
  struct value *object = evaluator_make_collection(ev, node->at, value);
  struct variable *variable = evaluator_find_variable(ev, node->first->name);
  if (object == NULL || (ev->callbacks > 0 && evaluator_know(ev, object) == NULL))
    return false;
  if (variable != NULL) {
    value_keep(object);
    value_release(variable->value);
    variable->value = object;
    return true;
  }
  struct scope *scope = ev->scope;
  while (scope->is_turn && scope->parent != NULL)
    scope = scope->parent;
  return scope_define(scope, node->first->name, object) || evaluator_fail_memory(ev) != NULL;
}

static struct value *put(struct evaluator *ev, size_t at, struct value *object, struct text name,
                         struct value *value)
{
  struct invocation call = {
      .operation = JP_PUT, .at = at, .member = name, .type = TEXT(""), .values = &value, .count = 1};
  if (object->kind == VALUE_CLASS || object->kind == VALUE_PACKAGE)
    call.type = object->text;
  else
    call.receiver = object;
  return evaluator_invoke(ev, &call);
}

/* xs[i] = value: of an array, a List (set) or a Map (put). The value is evaluated last, as in Java. */
static bool assign_element(struct evaluator *ev, const struct node *target, const struct node *source)
{
  struct value *object = evaluator_evaluate_known(ev, target->first);
  struct value *index = object == NULL ? NULL : evaluator_evaluate(ev, target->second);
  struct value *value = index == NULL ? NULL : evaluator_evaluate(ev, source);
  char field[40];
  if (value == NULL || evaluator_know(ev, index) == NULL)
    return false;
  if (object->kind == VALUE_OBJECT && value_is_array(object)) {
    if (index->kind != VALUE_INTEGER)
      return evaluator_fail(ev, target->at, "", "the index of an array is an int") != NULL;
    text_format(field, sizeof field, "[%" PRId64 "]", index->integer);
    return put(ev, target->at, object, text_of(field), value) != NULL;
  }
  struct value *map = evaluator_test_class(ev, target->at, object, TEXT("java.util.Map"));
  if (map == NULL || evaluator_know(ev, map) == NULL)
    return false;
  struct value *both[2] = {index, value};
  struct invocation set = {.operation = JP_CALL,
                           .at = target->at,
                           .type = TEXT(""),
                           .member = map->integer != 0 ? TEXT("put") : TEXT("set"),
                           .receiver = object,
                           .values = both,
                           .count = 2};
  return evaluator_invoke(ev, &set) != NULL;
}

static bool assign(struct evaluator *ev, const struct node *node, struct value **value)
{
  const struct node *target = node->first;
  *value = NULL;
  if (target->kind == NODE_NAME) {
    struct value *assigned = evaluator_evaluate(ev, node->second);
    return assigned != NULL && assign_variable(ev, node, assigned);
  }
  if (target->kind == NODE_SLICE)
    return evaluator_fail(ev, target->at, "", "a range cannot be assigned to: assign its elements") != NULL;
  if (target->kind == NODE_INDEX)
    return assign_element(ev, target, node->second);
  struct value *object = evaluator_resolve_node(ev, target->first);
  struct value *assigned = object == NULL ? NULL : evaluator_evaluate(ev, node->second);
  return assigned != NULL && put(ev, target->at, object, target->name, assigned) != NULL;
}

/* A loop may run without a message to the peer. */
static bool is_interrupted(struct evaluator *ev, size_t at)
{
  if (ev->config.interrupted == NULL || !ev->config.interrupted(NULL))
    return false;
  (void)evaluator_fail(ev, at, "", "interrupted");
  ev->failure.kind = FAILURE_INTERRUPTED;
  return true;
}

/* The body of a loop: its value is that of a return statement. */
static enum flow run_loop_body(struct evaluator *ev, const struct node *node, struct value **value)
{
  enum flow flow = evaluator_run_statement(ev, node->second, value);
  if (flow != FLOW_RETURN)
    *value = NULL;
  return flow;
}

/* One turn of a loop. */
static enum flow run_turn(struct evaluator *ev, const struct node *node, struct value *item,
                          struct value **value)
{
  const size_t mark = ev->pool.count;
  struct scope *outer = ev->scope;
  struct scope *turn = scope_create(outer, true);
  enum flow flow = FLOW_FAIL;
  if (is_interrupted(ev, node->at)) {
    scope_release(turn);
    return FLOW_FAIL;
  }
  if (node->type.data != NULL)
    item = evaluator_convert(ev, node->at, item, node->type);
  if (item != NULL && (turn == NULL || !scope_define(turn, node->name, item)))
    item = evaluator_fail_memory(ev);
  if (item != NULL) {
    ev->scope = turn;
    flow = run_loop_body(ev, node, value);
    ev->scope = outer;
  }
  scope_release(turn);
  if (flow == FLOW_NEXT || flow == FLOW_CONTINUE)
    value_pool_drain(&ev->pool, mark);
  return flow;
}

static bool goes_on(enum flow flow)
{
  return flow == FLOW_NEXT || flow == FLOW_CONTINUE;
}

static enum flow end_loop(enum flow flow)
{
  return flow == FLOW_BREAK || flow == FLOW_CONTINUE ? FLOW_NEXT : flow;
}

/* An element of a List or Map is an object in Java: a number is in its wrapper. */
static struct value *box_item(struct evaluator *ev, struct value *item)
{
  if (item->primitive == 0 || item->is_boxed)
    return item;
  struct value *boxed = value_create(&ev->pool, item->kind);
  if (boxed == NULL)
    return evaluator_fail_memory(ev);
  boxed->primitive = item->primitive;
  boxed->integer = item->integer;
  boxed->number = item->number;
  boxed->is_boxed = true;
  return boxed;
}

static struct value *make_entry_of(struct evaluator *ev, struct value *key, struct value *element)
{
  struct value *entry = value_create(&ev->pool, VALUE_ENTRY);
  return evaluator_or_no_memory(
      ev, entry != NULL && value_append(entry, key) && value_append(entry, element) ? entry : NULL);
}

static enum flow loop_items(struct evaluator *ev, const struct node *node, struct value *list,
                            struct value **value)
{
  const size_t step = list->kind == VALUE_MAP ? 2 : 1;
  enum flow flow = evaluator_flush(ev) ? FLOW_NEXT : FLOW_FAIL; /* items may be PENDING */
  for (size_t i = 0; goes_on(flow) && i < list->item_count; i += step) {
    const size_t mark = ev->pool.count;
    struct value *item = box_item(ev, list->items[i]);
    struct value *element = step == 1 || item == NULL ? NULL : box_item(ev, list->items[i + 1]);
    if (element != NULL)
      item = make_entry_of(ev, item, element);
    flow = item == NULL || (step == 2 && element == NULL) ? FLOW_FAIL : run_turn(ev, node, item, value);
    if (goes_on(flow))
      value_pool_drain(&ev->pool, mark);
  }
  return end_loop(flow);
}

/* Runs the turns of a page. */
static enum flow loop_page(struct evaluator *ev, const struct node *node, struct fetch *fetch,
                           struct value **value)
{
  struct jp_json element;
  enum flow flow = FLOW_NEXT;
  for (struct jp_json_cursor cursor = jp_json_enter(fetch->elements);
       goes_on(flow) && jp_json_next(&cursor, NULL, &element);) {
    const size_t mark = ev->pool.count;
    struct value *item = fetch_value(fetch, &ev->pool, element);
    flow = item == NULL ? (evaluator_fail_memory(ev), FLOW_FAIL) : run_turn(ev, node, item, value);
    if (goes_on(flow))
      value_pool_drain(&ev->pool, mark);
  }
  return flow;
}

/* Whether what has no elements is a ResultSet: its rows are. */
static bool has_rows(struct evaluator *ev, size_t at, struct value *object)
{
  struct failure failure = ev->failure;
  if (failure.code != FAILURE_CODE_PARAMS)
    return false;
  failure_init(&ev->failure);
  struct value *answer = evaluator_test_class(ev, at, object, TEXT("java.sql.ResultSet"));
  bool is_result_set = answer != NULL && evaluator_know(ev, answer) != NULL && answer->integer != 0;
  failure_fini(&ev->failure);
  ev->failure = failure;
  return is_result_set;
}

/* The element of each turn is the ResultSet at its next row. */
static enum flow loop_rows(struct evaluator *ev, const struct node *node, struct value *set,
                           struct value **value)
{
  struct invocation next = {.operation = JP_CALL,
                            .at = node->first->at,
                            .type = TEXT("java.sql.ResultSet"),
                            .member = TEXT("next"),
                            .receiver = set};
  enum flow flow = FLOW_NEXT;
  while (goes_on(flow)) {
    const size_t mark = ev->pool.count;
    struct value *has_row = evaluator_invoke(ev, &next);
    if (has_row == NULL || evaluator_know(ev, has_row) == NULL)
      return FLOW_FAIL;
    if (has_row->integer == 0)
      break;
    flow = run_turn(ev, node, set, value);
    if (goes_on(flow))
      value_pool_drain(&ev->pool, mark);
  }
  return flow;
}

static enum flow loop_object(struct evaluator *ev, const struct node *node, struct value *object,
                             struct value **value)
{
  struct fetch fetch;
  const struct failure *failure;
  enum flow flow = FLOW_NEXT;
  fetch_begin(&fetch, ev, object, FETCH_TYPED, FETCH_FOR_PROGRAM);
  while (goes_on(flow) && !fetch.is_done) {
    if (!evaluator_flush(ev)) {
      flow = FLOW_FAIL;
    } else if (!fetch_page(&fetch, PAGE, &failure) && has_rows(ev, node->at, object)) {
      flow = loop_rows(ev, node, object, value);
      break;
    } else if (fetch.answer == NULL) {
      ev->failure.at = node->first->at;
      ev->failure.has_place = true;
      flow = FLOW_FAIL;
    } else {
      flow = loop_page(ev, node, &fetch, value);
    }
  }
  fetch_end(&fetch);
  return end_loop(flow);
}

static enum flow run_for(struct evaluator *ev, const struct node *node, struct value **value)
{
  char words[120];
  struct value *list = evaluator_evaluate_known(ev, node->first);
  while (list != NULL && list->kind == VALUE_CAST)
    list = list->items[0];
  if (list == NULL)
    return FLOW_FAIL;
  if (list->kind == VALUE_LIST || list->kind == VALUE_ENTRY || list->kind == VALUE_MAP)
    return loop_items(ev, node, list, value);
  if (list->kind == VALUE_OBJECT)
    return loop_object(ev, node, list, value);
  (void)evaluator_fail(ev, node->first->at, "", "%s has no elements", value_describe(list, words));
  return FLOW_FAIL;
}

static enum flow run_while(struct evaluator *ev, const struct node *node, struct value **value)
{
  enum flow flow = FLOW_NEXT;
  bool truth = true;
  while (goes_on(flow)) {
    const size_t mark = ev->pool.count;
    /* A loop that needs nothing of Java would delay what was called before it. */
    if (is_interrupted(ev, node->at) || !evaluator_flush(ev) || !evaluator_is_true(ev, node->first, &truth))
      return FLOW_FAIL;
    if (!truth)
      break;
    flow = run_loop_body(ev, node, value);
    if (goes_on(flow))
      value_pool_drain(&ev->pool, mark);
  }
  return end_loop(flow);
}

void evaluator_settle_failure(struct evaluator *ev)
{
  if (ev->batch.count == 0)
    return;
  struct failure failure = ev->failure;
  failure_init(&ev->failure);
  if (evaluator_flush(ev)) {
    failure_fini(&ev->failure);
    ev->failure = failure;
  } else {
    failure_fini(&failure);
  }
}

/* The full name of the class that a catch names; the name as it stands if there is no such class. */
static struct text find_caught_class(struct evaluator *ev, const struct node *node)
{
  struct text full = evaluator_resolve_type(ev, node->at, node->type);
  return full.data != NULL ? full : node->type;
}

/* Whether a failure whose superclasses are not known is of the class: Java is asked. Without an answer it is an Exception. */
static bool is_subclass(struct evaluator *ev, const char *type, struct text wanted)
{
  struct jp_argument class = jp_text_of_type("java.lang.Class", type);
  struct text name = arena_printf(&ev->names, "%.*s", TEXT_ARGS(wanted));
  struct jp_request request = jp_build_instance_method_call(
      NULL, "isAssignableFrom", jp_text_of_type("java.lang.Class", name.data), &class, 1);
  bool truth = false;
  if (type[0] != '\0' && name.data != NULL && evaluator_ask(ev, &request, 1, &truth) &&
      ev->failure.kind == FAILURE_NONE)
    return truth;
  return text_equal(wanted, TEXT("java.lang.Exception")) || text_equal(wanted, TEXT("java.lang.Throwable"));
}

/* Whether one of the lines is the class, by its full name, or by its simple one if the catch has no other. */
static bool has_class(struct text lines, struct text wanted)
{
  const bool is_simple = text_find_last(wanted, '.') == SIZE_MAX;
  for (size_t at = 0; at < lines.len;) {
    size_t end = at;
    while (lines.data[end] != '\n')
      end++;
    struct text line = text_slice(lines, at, end);
    size_t dot = is_simple ? text_find_last(line, '.') : SIZE_MAX;
    if (text_equal(dot == SIZE_MAX ? line : text_slice(line, dot + 1, line.len), wanted))
      return true;
    at = end + 1;
  }
  return false;
}

static bool is_caught(struct evaluator *ev, const struct node *node)
{
  struct failure failure = ev->failure;
  if (failure.kind != FAILURE_PROGRAM && failure.kind != FAILURE_THROWN && failure.kind != FAILURE_DENIED)
    return false;
  if (node->type.data == NULL)
    return true;
  failure_init(&ev->failure); /* what is asked here may fail */
  struct text wanted = find_caught_class(ev, node);
  bool found = has_class(buffer_text(&failure.types), wanted);
  if (!found && !failure.has_superclasses)
    found = is_subclass(ev, failure.type, wanted);
  failure_fini(&ev->failure);
  ev->failure = failure;
  return found;
}

/* The throwable for a catch: Java's, or a new one for what Java has not thrown. */
static struct value *take_thrown(struct evaluator *ev, size_t at)
{
  struct failure *failure = &ev->failure;
  struct value *thrown = failure->thrown;
  if (thrown != NULL) {
    failure->thrown = NULL;
    value_keep(thrown); /* for the pool's list */
    struct value *cast = value_create(&ev->pool, VALUE_OBJECT);
    bool is_good = cast != NULL && value_set_type(cast, text_of(thrown->type == NULL ? "" : thrown->type));
    if (is_good)
      cast->ref = jp_ref_keep(thrown->ref);
    value_release(thrown);
    value_release(thrown);
    return evaluator_or_no_memory(ev, is_good ? cast : NULL);
  }
  struct value *message = value_text(&ev->pool, text_of(failure->error.text));
  struct text type = arena_text(&ev->names, text_of(failure->type));
  if (message == NULL || type.data == NULL)
    return evaluator_fail_memory(ev);
  struct invocation call = {
      .operation = JP_NEW, .at = at, .type = type, .values = &message, .count = 1, .is_of_language = true};
  struct value *made = type.len == 0 ? NULL : evaluator_invoke(ev, &call);
  if (made != NULL && evaluator_flush(ev))
    return made;
  call.type = TEXT("java.lang.RuntimeException"); /* the class has no such constructor, or there is none */
  made = evaluator_invoke(ev, &call);
  return made != NULL && evaluator_flush(ev) ? made : NULL;
}

static enum flow run_catch(struct evaluator *ev, const struct node *node, struct value **value)
{
  if (!is_caught(ev, node))
    return FLOW_FAIL;
  struct scope *outer = ev->scope;
  struct value *thrown = take_thrown(ev, node->at);
  if (thrown == NULL)
    return FLOW_FAIL;
  failure_clear(&ev->failure);
  struct scope *scope = scope_create(outer, true);
  enum flow flow = FLOW_FAIL;
  if (scope != NULL && scope_define(scope, node->name, thrown)) {
    ev->scope = scope;
    flow = evaluator_run_statement(ev, node->first, value);
    ev->scope = outer;
  } else {
    (void)evaluator_fail_memory(ev);
  }
  scope_release(scope);
  return flow;
}

static enum flow close_resource(struct evaluator *ev, size_t at, struct value *resource, enum flow flow)
{
  struct failure failure = ev->failure;
  failure_init(&ev->failure);
  struct invocation close = {
      .operation = JP_CALL, .at = at, .type = TEXT(""), .member = TEXT("close"), .receiver = resource};
  bool is_closed =
      resource->kind == VALUE_NULL || (evaluator_invoke(ev, &close) != NULL && evaluator_flush(ev));
  if (is_closed || flow == FLOW_FAIL) {
    failure_fini(&ev->failure);
    ev->failure = failure;
    return flow;
  }
  failure_fini(&failure);
  return FLOW_FAIL;
}

static enum flow run_guarded(struct evaluator *ev, const struct node *node, struct value **value)
{
  struct scope *outer = ev->scope;
  struct scope *scope = scope_create(outer, true);
  struct value *resource = NULL;
  enum flow flow = FLOW_FAIL;
  if (scope == NULL)
    return evaluator_fail_memory(ev), FLOW_FAIL;
  if (node->first != NULL) {
    resource = evaluator_evaluate_known(ev, node->first);
    if (resource != NULL && !scope_define(scope, node->name, resource))
      resource = evaluator_fail_memory(ev);
  }
  if (node->first == NULL || resource != NULL) {
    ev->scope = scope;
    flow = evaluator_run_statement(ev, node->second, value);
    if (flow == FLOW_FAIL)
      evaluator_settle_failure(ev);
    else if (!evaluator_flush(ev))
      flow = FLOW_FAIL;
    if (resource != NULL)
      flow = close_resource(ev, node->at, resource, flow);
    ev->scope = outer;
  }
  scope_release(scope);
  return flow;
}

static enum flow run_try(struct evaluator *ev, const struct node *node, struct value **value)
{
  if (!evaluator_flush(ev)) /* what fails before is not caught */
    return FLOW_FAIL;
  ev->guards++;
  enum flow flow = run_guarded(ev, node, value);
  if (flow == FLOW_FAIL)
    evaluator_settle_failure(ev);
  ev->guards--;
  return flow == FLOW_FAIL && node->third != NULL ? run_catch(ev, node->third, value) : flow;
}

static enum flow run_throw(struct evaluator *ev, const struct node *node)
{
  char words[120];
  struct value *thrown = evaluator_evaluate_known(ev, node->first);
  if (thrown == NULL)
    return FLOW_FAIL;
  if (thrown->kind != VALUE_OBJECT) {
    (void)evaluator_fail(ev, node->at, "", "%s is no Throwable", value_describe(thrown, words));
    return FLOW_FAIL;
  }
  struct invocation get = {.operation = JP_CALL,
                           .at = node->at,
                           .type = TEXT("java.lang.Throwable"),
                           .member = TEXT("getMessage"),
                           .receiver = thrown};
  get.type = TEXT("");
  struct value *message = evaluator_invoke(ev, &get);
  if (message == NULL || evaluator_know(ev, message) == NULL)
    return FLOW_FAIL;
  (void)evaluator_fail(ev, node->at, thrown->type == NULL ? "" : thrown->type, "%s",
                       message->kind == VALUE_TEXT ? message->text.data : "null");
  ev->failure.kind = FAILURE_THROWN;
  ev->failure.thrown = value_keep(thrown);
  ev->failure.has_superclasses = false;
  buffer_clear(&ev->failure.types);
  buffer_printf(&ev->failure.types, "%s\n", thrown->type == NULL ? "" : thrown->type);
  return FLOW_FAIL;
}

static enum flow run_import(struct evaluator *ev, const struct node *node)
{
  size_t dot = text_find_last(node->name, '.');
  bool is_package = text_ends_with(node->name, TEXT(".*"));
  if (dot == SIZE_MAX)
    return evaluator_fail(ev, node->at, "", "an import is the full name of a class, or PACKAGE.*"), FLOW_FAIL;
  struct text head = text_slice(node->name, 0, dot);
  bool is_noted = is_package
                      ? evaluator_note_class(ev, &ev->packages, head, head)
                      : evaluator_note_class(ev, &ev->classes,
                                             text_slice(node->name, dot + 1, node->name.len), node->name);
  return is_noted ? FLOW_NEXT : (evaluator_fail_memory(ev), FLOW_FAIL);
}

static enum flow run_statements(struct evaluator *ev, const struct node *block, struct value **value)
{
  enum flow flow = FLOW_NEXT;
  *value = NULL;
  for (const struct node *statement = block->items; flow == FLOW_NEXT && statement != NULL;
       statement = statement->next)
    flow = evaluator_run_statement(ev, statement, value);
  return flow;
}

enum flow evaluator_run_statement(struct evaluator *ev, const struct node *node, struct value **value)
{
  bool truth;
  *value = NULL;
  switch (node->kind) {
  case NODE_BLOCK:
    return run_statements(ev, node, value);
  case NODE_IMPORT:
    return run_import(ev, node);
  case NODE_ASSIGN:
    return assign(ev, node, value) ? FLOW_NEXT : FLOW_FAIL;
  case NODE_FOR:
    return run_for(ev, node, value);
  case NODE_IF:
    if (!evaluator_is_true(ev, node->first, &truth))
      return FLOW_FAIL;
    return truth                 ? evaluator_run_statement(ev, node->second, value)
           : node->third != NULL ? evaluator_run_statement(ev, node->third, value)
                                 : FLOW_NEXT;
  case NODE_WHILE:
    return run_while(ev, node, value);
  case NODE_TRY:
    return run_try(ev, node, value);
  case NODE_THROW:
    return run_throw(ev, node);
  case NODE_RETURN:
    if (node->first != NULL)
      *value = evaluator_evaluate(ev, node->first);
    return node->first == NULL || *value != NULL ? FLOW_RETURN : FLOW_FAIL;
  case NODE_BREAK:
    return FLOW_BREAK;
  case NODE_CONTINUE:
    return FLOW_CONTINUE;
  case NODE_COMMAND:
    (void)evaluator_fail(ev, node->at, "", "a command of jpeer shell is no part of a block or an expression");
    return FLOW_FAIL;
  default:
    *value = evaluator_evaluate(ev, node);
    return *value == NULL ? FLOW_FAIL : FLOW_NEXT;
  }
}

bool evaluator_run_body(struct evaluator *ev, const struct node *node, struct value **value)
{
  enum flow flow = evaluator_run_statement(ev, node, value);
  if (flow != FLOW_FAIL && *value == NULL)
    *value = evaluator_or_no_memory(ev, value_create(&ev->pool, VALUE_VOID));
  return flow != FLOW_FAIL && *value != NULL;
}

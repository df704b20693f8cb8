/* Statements, and the evaluator as others see it. */
#include "command/evaluator_state.h"

enum { PAGE = 1000 };

/* ---- statements ---- */

enum flow { FLOW_NEXT, FLOW_BREAK, FLOW_CONTINUE, FLOW_RETURN, FLOW_FAIL };

static enum flow run_statement(struct evaluator *ev, const struct node *node, struct value **value);

struct value *evaluator_make_collection(struct evaluator *ev, size_t at, struct value *value)
{
  if (value->kind != VALUE_LIST && value->kind != VALUE_MAP)
    return value;
  struct invocation call = {.operation = JP_NEW,
                            .at = at,
                            .type = value->kind == VALUE_LIST ? TEXT("java.util.ArrayList")
                                                              : TEXT("java.util.LinkedHashMap"),
                            .values = &value,
                            .count = value->item_count > 0 ? 1 : 0};
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
  enum flow flow = run_statement(ev, node->second, value);
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
  if (turn == NULL) {
    (void)evaluator_fail_memory(ev);
  } else if (node->type.data != NULL && (item = evaluator_convert(ev, node->at, item, node->type)) == NULL) {
    flow = FLOW_FAIL;
  } else if (!scope_define(turn, node->name, item)) {
    (void)evaluator_fail_memory(ev);
  } else {
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

static enum flow loop_items(struct evaluator *ev, const struct node *node, struct value *list,
                            struct value **value)
{
  enum flow flow = FLOW_NEXT;
  for (size_t i = 0; goes_on(flow) && i < list->item_count; i += list->kind == VALUE_MAP ? 2 : 1) {
    struct value *item = list->items[i];
    if (list->kind == VALUE_MAP) {
      item = value_create(&ev->pool, VALUE_ENTRY);
      if (item == NULL || !value_append(item, list->items[i]) || !value_append(item, list->items[i + 1]))
        return evaluator_fail_memory(ev), FLOW_FAIL;
    }
    flow = run_turn(ev, node, item, value);
  }
  return end_loop(flow);
}

/* Runs the turns of a page, and counts its elements. */
static enum flow loop_page(struct evaluator *ev, const struct node *node, struct jp_answer *answer,
                           size_t *count, struct value **value)
{
  struct jp_json element;
  enum flow flow = FLOW_NEXT;
  for (struct jp_json_cursor cursor = jp_json_enter(jp_json_member(jp_answer_json(answer), "elements"));
       goes_on(flow) && jp_json_next(&cursor, NULL, &element);) {
    const size_t mark = ev->pool.count;
    struct value *item = value_of_element(&ev->pool, answer, element);
    ++*count;
    flow = item == NULL ? (evaluator_fail_memory(ev), FLOW_FAIL) : run_turn(ev, node, item, value);
    if (goes_on(flow))
      value_pool_drain(&ev->pool, mark);
  }
  return flow;
}

static enum flow loop_object(struct evaluator *ev, const struct node *node, struct value *object,
                             struct value **value)
{
  static const struct jp_options with_types = {.size = sizeof with_types, .types = true};
  struct jp_ref *at = jp_ref_keep(object->ref);
  enum flow flow = FLOW_NEXT;
  bool is_done = false;
  size_t from = 0;
  while (goes_on(flow) && !is_done) {
    struct jp_client_error error = {0};
    struct jp_answer *answer = NULL;
    if (!evaluator_flush(ev)) {
      flow = FLOW_FAIL;
      break;
    }
    struct jp_request fetch = jp_build_fetch(jp_object(at), PAGE, value_is_array(object) ? (int64_t)from : 0);
    fetch.options = &with_types;
    ev->round_trips++;
    enum jp_client_status status =
        jp_client_call(ev->config.client, &fetch, ev->config.timeout_ms, &answer, &error);
    if (status != JP_CLIENT_OK) {
      evaluator_take_failure(ev, node->first->at, true, status, &error, answer);
      jp_answer_free(answer);
      flow = FLOW_FAIL;
      break;
    }
    is_done = true;
    (void)jp_json_boolean(jp_json_member(jp_answer_json(answer), "done"), &is_done);
    struct jp_ref *next =
        is_done || value_is_array(object) ? NULL : jp_answer_take_ref(answer, jp_answer_json(answer));
    flow = loop_page(ev, node, answer, &from, value);
    jp_answer_free(answer);
    if (next != NULL) {
      jp_ref_release(at);
      at = next;
    }
  }
  jp_ref_release(at);
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

/* Steps that were added before the program failed have to run: Java would have run them. If one fails, that failure came
 * first. */
static void settle_failure(struct evaluator *ev)
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
  struct invocation call = {.operation = JP_NEW, .at = at, .type = type, .values = &message, .count = 1};
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
    flow = run_statement(ev, node->first, value);
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
    flow = run_statement(ev, node->second, value);
    if (flow == FLOW_FAIL)
      settle_failure(ev);
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
    settle_failure(ev);
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
    flow = run_statement(ev, statement, value);
  return flow;
}

static enum flow run_statement(struct evaluator *ev, const struct node *node, struct value **value)
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
    return truth                 ? run_statement(ev, node->second, value)
           : node->third != NULL ? run_statement(ev, node->third, value)
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

/* The body of a lambda. *value is VOID if it has none. */
bool evaluator_run_body(struct evaluator *ev, const struct node *node, struct value **value)
{
  enum flow flow = run_statement(ev, node, value);
  if (flow != FLOW_FAIL && *value == NULL)
    *value = evaluator_or_no_memory(ev, value_create(&ev->pool, VALUE_VOID));
  return flow != FLOW_FAIL && *value != NULL;
}

/* ---- the evaluator ---- */

struct evaluator *evaluator_create(const struct evaluator_config *config)
{
  struct evaluator *ev = calloc(1, sizeof *ev);
  if (ev == NULL)
    return NULL;
  ev->config = *config;
  arena_init(&ev->step);
  arena_init(&ev->names);
  failure_init(&ev->failure);
  ev->globals = scope_create(NULL, false);
  ev->scope = ev->globals;
  if (ev->globals == NULL || !batch_begin(ev, &ev->batch)) {
    evaluator_destroy(ev);
    return NULL;
  }
  return ev;
}

void evaluator_destroy(struct evaluator *ev)
{
  if (ev == NULL)
    return;
  failure_fini(&ev->failure);
  value_pool_fini(&ev->pool);
  /* A lambda in a variable holds the scope that holds the variable. */
  while (ev->globals != NULL && ev->globals->variables != NULL) {
    struct variable *variable = ev->globals->variables;
    ev->globals->variables = variable->next;
    value_release(variable->value);
    free(variable);
  }
  scope_release(ev->globals);
  batch_end(&ev->batch);
  program_release(ev->program);
  arena_fini(&ev->step);
  arena_fini(&ev->names);
  free(ev);
}

struct known_names {
  struct language_names names;
  const struct evaluator *evaluator;
};

static bool is_known(const struct language_names *names, struct text name)
{
  return evaluator_find_variable(((const struct known_names *)names)->evaluator, name) != NULL;
}

static struct program *parse_program(struct evaluator *ev, struct text source)
{
  const struct known_names names = {.names = {is_known}, .evaluator = ev};
  struct language_error error;
  struct program *program = calloc(1, sizeof *program);
  if (program == NULL)
    return evaluator_fail_memory(ev), NULL;
  program->holders = 1;
  arena_init(&program->arena);
  program->source = arena_text(&program->arena, source);
  enum jp_status status =
      program->source.data == NULL
          ? JP_NO_MEMORY
          : language_parse(program->source, &names.names, &program->arena, &program->root, &error);
  if (status == JP_OK)
    return program;
  program_release(program);
  if (status == JP_NO_MEMORY)
    return evaluator_fail_memory(ev), NULL;
  (void)evaluator_fail(ev, error.at, "", "%s", error.error.text);
  ev->failure.is_syntax = true;
  return NULL;
}

/* Parses the source, and makes it the program that runs. */
static bool begin_program(struct evaluator *ev, struct text source, const struct failure **failure)
{
  failure_clear(&ev->failure);
  *failure = &ev->failure;
  struct program *program = parse_program(ev, source);
  if (program == NULL)
    return false;
  program_release(ev->program);
  ev->program = program;
  return true;
}

static bool is_expression(const struct node *node)
{
  return node->kind < NODE_BLOCK;
}

static bool run_step(struct evaluator *ev, const struct node *node, struct statement_listener *listener,
                     bool *goes_on)
{
  struct value *value = NULL;
  enum flow flow = run_statement(ev, node, &value);
  if (flow == FLOW_FAIL) {
    settle_failure(ev);
    return false;
  }
  if (!evaluator_flush(ev))
    return false;
  while (value != NULL && value->kind == VALUE_CAST)
    value = value->items[0];
  *goes_on = flow == FLOW_NEXT;
  if (value == NULL || value->kind == VALUE_VOID)
    return true;
  if (!scope_define(ev->globals, TEXT("_"), value))
    return evaluator_fail_memory(ev) != NULL;
  *goes_on = listener->value(listener, value, is_expression(node) || flow == FLOW_RETURN) && *goes_on;
  return true;
}

bool evaluator_run_statements(struct evaluator *ev, struct text source, struct statement_listener *listener,
                              const struct failure **failure)
{
  bool is_good = begin_program(ev, source, failure);
  bool goes_on = true;
  struct program *program = ev->program;
  if (!is_good)
    return false;
  program->holders++;
  for (const struct node *node = program->root->items; is_good && goes_on && node != NULL;
       node = node->next) {
    if (ev->program != program) { /* a command has run another one */
      program_release(ev->program);
      ev->program = program;
      program->holders++;
    }
    if (node->kind == NODE_COMMAND)
      goes_on = listener->command(listener, node->name);
    else
      is_good = run_step(ev, node, listener, &goes_on);
    value_pool_drain(&ev->pool, 0);
  }
  program_release(program);
  return is_good;
}

static bool run_source(struct evaluator *ev, struct text source, bool may_be_class, struct value **value,
                       const struct failure **failure)
{
  *value = NULL;
  if (!begin_program(ev, source, failure))
    return false;
  const struct program *program = ev->program;
  struct value *result = NULL;
  const struct node *only = program->root->items;
  bool is_name = only != NULL && only->next == NULL && (only->kind == NODE_NAME || only->kind == NODE_MEMBER);
  bool is_good;
  if (may_be_class && is_name) {
    result = evaluator_resolve_node(ev, only);
    is_good = result != NULL;
    if (is_good && result->kind == VALUE_PACKAGE)
      result->kind = VALUE_CLASS;
  } else {
    is_good = evaluator_run_body(ev, program->root, &result);
  }
  ev->is_at_end = is_good;
  if (is_good)
    is_good = evaluator_flush(ev);
  else
    settle_failure(ev);
  ev->is_at_end = false;
  if (is_good && result->kind == VALUE_CAST)
    result = result->items[0];
  if (is_good && result->kind != VALUE_VOID && !scope_define(ev->globals, TEXT("_"), result))
    is_good = evaluator_fail_memory(ev) != NULL;
  if (is_good)
    *value = value_keep(result);
  value_pool_drain(&ev->pool, 0);
  return is_good;
}

bool evaluator_run(struct evaluator *ev, struct text source, struct value **value,
                   const struct failure **failure)
{
  return run_source(ev, source, false, value, failure);
}

bool evaluator_resolve(struct evaluator *ev, struct text source, struct value **value,
                       const struct failure **failure)
{
  return run_source(ev, source, true, value, failure);
}

static bool call_by_name(struct evaluator *ev, struct text name, const struct jp_argument *args, size_t count,
                         struct jp_answer **answer)
{
  struct jp_client_error error = {0};
  size_t dot = text_find_last(name, '.');
  struct text type = evaluator_resolve_type(ev, 0, text_slice(name, 0, dot));
  struct text member = arena_printf(&ev->names, "%.*s", (int)(name.len - dot - 1), name.data + dot + 1);
  if (type.data == NULL)
    return false;
  struct jp_request request = text_equal(member, TEXT("new"))
                                  ? jp_build_constructor_call(type.data, args, count)
                                  : jp_build_class_method_call(type.data, member.data, args, count);
  if (member.data == NULL)
    return evaluator_fail_memory(ev) != NULL;
  ev->is_at_end = true;
  if (ev->config.printed != NULL)
    return evaluator_print_request(ev, &request);
  ev->round_trips++;
  enum jp_client_status status =
      jp_client_call(ev->config.client, &request, ev->config.timeout_ms, answer, &error);
  if (status != JP_CLIENT_OK)
    evaluator_take_failure(ev, 0, false, status, &error, *answer);
  return status == JP_CLIENT_OK;
}

bool evaluator_call(struct evaluator *ev, struct text name, const struct jp_argument *args, size_t count,
                    struct value **value, const struct failure **failure)
{
  struct jp_answer *answer = NULL;
  failure_clear(&ev->failure);
  *failure = &ev->failure;
  *value = NULL;
  if (call_by_name(ev, name, args, count, &answer)) {
    struct value *result = value_create(&ev->pool, VALUE_VOID);
    if (result == NULL || !value_set_answer(result, answer))
      (void)evaluator_fail_memory(ev);
    else
      *value = value_keep(result);
  }
  jp_answer_free(answer);
  value_pool_drain(&ev->pool, 0);
  return *value != NULL;
}

bool evaluator_request(struct evaluator *ev, const struct jp_request *request, struct jp_answer **answer,
                       const struct failure **failure)
{
  struct jp_client_error error = {0};
  failure_clear(&ev->failure);
  *failure = &ev->failure;
  *answer = NULL;
  ev->is_at_end = true;
  if (ev->config.printed != NULL)
    return evaluator_print_request(ev, request);
  ev->round_trips++;
  enum jp_client_status status =
      jp_client_call(ev->config.client, request, ev->config.timeout_ms, answer, &error);
  if (status == JP_CLIENT_OK)
    return true;
  evaluator_take_failure(ev, 0, false, status, &error, *answer);
  jp_answer_free(*answer);
  *answer = NULL;
  value_pool_drain(&ev->pool, 0);
  return false;
}

/* Sends the requests as steps; the caller destroys the chain. */
static struct jp_chain *send_questions(struct evaluator *ev, const struct jp_request *requests, size_t count,
                                       bool *is_answered)
{
  struct jp_client_error error;
  char name[24];
  struct jp_chain *chain = jp_chain_create(ev->config.client);
  for (size_t i = 0; i < count; i++)
    jp_chain_request(chain, chain_name_step(i, name), &requests[i]);
  ev->round_trips++;
  enum jp_client_status status = jp_chain_send(chain, ev->config.timeout_ms, &error);
  *is_answered = status == JP_CLIENT_OK || status == JP_CLIENT_REMOTE;
  failure_clear(&ev->failure);
  if (status != JP_CLIENT_OK)
    failure_set(&ev->failure, status, &error, jp_chain_failure(chain), ev->config.verbose);
  return chain;
}

const struct failure *evaluator_failure(const struct evaluator *ev)
{
  return &ev->failure;
}

bool evaluator_ask(struct evaluator *ev, const struct jp_request *requests, size_t count, bool *truths)
{
  char name[24];
  bool is_answered;
  struct jp_chain *chain = send_questions(ev, requests, count, &is_answered);
  for (size_t i = 0; i < count; i++) {
    truths[i] = false;
    (void)jp_answer_boolean(jp_chain_answer(chain, chain_name_step(i, name)), &truths[i]);
  }
  jp_chain_destroy(chain);
  return is_answered;
}

bool evaluator_ask_texts(struct evaluator *ev, const struct jp_request *requests, size_t count,
                         struct value *const *values)
{
  char name[24];
  bool is_answered;
  struct jp_chain *chain = send_questions(ev, requests, count, &is_answered);
  for (size_t i = 0; i < count; i++) {
    struct jp_text text = jp_answer_text(jp_chain_answer(chain, chain_name_step(i, name)));
    if (text.data != NULL && !value_set_text(values[i], (struct text){text.data, text.len}))
      is_answered = false;
  }
  jp_chain_destroy(chain);
  return is_answered;
}

size_t evaluator_number_result(struct evaluator *ev, struct value *value)
{
  char name[24];
  for (const struct variable *known = ev->globals->variables; known != NULL; known = known->next) {
    if (known->name[0] == '$' && value->ref != NULL && known->value->ref == value->ref)
      return strtoul(known->name + 1, NULL, 10);
  }
  text_format(name, sizeof name, "$%zu", ++ev->results);
  return scope_define(ev->globals, text_of(name), value) ? ev->results : 0;
}

static bool set_error(struct value *value, const struct jp_answer *answer)
{
  char shown[300];
  const char *type = jp_answer_throwable(answer)->type;
  bool is_denied = jp_answer_error_code(answer) == FAILURE_CODE_DENIED;
  text_format(shown, sizeof shown, "<%s>", is_denied ? "denied" : type == NULL ? "error" : type);
  value->kind = VALUE_TEXT;
  return value_set_text(value, text_of(shown));
}

bool evaluator_ask_values(struct evaluator *ev, const struct jp_request *requests, size_t count,
                          struct value *const *values)
{
  char name[24];
  bool is_answered;
  struct jp_chain *chain = send_questions(ev, requests, count, &is_answered);
  for (size_t i = 0; i < count; i++) {
    const struct jp_answer *answer = jp_chain_answer(chain, chain_name_step(i, name));
    if (answer != NULL && !(jp_answer_kind(answer) == JP_ANSWER_ERROR ? set_error(values[i], answer)
                                                                      : value_set_answer(values[i], answer)))
      is_answered = false;
  }
  jp_chain_destroy(chain);
  return is_answered;
}

bool evaluator_make_object(struct evaluator *ev, struct value **value)
{
  struct value *object = evaluator_make_collection(ev, 0, *value);
  bool is_made = object != NULL && evaluator_flush(ev) && scope_define(ev->globals, TEXT("_"), object);
  if (is_made)
    *value = object; /* "_" holds it */
  value_pool_drain(&ev->pool, 0);
  return is_made;
}

bool evaluator_define_texts(struct evaluator *ev, const char *name, char *const *texts, size_t count)
{
  struct value *list = value_create(&ev->pool, VALUE_LIST);
  bool is_good = list != NULL;
  for (size_t i = 0; is_good && i < count; i++) {
    struct value *item = value_text(&ev->pool, text_of(texts[i]));
    is_good = item != NULL && value_append(list, item);
  }
  is_good = is_good && scope_define(ev->globals, text_of(name), list);
  value_pool_drain(&ev->pool, 0);
  return is_good;
}

const char *evaluator_variable(const struct evaluator *ev, size_t index, const struct value **value)
{
  const struct variable *variable = ev->globals->variables;
  for (; variable != NULL && index > 0; index--)
    variable = variable->next;
  if (variable == NULL)
    return NULL;
  *value = variable->value;
  return variable->name;
}

bool evaluator_drop(struct evaluator *ev, struct text name)
{
  for (struct variable **at = &ev->globals->variables; *at != NULL; at = &(*at)->next) {
    struct variable *variable = *at;
    if (!text_equal(text_of(variable->name), name))
      continue;
    *at = variable->next;
    value_release(variable->value);
    free(variable);
    return true;
  }
  return false;
}

bool evaluator_define(struct evaluator *ev, struct text name, struct value *value)
{
  return scope_define(ev->globals, name, value);
}

size_t evaluator_results(const struct evaluator *ev)
{
  return ev->results;
}

void evaluator_set_results(struct evaluator *ev, size_t results)
{
  ev->results = results;
}

size_t evaluator_round_trips(const struct evaluator *ev)
{
  return ev->round_trips;
}

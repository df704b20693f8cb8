/* The evaluator as others see it: programs, requests and variables. */
#include "command/evaluator_state.h"

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
  if (ev->globals != NULL)
    scope_drop_all(ev->globals);
  scope_release(ev->globals);
  hash_index_fini(&ev->numbers);
  batch_end(&ev->batch);
  program_release(ev->program);
  arena_fini(&ev->step);
  arena_fini(&ev->names);
  ev->is_ended = true;
  if (ev->callbacks == 0)
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
  enum flow flow = evaluator_run_statement(ev, node, &value);
  if (flow == FLOW_FAIL) {
    evaluator_settle_failure(ev);
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
    evaluator_settle_failure(ev);
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

const struct jp_options *evaluator_options(const struct evaluator *ev)
{
  static const struct jp_options read_only = {.size = sizeof read_only, .idempotent = true};
  return ev->config.read_only ? &read_only : NULL;
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
  request.options = evaluator_options(ev);
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
  if (ev->config.printed != NULL) {
    ev->is_at_end = true;
    return evaluator_print_request(ev, request);
  }
  ev->round_trips++;
  enum jp_client_status status =
      jp_client_call(ev->config.client, request, ev->config.timeout_ms, answer, &error);
  if (status == JP_CLIENT_OK)
    return true;
  evaluator_take_failure(ev, 0, false, status, &error, *answer);
  jp_answer_free(*answer);
  *answer = NULL;
  return false;
}

/* Receives the answer of a question; NULL: there is none. False: no memory. */
typedef bool take_answer(void *target, size_t index, const struct jp_answer *answer);

/* Sends the requests as the steps of chains. An error is an answer, too: evaluator_failure has the first one. False: no
 * answer arrived, or there is no memory. */
static bool ask(struct evaluator *ev, const struct jp_request *requests, size_t count, take_answer *take,
                void *target)
{
  enum { STEPS_MAX = 500 };
  bool is_good = true;
  char name[24];
  failure_clear(&ev->failure);
  for (size_t from = 0; is_good && from < count; from += STEPS_MAX) {
    const size_t steps = count - from < STEPS_MAX ? count - from : STEPS_MAX;
    struct jp_client_error error;
    struct jp_chain *chain = jp_chain_create(ev->config.client);
    for (size_t i = 0; i < steps; i++)
      jp_chain_request(chain, chain_name_step(i, name), &requests[from + i]);
    ev->round_trips++;
    enum jp_client_status status = jp_chain_send(chain, ev->config.timeout_ms, &error);
    is_good = status == JP_CLIENT_OK || status == JP_CLIENT_REMOTE;
    if (status != JP_CLIENT_OK && (!is_good || ev->failure.kind == FAILURE_NONE))
      failure_set(&ev->failure, status, &error, jp_chain_failure(chain), ev->config.verbose);
    for (size_t i = 0; is_good && i < steps; i++)
      is_good = take(target, from + i, jp_chain_answer(chain, chain_name_step(i, name))) ||
                evaluator_fail_memory(ev) != NULL;
    jp_chain_destroy(chain);
  }
  return is_good;
}

const struct failure *evaluator_failure(const struct evaluator *ev)
{
  return &ev->failure;
}

static bool take_truth(void *target, size_t index, const struct jp_answer *answer)
{
  bool *truths = target;
  (void)jp_answer_boolean(answer, &truths[index]);
  return true;
}

bool evaluator_ask(struct evaluator *ev, const struct jp_request *requests, size_t count, bool *truths)
{
  memset(truths, 0, count * sizeof *truths);
  return ask(ev, requests, count, take_truth, truths);
}

static bool take_text(void *target, size_t index, const struct jp_answer *answer)
{
  struct value *const *values = target;
  struct jp_text text = jp_answer_text(answer);
  return text.data == NULL || value_set_text(values[index], (struct text){text.data, text.len});
}

bool evaluator_ask_texts(struct evaluator *ev, const struct jp_request *requests, size_t count,
                         struct value **values)
{
  return ask(ev, requests, count, take_text, values);
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

static bool take_value(void *target, size_t index, const struct jp_answer *answer)
{
  struct value *const *values = target;
  return answer == NULL ||
         (jp_answer_kind(answer) == JP_ANSWER_ERROR ? set_error(values[index], answer)
                                                    : value_set_answer(values[index], answer));
}

bool evaluator_ask_values(struct evaluator *ev, const struct jp_request *requests, size_t count,
                          struct value **values)
{
  return ask(ev, requests, count, take_value, values);
}

size_t evaluator_number_result(struct evaluator *ev, struct value *value)
{
  char name[24];
  const uint32_t ref = jp_ref_number(value->ref);
  size_t cursor = SIZE_MAX;
  uint32_t number;
  while (ref != 0 && (number = hash_index_next(&ev->numbers, ref, &cursor)) != HASH_INDEX_NONE) {
    text_format(name, sizeof name, "$%" PRIu32, number);
    const struct variable *known = evaluator_find_variable(ev, text_of(name));
    if (known != NULL && known->value->ref == value->ref)
      return number;
  }
  text_format(name, sizeof name, "$%zu", ++ev->results);
  bool is_defined = scope_define(ev->globals, text_of(name), value) &&
                    (ref == 0 || hash_index_add(&ev->numbers, ref, (uint32_t)ev->results) == JP_OK);
  return is_defined ? ev->results : 0;
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
  if (index >= ev->globals->count)
    return NULL;
  *value = ev->globals->variables[index]->value;
  return ev->globals->variables[index]->name;
}

void evaluator_release_rest(struct evaluator *ev)
{
  failure_clear(&ev->failure);
  value_pool_drain(&ev->pool, 0);
  jp_client_flush(ev->config.client);
}

bool evaluator_drop(struct evaluator *ev, struct text name)
{
  return scope_drop(ev->globals, name);
}

bool evaluator_define(struct evaluator *ev, struct text name, struct value *value)
{
  const uint32_t ref = jp_ref_number(value->ref);
  if (ref != 0 && name.len > 1 && name.data[0] == '$' &&
      hash_index_add(&ev->numbers, ref, (uint32_t)strtoul(name.data + 1, NULL, 10)) != JP_OK)
    return false;
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

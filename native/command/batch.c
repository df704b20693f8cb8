/* Steps that were not sent yet: from an invocation to a request of the chain, and from answers to values. */
#include "command/evaluator_state.h"

#include "client/messages/request_json.h"

enum { BATCH_MAX = 500 };

/* ---- failures ---- */

/* type: the throwable's class, for `catch`; "": none. */
struct value *evaluator_fail(struct evaluator *ev, size_t at, const char *type, const char *format, ...)
{
  va_list args;
  failure_clear(&ev->failure);
  ev->failure.kind = FAILURE_PROGRAM;
  ev->failure.at = at;
  ev->failure.has_place = true;
  text_format(ev->failure.type, sizeof ev->failure.type, "%s", type);
  va_start(args, format);
  jp_fail_va(&ev->failure.error, JP_INVALID, format, args);
  va_end(args);
  if (type[0] != '\0')
    buffer_printf(&ev->failure.report, "%s: ", type);
  buffer_printf(&ev->failure.report, "%s\n", ev->failure.error.text);
  buffer_printf(&ev->failure.types,
                "%s\njava.lang.RuntimeException\njava.lang.Exception\njava.lang.Throwable\n", type);
  return NULL;
}

struct value *evaluator_fail_memory(struct evaluator *ev)
{
  struct value *none = evaluator_fail(ev, 0, "", "out of memory");
  ev->failure.kind = FAILURE_MEMORY;
  ev->failure.has_place = false;
  return none;
}

struct value *evaluator_or_no_memory(struct evaluator *ev, struct value *value)
{
  return value != NULL ? value : evaluator_fail_memory(ev);
}

/* ---- the batch ---- */

bool batch_begin(struct evaluator *ev, struct batch *batch)
{
  *batch = (struct batch){.chain = jp_chain_create(ev->config.client)};
  return batch->chain != NULL;
}

/* The steps were sent, or are not sent any more. */
static void release_steps(struct batch *batch)
{
  for (size_t i = 0; i < batch->count; i++)
    value_release(batch->pending[i]);
  for (size_t i = 0; i < batch->operand_count; i++)
    value_release(batch->operands[i]);
  batch->count = 0;
  batch->operand_count = 0;
}

void batch_end(struct batch *batch)
{
  release_steps(batch);
  free(batch->pending);
  free(batch->operands);
  jp_chain_destroy(batch->chain);
}

const char *chain_name_step(size_t step, char out[24])
{
  text_format(out, 24, "s%zu", step);
  return out;
}

void evaluator_take_failure(struct evaluator *ev, size_t at, bool has_place, enum jp_client_status status,
                            const struct jp_client_error *error, const struct jp_answer *answer)
{
  failure_set(&ev->failure, status, error, answer, ev->config.verbose);
  ev->failure.at = at;
  ev->failure.has_place = has_place;
  struct jp_ref *ref = answer == NULL ? NULL : jp_answer_ref(answer);
  struct value *thrown = ref == NULL ? NULL : value_create(&ev->pool, VALUE_OBJECT);
  if (thrown != NULL && value_set_type(thrown, text_of(ev->failure.type))) {
    thrown->ref = jp_ref_keep(ref);
    ev->failure.thrown = value_keep(thrown);
  }
}

/* ---- requests that are printed ---- */

struct printed_names {
  struct message_names names;
  char id[24];
};

/* The id of the step "s3" is 4. */
static struct text find_printed(const struct message_names *names, struct text name)
{
  struct printed_names *printed = (struct printed_names *)names;
  text_format(printed->id, sizeof printed->id, "%lu", strtoul(name.data + 1, NULL, 10) + 1);
  return text_of(printed->id);
}

static bool print_step(struct evaluator *ev, size_t at, size_t step, const struct jp_request *request)
{
  char id[24];
  struct jp_client_error error;
  struct printed_names names = {.names = {find_printed}};
  const struct message_json how = {.id = {id, text_format(id, sizeof id, "%zu", step + 1)},
                                   .names = &names.names};
  buffer_append_text(ev->config.printed, step == 0 ? TEXT("") : TEXT(",\n "));
  if (message_write_json(request, &how, ev->config.printed, &error) == JP_CLIENT_OK)
    return true;
  return evaluator_fail(ev, at, "", "the request cannot be printed: %s", error.text) != NULL;
}

static bool end_printing(struct evaluator *ev)
{
  failure_clear(&ev->failure);
  ev->failure.kind = FAILURE_PRINTED;
  ev->failure.has_place = !ev->is_at_end;
  return false;
}

bool evaluator_print_request(struct evaluator *ev, const struct jp_request *request)
{
  return print_step(ev, 0, 0, request) && end_printing(ev);
}

/* Fills the pending values. False: a step failed, or there is no memory. */
static bool fill_pending(struct evaluator *ev, enum jp_client_status status,
                         const struct jp_client_error *error)
{
  struct batch *batch = &ev->batch;
  const struct jp_answer *failure = jp_chain_failure(batch->chain);
  char name[24];
  bool is_good = true;
  for (size_t i = 0; i < batch->count; i++) {
    struct value *value = batch->pending[i];
    const struct jp_answer *answer = jp_chain_answer(batch->chain, chain_name_step(value->step, name));
    if (answer == failure && failure != NULL)
      evaluator_take_failure(ev, value->at, true, status, error, failure);
    if (answer == NULL || jp_answer_kind(answer) == JP_ANSWER_ERROR)
      value->kind = VALUE_VOID;
    else
      is_good &= value_set_answer(value, answer);
  }
  if (!is_good)
    (void)evaluator_fail_memory(ev);
  else if (status != JP_CLIENT_OK && ev->failure.kind == FAILURE_NONE)
    evaluator_take_failure(ev, 0, false, status, error, failure);
  return is_good && status == JP_CLIENT_OK;
}

/* Sends the steps, and makes the pending values known. */
bool evaluator_flush(struct evaluator *ev)
{
  struct batch *batch = &ev->batch;
  struct jp_client_error error = {0};
  if (batch->count == 0)
    return true;
  if (ev->config.printed != NULL) {
    batch_end(batch);
    return batch_begin(ev, batch) ? end_printing(ev) : evaluator_fail_memory(ev) != NULL;
  }
  failure_clear(&ev->failure);
  ev->round_trips++;
  enum jp_client_status status = jp_chain_send(batch->chain, ev->config.timeout_ms, &error);
  bool is_good;
  if (status == JP_CLIENT_OK || status == JP_CLIENT_REMOTE) {
    is_good = fill_pending(ev, status, &error);
  } else {
    for (size_t i = 0; i < batch->count; i++)
      batch->pending[i]->kind = VALUE_VOID;
    evaluator_take_failure(ev, 0, false, status, &error, NULL);
    is_good = false;
  }
  release_steps(batch);
  (void)!jp_chain_send(batch->chain, 0, NULL); /* empty: only frees the answers, which hold objects */
  return is_good;
}

/* The value itself, known. NULL: failed. */
struct value *evaluator_know(struct evaluator *ev, struct value *value)
{
  const struct value *inner = value;
  while (inner != NULL && inner->kind == VALUE_CAST)
    inner = inner->items[0];
  if (inner != NULL && inner->kind == VALUE_PENDING && !evaluator_flush(ev))
    return NULL;
  return value;
}

static bool contains(const struct value *value, const struct value *wanted)
{
  if (value == wanted)
    return true;
  for (size_t i = 0; i < value->item_count; i++) {
    if (contains(value->items[i], wanted))
      return true;
  }
  return false;
}

static void mark_used(struct value *value)
{
  value->is_used = true;
  for (size_t i = 0; i < value->item_count; i++)
    mark_used(value->items[i]);
}

/* Before a step that must not run if an earlier one fails: steps that it does not depend on are sent first, so that Java's
 * order of evaluation is kept. */
static bool order_before(struct evaluator *ev, const struct invocation *call, struct value *const *operands,
                         size_t count)
{
  for (size_t i = 0; i < ev->batch.count; i++) {
    const struct value *pending = ev->batch.pending[i];
    bool is_operand = pending->is_used || (call->operation == JP_GET && pending->is_field);
    for (size_t k = 0; k < count && !is_operand; k++)
      is_operand = contains(operands[k], pending);
    if (!is_operand)
      return evaluator_flush(ev);
  }
  return ev->batch.count < BATCH_MAX || evaluator_flush(ev);
}

/* ---- arguments ---- */

static const char *type_name(char primitive, bool is_boxed)
{
  const struct primitive *found = primitive_find_letter(primitive);
  return found == NULL ? NULL : is_boxed ? found->wrapper.data : found->keyword.data;
}

static bool make_items(struct evaluator *ev, size_t at, struct value *value, struct jp_argument *out)
{
  struct jp_argument *items = arena_calloc(&ev->step, value->item_count + 1, sizeof *items);
  if (items == NULL)
    return evaluator_fail_memory(ev) != NULL;
  for (size_t i = 0; i < value->item_count; i++) {
    if (!evaluator_make_argument(ev, at, value->items[i], &items[i]))
      return false;
  }
  *out = jp_list(NULL, items, value->item_count);
  return true;
}

static bool make_entries(struct evaluator *ev, size_t at, struct value *value, struct jp_argument *out)
{
  size_t count = value->item_count / 2;
  struct jp_entry *entries = arena_calloc(&ev->step, count + 1, sizeof *entries);
  const char *keys = NULL;
  if (entries == NULL)
    return evaluator_fail_memory(ev) != NULL;
  for (size_t i = 0; i < count; i++) {
    struct value *key = evaluator_know(ev, value->items[2 * i]);
    struct buffer text;
    if (key == NULL)
      return false;
    const char *type = key->kind == VALUE_TEXT ? NULL : type_name(key->primitive, false);
    if ((key->kind != VALUE_TEXT && type == NULL) || (i > 0 && type != keys))
      return evaluator_fail(ev, at, "", "the keys of a Map are all texts, or all of one primitive type") !=
             NULL;
    keys = type;
    buffer_init(&text);
    value_write_text(key, &text);
    struct text kept = arena_text(&ev->step, text.len == 0 ? TEXT("") : buffer_text(&text));
    buffer_fini(&text);
    if (kept.data == NULL)
      return evaluator_fail_memory(ev) != NULL;
    entries[i].key = (struct jp_text){kept.data, kept.len};
    if (!evaluator_make_argument(ev, at, value->items[2 * i + 1], &entries[i].value))
      return false;
  }
  *out = jp_map(NULL, entries, count);
  out->keys = keys;
  return true;
}

static bool make_callback(struct evaluator *ev, size_t at, struct lambda *lambda, struct jp_argument *out)
{
  struct jp_callback_config config = {.size = sizeof config,
                                      .has_arity = lambda->node->kind == NODE_LAMBDA,
                                      .function = lambda_run_callback,
                                      .released = lambda_end_callback,
                                      .context = lambda};
  struct jp_client_error error;
  for (const struct node *item = lambda->node->items; item != NULL; item = item->next)
    config.arity++;
  if (lambda->callback == NULL) {
    if (jp_callback_create(ev->config.client, &config, &lambda->callback, &error) != JP_CLIENT_OK)
      return evaluator_fail(ev, at, "", "%s", error.text) != NULL;
    lambda->holders++;
    ev->callbacks++;
  }
  *out = jp_callback_argument(lambda->callback);
  return true;
}

bool evaluator_make_argument(struct evaluator *ev, size_t at, struct value *value, struct jp_argument *out)
{
  char words[120];
  struct buffer text;
  switch (value->kind) {
  case VALUE_NULL:
    *out = jp_null(NULL);
    return true;
  case VALUE_BOOLEAN:
    *out = jp_boolean(value->integer != 0);
    out->type = value->is_boxed ? "java.lang.Boolean" : NULL;
    return true;
  case VALUE_INTEGER: /* a bare int also fits the parameters that Java's ints convert to, and bytes and shorts */
    *out = jp_make_integer(
        value->primitive == 'I' && !value->is_boxed ? NULL : type_name(value->primitive, value->is_boxed),
        value->integer);
    return true;
  case VALUE_NUMBER:
    *out = jp_double(value->number);
    out->type = type_name(value->primitive, value->is_boxed);
    return true;
  case VALUE_CHAR:
    buffer_init(&text);
    value_write_text(value, &text);
    *out = jp_make_argument(JP_ARGUMENT_TEXT, type_name('C', value->is_boxed));
    out->as.text.data = text.failed ? NULL : arena_text(&ev->step, buffer_text(&text)).data;
    out->as.text.len = text.len;
    buffer_fini(&text);
    return out->as.text.data != NULL || evaluator_fail_memory(ev) != NULL;
  case VALUE_TEXT:
    *out = jp_text_argument((struct jp_text){value->text.data, value->text.len});
    out->type = value->type;
    return true;
  case VALUE_OBJECT:
    *out = jp_object(value->ref);
    return true;
  case VALUE_PENDING:
    *out = jp_named("");
    out->as.text = (struct jp_text){arena_printf(&ev->step, "s%zu", value->step).data, 0};
    if (out->as.text.data == NULL)
      return evaluator_fail_memory(ev) != NULL;
    out->as.text.len = strlen(out->as.text.data);
    return true;
  case VALUE_LIST:
    return make_items(ev, at, value, out);
  case VALUE_MAP:
    return make_entries(ev, at, value, out);
  case VALUE_LAMBDA:
    return make_callback(ev, at, value->lambda, out);
  case VALUE_CAST:
    if (!evaluator_make_argument(ev, at, value->items[0], out))
      return false;
    *out = jp_as_type(value->type, *out);
    return true;
  case VALUE_ENTRY: /* an item of a list is made an object by evaluate_list */
  case VALUE_VOID:
  case VALUE_CLASS:
  case VALUE_PACKAGE:
    break;
  }
  return evaluator_fail(ev, at, "", "%s is no argument", value_describe(value, words)) != NULL;
}

/* As the receiver of a call or the object of a field; *type is the static type, or NULL. */
static bool make_instance(struct evaluator *ev, size_t at, struct value *value, const char **type,
                          struct jp_argument *out)
{
  char words[120];
  *type = NULL;
  if (value->kind == VALUE_CAST && value->items[0]->kind != VALUE_LAMBDA) {
    const char *inner;
    bool is_made = make_instance(ev, at, value->items[0], &inner, out);
    *type = value->type;
    return is_made;
  }
  if (value->kind == VALUE_NULL)
    return evaluator_fail(ev, at, "java.lang.NullPointerException", "null has no members") != NULL;
  if (value->kind == VALUE_VOID || value->kind == VALUE_LAMBDA || value->kind == VALUE_CAST)
    return evaluator_fail(ev, at, "", "%s has no members", value_describe(value, words)) != NULL;
  if (!evaluator_make_argument(ev, at, value, out))
    return false;
  if (value->kind == VALUE_LIST)
    out->type = "java.util.ArrayList";
  else if (value->kind == VALUE_MAP)
    out->type = "java.util.LinkedHashMap";
  else if (value->kind == VALUE_TEXT && value->type == NULL)
    out->type = "java.lang.String";
  else if (value->primitive != 0)
    out->type = type_name(value->primitive, true);
  return true;
}

/* ---- steps ---- */

/* Adds a request to the batch; the operands are what it uses. */
static struct value *add_step(struct evaluator *ev, size_t at, struct jp_request *request,
                              struct value *const *operands, size_t count)
{
  struct batch *batch = &ev->batch;
  static const struct jp_options with_throwables = {.size = sizeof with_throwables, .throwables = true};
  static const struct jp_options read_only_with_throwables = {
      .size = sizeof read_only_with_throwables, .throwables = true, .idempotent = true};
  char name[24];
  struct value *result = value_create(&ev->pool, VALUE_PENDING);
  struct value **pending = array_grow(batch->pending, batch->count, &batch->capacity, sizeof(struct value *));
  if (result == NULL || pending == NULL)
    return evaluator_fail_memory(ev);
  batch->pending = pending;
  for (size_t i = 0; i < count; i++) {
    struct value **held =
        array_grow(batch->operands, batch->operand_count, &batch->operand_capacity, sizeof(struct value *));
    if (held == NULL)
      return evaluator_fail_memory(ev);
    batch->operands = held;
    batch->operands[batch->operand_count++] = value_keep(operands[i]);
  }
  result->step = batch->count;
  result->at = at;
  result->is_field = request->operation == JP_GET;
  if (ev->guards > 0)
    request->options = request->options == NULL ? &with_throwables : &read_only_with_throwables;
  if (ev->config.printed != NULL && !print_step(ev, at, result->step, request))
    return NULL;
  jp_chain_request(batch->chain, chain_name_step(result->step, name), request);
  for (size_t i = 0; i < count; i++)
    mark_used(operands[i]);
  result->is_used = false;
  batch->pending[batch->count++] = value_keep(result);
  arena_reset(&ev->step);
  return result;
}

static bool is_pending(const struct value *value)
{
  bool found = value->kind == VALUE_PENDING;
  for (size_t i = 0; !found && i < value->item_count; i++)
    found = is_pending(value->items[i]);
  return found;
}

static bool has_lambda(const struct value *value)
{
  bool found = value->kind == VALUE_LAMBDA;
  for (size_t i = 0; !found && i < value->item_count; i++)
    found = has_lambda(value->items[i]);
  return found;
}

static bool has_pending_variable(const struct evaluator *ev)
{
  for (const struct scope *scope = ev->scope; scope != NULL && ev->batch.count > 0; scope = scope->parent) {
    for (size_t i = 0; i < scope->count; i++) {
      if (is_pending(scope->variables[i]->value))
        return true;
    }
  }
  return false;
}

/* What Java may call while the batch is sent must not read a variable whose value that batch brings. */
static bool settle_variables(struct evaluator *ev, struct value *const *operands, size_t count)
{
  bool found = false;
  for (size_t i = 0; !found && i < count; i++)
    found = has_lambda(operands[i]);
  return !found || !has_pending_variable(ev) || evaluator_flush(ev);
}

/* A Map's entry is an object of Java where Java gets it; it does not write through to its Map. */
struct value *evaluator_make_entry(struct evaluator *ev, size_t at, struct value *value)
{
  struct invocation call = {.operation = JP_NEW,
                            .at = at,
                            .type = TEXT("java.util.AbstractMap$SimpleImmutableEntry"),
                            .values = value->items,
                            .count = value->item_count,
                            .is_of_language = true};
  return value->kind == VALUE_ENTRY ? evaluator_invoke(ev, &call) : value;
}

/* Makes the operands of a call values that a request can have. */
static bool make_operands(struct evaluator *ev, const struct invocation *call, struct value **operands)
{
  for (size_t i = 0; i < call->count; i++) {
    operands[i] = evaluator_make_entry(ev, call->at, call->values[i]);
    if (operands[i] == NULL)
      return false;
  }
  if (call->receiver != NULL)
    operands[call->count] = evaluator_make_entry(ev, call->at, call->receiver);
  return call->receiver == NULL || operands[call->count] != NULL;
}

static const char *keep_name(struct evaluator *ev, struct text name)
{
  return arena_printf(&ev->step, "%.*s", TEXT_ARGS(name)).data;
}

struct value *evaluator_invoke(struct evaluator *ev, const struct invocation *call)
{
  const size_t count = call->count + (call->receiver != NULL ? 1 : 0);
  struct value **operands = calloc(count + 1, sizeof(struct value *));
  if (operands == NULL)
    return evaluator_fail_memory(ev);
  if (!make_operands(ev, call, operands) || !settle_variables(ev, operands, count)) {
    free(operands);
    return NULL;
  }
  /* Reading a field of an object has no effect that a failed step before it must prevent. That of a class may run an
   * initialiser, so it waits for calls, but not for other fields. */
  bool is_ready = call->operation == JP_GET && call->receiver != NULL
                      ? ev->batch.count < BATCH_MAX || evaluator_flush(ev)
                      : order_before(ev, call, operands, count);
  struct jp_argument *args = arena_calloc(&ev->step, call->count + 1, sizeof *args);
  struct jp_request request = jp_make_request(call->operation, NULL, NULL);
  request.member = call->operation == JP_NEW ? NULL : keep_name(ev, call->member);
  request.type = call->type.len == 0 ? NULL : keep_name(ev, call->type);
  request.args = args;
  request.arg_count = call->count;
  request.options = call->is_of_language ? NULL : evaluator_options(ev);
  if (args == NULL) {
    free(operands);
    return is_ready ? evaluator_fail_memory(ev) : NULL;
  }
  for (size_t i = 0; is_ready && i < call->count; i++)
    is_ready = evaluator_make_argument(ev, call->at, operands[i], &args[i]);
  if (is_ready && call->receiver != NULL)
    is_ready = make_instance(ev, call->at, operands[call->count], &request.type, &request.instance);
  struct value *result = is_ready ? add_step(ev, call->at, &request, operands, count) : NULL;
  arena_reset(&ev->step);
  free(operands);
  return result;
}

#include "command/evaluator.h"

#include "base/array.h"
#include "base/primitives.h"

#include <inttypes.h>
#include <stdlib.h>

enum { BATCH_MAX = 500, CALLS_DEPTH_MAX = 60, PAGE = 1000 };

struct variable {
  struct variable *next;
  struct value *value; /* held */
  char name[];
};

/* The variables of the program, of a call of a lambda, or of one turn of a loop. */
struct scope {
  unsigned holders;
  bool is_turn; /* has the variable of its loop only: new variables belong to the scope around it */
  struct scope *parent;
  struct variable *variables;
};

/* A source and its tree, which lambdas of it hold. */
struct program {
  unsigned holders;
  struct arena arena;
  struct text source;
  struct node *root;
};

struct lambda {
  struct evaluator *evaluator;
  unsigned holders;        /* values, and the callback */
  const struct node *node; /* a LAMBDA or a REFERENCE */
  struct program *program;
  struct scope *scope;
  struct text owner;            /* of a REFERENCE: the full name of its class; in the program's arena */
  struct jp_callback *callback; /* NULL: Java has not got it */
};

/* The steps that were not sent yet. */
struct batch {
  struct jp_chain *chain;
  struct value **pending; /* held */
  size_t count;
  size_t capacity;
};

struct class_name {
  struct class_name *next;
  struct text simple; /* "List", or "java.util.Map$Entry" for a nested class that was looked up */
  struct text full;   /* "": there is none */
};

struct evaluator {
  struct evaluator_config config;
  struct value_pool pool;
  struct scope *globals;
  struct scope *scope;
  struct program *program;
  struct batch batch;
  struct arena step;  /* the arguments of the step that is being added */
  struct arena names; /* imports and known classes */
  struct class_name *classes;
  struct class_name *packages; /* imported by the program: the latest first */
  struct failure failure;
  unsigned guards; /* try statements and calls from Java around: throwables are asked for */
  unsigned calls;  /* of lambdas */
  size_t results;
  size_t round_trips;
};

/* ---- scopes and programs ---- */

static struct scope *scope_create(struct scope *parent, bool is_turn)
{
  struct scope *scope = calloc(1, sizeof *scope);
  if (scope == NULL)
    return NULL;
  scope->holders = 1;
  scope->is_turn = is_turn;
  scope->parent = parent;
  if (parent != NULL)
    parent->holders++;
  return scope;
}

static void scope_release(struct scope *scope)
{
  while (scope != NULL && --scope->holders == 0) {
    struct scope *parent = scope->parent;
    while (scope->variables != NULL) {
      struct variable *variable = scope->variables;
      scope->variables = variable->next;
      value_release(variable->value);
      free(variable);
    }
    free(scope);
    scope = parent;
  }
}

static struct variable *find_in(struct scope *scope, struct text name)
{
  struct variable *variable = scope->variables;
  while (variable != NULL && !text_equal(text_of(variable->name), name))
    variable = variable->next;
  return variable;
}

static struct variable *find_variable(const struct evaluator *ev, struct text name)
{
  struct variable *variable = NULL;
  for (struct scope *scope = ev->scope; scope != NULL && variable == NULL; scope = scope->parent)
    variable = find_in(scope, name);
  return variable;
}

/* False: no memory. */
static bool define(struct scope *scope, struct text name, struct value *value)
{
  struct variable *variable = find_in(scope, name);
  if (variable == NULL) {
    variable = calloc(1, sizeof *variable + name.len + 1);
    if (variable == NULL)
      return false;
    memcpy(variable->name, name.data, name.len);
    variable->next = scope->variables;
    scope->variables = variable;
  }
  value_keep(value);
  value_release(variable->value);
  variable->value = value;
  return true;
}

static void program_release(struct program *program)
{
  if (program == NULL || --program->holders > 0)
    return;
  arena_fini(&program->arena);
  free(program);
}

static void free_lambda(void *context)
{
  struct lambda *lambda = context;
  if (--lambda->holders > 0)
    return;
  scope_release(lambda->scope);
  program_release(lambda->program);
  free(lambda);
}

/* A value does not hold the lambda any more. */
void lambda_release(struct lambda *lambda)
{
  struct jp_callback *callback = lambda->callback;
  lambda->callback = NULL;
  if (callback != NULL)
    jp_callback_release(callback); /* calls free_lambda when Java has released it, too */
  free_lambda(lambda);
}

/* ---- failures ---- */

static struct value *fail_at(struct evaluator *ev, size_t at, const char *type, const char *format, ...)
    JP_PRINTF(4, 5);

/* type: the throwable's class, for `catch`; "": none. */
static struct value *fail_at(struct evaluator *ev, size_t at, const char *type, const char *format, ...)
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

static struct value *fail_memory(struct evaluator *ev)
{
  struct value *none = fail_at(ev, 0, "", "out of memory");
  ev->failure.kind = FAILURE_MEMORY;
  ev->failure.has_place = false;
  return none;
}

static struct value *or_no_memory(struct evaluator *ev, struct value *value)
{
  return value != NULL ? value : fail_memory(ev);
}

/* ---- the batch ---- */

static bool batch_begin(struct evaluator *ev, struct batch *batch)
{
  *batch = (struct batch){.chain = jp_chain_create(ev->config.client)};
  return batch->chain != NULL;
}

static void batch_end(struct batch *batch)
{
  for (size_t i = 0; i < batch->count; i++)
    value_release(batch->pending[i]);
  free(batch->pending);
  jp_chain_destroy(batch->chain);
}

static const char *name_step(size_t step, char out[24])
{
  text_format(out, 24, "s%zu", step);
  return out;
}

static void take_failure(struct evaluator *ev, size_t at, bool has_place, enum jp_client_status status,
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
    const struct jp_answer *answer = jp_chain_answer(batch->chain, name_step(value->step, name));
    if (answer == failure && failure != NULL)
      take_failure(ev, value->at, true, status, error, failure);
    if (answer == NULL || jp_answer_kind(answer) == JP_ANSWER_ERROR)
      value->kind = VALUE_VOID;
    else
      is_good &= value_set_answer(value, answer);
  }
  if (!is_good)
    (void)fail_memory(ev);
  else if (status != JP_CLIENT_OK && ev->failure.kind == FAILURE_NONE)
    take_failure(ev, 0, false, status, error, failure);
  return is_good && status == JP_CLIENT_OK;
}

/* Sends the steps, and makes the pending values known. */
static bool flush(struct evaluator *ev)
{
  struct batch *batch = &ev->batch;
  struct jp_client_error error = {0};
  if (batch->count == 0)
    return true;
  failure_clear(&ev->failure);
  ev->round_trips++;
  enum jp_client_status status = jp_chain_send(batch->chain, ev->config.timeout_ms, &error);
  bool is_good;
  if (status == JP_CLIENT_OK || status == JP_CLIENT_REMOTE) {
    is_good = fill_pending(ev, status, &error);
  } else {
    for (size_t i = 0; i < batch->count; i++)
      batch->pending[i]->kind = VALUE_VOID;
    take_failure(ev, 0, false, status, &error, NULL);
    is_good = false;
  }
  for (size_t i = 0; i < batch->count; i++)
    value_release(batch->pending[i]);
  batch->count = 0;
  (void)!jp_chain_send(batch->chain, 0, NULL); /* empty: only frees the answers, which hold objects */
  return is_good;
}

/* The value itself, known. NULL: failed. */
static struct value *know(struct evaluator *ev, struct value *value)
{
  const struct value *inner = value;
  while (inner != NULL && inner->kind == VALUE_CAST)
    inner = inner->items[0];
  if (inner != NULL && inner->kind == VALUE_PENDING && !flush(ev))
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
static bool order_before(struct evaluator *ev, struct value *const *operands, size_t count)
{
  for (size_t i = 0; i < ev->batch.count; i++) {
    const struct value *pending = ev->batch.pending[i];
    bool is_operand = pending->is_used;
    for (size_t k = 0; k < count && !is_operand; k++)
      is_operand = contains(operands[k], pending);
    if (!is_operand)
      return flush(ev);
  }
  return ev->batch.count < BATCH_MAX || flush(ev);
}

/* ---- arguments ---- */

static bool make_argument(struct evaluator *ev, size_t at, struct value *value, struct jp_argument *out);

static const char *type_name(char primitive, bool is_boxed)
{
  const struct primitive *found = primitive_find_letter(primitive);
  return found == NULL ? NULL : is_boxed ? found->wrapper.data : found->keyword.data;
}

static bool make_items(struct evaluator *ev, size_t at, struct value *value, struct jp_argument *out)
{
  struct jp_argument *items = arena_calloc(&ev->step, value->item_count + 1, sizeof *items);
  if (items == NULL)
    return fail_memory(ev) != NULL;
  for (size_t i = 0; i < value->item_count; i++) {
    if (!make_argument(ev, at, value->items[i], &items[i]))
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
    return fail_memory(ev) != NULL;
  for (size_t i = 0; i < count; i++) {
    struct value *key = know(ev, value->items[2 * i]);
    struct buffer text;
    if (key == NULL)
      return false;
    const char *type = key->kind == VALUE_TEXT ? NULL : type_name(key->primitive, false);
    if ((key->kind != VALUE_TEXT && type == NULL) || (i > 0 && type != keys))
      return fail_at(ev, at, "", "the keys of a Map are all texts, or all of one primitive type") != NULL;
    keys = type;
    buffer_init(&text);
    value_write_text(key, &text);
    struct text kept = arena_text(&ev->step, text.len == 0 ? TEXT("") : buffer_text(&text));
    buffer_fini(&text);
    if (kept.data == NULL)
      return fail_memory(ev) != NULL;
    entries[i].key = (struct jp_text){kept.data, kept.len};
    if (!make_argument(ev, at, value->items[2 * i + 1], &entries[i].value))
      return false;
  }
  *out = jp_map(NULL, entries, count);
  out->keys = keys;
  return true;
}

static void run_callback(void *context, struct jp_callback_call *call);

static bool make_callback(struct evaluator *ev, size_t at, struct lambda *lambda, struct jp_argument *out)
{
  struct jp_callback_config config = {.size = sizeof config,
                                      .has_arity = lambda->node->kind == NODE_LAMBDA,
                                      .function = run_callback,
                                      .released = free_lambda,
                                      .context = lambda};
  struct jp_client_error error;
  for (const struct node *item = lambda->node->items; item != NULL; item = item->next)
    config.arity++;
  if (lambda->callback == NULL) {
    if (jp_callback_create(ev->config.client, &config, &lambda->callback, &error) != JP_CLIENT_OK)
      return fail_at(ev, at, "", "%s", error.text) != NULL;
    lambda->holders++;
  }
  *out = jp_callback_argument(lambda->callback);
  return true;
}

static bool make_argument(struct evaluator *ev, size_t at, struct value *value, struct jp_argument *out)
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
    return out->as.text.data != NULL || fail_memory(ev) != NULL;
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
      return fail_memory(ev) != NULL;
    out->as.text.len = strlen(out->as.text.data);
    return true;
  case VALUE_LIST:
  case VALUE_ENTRY:
    return make_items(ev, at, value, out);
  case VALUE_MAP:
    return make_entries(ev, at, value, out);
  case VALUE_LAMBDA:
    return make_callback(ev, at, value->lambda, out);
  case VALUE_CAST:
    if (!make_argument(ev, at, value->items[0], out))
      return false;
    *out = jp_as_type(value->type, *out);
    return true;
  case VALUE_VOID:
  case VALUE_CLASS:
  case VALUE_PACKAGE:
    break;
  }
  return fail_at(ev, at, "", "%s is no argument", value_describe(value, words)) != NULL;
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
    return fail_at(ev, at, "java.lang.NullPointerException", "null has no members") != NULL;
  if (value->kind == VALUE_VOID || value->kind == VALUE_LAMBDA || value->kind == VALUE_CAST)
    return fail_at(ev, at, "", "%s has no members", value_describe(value, words)) != NULL;
  if (!make_argument(ev, at, value, out))
    return false;
  if (value->kind == VALUE_LIST || value->kind == VALUE_ENTRY)
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
  char name[24];
  struct value *result = value_create(&ev->pool, VALUE_PENDING);
  struct value **pending = array_grow(batch->pending, batch->count, &batch->capacity, sizeof(struct value *));
  if (result == NULL || pending == NULL)
    return fail_memory(ev);
  batch->pending = pending;
  result->step = batch->count;
  result->at = at;
  if (ev->guards > 0)
    request->options = &with_throwables;
  jp_chain_request(batch->chain, name_step(result->step, name), request);
  for (size_t i = 0; i < count; i++)
    mark_used(operands[i]);
  result->is_used = false;
  batch->pending[batch->count++] = value_keep(result);
  arena_reset(&ev->step);
  return result;
}

/* What a call, a constructor or a put is made of. */
struct invocation {
  enum jp_operation operation;
  size_t at;
  struct text type; /* of a static member or a constructor; "": none */
  struct text member;
  struct value *receiver; /* NULL: none */
  struct value **values;  /* the arguments; in an array of the caller's */
  size_t count;
};

static const char *keep_name(struct evaluator *ev, struct text name)
{
  return arena_printf(&ev->step, "%.*s", TEXT_ARGS(name)).data;
}

static struct value *invoke(struct evaluator *ev, const struct invocation *call)
{
  const size_t count = call->count + (call->receiver != NULL ? 1 : 0);
  struct value **operands = calloc(count + 1, sizeof(struct value *));
  if (operands == NULL)
    return fail_memory(ev);
  for (size_t i = 0; i < call->count; i++)
    operands[i] = call->values[i];
  if (call->receiver != NULL)
    operands[call->count] = call->receiver;
  /* Reading a field has no effect that a failed step before it must prevent. */
  bool is_ready = call->operation == JP_GET ? ev->batch.count < BATCH_MAX || flush(ev)
                                            : order_before(ev, operands, count);
  struct jp_argument *args = arena_calloc(&ev->step, call->count + 1, sizeof *args);
  struct jp_request request = jp_make_request(call->operation, NULL, NULL);
  request.member = call->operation == JP_NEW ? NULL : keep_name(ev, call->member);
  request.type = call->type.len == 0 ? NULL : keep_name(ev, call->type);
  request.args = args;
  request.arg_count = call->count;
  if (is_ready && args == NULL)
    is_ready = fail_memory(ev) != NULL;
  for (size_t i = 0; is_ready && i < call->count; i++)
    is_ready = make_argument(ev, call->at, call->values[i], &args[i]);
  if (is_ready && call->receiver != NULL)
    is_ready = make_instance(ev, call->at, call->receiver, &request.type, &request.instance);
  struct value *result = is_ready ? add_step(ev, call->at, &request, operands, count) : NULL;
  arena_reset(&ev->step);
  free(operands);
  return result;
}

/* ---- names of classes ---- */

static const char *const default_packages[] = {
    "java.lang", "java.lang.management", "java.util", "java.util.stream", "java.time",
    "java.io",   "java.nio.file",        "java.math"};
enum { DEFAULT_PACKAGES = sizeof default_packages / sizeof default_packages[0] };

/* Classes that every Java has: their names need no look-up. */
static const struct {
  const char *package;
  const char *classes;
} usual_classes[] = {
    {"java.lang",
     " Object String Integer Long Short Byte Character Boolean Double Float Number Math System Thread "
     "Runtime Class StringBuilder Iterable Comparable Runnable CharSequence Throwable Exception Error "
     "RuntimeException IllegalArgumentException IllegalStateException NullPointerException "
     "NumberFormatException ArithmeticException ClassLoader Enum "},
    {"java.util",
     " List ArrayList LinkedList Map HashMap LinkedHashMap TreeMap Set HashSet TreeSet Arrays Collections "
     "Collection Iterator Objects Optional Comparator UUID Random Date Locale Properties "},
};

static struct class_name *find_class_name(struct class_name *list, struct text simple)
{
  while (list != NULL && !text_equal(list->simple, simple))
    list = list->next;
  return list;
}

static bool note_class(struct evaluator *ev, struct class_name **list, struct text simple, struct text full)
{
  struct class_name *known = arena_calloc(&ev->names, 1, sizeof *known);
  if (known == NULL)
    return false;
  *known = (struct class_name){
      .next = *list, .simple = arena_text(&ev->names, simple), .full = arena_text(&ev->names, full)};
  if (known->simple.data == NULL || known->full.data == NULL)
    return false;
  *list = known;
  return true;
}

static struct text find_usual(struct evaluator *ev, struct text simple)
{
  char word[64];
  if (simple.len + 3 > sizeof word)
    return TEXT_ABSENT;
  text_format(word, sizeof word, " %.*s ", TEXT_ARGS(simple));
  for (size_t i = 0; i < sizeof usual_classes / sizeof usual_classes[0]; i++) {
    if (strstr(usual_classes[i].classes, word) != NULL)
      return arena_printf(&ev->names, "%s.%.*s", usual_classes[i].package, TEXT_ARGS(simple));
  }
  return TEXT_ABSENT;
}

/* Whether the answer of list_names has the class; *other gets, if not NULL, the first class of that simple name. */
static bool lists_class(const struct jp_answer *answer, struct text full, struct text simple, char *other,
                        size_t size)
{
  struct jp_text text = jp_answer_text(answer);
  struct jp_json list;
  struct jp_json item;
  char name[1000];
  if (text.data == NULL || jp_json_parse(text, 8, &list, NULL) != JP_JSONRPC_OK)
    return false;
  for (struct jp_json_cursor cursor = jp_json_enter(jp_json_member(list, "classes"));
       jp_json_next(&cursor, NULL, &item);) {
    size_t length = jp_json_string(item, name, sizeof name);
    if (length == SIZE_MAX || length >= sizeof name)
      continue;
    if (text_equal(text_of(name), full))
      return true;
    struct text last = text_slice(text_of(name), text_find_last(text_of(name), '.') + 1, length);
    if (other != NULL && other[0] == '\0' && text_equal(last, simple))
      text_format(other, size, "%s", name);
  }
  return false;
}

/* Asks for names, one list_names for each, in one round trip. */
static struct jp_chain *ask_names(struct evaluator *ev, const struct text *prefixes, size_t count)
{
  struct jp_client_error error;
  char name[24];
  struct jp_chain *chain = jp_chain_create(ev->config.client);
  for (size_t i = 0; i < count; i++) {
    struct jp_request request = jp_build_list_names(prefixes[i].data, 200);
    jp_chain_request(chain, name_step(i, name), &request);
  }
  ev->round_trips++;
  enum jp_client_status status = jp_chain_send(chain, ev->config.timeout_ms, &error);
  if (status == JP_CLIENT_OK)
    return chain;
  take_failure(ev, 0, false, status, &error, jp_chain_failure(chain));
  jp_chain_destroy(chain);
  return NULL;
}

enum { PREFIXES_MAX = 64 };

/* Looks a simple name up in the imported packages, in the package without a name, and, for the error, in all others. */
static struct text look_up_class(struct evaluator *ev, size_t at, struct text simple)
{
  struct text prefixes[PREFIXES_MAX];
  char other[1000] = "";
  char step[24];
  size_t count = 0;
  for (const struct class_name *package = ev->packages;
       package != NULL && count < PREFIXES_MAX - DEFAULT_PACKAGES - 1; package = package->next)
    prefixes[count++] = arena_printf(&ev->names, "%.*s.%.*s", TEXT_ARGS(package->full), TEXT_ARGS(simple));
  for (size_t i = 0; i < DEFAULT_PACKAGES; i++)
    prefixes[count++] = arena_printf(&ev->names, "%s.%.*s", default_packages[i], TEXT_ARGS(simple));
  prefixes[count++] = arena_printf(&ev->names, "%.*s", TEXT_ARGS(simple));
  for (size_t i = 0; i < count; i++) {
    if (prefixes[i].data == NULL)
      return fail_memory(ev), TEXT_ABSENT;
  }
  struct jp_chain *chain = ask_names(ev, prefixes, count);
  if (chain == NULL) {
    ev->failure.at = at;
    ev->failure.has_place = true;
    return TEXT_ABSENT;
  }
  struct text found = TEXT_ABSENT;
  for (size_t i = 0; i < count && found.data == NULL; i++) {
    if (lists_class(jp_chain_answer(chain, name_step(i, step)), prefixes[i], simple,
                    i + 1 == count ? other : NULL, sizeof other))
      found = prefixes[i];
  }
  jp_chain_destroy(chain);
  if (found.data == NULL && other[0] != '\0')
    fail_at(ev, at, "", "%.*s is neither a variable nor an imported class: did you mean %s?",
            TEXT_ARGS(simple), other);
  else if (found.data == NULL)
    fail_at(ev, at, "", "%.*s is neither a variable nor a class that this client may use", TEXT_ARGS(simple));
  return found;
}

/* The full name of a class; data NULL: failed. */
static struct text resolve_simple(struct evaluator *ev, size_t at, struct text simple)
{
  struct class_name *known = find_class_name(ev->classes, simple);
  if (known != NULL)
    return known->full;
  struct text full = ev->packages == NULL ? find_usual(ev, simple) : TEXT_ABSENT;
  if (full.data == NULL)
    full = look_up_class(ev, at, simple);
  if (full.data != NULL && !note_class(ev, &ev->classes, simple, full))
    return fail_memory(ev), TEXT_ABSENT;
  return full;
}

/* Whether the class has a nested class of that name; `Outer.Inner` may also be a field. */
static bool find_nested(struct evaluator *ev, struct text outer, struct text name, struct text *nested)
{
  bool has_lower = false;
  for (size_t i = 0; i < name.len; i++)
    has_lower |= name.data[i] >= 'a' && name.data[i] <= 'z';
  *nested = TEXT("");
  if (name.len == 0 || name.data[0] < 'A' || name.data[0] > 'Z' || !has_lower)
    return true; /* by convention a constant: SECONDS */
  struct text full = arena_printf(&ev->names, "%.*s$%.*s", TEXT_ARGS(outer), TEXT_ARGS(name));
  if (full.data == NULL)
    return fail_memory(ev) != NULL;
  struct class_name *known = find_class_name(ev->classes, full);
  if (known == NULL) {
    struct jp_chain *chain = ask_names(ev, &full, 1);
    if (chain == NULL)
      return false;
    bool is_there = lists_class(jp_chain_answer(chain, "s0"), full, name, NULL, 0);
    jp_chain_destroy(chain);
    if (!note_class(ev, &ev->classes, full, is_there ? full : TEXT("")))
      return fail_memory(ev) != NULL;
    known = ev->classes;
  }
  *nested = known->full;
  return true;
}

/* A type as the program writes it: "List", "java.util.List", "int[]". data NULL: failed. */
static struct text resolve_type(struct evaluator *ev, size_t at, struct text type)
{
  size_t end = type.len;
  while (end > 2 && type.data[end - 1] == ']')
    end -= 2;
  struct text element = text_slice(type, 0, end);
  size_t dot = text_find_last(element, '.');
  if (dot == SIZE_MAX && primitive_find_keyword(element) == NULL) {
    element = resolve_simple(ev, at, element);
  } else if (dot != SIZE_MAX) {
    /* Of "Map.Entry" and "java.util.Map.Entry" the first capital begins the class; what follows is nested. */
    struct text outer = TEXT_ABSENT;
    for (size_t from = 0; from < element.len;) {
      size_t to = from;
      while (to < element.len && element.data[to] != '.')
        to++;
      struct text part = text_slice(element, from, to);
      bool is_class = part.len > 0 && part.data[0] >= 'A' && part.data[0] <= 'Z';
      if (outer.data != NULL)
        outer = arena_printf(&ev->names, "%.*s$%.*s", TEXT_ARGS(outer), TEXT_ARGS(part));
      else if (is_class)
        outer = from == 0 ? resolve_simple(ev, at, part) : text_slice(element, 0, to);
      if (is_class && outer.data == NULL)
        return TEXT_ABSENT;
      from = to + 1;
    }
    element = outer.data != NULL ? outer : element;
  }
  if (element.data == NULL)
    return TEXT_ABSENT;
  struct text full =
      arena_printf(&ev->names, "%.*s%.*s", TEXT_ARGS(element), (int)(type.len - end), type.data + end);
  if (full.data == NULL)
    (void)fail_memory(ev);
  return full;
}

/* ---- expressions ---- */

static struct value *evaluate(struct evaluator *ev, const struct node *node);
static bool run_block(struct evaluator *ev, const struct node *node, struct value **value);

static struct value *evaluate_known(struct evaluator *ev, const struct node *node)
{
  struct value *value = evaluate(ev, node);
  return value == NULL ? NULL : know(ev, value);
}

static struct value *evaluate_literal(struct evaluator *ev, const struct node *node)
{
  switch (node->literal) {
  case LITERAL_NULL:
    return or_no_memory(ev, value_create(&ev->pool, VALUE_NULL));
  case LITERAL_BOOLEAN:
    return or_no_memory(ev, value_boolean(&ev->pool, node->integer != 0));
  case LITERAL_INT:
    return or_no_memory(ev, value_integer(&ev->pool, 'I', node->integer));
  case LITERAL_LONG:
    return or_no_memory(ev, value_integer(&ev->pool, 'J', node->integer));
  case LITERAL_CHAR:
    return or_no_memory(ev, value_integer(&ev->pool, 'C', node->integer));
  case LITERAL_FLOAT:
    return or_no_memory(ev, value_number(&ev->pool, 'F', node->number));
  case LITERAL_DOUBLE:
    return or_no_memory(ev, value_number(&ev->pool, 'D', node->number));
  case LITERAL_TEXT:
    break;
  }
  return or_no_memory(ev, value_text(&ev->pool, node->text));
}

static struct value *make_name(struct evaluator *ev, enum value_kind kind, struct text name)
{
  struct value *value = value_create(&ev->pool, kind);
  return or_no_memory(ev, value != NULL && value_set_text(value, name) ? value : NULL);
}

static bool begins_class(struct text name)
{
  return name.len > 0 && name.data[0] >= 'A' && name.data[0] <= 'Z';
}

/* A variable's value, a class, or the beginning of a class's name. */
static struct value *resolve_name(struct evaluator *ev, const struct node *node)
{
  struct variable *variable = find_variable(ev, node->name);
  if (variable != NULL)
    return variable->value;
  if (!begins_class(node->name) && find_class_name(ev->classes, node->name) == NULL)
    return make_name(ev, VALUE_PACKAGE, node->name);
  struct text full = resolve_simple(ev, node->at, node->name);
  return full.data == NULL ? NULL : make_name(ev, VALUE_CLASS, full);
}

static struct value *read_field(struct evaluator *ev, size_t at, struct value *object, struct text name)
{
  struct invocation get = {.operation = JP_GET, .at = at, .member = name, .type = TEXT("")};
  if (object->kind == VALUE_CLASS)
    get.type = object->text;
  else
    get.receiver = object;
  return invoke(ev, &get);
}

static struct value *resolve_member(struct evaluator *ev, const struct node *node, struct value *object)
{
  struct text nested;
  if (object->kind == VALUE_PACKAGE) {
    struct text full = arena_printf(&ev->names, "%.*s.%.*s", TEXT_ARGS(object->text), TEXT_ARGS(node->name));
    return full.data == NULL ? fail_memory(ev)
                             : make_name(ev, begins_class(node->name) ? VALUE_CLASS : VALUE_PACKAGE, full);
  }
  if (object->kind != VALUE_CLASS)
    return read_field(ev, node->at, object, node->name);
  if (text_equal(node->name, TEXT("class"))) {
    struct value *literal = value_text(&ev->pool, object->text);
    return or_no_memory(ev,
                        literal != NULL && value_set_type(literal, TEXT("java.lang.Class")) ? literal : NULL);
  }
  if (!find_nested(ev, object->text, node->name, &nested))
    return NULL;
  return nested.len > 0 ? make_name(ev, VALUE_CLASS, nested) : read_field(ev, node->at, object, node->name);
}

/* As evaluate, but the result may be a CLASS or a PACKAGE. */
static struct value *resolve(struct evaluator *ev, const struct node *node)
{
  if (node->kind == NODE_NAME)
    return resolve_name(ev, node);
  if (node->kind != NODE_MEMBER)
    return evaluate(ev, node);
  struct value *object = resolve(ev, node->first);
  return object == NULL ? NULL : resolve_member(ev, node, object);
}

static struct value *evaluate_name(struct evaluator *ev, const struct node *node)
{
  struct value *value = resolve(ev, node);
  if (value == NULL)
    return NULL;
  if (value->kind == VALUE_CLASS)
    return fail_at(ev, node->at, "", "%.*s is a class: its object is %.*s.class", TEXT_ARGS(value->text),
                   TEXT_ARGS(node->name));
  if (value->kind == VALUE_PACKAGE && node->kind == NODE_MEMBER) {
    /* "a.b.c" without a capital: the field c of the class a.b. */
    size_t dot = text_find_last(value->text, '.');
    struct value *owner = make_name(ev, VALUE_CLASS, text_slice(value->text, 0, dot));
    return owner == NULL ? NULL : read_field(ev, node->at, owner, node->name);
  }
  if (value->kind == VALUE_PACKAGE)
    return fail_at(ev, node->at, "", "there is no variable %.*s", TEXT_ARGS(value->text));
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
    return fail_memory(ev) != NULL;
  size_t at = 0;
  for (const struct node *item = node->items; item != NULL; item = item->next) {
    (*values)[at] = evaluate(ev, item);
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
    return fail_memory(ev);
  *lambda = (struct lambda){
      .evaluator = ev, .holders = 1, .node = node, .program = ev->program, .scope = ev->scope};
  ev->program->holders++;
  ev->scope->holders++;
  value->lambda = lambda;
  if (node->kind == NODE_REFERENCE) {
    struct text owner = resolve_type(ev, node->at, node->type);
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
  struct value *result = invoke(ev, &call);
  if (result != NULL && flush(ev))
    return result;
  bool may_be_instance = call.operation == JP_CALL && count > 0 &&
                         text_starts_with(text_of(ev->failure.error.text), TEXT("No matching method"));
  bool needs_instance =
      call.operation == JP_CALL && count > 0 && strstr(ev->failure.error.text, "not static") != NULL;
  if (!may_be_instance && !needs_instance)
    return NULL;
  call.type = TEXT("");
  call.receiver = values[0];
  call.values = values + 1;
  call.count = count - 1;
  return invoke(ev, &call);
}

static struct value *call_lambda(struct evaluator *ev, size_t at, struct lambda *lambda,
                                 struct value **values, size_t count)
{
  if (ev->calls >= CALLS_DEPTH_MAX)
    return fail_at(ev, at, "java.lang.StackOverflowError", "lambdas call each other more than %d times",
                   CALLS_DEPTH_MAX);
  if (lambda->node->kind == NODE_REFERENCE)
    return call_reference(ev, lambda, values, count);
  struct scope *scope = scope_create(lambda->scope, false);
  struct scope *outer = ev->scope;
  struct program *program = ev->program;
  struct value *result = NULL;
  size_t index = 0;
  bool is_good = scope != NULL;
  for (const struct node *item = lambda->node->items; is_good && item != NULL; item = item->next) {
    if (index < count)
      is_good = define(scope, item->name, values[index]);
    index++;
  }
  if (!is_good) {
    scope_release(scope);
    return fail_memory(ev);
  }
  if (index != count) {
    scope_release(scope);
    return fail_at(ev, at, "", "the lambda has %zu parameters, and is called with %zu arguments", index,
                   count);
  }
  ev->scope = scope;
  ev->program = lambda->program;
  ev->calls++;
  if (!run_block(ev, lambda->node->first, &result))
    result = NULL;
  ev->calls--;
  ev->scope = outer;
  ev->program = program;
  scope_release(scope);
  return result;
}

/* Answers Java's call with the result, or throws what failed. */
static void answer_callback(struct evaluator *ev, struct jp_callback_call *call, size_t at,
                            struct value *result)
{
  struct jp_argument argument = jp_null(NULL);
  bool is_good = result != NULL && flush(ev);
  if (is_good && result->kind != VALUE_VOID)
    is_good = make_argument(ev, at, result, &argument);
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
static void run_callback(void *context, struct jp_callback_call *call)
{
  struct lambda *lambda = context;
  struct evaluator *ev = lambda->evaluator;
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
  failure_init(&ev->failure);
  lambda->holders++;
  ev->guards++;
  bool is_good = true;
  for (size_t i = 0; i < count && is_good; i++) {
    values[i] = value_create(&ev->pool, VALUE_VOID);
    is_good = values[i] != NULL && value_set_answer(values[i], jp_callback_argument_at(call, i));
  }
  struct value *result = is_good ? call_lambda(ev, lambda->node->at, lambda, values, count) : fail_memory(ev);
  answer_callback(ev, call, lambda->node->at, result);
  ev->guards--;
  arena_reset(&ev->step);
  batch_end(&ev->batch);
  failure_fini(&ev->failure);
  value_pool_drain(&ev->pool, mark);
  free_lambda(lambda);
  free(values);
  ev->batch = outer;
  ev->failure = failure;
}

/* ---- calls ---- */

static struct value *call_member(struct evaluator *ev, const struct node *node, struct value *object,
                                 struct value **values, size_t count)
{
  struct invocation call = {.operation = JP_CALL,
                            .at = node->at,
                            .type = TEXT(""),
                            .member = node->name,
                            .values = values,
                            .count = count};
  if (object->kind == VALUE_LAMBDA)
    return call_lambda(ev, node->at, object->lambda, values, count);
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
  return invoke(ev, &call);
}

static struct value *evaluate_call(struct evaluator *ev, const struct node *node)
{
  struct value **values = NULL;
  size_t count = 0;
  struct value *object = NULL;
  struct value *result = NULL;
  if (node->first == NULL) {
    struct variable *variable = find_variable(ev, node->name);
    if (variable == NULL || variable->value->kind != VALUE_LAMBDA)
      return fail_at(ev, node->at, "", "a method needs an object or a class before it: Math.max(3, 5)");
    object = variable->value;
  } else {
    object = resolve(ev, node->first);
  }
  if (object != NULL && object->kind == VALUE_PACKAGE && node->first->kind == NODE_NAME)
    object =
        fail_at(ev, node->first->at, "", "there is no variable or class %.*s", TEXT_ARGS(node->first->name));
  if (object != NULL && evaluate_items(ev, node, &values, &count))
    result = call_member(ev, node, object, values, count);
  free(values);
  return result;
}

static struct value *evaluate_new(struct evaluator *ev, const struct node *node)
{
  struct value **values = NULL;
  struct text type = resolve_type(ev, node->at, node->type);
  struct invocation call = {.operation = JP_NEW, .at = node->at, .type = type};
  struct value *result = NULL;
  if (type.data == NULL)
    return NULL;
  if (node->kind == NODE_NEW_ARRAY) {
    struct value *length = evaluate(ev, node->first);
    struct text array = arena_printf(&ev->names, "%.*s[]", TEXT_ARGS(type));
    if (length == NULL || array.data == NULL)
      return length == NULL ? NULL : fail_memory(ev);
    call.type = array;
    call.values = &length;
    call.count = 1;
    return invoke(ev, &call);
  }
  if (evaluate_items(ev, node, &values, &call.count)) {
    call.values = values;
    struct value *list = NULL;
    if (node->kind == NODE_NEW_ELEMENTS && call.count == 1) {
      /* One int would be the length. */
      struct value *cast = value_create(&ev->pool, VALUE_CAST);
      list = value_create(&ev->pool, VALUE_LIST);
      if (list == NULL || cast == NULL || !value_append(list, values[0]) || !value_append(cast, list) ||
          !value_set_type(cast, type))
        result = fail_memory(ev);
      struct invocation copy = {.operation = JP_CALL,
                                .at = node->at,
                                .type = TEXT("java.util.Arrays"),
                                .member = TEXT("copyOf"),
                                .count = 2};
      struct value *one = value_integer(&ev->pool, 'I', 1);
      struct value *both[2] = {cast, one};
      copy.values = both;
      if (list != NULL && cast != NULL && one != NULL && cast->type != NULL)
        result = invoke(ev, &copy);
    } else {
      result = invoke(ev, &call);
    }
  }
  free(values);
  return result;
}

static bool is_array(const struct value *value)
{
  return value->type != NULL && (value->type[0] == '[' || text_ends_with(text_of(value->type), TEXT("[]")));
}

static struct value *evaluate_index(struct evaluator *ev, const struct node *node)
{
  struct value *object = evaluate_known(ev, node->first);
  struct value *index = object == NULL ? NULL : evaluate(ev, node->second);
  if (index == NULL)
    return NULL;
  if (object->kind == VALUE_LIST || object->kind == VALUE_ENTRY ||
      (object->kind == VALUE_OBJECT && is_array(object))) {
    char field[40];
    index = know(ev, index);
    if (index == NULL || index->kind != VALUE_INTEGER)
      return index == NULL ? NULL : fail_at(ev, node->at, "", "the index of an array is an int");
    if (object->kind == VALUE_OBJECT) {
      text_format(field, sizeof field, "[%" PRId64 "]", index->integer);
      return read_field(ev, node->at, object, text_of(field));
    }
    int64_t at = index->integer < 0 ? index->integer + (int64_t)object->item_count : index->integer;
    if (at < 0 || at >= (int64_t)object->item_count)
      return fail_at(ev, node->at, "java.lang.IndexOutOfBoundsException", "index %" PRId64 " of %zu elements",
                     index->integer, object->item_count);
    return object->items[at];
  }
  struct invocation get = {.operation = JP_CALL,
                           .at = node->at,
                           .type = TEXT(""),
                           .member = object->kind == VALUE_TEXT ? TEXT("charAt") : TEXT("get"),
                           .receiver = object,
                           .values = &index,
                           .count = 1};
  return invoke(ev, &get);
}

/* Writes an end of a range; none is "". */
static bool write_bound(struct evaluator *ev, const struct node *node, struct buffer *out)
{
  struct value *value = node == NULL ? NULL : evaluate_known(ev, node);
  if (node == NULL)
    return true;
  if (value != NULL && value->kind != VALUE_INTEGER)
    value = fail_at(ev, node->at, "", "the ends of a range are ints");
  return value != NULL && value_write_text(value, out);
}

static struct value *evaluate_slice(struct evaluator *ev, const struct node *node)
{
  struct buffer range;
  struct value *result = NULL;
  struct value *object = evaluate_known(ev, node->first);
  if (object == NULL)
    return NULL;
  buffer_init(&range);
  buffer_append_char(&range, '[');
  bool is_good = write_bound(ev, node->second, &range);
  buffer_append_char(&range, ':');
  is_good = is_good && write_bound(ev, node->third, &range);
  buffer_append_char(&range, ']');
  if (is_good && object->kind == VALUE_OBJECT && is_array(object)) {
    result = read_field(ev, node->at, object, buffer_text(&range));
  } else if (is_good && node->second != NULL && node->third != NULL) {
    struct value *ends[2] = {evaluate(ev, node->second), evaluate(ev, node->third)};
    struct invocation sub = {.operation = JP_CALL,
                             .at = node->at,
                             .type = TEXT(""),
                             .member = object->kind == VALUE_TEXT ? TEXT("substring") : TEXT("subList"),
                             .receiver = object,
                             .values = ends,
                             .count = 2};
    result = ends[0] == NULL || ends[1] == NULL ? NULL : invoke(ev, &sub);
  } else if (is_good) {
    result = fail_at(ev, node->at, "", "a range without both ends is for arrays");
  }
  buffer_fini(&range);
  return result;
}

static struct value *evaluate_cast(struct evaluator *ev, const struct node *node)
{
  const struct primitive *primitive = primitive_find_keyword(node->type);
  struct jp_error error = {0};
  if (primitive != NULL) {
    struct value *value = evaluate_known(ev, node->first);
    struct value *converted =
        value == NULL ? NULL : value_convert(&ev->pool, value, primitive->letter, &error);
    return value == NULL || converted != NULL
               ? converted
               : fail_at(ev, node->at, "java.lang.ClassCastException", "%s", error.text);
  }
  struct text type = resolve_type(ev, node->at, node->type);
  struct value *inner = type.data == NULL ? NULL : evaluate(ev, node->first);
  if (inner == NULL)
    return NULL;
  struct value *cast = value_create(&ev->pool, VALUE_CAST);
  return or_no_memory(ev,
                      cast != NULL && value_append(cast, inner) && value_set_type(cast, type) ? cast : NULL);
}

static struct value *evaluate_instanceof(struct evaluator *ev, const struct node *node)
{
  struct value *value = evaluate(ev, node->first);
  struct text type = value == NULL ? TEXT_ABSENT : resolve_type(ev, node->at, node->type);
  struct value *literal = type.data == NULL ? NULL : value_text(&ev->pool, type);
  if (type.data == NULL)
    return NULL;
  if (literal == NULL || !value_set_type(literal, TEXT("java.lang.Class")))
    return fail_memory(ev);
  struct invocation call = {.operation = JP_CALL,
                            .at = node->at,
                            .type = TEXT(""),
                            .member = TEXT("isInstance"),
                            .receiver = literal,
                            .values = &value,
                            .count = 1};
  return invoke(ev, &call);
}

static struct value *evaluate_list(struct evaluator *ev, const struct node *node)
{
  struct value *list = value_create(&ev->pool, node->kind == NODE_MAP ? VALUE_MAP : VALUE_LIST);
  if (list == NULL)
    return fail_memory(ev);
  for (const struct node *item = node->items; item != NULL; item = item->next) {
    /* The keys of a Map are written as texts, so they have to be known. */
    bool is_key = node->kind == NODE_MAP && list->item_count % 2 == 0;
    struct value *value = is_key ? evaluate_known(ev, item) : evaluate(ev, item);
    if (value == NULL)
      return NULL;
    if (!value_append(list, value))
      return fail_memory(ev);
  }
  return list;
}

/* ---- operators ---- */

static bool is_true(struct evaluator *ev, const struct node *node, bool *truth)
{
  char words[120];
  struct value *value = evaluate_known(ev, node);
  if (value != NULL && value->kind != VALUE_BOOLEAN)
    value = fail_at(ev, node->at, "", "a boolean is needed, and this is %s", value_describe(value, words));
  *truth = value != NULL && value->integer != 0;
  return value != NULL;
}

/* Java's text of a value; an object's is asked for. */
static bool append_text_of(struct evaluator *ev, size_t at, struct value *value, struct buffer *out)
{
  if (value->kind != VALUE_OBJECT && value_write_text(value, out))
    return true;
  struct invocation call = {.operation = JP_CALL,
                            .at = at,
                            .type = TEXT("java.lang.String"),
                            .member = TEXT("valueOf"),
                            .values = &value,
                            .count = 1};
  struct value *cast = value_create(&ev->pool, VALUE_CAST);
  if (cast == NULL || !value_append(cast, value) || !value_set_type(cast, TEXT("java.lang.Object")))
    return fail_memory(ev) != NULL;
  call.values = &cast;
  struct value *text = invoke(ev, &call);
  return text != NULL && know(ev, text) != NULL && value_write_text(text, out);
}

static struct value *concatenate(struct evaluator *ev, size_t at, struct value *left, struct value *right)
{
  struct buffer text;
  struct value *result = NULL;
  buffer_init(&text);
  if (append_text_of(ev, at, left, &text) && append_text_of(ev, at, right, &text))
    result = or_no_memory(
        ev, text.failed ? NULL : value_text(&ev->pool, text.len == 0 ? TEXT("") : buffer_text(&text)));
  buffer_fini(&text);
  return result;
}

static bool is_text(const struct value *value)
{
  return value->kind == VALUE_TEXT && value->type == NULL;
}

static struct value *evaluate_binary(struct evaluator *ev, const struct node *node)
{
  struct jp_error error = {0};
  const char *throws = "";
  bool truth;
  if (node->op == BINARY_AND || node->op == BINARY_OR) {
    if (!is_true(ev, node->first, &truth))
      return NULL;
    if (truth == (node->op == BINARY_AND) && !is_true(ev, node->second, &truth))
      return NULL;
    return or_no_memory(ev, value_boolean(&ev->pool, truth));
  }
  /* Both operands are evaluated before either is needed: one round trip where the order allows it. */
  struct value *left = evaluate(ev, node->first);
  struct value *right = left == NULL ? NULL : evaluate(ev, node->second);
  if (right == NULL || know(ev, left) == NULL || know(ev, right) == NULL)
    return NULL;
  if (node->op == BINARY_EQUAL || node->op == BINARY_UNEQUAL)
    return or_no_memory(ev, value_boolean(&ev->pool, value_equal(left, right) == (node->op == BINARY_EQUAL)));
  if (node->op == BINARY_ADD && (is_text(left) || is_text(right)))
    return concatenate(ev, node->at, left, right);
  struct value *result = value_operate(&ev->pool, node->op, left, right, &throws, &error);
  return result != NULL ? result : fail_at(ev, node->at, throws, "%s", error.text);
}

static struct value *evaluate_prefix(struct evaluator *ev, const struct node *node)
{
  struct jp_error error = {0};
  bool truth;
  if (node->kind == NODE_NOT)
    return is_true(ev, node->first, &truth) ? or_no_memory(ev, value_boolean(&ev->pool, !truth)) : NULL;
  struct value *value = evaluate_known(ev, node->first);
  struct value *result = value == NULL ? NULL : value_negate(&ev->pool, value, &error);
  return value == NULL || result != NULL ? result : fail_at(ev, node->at, "", "%s", error.text);
}

static struct value *evaluate_conditional(struct evaluator *ev, const struct node *node)
{
  bool truth;
  if (!is_true(ev, node->first, &truth))
    return NULL;
  return evaluate(ev, truth ? node->second : node->third);
}

static struct value *evaluate(struct evaluator *ev, const struct node *node)
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
    return fail_at(ev, node->at, "", "a statement has no value here");
  }
}

/* ---- statements ---- */

enum flow { FLOW_NEXT, FLOW_BREAK, FLOW_CONTINUE, FLOW_RETURN, FLOW_FAIL };

static enum flow run_statement(struct evaluator *ev, const struct node *node, struct value **value);

/* What a variable holds is an object of Java: its methods may change it. */
static struct value *make_object(struct evaluator *ev, size_t at, struct value *value)
{
  if (value->kind != VALUE_LIST && value->kind != VALUE_MAP)
    return value;
  struct invocation call = {.operation = JP_NEW,
                            .at = at,
                            .type = value->kind == VALUE_LIST ? TEXT("java.util.ArrayList")
                                                              : TEXT("java.util.LinkedHashMap"),
                            .values = &value,
                            .count = value->item_count > 0 ? 1 : 0};
  return invoke(ev, &call);
}

static bool assign_variable(struct evaluator *ev, const struct node *node, struct value *value)
{
  char words[120];
  if (value->kind == VALUE_VOID)
    return fail_at(ev, node->at, "", "%s cannot be assigned", value_describe(value, words)) != NULL;
  struct value *object = make_object(ev, node->at, value);
  struct variable *variable = find_variable(ev, node->first->name);
  if (object == NULL)
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
  return define(scope, node->first->name, object) || fail_memory(ev) != NULL;
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
  return invoke(ev, &call);
}

/* xs[i] = value: of an array, a List (set) or a Map (put). */
static bool assign_element(struct evaluator *ev, const struct node *target, struct value *value)
{
  struct value *object = evaluate_known(ev, target->first);
  struct value *index = object == NULL ? NULL : evaluate_known(ev, target->second);
  char field[40];
  if (index == NULL)
    return false;
  if (object->kind == VALUE_OBJECT && is_array(object)) {
    if (index->kind != VALUE_INTEGER)
      return fail_at(ev, target->at, "", "the index of an array is an int") != NULL;
    text_format(field, sizeof field, "[%" PRId64 "]", index->integer);
    return put(ev, target->at, object, text_of(field), value) != NULL;
  }
  struct value *map = NULL;
  struct value *literal = value_text(&ev->pool, TEXT("java.util.Map"));
  if (literal == NULL || !value_set_type(literal, TEXT("java.lang.Class")))
    return fail_memory(ev) != NULL;
  struct invocation test = {.operation = JP_CALL,
                            .at = target->at,
                            .type = TEXT(""),
                            .member = TEXT("isInstance"),
                            .receiver = literal,
                            .values = &object,
                            .count = 1};
  map = invoke(ev, &test);
  if (map == NULL || know(ev, map) == NULL)
    return false;
  struct value *both[2] = {index, value};
  struct invocation set = {.operation = JP_CALL,
                           .at = target->at,
                           .type = TEXT(""),
                           .member = map->integer != 0 ? TEXT("put") : TEXT("set"),
                           .receiver = object,
                           .values = both,
                           .count = 2};
  return invoke(ev, &set) != NULL;
}

static bool assign(struct evaluator *ev, const struct node *node, struct value **value)
{
  const struct node *target = node->first;
  *value = NULL;
  if (target->kind == NODE_NAME) {
    struct value *assigned = evaluate(ev, node->second);
    return assigned != NULL && assign_variable(ev, node, assigned);
  }
  if (target->kind == NODE_SLICE)
    return fail_at(ev, target->at, "", "a range cannot be assigned in this version") != NULL;
  if (target->kind == NODE_INDEX) {
    struct value *assigned = evaluate(ev, node->second);
    return assigned != NULL && assign_element(ev, target, assigned);
  }
  struct value *object = resolve(ev, target->first);
  struct value *assigned = object == NULL ? NULL : evaluate(ev, node->second);
  return assigned != NULL && put(ev, target->at, object, target->name, assigned) != NULL;
}

/* One turn of a loop. */
static enum flow run_turn(struct evaluator *ev, const struct node *node, struct value *item)
{
  const size_t mark = ev->pool.count;
  struct scope *outer = ev->scope;
  struct scope *turn = scope_create(outer, true);
  struct value *ignored = NULL;
  enum flow flow = FLOW_FAIL;
  if (turn == NULL || !define(turn, node->name, item)) {
    (void)fail_memory(ev);
  } else {
    ev->scope = turn;
    flow = run_statement(ev, node->second, &ignored);
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

static enum flow loop_items(struct evaluator *ev, const struct node *node, struct value *list)
{
  enum flow flow = FLOW_NEXT;
  for (size_t i = 0; goes_on(flow) && i < list->item_count; i += list->kind == VALUE_MAP ? 2 : 1) {
    struct value *item = list->items[i];
    if (list->kind == VALUE_MAP) {
      item = value_create(&ev->pool, VALUE_ENTRY);
      if (item == NULL || !value_append(item, list->items[i]) || !value_append(item, list->items[i + 1]))
        return fail_memory(ev), FLOW_FAIL;
    }
    flow = run_turn(ev, node, item);
  }
  return end_loop(flow);
}

/* Runs the turns of a page, and counts its elements. */
static enum flow loop_page(struct evaluator *ev, const struct node *node, struct jp_answer *answer,
                           size_t *count)
{
  struct jp_json element;
  enum flow flow = FLOW_NEXT;
  for (struct jp_json_cursor cursor = jp_json_enter(jp_json_member(jp_answer_json(answer), "elements"));
       goes_on(flow) && jp_json_next(&cursor, NULL, &element);) {
    const size_t mark = ev->pool.count;
    struct value *item = value_of_element(&ev->pool, answer, element);
    ++*count;
    flow = item == NULL ? (fail_memory(ev), FLOW_FAIL) : run_turn(ev, node, item);
    if (goes_on(flow))
      value_pool_drain(&ev->pool, mark);
  }
  return flow;
}

static enum flow loop_object(struct evaluator *ev, const struct node *node, struct value *object)
{
  static const struct jp_options with_types = {.size = sizeof with_types, .types = true};
  struct jp_ref *at = jp_ref_keep(object->ref);
  enum flow flow = FLOW_NEXT;
  bool is_done = false;
  size_t from = 0;
  while (goes_on(flow) && !is_done) {
    struct jp_client_error error = {0};
    struct jp_answer *answer = NULL;
    if (!flush(ev)) {
      flow = FLOW_FAIL;
      break;
    }
    struct jp_request fetch = jp_build_fetch(jp_object(at), PAGE, is_array(object) ? (int64_t)from : 0);
    fetch.options = &with_types;
    ev->round_trips++;
    enum jp_client_status status =
        jp_client_call(ev->config.client, &fetch, ev->config.timeout_ms, &answer, &error);
    if (status != JP_CLIENT_OK) {
      take_failure(ev, node->first->at, true, status, &error, answer);
      jp_answer_free(answer);
      flow = FLOW_FAIL;
      break;
    }
    is_done = true;
    (void)jp_json_boolean(jp_json_member(jp_answer_json(answer), "done"), &is_done);
    struct jp_ref *next =
        is_done || is_array(object) ? NULL : jp_answer_take_ref(answer, jp_answer_json(answer));
    flow = loop_page(ev, node, answer, &from);
    jp_answer_free(answer);
    if (next != NULL) {
      jp_ref_release(at);
      at = next;
    }
  }
  jp_ref_release(at);
  return end_loop(flow);
}

static enum flow run_for(struct evaluator *ev, const struct node *node)
{
  char words[120];
  struct value *list = evaluate_known(ev, node->first);
  while (list != NULL && list->kind == VALUE_CAST)
    list = list->items[0];
  if (list == NULL)
    return FLOW_FAIL;
  if (list->kind == VALUE_LIST || list->kind == VALUE_ENTRY || list->kind == VALUE_MAP)
    return loop_items(ev, node, list);
  if (list->kind == VALUE_OBJECT)
    return loop_object(ev, node, list);
  (void)fail_at(ev, node->first->at, "", "%s has no elements", value_describe(list, words));
  return FLOW_FAIL;
}

static enum flow run_while(struct evaluator *ev, const struct node *node)
{
  enum flow flow = FLOW_NEXT;
  struct value *ignored = NULL;
  bool truth = true;
  while (goes_on(flow)) {
    const size_t mark = ev->pool.count;
    if (!is_true(ev, node->first, &truth))
      return FLOW_FAIL;
    if (!truth)
      break;
    flow = run_statement(ev, node->second, &ignored);
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
  if (flush(ev)) {
    failure_fini(&ev->failure);
    ev->failure = failure;
  } else {
    failure_fini(&failure);
  }
}

static bool is_caught(const struct failure *failure, struct text type)
{
  if (failure->kind != FAILURE_PROGRAM && failure->kind != FAILURE_THROWN && failure->kind != FAILURE_DENIED)
    return false;
  if (type.len == 0)
    return true;
  struct text lines = buffer_text(&failure->types);
  size_t count = 0;
  for (size_t at = 0; at < lines.len;) {
    size_t end = at;
    while (lines.data[end] != '\n')
      end++;
    struct text line = text_slice(lines, at, end);
    size_t dot = text_find_last(line, '.');
    struct text simple = dot == SIZE_MAX ? line : text_slice(line, dot + 1, line.len);
    if (text_equal(line, type) || text_equal(simple, type))
      return true;
    count += line.len > 0;
    at = end + 1;
  }
  /* The superclasses are not known. */
  return count < 2 &&
         (text_equal(type, TEXT("Exception")) || text_equal(type, TEXT("Throwable")) ||
          text_equal(type, TEXT("java.lang.Exception")) || text_equal(type, TEXT("java.lang.Throwable")));
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
    return or_no_memory(ev, is_good ? cast : NULL);
  }
  struct value *message = value_text(&ev->pool, text_of(failure->error.text));
  struct text type =
      arena_text(&ev->names, text_of(failure->type[0] != '\0' && failure->kind == FAILURE_PROGRAM
                                         ? failure->type
                                         : "java.lang.RuntimeException"));
  if (message == NULL || type.data == NULL)
    return fail_memory(ev);
  struct invocation call = {.operation = JP_NEW, .at = at, .type = type, .values = &message, .count = 1};
  return invoke(ev, &call);
}

static enum flow run_catch(struct evaluator *ev, const struct node *node, struct value **value)
{
  if (!is_caught(&ev->failure, node->type.data == NULL ? TEXT("") : node->type))
    return FLOW_FAIL;
  struct scope *outer = ev->scope;
  struct value *thrown = take_thrown(ev, node->at);
  if (thrown == NULL)
    return FLOW_FAIL;
  failure_clear(&ev->failure);
  struct scope *scope = scope_create(outer, true);
  enum flow flow = FLOW_FAIL;
  if (scope != NULL && define(scope, node->name, thrown)) {
    ev->scope = scope;
    flow = run_statement(ev, node->first, value);
    ev->scope = outer;
  } else {
    (void)fail_memory(ev);
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
  bool is_closed = resource->kind == VALUE_NULL || (invoke(ev, &close) != NULL && flush(ev));
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
    return fail_memory(ev), FLOW_FAIL;
  if (node->first != NULL) {
    resource = evaluate_known(ev, node->first);
    if (resource != NULL && !define(scope, node->name, resource))
      resource = fail_memory(ev);
  }
  if (node->first == NULL || resource != NULL) {
    ev->scope = scope;
    flow = run_statement(ev, node->second, value);
    if (flow == FLOW_FAIL)
      settle_failure(ev);
    else if (!flush(ev))
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
  if (!flush(ev)) /* what fails before is not caught */
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
  struct value *thrown = evaluate_known(ev, node->first);
  if (thrown == NULL)
    return FLOW_FAIL;
  if (thrown->kind != VALUE_OBJECT) {
    (void)fail_at(ev, node->at, "", "%s is no Throwable", value_describe(thrown, words));
    return FLOW_FAIL;
  }
  struct invocation get = {.operation = JP_CALL,
                           .at = node->at,
                           .type = TEXT("java.lang.Throwable"),
                           .member = TEXT("getMessage"),
                           .receiver = thrown};
  get.type = TEXT("");
  struct value *message = invoke(ev, &get);
  if (message == NULL || know(ev, message) == NULL)
    return FLOW_FAIL;
  (void)fail_at(ev, node->at, thrown->type == NULL ? "" : thrown->type, "%s",
                message->kind == VALUE_TEXT ? message->text.data : "null");
  ev->failure.kind = FAILURE_THROWN;
  ev->failure.thrown = value_keep(thrown);
  buffer_clear(&ev->failure.types);
  buffer_printf(&ev->failure.types, "%s\n", thrown->type == NULL ? "" : thrown->type);
  return FLOW_FAIL;
}

static enum flow run_import(struct evaluator *ev, const struct node *node)
{
  size_t dot = text_find_last(node->name, '.');
  bool is_package = text_ends_with(node->name, TEXT(".*"));
  if (dot == SIZE_MAX)
    return fail_at(ev, node->at, "", "an import is the full name of a class, or PACKAGE.*"), FLOW_FAIL;
  struct text head = text_slice(node->name, 0, dot);
  bool is_noted =
      is_package ? note_class(ev, &ev->packages, head, head)
                 : note_class(ev, &ev->classes, text_slice(node->name, dot + 1, node->name.len), node->name);
  return is_noted ? FLOW_NEXT : (fail_memory(ev), FLOW_FAIL);
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
    return run_for(ev, node);
  case NODE_IF:
    if (!is_true(ev, node->first, &truth))
      return FLOW_FAIL;
    return truth                 ? run_statement(ev, node->second, value)
           : node->third != NULL ? run_statement(ev, node->third, value)
                                 : FLOW_NEXT;
  case NODE_WHILE:
    return run_while(ev, node);
  case NODE_TRY:
    return run_try(ev, node, value);
  case NODE_THROW:
    return run_throw(ev, node);
  case NODE_RETURN:
    if (node->first != NULL)
      *value = evaluate(ev, node->first);
    return node->first == NULL || *value != NULL ? FLOW_RETURN : FLOW_FAIL;
  case NODE_BREAK:
    return FLOW_BREAK;
  case NODE_CONTINUE:
    return FLOW_CONTINUE;
  case NODE_COMMAND:
    (void)fail_at(ev, node->at, "", "commands are for jpeer shell, which is not available in this version");
    return FLOW_FAIL;
  default:
    *value = evaluate(ev, node);
    return *value == NULL ? FLOW_FAIL : FLOW_NEXT;
  }
}

/* The body of a lambda. *value is VOID if it has none. */
static bool run_block(struct evaluator *ev, const struct node *node, struct value **value)
{
  enum flow flow = run_statement(ev, node, value);
  if (flow != FLOW_FAIL && *value == NULL)
    *value = or_no_memory(ev, value_create(&ev->pool, VALUE_VOID));
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
  return find_variable(((const struct known_names *)names)->evaluator, name) != NULL;
}

static struct program *parse_program(struct evaluator *ev, struct text source)
{
  const struct known_names names = {.names = {is_known}, .evaluator = ev};
  struct language_error error;
  struct program *program = calloc(1, sizeof *program);
  if (program == NULL)
    return fail_memory(ev), NULL;
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
    return fail_memory(ev), NULL;
  (void)fail_at(ev, error.at, "", "%s", error.error.text);
  return NULL;
}

static bool run_source(struct evaluator *ev, struct text source, bool may_be_class, struct value **value,
                       const struct failure **failure)
{
  failure_clear(&ev->failure);
  *failure = &ev->failure;
  *value = NULL;
  struct program *program = parse_program(ev, source);
  if (program == NULL)
    return false;
  program_release(ev->program);
  ev->program = program;
  struct value *result = NULL;
  const struct node *only = program->root->items;
  bool is_name = only != NULL && only->next == NULL && (only->kind == NODE_NAME || only->kind == NODE_MEMBER);
  bool is_good;
  if (may_be_class && is_name) {
    result = resolve(ev, only);
    is_good = result != NULL;
    if (is_good && result->kind == VALUE_PACKAGE)
      result->kind = VALUE_CLASS;
  } else {
    is_good = run_block(ev, program->root, &result);
  }
  if (is_good)
    is_good = flush(ev);
  else
    settle_failure(ev);
  if (is_good && result->kind == VALUE_CAST)
    result = result->items[0];
  if (is_good && result->kind != VALUE_VOID && !define(ev->globals, TEXT("_"), result))
    is_good = fail_memory(ev) != NULL;
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
  struct text type = resolve_type(ev, 0, text_slice(name, 0, dot));
  struct text member = arena_printf(&ev->names, "%.*s", (int)(name.len - dot - 1), name.data + dot + 1);
  if (type.data == NULL)
    return false;
  struct jp_request request = text_equal(member, TEXT("new"))
                                  ? jp_build_constructor_call(type.data, args, count)
                                  : jp_build_class_method_call(type.data, member.data, args, count);
  if (member.data == NULL)
    return fail_memory(ev) != NULL;
  ev->round_trips++;
  enum jp_client_status status =
      jp_client_call(ev->config.client, &request, ev->config.timeout_ms, answer, &error);
  if (status != JP_CLIENT_OK)
    take_failure(ev, 0, false, status, &error, *answer);
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
      (void)fail_memory(ev);
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
  ev->round_trips++;
  enum jp_client_status status =
      jp_client_call(ev->config.client, request, ev->config.timeout_ms, answer, &error);
  if (status == JP_CLIENT_OK)
    return true;
  take_failure(ev, 0, false, status, &error, *answer);
  jp_answer_free(*answer);
  *answer = NULL;
  value_pool_drain(&ev->pool, 0);
  return false;
}

bool evaluator_ask(struct evaluator *ev, const struct jp_request *requests, size_t count, bool *truths)
{
  struct jp_client_error error;
  char name[24];
  struct jp_chain *chain = jp_chain_create(ev->config.client);
  for (size_t i = 0; i < count; i++)
    jp_chain_request(chain, name_step(i, name), &requests[i]);
  ev->round_trips++;
  enum jp_client_status status = jp_chain_send(chain, ev->config.timeout_ms, &error);
  for (size_t i = 0; i < count; i++) {
    truths[i] = false;
    (void)jp_answer_boolean(jp_chain_answer(chain, name_step(i, name)), &truths[i]);
  }
  jp_chain_destroy(chain);
  return status == JP_CLIENT_OK || status == JP_CLIENT_REMOTE;
}

size_t evaluator_number_result(struct evaluator *ev, struct value *value)
{
  char name[24];
  text_format(name, sizeof name, "$%zu", ++ev->results);
  return define(ev->globals, text_of(name), value) ? ev->results : 0;
}

size_t evaluator_round_trips(const struct evaluator *ev)
{
  return ev->round_trips;
}

/*
 * Chains: steps that are sent together, as one batch. One thread at a time.
 *
 * A step is written to text when it is added, because its arguments are borrowed. The ids of its request and
 * of the results that it uses are known only when the chain is sent, so their places in the text are recorded
 * as holes.
 */
#include "base/array.h"
#include "base/hash_index.h"
#include "base/number_format.h"
#include "client/client_state.h"

#include <stdlib.h>
#include <string.h>

/* Where the id of a request is inserted into a step's text. */
struct chain_hole {
  size_t at;        /* in chain->text */
  struct text name; /* the name of the step whose id is inserted, in the arena; absent: the id of the step
                     * itself */
};

struct chain_step {
  struct text name;  /* in the arena; absent: the step has no name */
  bool has_result;   /* the answer contains the step's result; otherwise the object of the result ends with
                      * the batch */
  const char *type;  /* the class of its object, in the arena; NULL: unknown */
  struct text what;  /* "java.util.ArrayList.add", for error texts; in the arena */
  size_t first_hole; /* index in chain->holes */
  size_t start;      /* offset in chain->text */
  bool has_options;  /* the text ends with the options */
  enum answer_form form;
};

struct chain_answer {
  struct text name;
  struct jp_answer *answer; /* owned */
};

struct jp_chain {
  struct jp_client *client;
  struct arena arena; /* names and classes; reset when the chain is sent */
  struct buffer text; /* the steps, one after the other */
  struct chain_step *steps;
  size_t step_count;
  size_t step_capacity;
  struct chain_hole *holes;
  size_t hole_count;
  size_t hole_capacity;

  struct message_refs refs;       /* of the steps, all of the same epoch */
  struct callback_list callbacks; /* the callbacks in the steps */
  bool is_nested;                 /* the options of a step name a call of Java */

  /* The target of the next steps. */
  struct jp_argument target;
  const char *target_type; /* in the arena; NULL: the target's own class */

  /* The first fault of a step; JP_CLIENT_OK: no fault. */
  struct jp_client_error fault;

  /* The answers of the last send; their names are in answer_arena. */
  struct chain_answer *answers;
  size_t answer_count;
  struct arena answer_arena;
  const struct jp_answer *failure; /* the error that the last send failed with; NULL: none */
  /* equal to `failure` if that is the answer of a step without a name; otherwise NULL */
  struct jp_answer *failure_owned;
};

struct jp_chain *jp_chain_create(struct jp_client *client)
{
  struct jp_chain *chain = calloc(1, sizeof *chain);
  if (chain == NULL)
    return NULL;
  chain->client = client;
  arena_init(&chain->arena);
  arena_init(&chain->answer_arena);
  buffer_init(&chain->text);
  return chain;
}

static void clear_steps(struct jp_chain *chain)
{
  arena_reset(&chain->arena);
  buffer_clear(&chain->text);
  callback_list_drop(&chain->callbacks);
  chain->refs.are_named = false;
  chain->is_nested = false;
  chain->step_count = 0;
  chain->hole_count = 0;
  chain->target = (struct jp_argument){0};
  chain->target_type = NULL;
  chain->fault.status = JP_CLIENT_OK;
}

static void clear_answers(struct jp_chain *chain)
{
  for (size_t i = 0; i < chain->answer_count; i++)
    jp_answer_free(chain->answers[i].answer);
  jp_answer_free(chain->failure_owned);
  chain->failure = NULL;
  chain->failure_owned = NULL;
  free(chain->answers);
  chain->answers = NULL;
  chain->answer_count = 0;
  arena_reset(&chain->answer_arena);
}

void jp_chain_destroy(struct jp_chain *chain)
{
  if (chain == NULL)
    return;
  clear_answers(chain);
  callback_list_drop(&chain->callbacks);
  arena_fini(&chain->answer_arena);
  arena_fini(&chain->arena);
  buffer_fini(&chain->text);
  free(chain->steps);
  free(chain->holes);
  free(chain);
}

/* ---- faults; the chain is NULL if there was no memory for it ---- */

static bool is_valid(const struct jp_chain *chain)
{
  return chain != NULL && chain->fault.status == JP_CLIENT_OK;
}

static void fail_memory(struct jp_chain *chain)
{
  if (is_valid(chain))
    client_fail(&chain->fault, JP_CLIENT_NO_MEMORY, "no memory for a chain");
}

/* A NUL-terminated copy; absent if the text is NULL. */
static struct text keep_string(struct jp_chain *chain, const char *text)
{
  if (text == NULL)
    return TEXT_ABSENT;
  struct text kept = arena_printf(&chain->arena, "%s", text);
  if (kept.data == NULL)
    fail_memory(chain);
  return kept;
}

/* ---- epochs ---- */

static enum jp_client_status check_epoch(const struct jp_chain *chain, struct jp_client_error *error)
{
  const uint64_t epoch = ref_table_epoch(&chain->client->refs);
  if (!chain->refs.are_named || chain->refs.epoch == epoch ||
      (epoch == EPOCH_UNKNOWN && chain->refs.may_adopt))
    return JP_CLIENT_OK;
  return client_fail(error, JP_CLIENT_STALE,
                     "the chain names objects of a peer that has ended, or of another session");
}

/* Called before a step is written: the step may name objects. */
static void enter_epoch(struct jp_chain *chain)
{
  if (check_epoch(chain, &chain->fault) == JP_CLIENT_OK && !chain->refs.are_named)
    chain->refs = client_message_refs(chain->client);
}

/* ---- steps ---- */

static void add_hole(struct jp_chain *chain, size_t at, struct text name)
{
  struct chain_hole *holes =
      array_grow(chain->holes, chain->hole_count, &chain->hole_capacity, sizeof *holes);
  if (holes == NULL) {
    fail_memory(chain);
    return;
  }
  chain->holes = holes;
  holes[chain->hole_count++] = (struct chain_hole){.at = at, .name = name};
}

/* Passed to the writer, to resolve the names of results. */
struct chain_names {
  struct message_names names;
  struct jp_chain *chain;
};

/* The id is not known yet: records a hole where the writer would write the id. */
static struct text note_name(const struct message_names *names, struct text name)
{
  struct jp_chain *chain = ((const struct chain_names *)names)->chain;
  struct text kept = arena_text(&chain->arena, name);
  if (kept.data == NULL)
    fail_memory(chain);
  add_hole(chain, chain->text.len + MESSAGE_BEFORE_RESULT_ID, kept);
  return TEXT("");
}

/* Passed to the writer, to hold the callbacks in the steps. */
struct chain_callbacks {
  struct message_callbacks callbacks;
  struct jp_chain *chain;
};

static enum jp_client_status keep_callback(struct message_callbacks *callbacks,
                                           const struct jp_callback *callback, struct message_callback *form,
                                           struct jp_client_error *error)
{
  struct jp_chain *chain = ((struct chain_callbacks *)callbacks)->chain;
  return callback_list_keep(&chain->callbacks, chain->client, callback, form, error);
}

static struct text describe_request(struct jp_chain *chain, const struct jp_request *request)
{
  const char *type = request->type == NULL ? "" : request->type;
  const char *member = request->operation == JP_NEW ? "new" : request->member == NULL ? "" : request->member;
  return arena_printf(&chain->arena, "%.*s%s%.*s", TEXT_ARGS(text_cut(text_of(type), 100)),
                      type[0] != '\0' ? "." : "", TEXT_ARGS(text_cut(text_of(member), 100)));
}

static void fail_step(struct jp_chain *chain, struct text what, const struct jp_client_error *error)
{
  if (!is_valid(chain))
    return;
  chain->fault = *error;
  client_error_prefix(&chain->fault, "step %zu (%.*s): ", chain->step_count + 1, TEXT_ARGS(what));
}

/* NULL: no memory. */
static struct chain_step *keep_step(struct jp_chain *chain, const struct chain_step *step)
{
  struct chain_step *steps =
      array_grow(chain->steps, chain->step_count, &chain->step_capacity, sizeof *steps);
  if (steps == NULL) {
    fail_memory(chain);
    return NULL;
  }
  chain->steps = steps;
  steps[chain->step_count] = *step;
  return &steps[chain->step_count++];
}

/* NULL: the step was not added. */
static struct chain_step *write_step(struct jp_chain *chain, const char *name,
                                     const struct jp_request *request)
{
  struct chain_names names = {.names = {note_name}, .chain = chain};
  struct chain_callbacks callbacks = {.callbacks = {keep_callback}, .chain = chain};
  struct message_refs refs = chain->refs;
  const struct message_json how = {.id = TEXT(""),
                                   .peer_id = client_name_in_messages(chain->client),
                                   .is_dropped = name == NULL,
                                   .names = &names.names,
                                   .callbacks = &callbacks.callbacks,
                                   .refs = &refs,
                                   .has_epoch = client_name_in_messages(chain->client).data != NULL &&
                                                refs.epoch != EPOCH_UNKNOWN};
  struct chain_step step = {.name = keep_string(chain, name),
                            .has_result = name != NULL,
                            .what = describe_request(chain, request),
                            .first_hole = chain->hole_count,
                            .start = chain->text.len,
                            .has_options = message_has_options(request, &how),
                            .form = name == NULL ? ANSWER_ENVELOPE : answer_form_of(request)};
  struct jp_client_error error;
  add_hole(chain, chain->text.len + MESSAGE_BEFORE_ID, TEXT_ABSENT);
  if (message_write_json(request, &how, &chain->text, &error) != JP_CLIENT_OK)
    fail_step(chain, step.what, &error);
  if (!is_valid(chain))
    return NULL;
  chain->refs = refs;
  chain->is_nested |= request->options != NULL && request->options->within != NULL;
  return keep_step(chain, &step);
}

/* NULL: the step was not added. */
static struct chain_step *add_step(struct jp_chain *chain, const char *name, const struct jp_request *request)
{
  if (is_valid(chain))
    enter_epoch(chain);
  if (!is_valid(chain))
    return NULL;
  return write_step(chain, name, request);
}

void jp_chain_request(struct jp_chain *chain, const char *name, const struct jp_request *request)
{
  (void)add_step(chain, name, request);
}

/* ---- targets of steps ---- */

static bool has_target(struct jp_chain *chain, const char *member)
{
  if (!is_valid(chain))
    return false;
  if (chain->target.kind != JP_ARGUMENT_NONE)
    return true;
  client_fail(&chain->fault, JP_CLIENT_INVALID,
              "step %zu (%s): there is no object; jp_chain_create_object and jp_chain_with name one",
              chain->step_count + 1, member == NULL ? "" : member);
  return false;
}

static void set_target(struct jp_chain *chain, struct jp_argument target, const char *type)
{
  chain->target = target;
  chain->target_type = keep_string(chain, type).data;
}

/* A name for a step without a name whose object later steps use. It begins with a NUL, so it differs from all
 * names of the program; it contains the chain's address, so it differs from the names of other chains. */
static struct text make_hidden_name(struct jp_chain *chain)
{
  struct text name = arena_printf(&chain->arena, "%c%p/%zu", '\0', (const void *)chain, chain->step_count);
  if (name.data == NULL)
    fail_memory(chain);
  return name;
}

static struct jp_argument named_argument(struct text name)
{
  return (struct jp_argument){.kind = JP_ARGUMENT_NAMED, .as = {.text = {name.data, name.len}}};
}

void jp_chain_create_object(struct jp_chain *chain, const char *name, const char *type,
                            const struct jp_argument *args, size_t arg_count)
{
  struct jp_request request = jp_build_constructor_call(type, args, arg_count);
  struct chain_step *step = add_step(chain, name, &request);
  if (step == NULL)
    return;
  if (name == NULL)
    step->name = make_hidden_name(chain);
  set_target(chain, named_argument(step->name), type);
  step->type = chain->target_type;
}

/* The last step with that name; NULL: none. */
static struct chain_step *find_step(const struct jp_chain *chain, const char *name)
{
  for (size_t i = chain->step_count; i > 0; i--) {
    struct chain_step *step = &chain->steps[i - 1];
    if (step->name.data != NULL && text_equal(step->name, text_of(name)))
      return step;
  }
  return NULL;
}

void jp_chain_with(struct jp_chain *chain, const char *name, const char *type)
{
  if (!is_valid(chain))
    return;
  if (name == NULL) {
    client_fail(&chain->fault, JP_CLIENT_INVALID, "jp_chain_with: the name is missing");
    return;
  }
  struct chain_step *step = find_step(chain, name);
  const char *known = type != NULL || step == NULL ? type : step->type;
  set_target(chain, named_argument(keep_string(chain, name)), known);
  if (step != NULL)
    step->type = chain->target_type;
}

void jp_chain_with_object(struct jp_chain *chain, const struct jp_ref *ref, const char *type)
{
  if (!is_valid(chain))
    return;
  if (ref == NULL) {
    client_fail(&chain->fault, JP_CLIENT_INVALID, "jp_chain_with_object: the object is NULL");
    return;
  }
  enter_epoch(chain);
  if (is_valid(chain) && !message_name_ref(&chain->refs, ref))
    (void)message_fail_stale(ref, &chain->fault);
  const char *known = jp_ref_type(ref);
  bool may_be_named =
      *known != '\0' && strchr(known, '/') == NULL; /* the name of a hidden class is not a type */
  set_target(chain, jp_object_number(jp_ref_number(ref)), type != NULL || !may_be_named ? type : known);
}

void jp_chain_call(struct jp_chain *chain, const char *name, const char *method,
                   const struct jp_argument *args, size_t arg_count)
{
  if (!has_target(chain, method))
    return;
  struct jp_request request =
      jp_build_instance_method_call(chain->target_type, method, chain->target, args, arg_count);
  jp_chain_request(chain, name, &request);
}

void jp_chain_get(struct jp_chain *chain, const char *name, const char *field)
{
  if (!has_target(chain, field))
    return;
  struct jp_request request = jp_build_instance_field_get(chain->target_type, chain->target, field);
  jp_chain_request(chain, name, &request);
}

void jp_chain_put(struct jp_chain *chain, const char *field, struct jp_argument value)
{
  if (!has_target(chain, field))
    return;
  struct jp_request request = jp_build_instance_field_put(chain->target_type, chain->target, field, &value);
  jp_chain_request(chain, NULL, &request);
}

/* ---- static members ---- */

void jp_chain_call_static(struct jp_chain *chain, const char *name, const char *type, const char *method,
                          const struct jp_argument *args, size_t arg_count)
{
  struct jp_request request = jp_build_class_method_call(type, method, args, arg_count);
  jp_chain_request(chain, name, &request);
}

void jp_chain_get_static(struct jp_chain *chain, const char *name, const char *type, const char *field)
{
  struct jp_request request = jp_build_static_field_get(type, field);
  jp_chain_request(chain, name, &request);
}

void jp_chain_put_static(struct jp_chain *chain, const char *type, const char *field,
                         struct jp_argument value)
{
  struct jp_request request = jp_build_static_field_put(type, field, &value);
  jp_chain_request(chain, NULL, &request);
}

/* ---- steps of another chain ---- */

static struct text keep_text(struct jp_chain *chain, struct text t)
{
  struct text kept = t.data == NULL ? TEXT_ABSENT : arena_text(&chain->arena, t);
  if (t.data != NULL && kept.data == NULL)
    fail_memory(chain);
  return kept;
}

static size_t find_end(const struct jp_chain *chain, size_t step)
{
  return step + 1 < chain->step_count ? chain->steps[step + 1].start : chain->text.len;
}

static size_t find_last_hole(const struct jp_chain *chain, size_t step)
{
  return step + 1 < chain->step_count ? chain->steps[step + 1].first_hole : chain->hole_count;
}

static void append_step(struct jp_chain *chain, const struct jp_chain *steps, size_t index)
{
  const struct chain_step *from = &steps->steps[index];
  struct chain_step step = *from;
  step.name = keep_text(chain, from->name);
  step.what = keep_text(chain, from->what);
  step.type = keep_string(chain, from->type).data;
  step.start = chain->text.len;
  step.first_hole = chain->hole_count;
  for (size_t i = from->first_hole; i < find_last_hole(steps, index); i++)
    add_hole(chain, step.start + steps->holes[i].at - from->start, keep_text(chain, steps->holes[i].name));
  buffer_append_text(&chain->text,
                     text_slice(buffer_text(&steps->text), from->start, find_end(steps, index)));
  if (chain->text.failed)
    fail_memory(chain);
  if (is_valid(chain))
    (void)keep_step(chain, &step);
}

void jp_chain_append(struct jp_chain *chain, struct jp_chain *steps)
{
  struct message_callback form;
  if (steps == NULL) {
    if (is_valid(chain))
      fail_memory(chain);
    return;
  }
  if (is_valid(chain) && !is_valid(steps))
    chain->fault = steps->fault;
  if (is_valid(chain) && chain == steps)
    client_fail(&chain->fault, JP_CLIENT_INVALID, "jp_chain_append: a chain is appended to itself");
  if (is_valid(chain) && steps->refs.are_named) {
    const struct message_refs refs = chain->refs;
    chain->refs = steps->refs;
    if (refs.are_named && refs.epoch != steps->refs.epoch)
      client_fail(&chain->fault, JP_CLIENT_STALE,
                  "jp_chain_append: the chains name objects of two peers, one after the other");
  }
  for (size_t i = 0; is_valid(chain) && i < steps->step_count; i++)
    append_step(chain, steps, i);
  for (size_t i = 0; is_valid(chain) && i < steps->callbacks.count; i++)
    (void)!callback_list_keep(&chain->callbacks, chain->client, steps->callbacks.items[i], &form,
                              &chain->fault);
  if (is_valid(chain))
    chain->is_nested |= steps->is_nested;
  if (chain != steps)
    clear_steps(steps);
}

/* ---- names of steps ---- */

/* The step with the name in `names`; HASH_INDEX_NONE: no step has the name. */
static uint32_t find_named(const struct jp_chain *chain, const struct hash_index *names, struct text name)
{
  uint32_t step;
  size_t cursor = SIZE_MAX;
  do
    step = hash_index_next(names, (uint32_t)text_hash(name), &cursor);
  while (step != HASH_INDEX_NONE && !text_equal(chain->steps[step].name, name));
  return step;
}

/* ---- the batch ---- */

/* A chain that is being sent, as one message with the requests of its steps. */
struct sending {
  struct exchange exchange; /* first: the exchange is cast back to this struct */
  struct jp_chain *chain;
  const struct hash_index *names;
  enum answer_form *forms;
  struct jp_answer **answers;
};

/* Writes a step and inserts the ids at its holes. */
static void write_with_ids(const struct sending *sending, size_t step, uint64_t first_id, struct buffer *out)
{
  const struct jp_chain *chain = sending->chain;
  char digits[NUMBER_TEXT_MAX];
  struct text text = buffer_text(&chain->text);
  size_t at = chain->steps[step].start;
  bool is_last = step + 1 == chain->step_count;
  size_t end = is_last ? text.len : chain->steps[step + 1].start;
  size_t last_hole = is_last ? chain->hole_count : chain->steps[step + 1].first_hole;
  for (size_t i = chain->steps[step].first_hole; i < last_hole; i++) {
    const struct chain_hole *hole = &chain->holes[i];
    size_t meant = hole->name.data == NULL
                       ? step
                       : find_named(chain, sending->names, hole->name); /* check_holes has found it before */
    buffer_append_text(out, text_slice(text, at, hole->at));
    buffer_append(out, digits, number_format_integer((int64_t)(first_id + meant), digits));
    at = hole->at;
  }
  buffer_append_text(out, text_slice(text, at, end));
}

static enum jp_client_status add_callbacks(const struct jp_chain *chain, struct jp_client_error *error)
{
  (void)callbacks_begin_message(
      chain->client); /* callback_list_keep has checked that the callbacks belong to the group */
  for (size_t i = 0; i < chain->callbacks.count; i++) {
    if (!callbacks_give(chain->client, chain->callbacks.items[i]))
      return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a callback");
  }
  return JP_CLIENT_OK;
}

static enum jp_client_status write_batch(struct exchange *exchange, uint64_t first_id, struct buffer *out,
                                         struct jp_client_error *error)
{
  const struct sending *sending = (const struct sending *)exchange;
  const struct jp_chain *chain = sending->chain;
  struct text within = chain->is_nested ? TEXT_ABSENT : callback_within(chain->client);
  enum jp_client_status status = check_epoch(chain, error);
  if (status != JP_CLIENT_OK)
    return status;
  chain->client->named = chain->refs;
  for (size_t i = 0; i < chain->step_count; i++) {
    buffer_append_char(out, i == 0 ? '[' : ',');
    write_with_ids(sending, i, first_id, out);
    if (i == 0 && within.data != NULL) /* the first request's option holds for the whole batch */
      message_add_within(out, chain->steps[0].has_options, within);
  }
  buffer_append_char(out, ']');
  return add_callbacks(chain, error);
}

/* ---- checks ---- */

/* `names` has the names of the earlier steps. */
static enum jp_client_status check_holes(const struct jp_chain *chain, const struct hash_index *names,
                                         size_t step, struct jp_client_error *error)
{
  bool is_last = step + 1 == chain->step_count;
  size_t last_hole = is_last ? chain->hole_count : chain->steps[step + 1].first_hole;
  for (size_t i = chain->steps[step].first_hole; i < last_hole; i++) {
    struct text name = chain->holes[i].name;
    if (name.data != NULL && find_named(chain, names, name) == HASH_INDEX_NONE)
      return client_fail(error, JP_CLIENT_INVALID, "step %zu (%.*s): no earlier step is named \"%.*s\"",
                         step + 1, TEXT_ARGS(chain->steps[step].what), TEXT_ARGS(name));
  }
  return JP_CLIENT_OK;
}

static enum jp_client_status add_name(const struct jp_chain *chain, struct hash_index *names, size_t step,
                                      struct jp_client_error *error)
{
  struct text name = chain->steps[step].name;
  if (name.data == NULL)
    return JP_CLIENT_OK;
  if (find_named(chain, names, name) != HASH_INDEX_NONE)
    return client_fail(error, JP_CLIENT_INVALID, "step %zu (%.*s): an earlier step is named \"%.*s\", too",
                       step + 1, TEXT_ARGS(chain->steps[step].what), TEXT_ARGS(name));
  return hash_index_add(names, (uint32_t)text_hash(name), (uint32_t)step) == JP_OK
             ? JP_CLIENT_OK
             : client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a chain");
}

/* Also fills `names`. */
static enum jp_client_status check_chain(struct jp_chain *chain, struct hash_index *names,
                                         struct jp_client_error *error)
{
  enum jp_client_status status = chain->fault.status;
  if (status != JP_CLIENT_OK) {
    if (error != NULL)
      *error = chain->fault;
    return status;
  }
  if (chain->client->options.binary)
    return client_fail(error, JP_CLIENT_UNSUPPORTED, "binary messages have no batches, and so no chains");
  for (size_t i = 0; status == JP_CLIENT_OK && i < chain->step_count; i++) {
    status = check_holes(chain, names, i, error);
    if (status == JP_CLIENT_OK)
      status = add_name(chain, names, i, error);
  }
  return status;
}

/* ---- answers ---- */

/* Keeps the answer of a step with a result. False: no memory. */
static bool keep_answer(struct jp_chain *chain, const struct chain_step *step, struct jp_answer *answer)
{
  struct text name = arena_text(&chain->answer_arena, step->name);
  if (name.data == NULL)
    return false;
  chain->answers[chain->answer_count++] = (struct chain_answer){.name = name, .answer = answer};
  return true;
}

static enum jp_client_status report_step(const struct jp_chain *chain, size_t step, struct jp_answer *answer,
                                         struct jp_client_error *error)
{
  const struct text name = chain->steps[step].name;
  bool is_named = chain->steps[step].has_result;
  client_name_lack(chain->client, answer);
  enum jp_client_status status = client_report_remote(answer, error);
  client_error_prefix(error, "step %zu (%.*s%s%.*s): ", step + 1, TEXT_ARGS(chain->steps[step].what),
                      is_named ? ", " : "", is_named ? (int)name.len : 0, is_named ? name.data : "");
  return status;
}

/* JSON-RPC 2.0, 5.1: if the peer refuses a batch, for example one with too many steps, all answers are the
 * same error. */
static bool is_refused(const struct jp_chain *chain, struct jp_answer *const *answers)
{
  for (size_t i = 0; i < chain->step_count; i++) {
    if (jp_answer_kind(answers[i]) != JP_ANSWER_ERROR ||
        jp_answer_error_code(answers[i]) != JP_JSONRPC_INVALID_REQUEST)
      return false;
  }
  return chain->step_count > 1;
}

/* Keeps the answers of steps with a result, and frees the others. The chain fails with the first error: later
 * errors are its consequences. */
static enum jp_client_status keep_answers(struct jp_chain *chain, struct jp_answer **answers,
                                          struct jp_client_error *error)
{
  enum jp_client_status status = JP_CLIENT_OK;
  if (is_refused(chain, answers)) {
    status = client_report_remote(answers[0], error);
    chain->failure = answers[0];
  }
  chain->answers = calloc(chain->step_count, sizeof *chain->answers);
  bool has_memory = chain->answers != NULL;
  for (size_t i = 0; i < chain->step_count; i++) {
    struct jp_answer *answer = answers[i];
    if (status == JP_CLIENT_OK && jp_answer_kind(answer) == JP_ANSWER_ERROR) {
      status = report_step(chain, i, answer, error);
      chain->failure = answer;
    }
    if (has_memory && chain->steps[i].has_result && keep_answer(chain, &chain->steps[i], answer))
      continue;
    if (answer == chain->failure)
      chain->failure_owned = answer;
    else
      jp_answer_free(answer);
  }
  return has_memory ? status : client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a chain's answers");
}

/* ---- sending ---- */

static enum jp_client_status send_steps(struct sending *sending, int timeout_ms,
                                        struct jp_client_error *error)
{
  struct jp_chain *chain = sending->chain;
  for (size_t i = 0; i < chain->step_count; i++)
    sending->forms[i] = chain->steps[i].form;
  sending->exchange = (struct exchange){.write = write_batch,
                                        .client = chain->client,
                                        .forms = sending->forms,
                                        .count = chain->step_count,
                                        .answers = sending->answers};
  enum jp_client_status status = client_exchange(&sending->exchange, timeout_ms, error);
  if (status == JP_CLIENT_OK || status == JP_CLIENT_REMOTE)
    return keep_answers(chain, sending->answers, error);
  for (size_t i = 0; i < chain->step_count; i++)
    jp_answer_free(sending->answers[i]);
  return status;
}

enum jp_client_status jp_chain_send(struct jp_chain *chain, int timeout_ms, struct jp_client_error *error)
{
  if (chain == NULL)
    return client_fail(error, JP_CLIENT_NO_MEMORY, "the chain is NULL: there was no memory for it");
  clear_answers(chain);
  struct hash_index names = {0}; /* the steps by name */
  enum jp_client_status status = check_chain(chain, &names, error);
  if (status == JP_CLIENT_OK && chain->step_count > 0) {
    struct sending sending = {.chain = chain,
                              .names = &names,
                              .forms = calloc(chain->step_count, sizeof *sending.forms),
                              .answers = calloc(chain->step_count, sizeof(struct jp_answer *))};
    status = sending.forms == NULL || sending.answers == NULL
                 ? client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a chain")
                 : send_steps(&sending, timeout_ms, error);
    free(sending.forms);
    free(sending.answers);
  }
  hash_index_fini(&names);
  clear_steps(chain);
  return status;
}

struct jp_answer *jp_chain_answer(const struct jp_chain *chain, const char *name)
{
  for (size_t i = 0; chain != NULL && name != NULL && i < chain->answer_count; i++) {
    if (text_equal(chain->answers[i].name, text_of(name)))
      return chain->answers[i].answer;
  }
  return NULL;
}

const struct jp_answer *jp_chain_failure(const struct jp_chain *chain)
{
  return chain == NULL ? NULL : chain->failure;
}

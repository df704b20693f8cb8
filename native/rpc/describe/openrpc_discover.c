#include "classfile/catalog.h"
#include "rpc/describe/java_schema.h"
#include "rpc/describe/openrpc_state.h"
#include "rpc/meta/document_cache.h"
#include "rpc/meta/meta_reach.h"
#include "rpc/methods/procedures.h"

/* Each class is compared with each pattern, and a star before a pattern's end makes that dearer. */
enum { PATTERNS_MAX = 1000, STARRED_MAX = 100, PATTERN_LENGTH_MAX = 1024 };

/* The arguments of rpc.discover. */
struct question {
  struct arena *arena;
  struct outcome *outcome;
  struct text *patterns; /* NULL: the peer's own procedures */
  size_t count;
  bool compat_pal; /* no names but those that members are called by */
  enum openrpc_names names;
};

static enum jp_status fail_params(struct question *question, const char *what)
{
  outcome_fail(question->outcome, question->arena, FAILURE_INVALID_PARAMS, NULL, "%s", what);
  return JP_INVALID;
}

static enum jp_status fail_memory(struct question *question)
{
  outcome_fail(question->outcome, question->arena, FAILURE_INTERNAL, NULL, "out of memory");
  return JP_NO_MEMORY;
}

static bool has_inner_star(struct text pattern)
{
  while (pattern.len > 0 && pattern.data[pattern.len - 1] == '*')
    pattern.len--;
  return pattern.len > 0 && memchr(pattern.data, '*', pattern.len) != NULL;
}

static enum jp_status read_pattern(struct question *question, struct json_value element, size_t *starred)
{
  if (element.kind != JSON_KIND_STRING)
    return fail_params(question, "'classes' must be an array of patterns: strings");
  struct text pattern = json_read_string(element, question->arena);
  if (pattern.data == NULL)
    return fail_memory(question);
  if (pattern.len == 0)
    return fail_params(question, "'classes' has an empty pattern");
  if (pattern.len > PATTERN_LENGTH_MAX)
    return fail_params(question, "'classes' has a pattern longer than the limit of 1024 bytes");
  *starred += has_inner_star(pattern);
  if (*starred > STARRED_MAX)
    return fail_params(question,
                       "'classes' has more patterns with a * before their end than the limit of 100");
  question->patterns[question->count++] = pattern;
  return JP_OK;
}

static enum jp_status read_classes(struct question *question, struct json_value classes)
{
  struct json_cursor cursor;
  struct json_value element;
  if (classes.kind != JSON_KIND_ARRAY)
    return fail_params(question, "'classes' must be an array of patterns");
  size_t count = json_count(classes);
  if (count > PATTERNS_MAX)
    return fail_params(question, "'classes' has more patterns than the limit of 1000");
  question->patterns = arena_alloc(question->arena, count * sizeof *question->patterns);
  if (question->patterns == NULL)
    return fail_memory(question);
  cursor = json_enter(classes);
  size_t starred = 0;
  enum jp_status status = JP_OK;
  while (status == JP_OK && json_next_element(&cursor, &element))
    status = read_pattern(question, element, &starred);
  return status;
}

static enum jp_status read_names(struct question *question, struct json_value names)
{
  if (names.kind != JSON_KIND_STRING ||
      !json_key_is(text_slice(names.span, 1, names.span.len - 1), TEXT("identifiers")))
    return fail_params(question, "'names' can only be \"identifiers\"");
  question->names = OPENRPC_IDENTIFIERS;
  return JP_OK;
}

static enum jp_status collect_params(struct question *question, const struct jsonrpc_request *request,
                                     struct json_members *members)
{
  const struct rpc_procedure *procedure = rpc_procedure_find(request->method);
  if (request->version == JSONRPC_1_1)
    return rpc_params_coerce(procedure, request->params, question->arena, members, question->outcome);
  if (request->params.kind == JSON_KIND_OBJECT) {
    json_members_collect(request->params, rpc_param_names, RPC_PARAMS, members);
    if (members->repeated < 0)
      return JP_OK;
    outcome_fail(question->outcome, question->arena, FAILURE_INVALID_PARAMS, NULL,
                 "'%s' is given twice in params", rpc_param_names[members->repeated].data);
    return JP_INVALID;
  }
  struct json_cursor cursor = json_enter(request->params);
  struct json_value element;
  *members = (struct json_members){.repeated = -1};
  if (json_count(request->params) > procedure->param_count)
    return fail_params(question, "the params are 'classes', 'openrpc' and 'names'");
  for (size_t i = 0; json_next_element(&cursor, &element); i++) {
    members->has[procedure->params[i].param] = true;
    members->value[procedure->params[i].param] = element;
  }
  return JP_OK;
}

static enum jp_status read_question(struct question *question, const struct jsonrpc_request *request)
{
  struct json_members members = {0};
  if (!request->has_params)
    return JP_OK;
  enum jp_status status = collect_params(question, request, &members);
  if (status != JP_OK)
    return status;
  if (members.has[RPC_PARAM_OPENRPC] && members.value[RPC_PARAM_OPENRPC].kind != JSON_KIND_TRUE)
    return fail_params(question, "'openrpc' can only be true: it is the one form that there is");
  if (members.has[RPC_PARAM_NAMES] && !question->compat_pal)
    status = read_names(question, members.value[RPC_PARAM_NAMES]);
  if (status != JP_OK)
    return status;
  bool has_classes = members.has[RPC_PARAM_CLASSES];
  return has_classes ? read_classes(question, members.value[RPC_PARAM_CLASSES]) : JP_OK;
}

/* ---- the application ---- */

/* Names all that a document depends on; the catalog never changes. */
static void make_key(const struct question *question, const struct openrpc_view *view,
                     const struct meta_reach *reach, struct buffer *key)
{
  const uint64_t facts[] = {policy_generation(view->policy), view->channel, question->names, reach->stamp};
  buffer_append(key, facts, sizeof facts);
  for (size_t i = 0; i < question->count; i++) {
    buffer_append(key, &question->patterns[i].len, sizeof question->patterns[i].len);
    buffer_append_text(key, question->patterns[i]);
  }
}

static bool append_kept(const struct openrpc *openrpc, struct text key, size_t max, struct buffer *out)
{
  struct kept_document *cached = document_cache_find(openrpc->cache, key);
  if (cached == NULL)
    return false;
  struct text document = kept_document_text(cached);
  bool is_short_enough = document.len <= max;
  if (is_short_enough)
    buffer_append_text(out, document);
  kept_document_drop(cached);
  return is_short_enough;
}

static enum jp_status describe_reached(struct openrpc *openrpc, struct question *question,
                                       const struct openrpc_view *view, const struct catalog_tables *tables,
                                       const struct meta_reach *reach, size_t max, struct buffer *out)
{
  struct buffer key;
  struct jp_error error = {0};
  enum jp_status status = JP_OK;
  const struct openrpc_scope scope = {question->patterns, question->count, question->names, tables, reach};
  size_t start = out->len;
  buffer_init(&key);
  make_key(question, view, reach, &key);
  if (key.failed || !append_kept(openrpc, buffer_text(&key), max, out)) {
    status = openrpc_java_write(openrpc, &scope, view, max, out, &error);
    struct text document = text_slice(buffer_text(out), start, out->len);
    if (status == JP_OK && !key.failed && document.len <= DOCUMENT_CACHE_BYTES_MAX)
      document_cache_store(openrpc->cache, buffer_text(&key), document);
  }
  buffer_fini(&key);
  if (status == JP_OK)
    return JP_OK;
  if (!out->failed)
    buffer_truncate(out, start);
  outcome_fail(question->outcome, question->arena, FAILURE_SERVER, NULL, "%s", error.text);
  return status;
}

/* The names that patterns cover, as long as they are few. */
struct covered {
  const struct question *question;
  struct text *names;
  size_t count;
  bool failed; /* they are many, or memory is short */
};

enum { COVERED_MAX = 256 };

/* catalog_visitor */
static void note_covered(void *context, struct text name)
{
  struct covered *covered = context;
  const struct question *question = covered->question;
  bool matches = false;
  for (size_t i = 0; !matches && !covered->failed && i < question->count; i++)
    matches = java_class_matches(question->patterns[i], name);
  if (!matches)
    return;
  covered->failed = covered->count == COVERED_MAX;
  if (!covered->failed) {
    covered->names[covered->count] = arena_text(question->arena, name);
    covered->failed = covered->names[covered->count++].data == NULL;
  }
}

/* Opens the classes that the document needs, which are all where the patterns cover many. */
static enum jp_status open_classes(struct catalog *catalog, const struct question *question,
                                   struct catalog_excerpt **excerpt, struct jp_error *error)
{
  bool has_stars = false;
  struct covered covered = {question, question->patterns, question->count, false};
  for (size_t i = 0; i < question->count && !has_stars; i++)
    has_stars = memchr(question->patterns[i].data, '*', question->patterns[i].len) != NULL;
  if (has_stars) {
    covered.names = arena_alloc(question->arena, COVERED_MAX * sizeof *covered.names);
    covered.count = 0;
    covered.failed = covered.names == NULL;
    enum jp_status status = catalog_each_name(catalog, note_covered, &covered, error);
    if (status != JP_OK)
      return status;
  }
  return covered.failed
             ? catalog_excerpt_open_whole(catalog, excerpt, error)
             : catalog_excerpt_open(catalog, covered.names, covered.count, CATALOG_TYPES, excerpt, error);
}

static enum jp_status describe_java(struct openrpc *openrpc, struct question *question,
                                    const struct openrpc_view *view, size_t max, struct buffer *out)
{
  struct catalog_excerpt *excerpt;
  struct meta_reach reach;
  struct jp_error error;
  if (openrpc->config.catalog == NULL) {
    outcome_fail(question->outcome, question->arena, FAILURE_SERVER, NULL, "this peer serves no metadata");
    return JP_NOT_FOUND;
  }
  enum jp_status status = open_classes(openrpc->config.catalog, question, &excerpt, &error);
  if (status != JP_OK) {
    outcome_fail(question->outcome, question->arena, FAILURE_SERVER, NULL, "%s", error.text);
    return status;
  }
  const struct catalog_tables *tables = catalog_excerpt_tables(excerpt);
  if (meta_reach_find(&reach, tables, view->loaders) != JP_OK) {
    catalog_excerpt_close(excerpt);
    return fail_memory(question);
  }
  status = describe_reached(openrpc, question, view, tables, &reach, max, out);
  meta_reach_fini(&reach);
  catalog_excerpt_close(excerpt);
  return status;
}

enum jp_status openrpc_discover(struct openrpc *openrpc, const struct jsonrpc_request *request,
                                const struct openrpc_view *view, size_t max, struct arena *arena,
                                struct buffer *out, struct outcome *outcome)
{
  struct question question = {.arena = arena, .outcome = outcome, .compat_pal = openrpc->config.compat_pal};
  enum jp_status status = read_question(&question, request);
  if (status != JP_OK)
    return status;
  if (question.patterns != NULL)
    return describe_java(openrpc, &question, view, max, out);
  buffer_append_text(out, buffer_text(&openrpc->own[question.names]));
  return JP_OK;
}

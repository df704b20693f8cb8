#include "rpc/meta/meta.h"

#include "base/base64.h"
#include "base/log.h"
#include "classfile/catalog.h"
#include "tests/unit/cases.h"
#include "tests/unit/classfile/jars.h"
#include "tests/unit/temporary_file.h"

#include <jansson.h>
#include <zlib.h>

/* The arguments of a query, and the answer as a tree. */
struct query {
  const char *rules; /* a policy file's text; NULL: everything is allowed */
  bool merge_ancestry;
  const char *includes[4];
  const char *excludes[4];
};

static struct catalog *catalog;
static struct rpc_meta *meta;

static int open_meta(void **state)
{
  (void)state;
  struct jp_error error;
  const struct catalog_config config = {.class_path = TEST_CLASSES};
  log_set_level(LOG_LEVEL_ERROR);
  if (catalog_create(&config, &catalog, &error) == JP_OK && rpc_meta_create(catalog, &meta, &error) == JP_OK)
    return 0;
  print_error("%s\n", error.text);
  return 1;
}

static int close_meta(void **state)
{
  (void)state;
  rpc_meta_destroy(meta);
  catalog_destroy(catalog);
  return 0;
}

static struct policy *make_policy(const char *rules)
{
  struct policy *policy;
  struct jp_error error;
  struct policy_config config = {.default_action = POLICY_ALLOW};
  char path[] = TEMPORARY_FILE;
  if (rules != NULL) {
    temporary_file_write(path, rules, strlen(rules));
    config.file = path;
    config.default_action = POLICY_UNSET;
  }
  enum jp_status status = policy_create(&config, &policy, &error);
  if (rules != NULL)
    unlink(path);
  if (status != JP_OK)
    fail_msg("%s", error.text);
  return policy;
}

static size_t make_texts(const char *const *strings, struct text *texts)
{
  size_t count = 0;
  for (; count < 4 && strings[count] != NULL; count++)
    texts[count] = text_of(strings[count]);
  return count;
}

/* Reads an answer to its end in pieces of about at most `piece` bytes. */
static void read_body(struct outcome_body *body, size_t piece, struct buffer *out)
{
  enum jp_status status;
  do {
    size_t before = out->len;
    status = body->read(body->state, out, piece);
    assert_true(status == JP_OK ? out->len > before : out->len == before);
  } while (status == JP_OK);
  assert_int_equal(status, JP_CLOSED);
  body->close(body->state);
}

static void ask_query(const struct query *query, struct policy *policy, bool compress, size_t piece,
                      struct buffer *out)
{
  struct text includes[4];
  struct text excludes[4];
  struct outcome_body body;
  struct jp_error error;
  struct operation operation = {.kind = OP_META};
  operation.meta.compress_encode = compress;
  operation.meta.merge_ancestry = query->merge_ancestry;
  operation.meta.include_count = make_texts(query->includes, includes);
  operation.meta.include_classes = operation.meta.include_count == 0 ? NULL : includes;
  operation.meta.exclude_count = make_texts(query->excludes, excludes);
  operation.meta.exclude_prefixes = excludes;
  if (rpc_meta_open(meta, policy, POLICY_WEBSOCKET, NULL, &operation, &body, &error) != JP_OK)
    fail_msg("%s", error.text);
  memset(includes, 0xAA, sizeof includes); /* the operation is copied */
  memset(excludes, 0xAA, sizeof excludes);
  read_body(&body, piece, out);
}

static json_t *answer_of(const struct query *query)
{
  struct buffer out;
  json_error_t why;
  struct policy *policy = make_policy(query->rules);
  buffer_init(&out);
  ask_query(query, policy, false, 1024, &out);
  json_t *answer = json_loadb(out.data, out.len, JSON_REJECT_DUPLICATES, &why);
  if (answer == NULL)
    fail_msg("%s at %d: %.*s", why.text, why.position, TEXT_ARGS(buffer_text(&out)));
  buffer_fini(&out);
  policy_destroy(policy);
  return answer;
}

static const char *string_in(const json_t *object, const char *key)
{
  return json_string_value(json_object_get(object, key));
}

/* Members by their names, in the order of the answer; a + follows an overridden member, and a < precedes the
 * class from which an inherited member comes. */
static void describe_members(const json_t *class, const char *list, struct buffer *out)
{
  size_t index;
  const json_t *member;
  buffer_printf(out, "%s", list);
  json_array_foreach(json_object_get(class, list), index, member)
  {
    const char *from = string_in(member, "inheritedFrom");
    buffer_printf(out, " %s%s", string_in(member, "name"),
                  json_is_true(json_object_get(member, "overridden")) ? "+" : "");
    if (from != NULL)
      buffer_printf(out, "<%s", from);
  }
  BUFFER_LITERAL(out, "; ");
}

static void describe_class(const json_t *answer, const char *name, struct buffer *out)
{
  size_t index;
  const json_t *class;
  const json_t *heir;
  json_array_foreach(answer, index, class)
  {
    if (strcmp(string_in(class, "className"), name) != 0)
      continue;
    describe_members(class, "constructors", out);
    describe_members(class, "methods", out);
    describe_members(class, "fields", out);
    BUFFER_LITERAL(out, "subclasses");
    json_array_foreach(json_object_get(class, "subclasses"), index, heir)
        buffer_printf(out, " %s", json_string_value(heir));
    return;
  }
}

/* input: "merged" or "alone" and a class, then the lines of a policy, if any. */
static void check_class(const char *place, const char *input, const char *wanted)
{
  char how[8];
  char name[100];
  const char *rules = strchr(input, '\n');
  struct buffer described;
  buffer_init(&described);
  assert_int_equal(sscanf(input, "%7s %99s", how, name), 2);
  json_t *answer = answer_of(&(struct query){.merge_ancestry = strcmp(how, "merged") == 0,
                                             .rules = rules == NULL ? NULL : rules + 1});
  describe_class(answer, name, &described);
  unit_assert_text(buffer_text(&described), text_of(wanted), place, __LINE__);
  buffer_fini(&described);
  json_decref(answer);
}

UNIT_TEST(test_classes)
{
  unit_cases(CLASSES, check_class);
}

/* Anonymous, local and synthetic classes are not listed, and Marker is not listed because it has no usable
 * member. */
UNIT_TEST(test_default_scope)
{
  json_t *answer = answer_of(&(struct query){0});
  struct buffer names;
  size_t index;
  json_t *element;
  buffer_init(&names);
  json_array_foreach(answer, index, element) buffer_printf(&names, "%s ", string_in(element, "className"));
  assert_text(buffer_text(&names),
              "NoPackage meta.fixtures.Base meta.fixtures.Overloads meta.fixtures.Shapes "
              "meta.fixtures.Shapes$Callback meta.fixtures.Shapes$Colour meta.fixtures.Shapes$Inner "
              "meta.fixtures.Shapes$Nested meta.fixtures.Shapes$Nested$Deeper meta.fixtures.Shapes$Point "
              "meta.fixtures.Shapes$Secret meta.fixtures.Shapes$Wider ");
  buffer_fini(&names);
  json_decref(answer);
}

/* Decodes base64 and gzip. */
static void unpack_text(struct text encoded, struct buffer *out)
{
  size_t count;
  uint8_t *packed = test_malloc(base64_decoded_max(encoded) + 1);
  assert_int_equal(base64_decode(encoded, packed, &count), JP_OK);
  z_stream stream = {.next_in = packed, .avail_in = (uInt)count};
  assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
  int code = Z_OK;
  while (code == Z_OK) {
    char *room = buffer_reserve(out, 4096);
    stream.next_out = (Bytef *)room;
    stream.avail_out = 4096;
    code = inflate(&stream, Z_NO_FLUSH);
    out->len += 4096 - stream.avail_out;
  }
  assert_int_equal(code, Z_STREAM_END);
  assert_int_equal(stream.avail_in, 0);
  inflateEnd(&stream);
  test_free(packed);
}

UNIT_TEST(test_compressed_is_the_same)
{
  static const size_t pieces[] = {1, 1000, 1000000};
  struct policy *policy = make_policy(NULL);
  const struct query query = {.merge_ancestry = true};
  struct buffer plain;
  buffer_init(&plain);
  ask_query(&query, policy, false, 512, &plain);
  for (size_t i = 0; i < COUNT_OF(pieces); i++) {
    struct buffer encoded;
    struct buffer unpacked;
    buffer_init(&encoded);
    buffer_init(&unpacked);
    ask_query(&query, policy, true, pieces[i], &encoded); /* the second and third come from the cache */
    assert_true(encoded.len < plain.len);
    unpack_text(buffer_text(&encoded), &unpacked);
    unit_assert_text(buffer_text(&unpacked), buffer_text(&plain), __FILE__, __LINE__);
    buffer_fini(&encoded);
    buffer_fini(&unpacked);
  }
  buffer_fini(&plain);
  policy_destroy(policy);
}

/* Another policy, argument or list of names is another question. */
UNIT_TEST(test_cache_distinguishes_questions)
{
  static const struct query queries[] = {
      {0},
      {.merge_ancestry = true},
      {.includes = {"NoPackage"}},
      {.excludes = {"NoPackage"}},
      {.rules = "version: 1\ndefaultAction: DENY\n"},
  };
  struct buffer answers[COUNT_OF(queries)];
  struct policy *all = make_policy(NULL);
  for (size_t i = 0; i < COUNT_OF(queries); i++) {
    struct policy *policy = queries[i].rules == NULL ? all : make_policy(queries[i].rules);
    buffer_init(&answers[i]);
    ask_query(&queries[i], policy, true, 1000, &answers[i]);
    for (size_t k = 0; k < i; k++)
      assert_false(text_equal(buffer_text(&answers[i]), buffer_text(&answers[k])));
    if (policy != all)
      policy_destroy(policy);
  }
  for (size_t i = 0; i < COUNT_OF(queries); i++)
    buffer_fini(&answers[i]);
  policy_destroy(all);
}

UNIT_TEST(test_closed_before_its_end)
{
  struct policy *policy = make_policy(NULL);
  for (int compress = 0; compress < 2; compress++) {
    struct operation operation = {.kind = OP_META};
    struct outcome_body body;
    struct buffer out;
    buffer_init(&out);
    operation.meta.compress_encode = compress != 0;
    operation.meta.merge_ancestry = true;
    assert_int_equal(rpc_meta_open(meta, policy, POLICY_HTTP, NULL, &operation, &body, NULL), JP_OK);
    assert_int_equal(body.read(body.state, &out, 1), JP_OK);
    body.close(body.state);
    buffer_fini(&out);
  }
  policy_destroy(policy);
}

UNIT_TEST(test_failed_scan)
{
  struct catalog *broken;
  struct rpc_meta *asked;
  struct outcome_body body;
  struct jp_error error;
  struct policy *policy = make_policy(NULL);
  const struct catalog_config config = {.class_path = TEST_CLASSES, .java_home = "/nowhere"};
  const struct operation operation = {.kind = OP_META};
  assert_int_equal(catalog_create(&config, &broken, &error), JP_OK);
  assert_int_equal(rpc_meta_create(broken, &asked, &error), JP_OK);
  assert_int_equal(rpc_meta_open(asked, policy, POLICY_ZMQ, NULL, &operation, &body, &error), JP_NOT_FOUND);
  assert_non_null(strstr(error.text, "/nowhere/lib/libjimage.so"));
  rpc_meta_destroy(asked);
  catalog_destroy(broken);
  policy_destroy(policy);
}

/* A query must end even over class files that no compiler makes. */
UNIT_TEST(test_inheritance_in_a_circle)
{
  static const char *const heirs[][2] = {{"A", "B"}, {"B", "C"}, {"C", "A"}, {"D", "D"}, {"E", "A"}};
  char folder[64];
  struct catalog *circle;
  struct outcome_body body;
  struct buffer out;
  struct rpc_meta *kept = meta;
  files_open_scratch(folder);
  for (size_t i = 0; i < COUNT_OF(heirs); i++) {
    char name[16];
    struct buffer class = jars_make_heir(heirs[i][0], heirs[i][1], 61);
    snprintf(name, sizeof name, "%s.class", heirs[i][0]);
    files_write(folder, name, class.data, class.len);
    buffer_fini(&class);
  }
  assert_int_equal(catalog_create(&(struct catalog_config){.class_path = folder}, &circle, NULL), JP_OK);
  assert_int_equal(rpc_meta_create(circle, &meta, NULL), JP_OK);
  struct policy *policy = make_policy(NULL);
  struct operation operation = {.kind = OP_META};
  operation.meta.merge_ancestry = true;
  assert_int_equal(rpc_meta_open(meta, policy, POLICY_HTTP, NULL, &operation, &body, NULL), JP_OK);
  buffer_init(&out);
  read_body(&body, 1000, &out);
  json_t *answer = json_loadb(out.data, out.len, 0, NULL);
  assert_int_equal(json_array_size(answer), COUNT_OF(heirs));
  assert_int_equal(json_array_size(json_object_get(json_array_get(answer, 4), "fields")), 1); /* of E */
  json_decref(answer);
  buffer_fini(&out);
  policy_destroy(policy);
  rpc_meta_destroy(meta);
  catalog_destroy(circle);
  files_drop_scratch(folder);
  meta = kept;
}

UNIT_MAIN_WITH(open_meta, close_meta)

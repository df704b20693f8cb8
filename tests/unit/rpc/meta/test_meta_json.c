/* Shapes of classes that do not occur in conformance cases. */
#include "rpc/meta/meta_json.h"
#include "tests/unit/temporary_file.h"
#include "tests/unit/unit.h"

#include <unistd.h>

enum { PUBLIC = 1, PRIVATE = 2 };

static struct op_shape_member base_methods[] = {
    {.name = TEXT("hidden"), .descriptor = TEXT("()V"), .access = PRIVATE},
    {.name = TEXT("run"), .descriptor = TEXT("()V"), .access = PUBLIC},
};

/* rules NULL: everything is allowed. */
static void check_look(const struct op_description *look, const char *rules, const char *wanted)
{
  struct policy *policy = NULL;
  struct jp_error error = {0};
  char path[] = TEMPORARY_FILE;
  struct policy_config config = {.default_action = rules == NULL ? POLICY_ALLOW : POLICY_UNSET};
  if (rules != NULL) {
    temporary_file_write(path, rules, strlen(rules));
    config.file = path;
  }
  enum jp_status status = policy_create(&config, &policy, &error);
  if (rules != NULL)
    unlink(path);
  if (status != JP_OK)
    fail_msg("%s", error.text);
  struct buffer out;
  buffer_init(&out);
  assert_int_equal(meta_look_write(look, NULL, policy, POLICY_WEBSOCKET, &out), JP_OK);
  unit_assert_text(buffer_text(&out), text_of(wanted), __FILE__, __LINE__);
  buffer_fini(&out);
  policy_destroy(policy);
}

#define RUN                                                                                                  \
  "{\"name\":\"run\",\"modifiers\":\"public\",\"isStatic\":false,\"returnType\":\"void\","                   \
  "\"overridden\":false,\"inheritedFrom\":\"a.Base\",\"parameters\":[]}"

/* The policy judges the class by another name, for example the name of an array. */
UNIT_TEST(judges_an_array_by_its_element)
{
  struct op_shape array = {.name = TEXT("[La.Thing;"), .superclass = TEXT("a.Base"), .access = PUBLIC};
  const struct op_shape base = {.name = TEXT("a.Base"),
                                .methods = base_methods,
                                .method_count = COUNT_OF(base_methods),
                                .access = PUBLIC};
  struct op_shape both[] = {array, base};
  struct op_description look = {.class_name = array.name,
                                .judged_name = TEXT("a.Thing"),
                                .has_length = true,
                                .length = 3,
                                .shapes = both,
                                .shape_count = COUNT_OF(both)};
  const char *rules = "version: 1\ndefaultAction: DENY\nrules:\n"
                      "  - {class: a.Thing, method: run, action: ALLOW}\n";
  check_look(&look, rules,
             "{\"class\":\"[La.Thing;\",\"length\":3,\"superclasses\":[\"a.Base\"],\"interfaces\":[],"
             "\"constructors\":[],\"methods\":[" RUN "],\"fields\":[]}");
  look.judged_name = TEXT("a.Other");
  check_look(&look, rules,
             "{\"class\":\"[La.Thing;\",\"length\":3,\"superclasses\":[\"a.Base\"],\"interfaces\":[],"
             "\"constructors\":[],\"methods\":[],\"fields\":[]}");
}

/* A loader may define a class with the name of its superclass. */
UNIT_TEST(survives_a_class_above_of_the_same_name)
{
  struct op_shape twins[] = {{.name = TEXT("a.Twin"), .superclass = TEXT("a.Twin"), .access = PUBLIC},
                             {.name = TEXT("a.Twin"), .access = PUBLIC}};
  const struct op_description look = {.class_name = TEXT("a.Twin"),
                                      .judged_name = TEXT("a.Twin"),
                                      .shapes = twins,
                                      .shape_count = COUNT_OF(twins)};
  check_look(&look, NULL,
             "{\"class\":\"a.Twin\",\"superclasses\":[\"a.Twin\"],\"interfaces\":[],\"constructors\":[],"
             "\"methods\":[],\"fields\":[]}");
}

UNIT_MAIN

/* What there is to see of an object, from the shapes of its classes: no JVM is asked. */
#include "rpc/meta/meta_look.h"
#include "tests/unit/temporary_file.h"
#include "tests/unit/unit.h"

#include <unistd.h>

enum { PUBLIC = 1, PRIVATE = 2, BRIDGE_PUBLIC = 0x1041, INTERFACE_PUBLIC = 0x601 };

#define METHOD(method_name, method_descriptor, flags, count)                                                 \
  {                                                                                                          \
    .name = TEXT(method_name), .descriptor = TEXT(method_descriptor), .access = (flags),                     \
    .parameter_count = (count)                                                                               \
  }

static struct text comparable = TEXT("java.lang.Comparable");

static struct op_shape_member thing_methods[] = {
    METHOD("<init>", "(I)V", PUBLIC, 1),
    {.name = TEXT("names"),
     .descriptor = TEXT("()Ljava/util/List;"),
     .signature = TEXT("()Ljava/util/List<Ljava/lang/String;>;"),
     .access = PUBLIC},
    METHOD("compareTo", "(La/Thing;)I", PUBLIC, 1),
    METHOD("compareTo", "(Ljava/lang/Object;)I", BRIDGE_PUBLIC, 1),
    METHOD("own", "()V", PRIVATE, 0),
};
static struct op_shape_member base_methods[] = {
    METHOD("<init>", "()V", PUBLIC, 0),
    METHOD("names", "()Ljava/util/List;", PUBLIC, 0),
    METHOD("hidden", "()V", PRIVATE, 0),
    METHOD("run", "()V", PUBLIC, 0),
};
static struct op_shape_member base_fields[] = {
    {.name = TEXT("LIMIT"), .descriptor = TEXT("I"), .access = PUBLIC},
    {.name = TEXT("secret"), .descriptor = TEXT("[J"), .access = PRIVATE},
};
static struct op_shape_member comparable_methods[] = {
    METHOD("compareTo", "(Ljava/lang/Object;)I", PUBLIC | 0x400, 1),
};

static struct op_shape shapes[] = {
    {.name = TEXT("a.Thing"),
     .superclass = TEXT("a.Base"),
     .interfaces = &comparable,
     .interface_count = 1,
     .methods = thing_methods,
     .method_count = COUNT_OF(thing_methods),
     .access = PUBLIC},
    {.name = TEXT("a.Base"),
     .methods = base_methods,
     .method_count = COUNT_OF(base_methods),
     .fields = base_fields,
     .field_count = COUNT_OF(base_fields),
     .access = PUBLIC},
    {.name = TEXT("java.lang.Comparable"),
     .methods = comparable_methods,
     .method_count = 1,
     .access = INTERFACE_PUBLIC},
};

static const struct op_look thing = {.class_name = TEXT("a.Thing"),
                                     .judged_name = TEXT("a.Thing"),
                                     .text = TEXT("a \"thing\""),
                                     .shapes = shapes,
                                     .shape_count = COUNT_OF(shapes)};

/* rules NULL: everything is allowed. */
static void check_look(const struct op_look *look, const char *rules, const char *wanted)
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

#define HEAD                                                                                                 \
  "{\"class\":\"a.Thing\",\"text\":\"a \\\"thing\\\"\",\"superclasses\":[\"a.Base\"],"                       \
  "\"interfaces\":[\"java.lang.Comparable\"],"
#define NAMES                                                                                                \
  "{\"name\":\"names\",\"modifiers\":\"public\",\"isStatic\":false,"                                         \
  "\"returnType\":\"java.util.List<java.lang.String>\",\"overridden\":true,\"parameters\":[]}"
#define COMPARE                                                                                              \
  "{\"name\":\"compareTo\",\"modifiers\":\"public\",\"isStatic\":false,\"returnType\":\"int\","              \
  "\"overridden\":true,\"parameters\":[{\"name\":\"arg0\",\"modifiers\":\"\",\"type\":\"a.Thing\"}]}"
#define RUN                                                                                                  \
  "{\"name\":\"run\",\"modifiers\":\"public\",\"isStatic\":false,\"returnType\":\"void\","                   \
  "\"overridden\":false,\"inheritedFrom\":\"a.Base\",\"parameters\":[]}"

static void shows_own_members_and_public_inherited_ones_once(void **state)
{
  (void)state;
  check_look(&thing, NULL,
             HEAD "\"constructors\":[{\"name\":\"a.Thing\",\"modifiers\":\"public\",\"parameters\":["
                  "{\"name\":\"arg0\",\"modifiers\":\"\",\"type\":\"int\"}]}],\"methods\":[" NAMES "," COMPARE
                  ",{\"name\":\"own\",\"modifiers\":\"private\",\"isStatic\":false,\"returnType\":\"void\","
                  "\"overridden\":false,\"parameters\":[]}," RUN
                  "],\"fields\":[{\"name\":\"LIMIT\",\"modifiers\":\"public\",\"type\":\"int\","
                  "\"isStatic\":false,\"overridden\":false,\"inheritedFrom\":\"a.Base\"}]}");
}

static void shows_what_the_policy_allows_alone(void **state)
{
  (void)state;
  check_look(&thing,
             "version: 1\ndefaultAction: DENY\nrules:\n"
             "  - {class: a.Base, method: run, action: DENY}\n"
             "  - {class: a.Thing, members: [METHOD], visibility: [PUBLIC], action: ALLOW}\n",
             HEAD "\"constructors\":[],\"methods\":[" NAMES "," COMPARE "],\"fields\":[]}");
  check_look(&thing, "version: 1\nrules: []\n", HEAD "\"constructors\":[],\"methods\":[],\"fields\":[]}");
}

/* The class is known to the policy by another name, as an array's is. */
static void judges_an_array_by_its_element(void **state)
{
  (void)state;
  struct op_shape array = {.name = TEXT("[La.Thing;"), .superclass = TEXT("a.Base"), .access = PUBLIC};
  struct op_shape both[] = {array, shapes[1]};
  struct op_look look = {.class_name = array.name,
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

/* A loader may give a class the name of the one that it extends. */
static void survives_a_class_above_of_the_same_name(void **state)
{
  (void)state;
  struct op_shape twins[] = {{.name = TEXT("a.Twin"), .superclass = TEXT("a.Twin"), .access = PUBLIC},
                             {.name = TEXT("a.Twin"), .access = PUBLIC}};
  const struct op_look look = {.class_name = TEXT("a.Twin"),
                               .judged_name = TEXT("a.Twin"),
                               .shapes = twins,
                               .shape_count = COUNT_OF(twins)};
  check_look(&look, NULL,
             "{\"class\":\"a.Twin\",\"superclasses\":[\"a.Twin\"],\"interfaces\":[],\"constructors\":[],"
             "\"methods\":[],\"fields\":[]}");
}

/* No catalog tells its nested classes. */
static void tells_modifiers_and_function_of_a_class(void **state)
{
  (void)state;
  struct op_look look = {.tells_class = true,
                         .class_name = comparable,
                         .judged_name = comparable,
                         .function_name = TEXT("compareTo"),
                         .function_arity = 1,
                         .shapes = &shapes[2],
                         .shape_count = 1};
  check_look(&look, NULL,
             "{\"class\":\"java.lang.Comparable\",\"modifiers\":\"public abstract interface\","
             "\"functional\":{\"name\":\"compareTo\",\"arity\":1},\"superclasses\":[],\"interfaces\":[],"
             "\"constructors\":[],\"methods\":[{\"name\":\"compareTo\",\"modifiers\":\"public abstract\","
             "\"isStatic\":false,\"returnType\":\"int\",\"overridden\":false,\"parameters\":["
             "{\"name\":\"arg0\",\"modifiers\":\"\",\"type\":\"java.lang.Object\"}]}],\"fields\":[]}");
  check_look(&look, "version: 1\nrules: []\n",
             "{\"class\":\"java.lang.Comparable\",\"modifiers\":\"public abstract interface\","
             "\"superclasses\":[],\"interfaces\":[],\"constructors\":[],\"methods\":[],\"fields\":[]}");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shows_own_members_and_public_inherited_ones_once),
      cmocka_unit_test(shows_what_the_policy_allows_alone),
      cmocka_unit_test(judges_an_array_by_its_element),
      cmocka_unit_test(survives_a_class_above_of_the_same_name),
      cmocka_unit_test(tells_modifiers_and_function_of_a_class),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* docs/architecture.md, "Conditions of JNI and JVMTI": each case fails without its remedy. */
#include "tests/unit/jni/members_cases.h"
#include "tests/unit/jni/with_jvm.h"

#include <stdio.h>

static struct members_session session;

#define LOUD "jpeer.members.Loud$"
#define SEEN(wanted)                                                                                         \
  {                                                                                                          \
    "call", "{'type':'jpeer.members.Initialised','method':'seen'}", "java.lang.String " wanted, NULL         \
  }

static void check_once(const struct members_case *cases, size_t count)
{
  for (size_t i = 0; i < count; i++)
    members_check(&session, &cases[i]);
}

static void resolve_only(enum op_kind kind, const char *type, const char *member)
{
  struct operation operation = {.kind = kind, .type = text_of(type), .member = text_of(member)};
  const struct jvm_request request = {.thread = session.thread,
                                      .objects = session.objects,
                                      .operation = &operation,
                                      .arena = &session.arena,
                                      .limits = &session.limits};
  struct jvm_target target;
  struct outcome outcome;
  assert_int_equal(jvm_request_begin(session.thread), JP_OK);
  assert_int_equal(jvm_resolve(&request, &target, &outcome), JP_OK);
  jvm_request_end(session.thread);
}

/* "An id from JVMTI skips class initialisation": without GetStatic*ID these read 0 and initialise nothing. */
static void classes_are_initialised_where_java_would(void **state)
{
  (void)state;
  resolve_only(OP_CALL, LOUD "ByMethod", "value");
  resolve_only(OP_GET, LOUD "ByField", "value");
  resolve_only(OP_NEW, LOUD "ByNew", "<init>");
  static const struct members_case cases[] = {
      SEEN(""),
      {"call", "{'type':'" LOUD "Never','method':'takes','args':[{'type':'" LOUD "ByNew','value':'x'}]}",
       "-32", NULL},
      SEEN(""),
      {"call", "{'type':'" LOUD "ByMethod','method':'value'}", "int 1", NULL},
      SEEN("ByMethod"),
      {"get", "{'type':'" LOUD "ByField','field':'value'}", "int 1", NULL},
      SEEN("ByMethod ByField"),
      {"put", "{'type':'" LOUD "ByPut','field':'value','value':6}", "void", NULL},
      SEEN("ByMethod ByField ByPut"),
      {"get", "{'type':'" LOUD "ByPut','field':'value'}", "int 6", NULL},
      {"new", "{'type':'" LOUD "ByNew'}", LOUD "ByNew ref", NULL},
      SEEN("ByMethod ByField ByPut ByNew"),
      {"call", "{'type':'" LOUD "Constants','method':'twice'}", "int 2", NULL},
      SEEN("ByMethod ByField ByPut ByNew Constants"),
      {"call", "{'type':'" LOUD "Child','method':'inherited'}", "int 7", NULL},
      SEEN("ByMethod ByField ByPut ByNew Constants Parent"),
      {"call", "{'type':'" LOUD "Child','method':'shade','args':['DARK']}", "-32601", NULL},
      {"call", "{'type':'jpeer.members.Loud','method':'shade','args':['PALE']}", "-32602", NULL},
      SEEN("ByMethod ByField ByPut ByNew Constants Parent"),
      {"call", "{'type':'jpeer.members.Loud','method':'shade','args':['DARK']}", "java.lang.String DARK",
       NULL},
      SEEN("ByMethod ByField ByPut ByNew Constants Parent Shade"),
      {"call", "{'type':'" LOUD "Never','method':'none'}", "-32601", NULL},
      {"put", "{'type':'" LOUD "Never','field':'MARK','value':1}", "-32000 java.lang.IllegalAccessException",
       NULL},
      SEEN("ByMethod ByField ByPut ByNew Constants Parent Shade"),
  };
  check_once(cases, COUNT_OF(cases));
}

/* The id of a member whose class failed is not kept: JNI would run the method of the broken class. */
static void a_class_that_fails_to_start_stays_failed(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      {"call", "{'type':'" LOUD "Fails','method':'value'}", "-32000 java.lang.ExceptionInInitializerError",
       NULL},
      {"call", "{'type':'" LOUD "Fails','method':'value'}", "-32000 java.lang.NoClassDefFoundError", NULL},
      {"call", "{'type':'" LOUD "Fails','method':'value'}", "-32000 java.lang.NoClassDefFoundError", NULL},
      {"get", "{'type':'" LOUD "Fails','field':'field'}", "-32000 java.lang.NoClassDefFoundError", NULL},
      {"put", "{'type':'" LOUD "Fails','field':'field','value':1}", "-32000 java.lang.NoClassDefFoundError",
       NULL},
      {"new", "{'type':'" LOUD "FailsOnNew'}", "-32000 java.lang.NoClassDefFoundError", NULL},
      {"get", "{'type':'fixtures.Throwables$FailsToInitialize','field':'VALUE'}",
       "-32000 java.lang.ExceptionInInitializerError", NULL},
  };
  check_once(cases, COUNT_OF(cases));
}

/* "JNI writes static finals and record fields without a word." */
static void finals_are_not_written(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      {"put", "{'type':'fixtures.Fields','field':'STATIC_FINAL','value':14}",
       "-32000 java.lang.IllegalAccessException: fixtures.Fields.STATIC_FINAL", NULL},
      {"get", "{'type':'fixtures.Fields','field':'STATIC_FINAL'}", "int 13", NULL},
      {"put", "{'type':'fixtures.Shape','field':'KIND','value':'x'}",
       "-32000 java.lang.IllegalAccessException", NULL},
      {"new", "{'type':'fixtures.Point','args':[1,2]}", "fixtures.Point ref", "point"},
      {"put", "{'type':'fixtures.Point','field':'x','instance':$point,'value':9}",
       "-32000 java.lang.IllegalAccessException: fixtures.Point.x", NULL},
      {"get", "{'type':'fixtures.Point','field':'x','instance':$point}", "int 1", NULL},
      {"new", "{'type':'jpeer.members.Finals'}", "jpeer.members.Finals ref", "finals"},
      {"put", "{'type':'jpeer.members.Finals','field':'instance','instance':$finals,'value':9}", "void",
       NULL},
      {"call", "{'type':'jpeer.members.Finals','method':'read','instance':$finals}", "int 9", NULL},
      {"put", "{'type':'jpeer.members.Finals','field':'plain','value':2}", "void", NULL},
  };
  MEMBERS_CHECK(&session, cases);
}

/* A hidden class has no name to be found by: its object is the only way to it. */
static void finals_of_hidden_classes_are_not_written(void **state)
{
  (void)state;
  uint32_t ref;
  struct text made =
      members_run(&session, "call", "{'type':'jpeer.members.Finals','method':'hidden','args':[5]}", &ref);
  assert_true(text_starts_with(made, TEXT("jpeer.members.Finals$$Lambda")));
  char type[128];
  int length = (int)(memchr(made.data, ' ', made.len) == NULL
                         ? (long)made.len
                         : (const char *)memchr(made.data, ' ', made.len) - made.data);
  snprintf(type, sizeof type, "%.*s", length, made.data);

  char params[256];
  uint32_t ignored;
  snprintf(params, sizeof params, "{'type':'jpeer.members.Finals','method':'fieldOf','args':[{'ref':%u}]}",
           ref);
  struct text field = members_run(&session, "call", params, &ignored);
  assert_true(text_starts_with(field, TEXT("java.lang.String ")));
  char name[64];
  snprintf(name, sizeof name, "%.*s", (int)(field.len - 17), field.data + 17);

  const struct op_value five = {.kind = OP_INTEGER, .integer = 6};
  struct operation operation = {.kind = OP_PUT,
                                .type = text_of(type),
                                .member = text_of(name),
                                .has_instance = true,
                                .instance = ref,
                                .args = (struct op_value *)&five,
                                .arg_count = 1};
  const struct jvm_request request = {.thread = session.thread,
                                      .objects = session.objects,
                                      .operation = &operation,
                                      .arena = &session.arena,
                                      .limits = &session.limits};
  struct jvm_target target;
  struct outcome outcome;
  assert_int_equal(jvm_request_begin(session.thread), JP_OK);
  if (jvm_resolve(&request, &target, &outcome) == JP_OK)
    jvm_invoke(&request, &target, &outcome);
  jvm_request_end(session.thread);
  assert_int_equal(outcome.kind, OUTCOME_ERROR);
  snprintf(params, sizeof params,
           "{'type':'java.util.function.IntSupplier','method':'getAsInt','instance':%u}", ref);
  assert_text(members_run(&session, "call", params, &ignored), "int 5");
}

/* "JNI checks no types": an object of another class would be written or called without a word. */
static void objects_of_other_classes_are_refused(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      {"new", "{'type':'fixtures.User','args':['u',1]}", "fixtures.User ref", "user"},
      {"new", "{'type':'fixtures.Fields'}", "fixtures.Fields ref", "fields"},
      {"put", "{'type':'fixtures.Fields','field':'user','instance':$fields,'value':{'ref':$fields}}",
       "-32602 value: ref", NULL},
      {"put",
       "{'type':'fixtures.Fields','field':'user','instance':$fields,'value':{'type':'fixtures.User','ref':$"
       "fields}}",
       "-32602 value: ref", NULL},
      {"put", "{'type':'fixtures.Fields','field':'user','instance':$fields,'value':{'ref':$user}}", "void",
       NULL},
      {"get", "{'type':'fixtures.Fields','field':'anInt','instance':$user}", "-32602 The object with objRef",
       NULL},
      {"call", "{'type':'fixtures.User','method':'getName','instance':$fields}",
       "-32602 The object with objRef", NULL},
      {"call", "{'type':'java.util.List','method':'size','instance':$user}", "-32602 The object with objRef",
       NULL},
  };
  MEMBERS_CHECK(&session, cases);
}

/* The same record is used with other objects: what was checked for one says nothing of the next. */
static void a_cached_member_checks_each_object(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      {"new", "{'type':'fixtures.User','args':['u',1]}", "fixtures.User ref", "user"},
      {"new", "{'type':'java.util.ArrayList'}", "java.util.ArrayList ref", "list"},
      {"call",
       "{'type':'fixtures.User','method':'sameAs','instance':$user,'args':[{'type':'fixtures.User','ref':$"
       "user}]}",
       "boolean true", NULL},
      {"call",
       "{'type':'fixtures.User','method':'sameAs','instance':$user,'args':[{'type':'fixtures.User','ref':$"
       "list}]}",
       "-32602 argument 0: ref", NULL},
  };
  MEMBERS_CHECK(&session, cases);
}

/* JNI finds no class of the application from a thread that C attached; this one is the application's. */
static void application_classes_are_found(void **state)
{
  (void)state;
  static const struct members_case cases[] = {
      {"call", "{'type':'fixtures.Calculator','method':'add','args':[1,2]}", "int 3", NULL},
      {"call", "{'type':'java.lang.Class','method':'forName','args':['fixtures.User']}",
       "java.lang.Class fixtures.User ref", NULL},
      {"call", "{'type':'java.lang.invoke.MethodHandles','method':'lookup'}",
       "java.lang.invoke.MethodHandles$Lookup ref", NULL},
      {"call", "{'type':'java.lang.Thread','method':'currentThread'}", "jpeer.peer.PeerThread ref", "thread"},
      {"call", "{'type':'java.lang.Thread','method':'getContextClassLoader','instance':$thread}",
       "jdk.internal.loader.ClassLoaders$AppClassLoader ref", NULL},
  };
  MEMBERS_CHECK(&session, cases);
}

/* JVMS 2.9.3: JNI has no call site to give them; called like others, they would crash or misread. */
static void signature_polymorphic_methods_are_refused(void **state)
{
  (void)state;
  uint32_t ref;
  struct text made =
      members_run(&session, "call",
                  "{'type':'java.lang.invoke.MethodHandles','method':'constant','args':['int',5]}", &ref);
  if (ref == 0)
    fail_msg("%.*s", TEXT_ARGS(made));
  char params[160];
  static const char *const names[] = {"invoke", "invokeExact"};
  for (size_t i = 0; i < COUNT_OF(names); i++) {
    uint32_t ignored;
    snprintf(params, sizeof params, "{'type':'java.lang.invoke.MethodHandle','method':'%s','instance':%u}",
             names[i], ref);
    assert_true(text_starts_with(members_run(&session, "call", params, &ignored),
                                 TEXT("-32000 java.lang.UnsupportedOperationException: ")));
  }
  uint32_t ignored;
  snprintf(params, sizeof params,
           "{'type':'java.lang.invoke.MethodHandle','method':'invokeWithArguments','instance':%u}", ref);
  assert_text(members_run(&session, "call", params, &ignored), "java.lang.Integer 5");
}

static int run_all(struct jvm *jvm, struct jvm_thread *thread)
{
  (void)jvm;
  members_session_init(&session, thread);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(classes_are_initialised_where_java_would),
      cmocka_unit_test(a_class_that_fails_to_start_stays_failed),
      cmocka_unit_test(finals_are_not_written),
      cmocka_unit_test(finals_of_hidden_classes_are_not_written),
      cmocka_unit_test(objects_of_other_classes_are_refused),
      cmocka_unit_test(a_cached_member_checks_each_object),
      cmocka_unit_test(application_classes_are_found),
      cmocka_unit_test(signature_polymorphic_methods_are_refused),
  };
  int failures = cmocka_run_group_tests(tests, NULL, NULL);
  members_session_fini(&session);
  return failures;
}

int main(void)
{
  return with_jvm(run_all);
}

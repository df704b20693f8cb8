/* What the JVM tells of an object: its text and length as far as a guard lets it be asked, and the shapes of classes
 * that no file holds. */
#include "jni/look.h"
#include "tests/unit/jni/members_cases.h"
#include "tests/unit/jni/with_jvm.h"

static struct members_session session;

static uint32_t make(const char *method, const char *args)
{
  char params[256];
  uint32_t ref = 0;
  snprintf(params, sizeof params, "{'type':'fixtures.Looks','method':'%s','args':[%s]}", method, args);
  (void)members_run(&session, "call", params, &ref);
  assert_int_not_equal(ref, 0);
  return ref;
}

static struct op_look look_at(uint32_t ref, const struct jvm_guard *guard)
{
  static struct operation operation;
  struct op_look look = {.has_length = false};
  struct outcome outcome = {.kind = OUTCOME_VOID};
  operation = (struct operation){.kind = OP_DESCRIBE, .has_instance = true, .instance = ref};
  const struct jvm_request request = {.thread = session.thread,
                                      .objects = session.objects,
                                      .operation = &operation,
                                      .arena = &session.arena,
                                      .limits = &session.limits,
                                      .guard = guard};
  assert_int_equal(jvm_request_begin(session.thread), JP_OK);
  assert_true(jvm_look(&request, &look, &outcome));
  assert_false((*session.thread->env)->ExceptionCheck(session.thread->env));
  jvm_request_end(session.thread);
  return look;
}

static const struct op_shape *find_shape(const struct op_look *look, const char *name)
{
  for (size_t i = 0; i < look->shape_count; i++) {
    if (text_equal(look->shapes[i].name, text_of(name)))
      return &look->shapes[i];
  }
  return NULL;
}

static const struct op_shape_member *find_member(const struct op_shape_member *members, size_t count,
                                                 const char *name)
{
  for (size_t i = 0; i < count; i++) {
    if (text_equal(members[i].name, text_of(name)))
      return &members[i];
  }
  return NULL;
}

static void every_class_above_has_its_shape(void **state)
{
  (void)state;
  const struct op_look look = look_at(make("derived", ""), NULL);
  unit_assert_text(look.class_name, TEXT("fixtures.Looks$Derived"), __FILE__, __LINE__);
  unit_assert_text(look.text, TEXT("a base"), __FILE__, __LINE__);
  assert_false(look.has_length);
  assert_int_equal(look.shape_count, 4);
  const struct op_shape *base = find_shape(&look, "fixtures.Looks$Base");
  assert_non_null(base);
  assert_true(base->is_permanent);
  unit_assert_text(base->superclass, TEXT("java.lang.Object"), __FILE__, __LINE__);
  assert_int_equal(base->interface_count, 1);
  const struct op_shape_member *open = find_member(base->methods, base->method_count, "open");
  assert_non_null(open);
  assert_int_equal(open->parameter_count, 2);
  unit_assert_text(open->signature, TEXT("(Ljava/util/Map<Ljava/lang/String;[I>;[Ljava/lang/String;)I"),
                   __FILE__, __LINE__);
  const struct op_shape_member *names = find_member(base->fields, base->field_count, "names");
  assert_non_null(names);
  unit_assert_text(names->signature, TEXT("Ljava/util/List<Ljava/lang/String;>;"), __FILE__, __LINE__);
}

static void hidden_classes_have_no_constructors(void **state)
{
  (void)state;
  const struct op_look look = look_at(make("lambda", ""), NULL);
  assert_true(text_starts_with(look.class_name, TEXT("fixtures.Looks$$Lambda")));
  assert_null(find_member(look.shapes[0].methods, look.shapes[0].method_count, "<init>"));
  assert_non_null(find_member(look.shapes[0].methods, look.shapes[0].method_count, "getAsInt"));
}

static void arrays_have_a_length_and_two_interfaces(void **state)
{
  (void)state;
  uint32_t ref = 0;
  (void)members_run(&session, "new", "{'type':'int[][]','args':[3]}", &ref);
  const struct op_look look = look_at(ref, NULL);
  unit_assert_text(look.class_name, TEXT("[[I"), __FILE__, __LINE__);
  unit_assert_text(look.judged_name, TEXT("int"), __FILE__, __LINE__);
  assert_true(look.has_length && look.length == 3);
  assert_int_equal(look.shapes[0].interface_count, 2);
  assert_non_null(find_shape(&look, "java.lang.Cloneable"));
  assert_non_null(find_shape(&look, "java.io.Serializable"));
}

static void a_text_that_cannot_be_had_is_absent(void **state)
{
  (void)state;
  static const char *const methods[] = {"throwing", "recursive", "saysNull"};
  for (size_t i = 0; i < COUNT_OF(methods); i++)
    assert_null(look_at(make(methods[i], ""), NULL).text.data);
  const struct op_look sizeless = look_at(make("sizeless", ""), NULL);
  unit_assert_text(sizeless.text, TEXT("sizeless"), __FILE__, __LINE__);
  assert_false(sizeless.has_length);
}

static void a_long_text_is_cut_between_pairs(void **state)
{
  (void)state;
  assert_int_equal(look_at(make("says", "'x',999"), NULL).text.len, 999);
  assert_int_equal(look_at(make("says", "'x',1000"), NULL).text.len, 1000);
  assert_int_equal(look_at(make("says", "'x',1001"), NULL).text.len, 1000);
  assert_int_equal(look_at(make("says", "'x',0"), NULL).text.len, 0);
  assert_non_null(look_at(make("says", "'x',0"), NULL).text.data);
  /* half a pair (3 bytes of WTF-8), 998 letters, and then a pair that has no room */
  assert_int_equal(look_at(make("saysSurrogates", ""), NULL).text.len, 3 + 998);
}

/* jvm_guard.check_target, with the name that it denies */
static enum jp_status deny_member(void *context, const struct operation *operation,
                                  const struct jvm_target *target, struct arena *arena,
                                  struct outcome *denied)
{
  assert_int_equal(operation->kind, OP_CALL);
  assert_true(text_equal(target->named_class, target->runtime_class));
  if (!text_equal(target->member, text_of(context)))
    return JP_OK;
  outcome_fail(denied, arena, FAILURE_DENIED, NULL, "no");
  return JP_DENIED;
}

static void what_the_guard_denies_is_not_asked(void **state)
{
  (void)state;
  char to_string[] = "toString";
  char size[] = "size";
  uint32_t ref = 0;
  (void)members_run(&session, "new", "{'type':'java.util.ArrayList'}", &ref);
  const struct jvm_guard silent = {.context = to_string, .check_target = deny_member};
  const struct op_look mute = look_at(ref, &silent);
  assert_null(mute.text.data);
  assert_true(mute.has_length && mute.length == 0);
  const struct jvm_guard sizeless = {.context = size, .check_target = deny_member};
  const struct op_look look = look_at(ref, &sizeless);
  unit_assert_text(look.text, TEXT("[]"), __FILE__, __LINE__);
  assert_false(look.has_length);
}

static struct op_look look_at_class(const char *name)
{
  static struct operation operation;
  struct op_look look = {.tells_class = true};
  struct outcome outcome = {.kind = OUTCOME_VOID};
  operation = (struct operation){.kind = OP_DESCRIBE, .type = text_of(name)};
  const struct jvm_request request = {.thread = session.thread,
                                      .objects = session.objects,
                                      .operation = &operation,
                                      .arena = &session.arena,
                                      .limits = &session.limits};
  assert_int_equal(jvm_request_begin(session.thread), JP_OK);
  assert_true(jvm_look_class(&request, &look, &outcome));
  assert_false((*session.thread->env)->ExceptionCheck(session.thread->env));
  jvm_request_end(session.thread);
  return look;
}

static void a_class_is_looked_at_without_being_initialised(void **state)
{
  (void)state;
  const struct op_look look = look_at_class("fixtures.Described$Untouched");
  unit_assert_text(look.class_name, TEXT("fixtures.Described$Untouched"), __FILE__, __LINE__);
  assert_null(look.text.data);
  assert_null(look.function_name.data);
  assert_int_equal(look.shape_count, 2);
  assert_non_null(find_member(look.shapes[0].fields, look.shapes[0].field_count, "count"));
  uint32_t ref = 0;
  struct text initialised =
      members_run(&session, "get", "{'type':'fixtures.Described','field':'initialised'}", &ref);
  unit_assert_text(initialised, TEXT("int 0"), __FILE__, __LINE__);
}

static void an_interface_with_one_method_has_a_function(void **state)
{
  (void)state;
  const struct op_look listener = look_at_class("fixtures.Described$Listener");
  unit_assert_text(listener.function_name, TEXT("onEvent"), __FILE__, __LINE__);
  assert_int_equal(listener.function_arity, 2);
  const struct op_look narrow = look_at_class("fixtures.Described$Narrow");
  unit_assert_text(narrow.function_name, TEXT("first"), __FILE__, __LINE__);
  assert_int_equal(narrow.function_arity, 0);
  assert_null(look_at_class("fixtures.Described$Wide").function_name.data);
  assert_null(look_at_class("fixtures.Described$Concealed").function_name.data);
  assert_null(look_at_class("fixtures.Looks$Derived").function_name.data);
  assert_null(look_at_class("int[]").function_name.data);
}

static int run_all(struct jvm *jvm, struct jvm_thread *thread)
{
  (void)jvm;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_class_above_has_its_shape),
      cmocka_unit_test(hidden_classes_have_no_constructors),
      cmocka_unit_test(arrays_have_a_length_and_two_interfaces),
      cmocka_unit_test(a_text_that_cannot_be_had_is_absent),
      cmocka_unit_test(a_long_text_is_cut_between_pairs),
      cmocka_unit_test(what_the_guard_denies_is_not_asked),
      cmocka_unit_test(a_class_is_looked_at_without_being_initialised),
      cmocka_unit_test(an_interface_with_one_method_has_a_function),
  };
  members_session_init(&session, thread);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  members_session_fini(&session);
  return failed;
}

int main(void)
{
  return with_jvm(run_all);
}

/*
 * The classes that a call on an object has to be judged by. The tests also check what the JVM really runs:
 * every method of the fixtures returns the name of the class that declares it.
 */
#include "base/buffer.h"
#include "jni/objects/object_table.h"
#include "jni/types/selection.h"
#include "judge/judge.h"
#include "tests/unit/jni/members_cases.h"
#include "tests/unit/jni/with_jvm.h"

#define DISPATCH "fixtures.dispatch.Dispatch$"

struct one_call {
  const char *object; /* the object's class, created by its default constructor */
  const char *named;
  const char *member;
  const char *type; /* of the only argument, null; NULL: no argument */
  const char *declaring;
  const char *holders; /* simple names, separated by blanks */
  /* simple name of the class whose method runs, which the method returns; NULL: it does not return one */
  const char *runs;
};

static const struct one_call calls[] = {
    /* The object's class inherits the method from its superclass. */
    {DISPATCH "Heir", DISPATCH "Secretive", "read", NULL, "Secretive", "Base", "Base"},
    {DISPATCH "Heir", DISPATCH "Base", "read", NULL, "Base", "", "Base"},
    {DISPATCH "Heir", DISPATCH "Heir", "read", NULL, "Base", "", "Base"},
    /* An interface in between redeclares the method. */
    {DISPATCH "Near", DISPATCH "Secretive", "read", NULL, "Secretive", "Base Closer", "Base"},
    {DISPATCH "Near", DISPATCH "Closer", "read", NULL, "Closer", "Base", "Base"},
    /* A class in between redeclares the method. */
    {DISPATCH "Low", DISPATCH "Secretive", "read", NULL, "Secretive", "Low Middle", "Low"},
    {DISPATCH "Low", DISPATCH "Middle", "read", NULL, "Middle", "Low", "Low"},
    {DISPATCH "Low", DISPATCH "Low", "read", NULL, "Low", "", "Low"},
    /* Of two default methods the method of the subinterface runs. */
    {DISPATCH "Speaker", DISPATCH "Talks", "talk", NULL, "Talks", "Loud", "Loud"},
    {DISPATCH "Speaker", DISPATCH "Loud", "talk", NULL, "Loud", "", "Loud"},
    /* Bridges call a method of another class. */
    {DISPATCH "Covariant", DISPATCH "Source", "give", NULL, "Source", "Covariant TextSource", "TextSource"},
    {DISPATCH "Covariant", DISPATCH "TextSource", "give", NULL, "TextSource", "", "TextSource"},
    {DISPATCH "Generic", DISPATCH "Sink", "take", "String", "Sink", "Generic TextSink", "TextSink"},
    {DISPATCH "Ordered", "java.lang.Comparable", "compareTo", DISPATCH "Ordered", "Comparable", "Ordered",
     NULL},
    {"java.lang.StringBuilder", "java.lang.CharSequence", "length", NULL, "CharSequence",
     "StringBuilder AbstractStringBuilder", NULL},
    /* Private methods are not overridden, and hide nothing. */
    {DISPATCH "KeeperHeir", DISPATCH "Keeper", "note", NULL, "Keeper", "", "Keeper"},
    {DISPATCH "KeeperHeir", DISPATCH "SubKeeper", "note", NULL, "SubKeeper", "", "SubKeeper"},
    /* Package-private methods are overridden only in their package, also below a class of another package. */
    {"fixtures.dispatch.far.Away$Heir", DISPATCH "Packaged", "local", NULL, "Packaged", "", "Packaged"},
    {DISPATCH "Back", DISPATCH "Packaged", "local", NULL, "Packaged", "Back", "Back"},
    {DISPATCH "Back", "fixtures.dispatch.far.Away", "local", NULL, "Away", "Back", "Back"},
    {"fixtures.dispatch.far.Away$Heir", DISPATCH "Packaged", "guarded", NULL, "Packaged", "Away", "Away"},
    /* Object's methods by any name, with the interfaces that redeclare them. */
    {"java.util.ArrayList", "java.lang.Object", "hashCode", NULL, "Object",
     "AbstractList ArrayList Collection List", NULL},
};

static struct text simple_name(struct text name)
{
  size_t dot = text_find_last(name, '.');
  size_t dollar = text_find_last(name, '$');
  size_t at = dollar != SIZE_MAX ? dollar : dot;
  return at == SIZE_MAX ? name : text_slice(name, at + 1, name.len);
}

static bool is_listed(const char *list, struct text name)
{
  struct text rest = text_of(list);
  while (rest.len > 0) {
    const char *blank = memchr(rest.data, ' ', rest.len);
    size_t len = blank == NULL ? rest.len : (size_t)(blank - rest.data);
    if (text_equal(text_slice(rest, 0, len), name))
      return true;
    rest = text_slice(rest, blank == NULL ? len : len + 1, rest.len);
  }
  return false;
}

static size_t count_words(const char *list)
{
  size_t count = *list != '\0';
  for (; *list != '\0'; list++)
    count += *list == ' ';
  return count;
}

static void check_holders(const struct one_call *call, const struct jvm_target *target)
{
  if (!text_equal(simple_name(target->facts.declaring_class), text_of(call->declaring)))
    fail_msg("%s.%s: declared in %.*s", call->named, call->member, TEXT_ARGS(target->facts.declaring_class));
  for (size_t i = 0; i < target->facts.holder_count; i++)
    if (!is_listed(call->holders, simple_name(target->facts.holders[i].class_name)))
      fail_msg("%s.%s on %s: %.*s is one too many", call->named, call->member, call->object,
               TEXT_ARGS(target->facts.holders[i].class_name));
  if (target->facts.holder_count != count_words(call->holders))
    fail_msg("%s.%s on %s: %zu classes, not %s", call->named, call->member, call->object,
             target->facts.holder_count, call->holders);
}

/* Returns the member that was resolved. */
static const struct resolved_member *run(const struct one_call *call, uint32_t instance)
{
  struct op_value argument = {.kind = OP_NULL};
  const struct operation operation = {.kind = OP_CALL,
                                      .type = text_of(call->named),
                                      .member = text_of(call->member),
                                      .has_instance = true,
                                      .instance = instance,
                                      .args = &argument,
                                      .arg_count = call->type != NULL};
  if (call->type != NULL)
    argument.type = text_of(call->type);
  const struct jvm_request request = {.thread = session.thread,
                                      .objects = session.objects,
                                      .operation = &operation,
                                      .arena = &session.arena,
                                      .limits = &session.limits,
                                      .judge = &session.judge};
  struct jvm_target target;
  struct outcome outcome = {0};
  assert_int_equal(jvm_request_begin(session.thread), JP_OK);
  if (jvm_resolve(&request, &target, &outcome) != JP_OK)
    fail_msg("%s.%s: %.*s", call->named, call->member, TEXT_ARGS(outcome.message));
  check_holders(call, &target);
  if (call->runs != NULL) {
    jvm_invoke(&request, &target, &outcome);
    assert_int_equal(outcome.kind, OUTCOME_VALUE);
    if (!text_equal(outcome.value.text, text_of(call->runs)))
      fail_msg("%s.%s on %s: %.*s runs", call->named, call->member, call->object,
               TEXT_ARGS(outcome.value.text));
    assert_true(is_listed(call->declaring, text_of(call->runs)) ||
                is_listed(call->holders, text_of(call->runs)));
  }
  jvm_request_end(session.thread);
  return target.resolved;
}

UNIT_TEST(the_method_that_runs_is_selected)
{
  for (size_t i = 0; i < COUNT_OF(calls); i++) {
    char params[256];
    uint32_t ref = 0;
    snprintf(params, sizeof params, "{'type':'%s'}", calls[i].object);
    struct text made = members_run(&session, "new", params, &ref);
    if (ref == 0)
      fail_msg("%s: %.*s", calls[i].object, TEXT_ARGS(made));
    const struct resolved_member *first = run(&calls[i], ref);
    assert_ptr_equal(run(&calls[i], ref), first); /* from the thread's cache */
    arena_reset(&session.arena);
  }
}

/* ---- compared with the JVM's own look-up ---- */

static size_t compared;

/* For public methods, the JVM's look-up by name and descriptor in the object's class finds the method that
 * runs. */
static void compare_method(struct jvm_method *method, struct jvm_class *runtime)
{
  JNIEnv *env = session.thread->env;
  jvmtiEnv *jvmti = session.thread->jvmti;
  struct judged_holder *holders;
  size_t count;
  jclass owner = NULL;
  jmethodID id = (*env)->GetMethodID(env, runtime->ref, method->raw_name, method->raw_descriptor);
  assert_non_null(id);
  assert_int_equal((*jvmti)->GetMethodDeclaringClass(jvmti, id, &owner), JVMTI_ERROR_NONE);
  struct jvm_class *found = jvm_class_of(session.thread, owner);
  (*env)->DeleteLocalRef(env, owner);
  assert_true(selection_find(session.thread, &session.arena, method, runtime, &holders, &count));
  bool is_holder = found == method->owner;
  for (size_t i = 0; !is_holder && i < count; i++)
    is_holder = text_equal(holders[i].class_name, found->name);
  if (!is_holder)
    fail_msg("%.*s.%.*s on %.*s: %.*s runs it", TEXT_ARGS(method->owner->name), TEXT_ARGS(method->name),
             TEXT_ARGS(runtime->name), TEXT_ARGS(found->name));
  compared++;
}

static void compare_members(struct jvm_class *class, struct jvm_class *runtime)
{
  enum { ASKED = OP_ACC_PUBLIC | OP_ACC_STATIC };
  const struct member_table *members = member_table_of(session.thread, class);
  assert_non_null(members);
  for (size_t i = 0; i < members->method_count; i++)
    if ((members->methods[i].modifiers & ASKED) == OP_ACC_PUBLIC && members->methods[i].name.data[0] != '<')
      compare_method(&members->methods[i], runtime);
  if (members->super != NULL)
    compare_members(members->super, runtime);
  for (size_t i = 0; i < members->interface_count; i++)
    compare_members(members->interfaces[i], runtime);
}

UNIT_TEST(the_method_that_the_jvm_finds_is_selected)
{
  static const char *const objects[] = {
      "java.util.ArrayList",
      "java.util.LinkedList",
      "java.util.LinkedHashMap",
      "java.util.TreeMap",
      "java.lang.StringBuilder",
      "java.util.concurrent.ConcurrentHashMap",
      "java.util.concurrent.ConcurrentSkipListSet",
      "java.util.Properties",
      DISPATCH "Tray",
      DISPATCH "Speaker",
      DISPATCH "Generic",
      DISPATCH "Covariant",
      DISPATCH "Ordered",
      DISPATCH "Low",
  };
  for (size_t i = 0; i < COUNT_OF(objects); i++) {
    char params[256];
    uint32_t ref = 0;
    snprintf(params, sizeof params, "{'type':'%s'}", objects[i]);
    (void)members_run(&session, "new", params, &ref);
    assert_int_not_equal(ref, 0);
    assert_int_equal(jvm_request_begin(session.thread), JP_OK);
    jobject object = jvm_objects_get(session.thread, session.objects, ref, NULL);
    struct jvm_class *runtime = jvm_class_of_object(session.thread, object);
    compare_members(runtime, runtime);
    jvm_request_end(session.thread);
    arena_reset(&session.arena);
  }
  assert_true(compared > 1000);
}

JVM_MAIN(members_open, members_close)

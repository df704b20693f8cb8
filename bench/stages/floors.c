#include "floors.h"

#include <stdlib.h>

static void run_add(struct floors *floors, uint64_t iterations)
{
  JNIEnv *env = floors->env;
  const jvalue arguments[] = {{.i = 31415}, {.i = 27182}};
  for (uint64_t i = 0; i < iterations; i++)
    (*env)->CallStaticIntMethodA(env, floors->calculator, floors->add, arguments);
}

static void run_instance(struct floors *floors, uint64_t iterations)
{
  JNIEnv *env = floors->env;
  const jvalue argument = {.i = 1};
  for (uint64_t i = 0; i < iterations; i++)
    (*env)->CallIntMethodA(env, floors->object, floors->accumulate, &argument);
}

static void run_get(struct floors *floors, uint64_t iterations)
{
  JNIEnv *env = floors->env;
  for (uint64_t i = 0; i < iterations; i++)
    (*env)->GetIntField(env, floors->object, floors->result);
}

static void run_put(struct floors *floors, uint64_t iterations)
{
  JNIEnv *env = floors->env;
  for (uint64_t i = 0; i < iterations; i++)
    (*env)->SetIntField(env, floors->object, floors->result, 31415);
}

static void run_new(struct floors *floors, uint64_t iterations)
{
  JNIEnv *env = floors->env;
  for (uint64_t i = 0; i < iterations; i++)
    (*env)->DeleteLocalRef(env, (*env)->NewObjectA(env, floors->calculator, floors->construct, NULL));
}

static void run_echo(struct floors *floors, uint64_t iterations)
{
  JNIEnv *env = floors->env;
  for (uint64_t i = 0; i < iterations; i++) {
    const jvalue argument = {.l = (*env)->NewString(env, floors->units, floors->unit_count)};
    jstring back = (*env)->CallStaticObjectMethodA(env, floors->arguments, floors->echo, &argument);
    (*env)->GetStringRegion(env, back, 0, (*env)->GetStringLength(env, back), floors->room);
    (*env)->DeleteLocalRef(env, back);
    (*env)->DeleteLocalRef(env, argument.l);
  }
}

static void sum_ints(struct floors *floors)
{
  JNIEnv *env = floors->env;
  const jvalue argument = {.l = (*env)->NewIntArray(env, STAGES_NUMBERS)};
  (*env)->SetIntArrayRegion(env, argument.l, 0, STAGES_NUMBERS, floors->ints);
  (*env)->CallStaticIntMethodA(env, floors->arguments, floors->sum, &argument);
  (*env)->DeleteLocalRef(env, argument.l);
}

static void run_ints(struct floors *floors, uint64_t iterations)
{
  for (uint64_t i = 0; i < iterations; i++)
    sum_ints(floors);
}

/* Does not check its text, so that it is as fast as a loop over digits can be. */
static void parse(const char *p, jint *out)
{
  for (size_t i = 0; i < STAGES_NUMBERS; i++, p++) {
    bool negative = *p == '-';
    jint value = 0;
    for (p += negative; *p >= '0' && *p <= '9'; p++)
      value = value * 10 + (*p - '0');
    out[i] = negative ? -value : value;
  }
}

static void run_ints_parsed(struct floors *floors, uint64_t iterations)
{
  for (uint64_t i = 0; i < iterations; i++) {
    parse(floors->numbers.data, floors->ints);
    sum_ints(floors);
  }
}

floor_run *floor_of_jni(enum workload_id id)
{
  static floor_run *const runs[WORKLOADS] = {
      [WORKLOAD_ADD] = run_add,
      [WORKLOAD_INSTANCE] = run_instance,
      [WORKLOAD_GET] = run_get,
      [WORKLOAD_PUT] = run_put,
      [WORKLOAD_NEW_DELETE] = run_new,
      [WORKLOAD_ECHO] = run_echo,
      [WORKLOAD_INTS] = run_ints,
      [WORKLOAD_ADD_BINARY] = run_add,
      [WORKLOAD_INSTANCE_BINARY] = run_instance,
      [WORKLOAD_ECHO_BINARY] = run_echo,
      [WORKLOAD_INTS_BINARY] = run_ints,
  };
  return runs[id];
}

floor_run *floor_with_parse(enum workload_id id)
{
  return id == WORKLOAD_INTS || id == WORKLOAD_INTS_BINARY ? run_ints_parsed : NULL;
}

/* ---- */

static bool find_members(struct floors *floors)
{
  JNIEnv *env = floors->env;
  floors->calculator = (*env)->FindClass(env, "com/example/Calculator");
  floors->arguments = floors->calculator == NULL ? NULL : (*env)->FindClass(env, "fixtures/Arguments");
  if (floors->arguments == NULL)
    return false;
  const struct {
    jmethodID *id;
    jclass class;
    bool is_static;
    const char *name;
    const char *descriptor;
  } methods[] = {
      {&floors->add, floors->calculator, true, "add", "(II)I"},
      {&floors->accumulate, floors->calculator, false, "accumulate", "(I)I"},
      {&floors->construct, floors->calculator, false, "<init>", "()V"},
      {&floors->echo, floors->arguments, true, "echoString", "(Ljava/lang/String;)Ljava/lang/String;"},
      {&floors->sum, floors->arguments, true, "sumInts", "([I)I"},
  };
  for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
    *methods[i].id =
        methods[i].is_static
            ? (*env)->GetStaticMethodID(env, methods[i].class, methods[i].name, methods[i].descriptor)
            : (*env)->GetMethodID(env, methods[i].class, methods[i].name, methods[i].descriptor);
    if (*methods[i].id == NULL)
      return false;
  }
  floors->result = (*env)->GetFieldID(env, floors->calculator, "result", "I");
  if (floors->result == NULL)
    return false;
  floors->object = (*env)->NewObjectA(env, floors->calculator, floors->construct, NULL);
  return floors->object != NULL;
}

static bool make_texts(struct floors *floors)
{
  struct buffer text;
  buffer_init(&text);
  workload_fill("$t", 0, &text);
  workload_fill("$n]", 0, &floors->numbers);
  size_t count = text.failed ? 0 : text_utf16_length(buffer_text(&text));
  floors->unit_count = (jsize)count;
  floors->units = calloc(count, sizeof *floors->units);
  floors->room = calloc(count, sizeof *floors->room);
  bool made = count > 0 && floors->units != NULL && floors->room != NULL && !floors->numbers.failed;
  if (made)
    text_to_utf16(buffer_text(&text), floors->units);
  buffer_fini(&text);
  return made;
}

bool floors_init(struct floors *floors, JNIEnv *env)
{
  *floors = (struct floors){.env = env};
  buffer_init(&floors->numbers);
  return make_texts(floors) && find_members(floors);
}

void floors_fini(struct floors *floors)
{
  free(floors->units);
  free(floors->room);
  buffer_fini(&floors->numbers);
}

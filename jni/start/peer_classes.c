#include "jni/start/peer_classes.h"

#include "jni/callbacks/proxy_calls.h"
#include "jni/fetch/columns.h"
#include "jni/runtime/peer_threads.h"
#include "jni/runtime/tasks.h"

#include <string.h>

static jclass define_class(JNIEnv *env, jobject loader, const char *name)
{
  const struct jvm_peer_class *row = jvm_peer_classes;
  while (row->name != NULL && strcmp(row->name, name) != 0)
    row++;
  if (row->name == NULL)
    return NULL;
  jclass local = (*env)->DefineClass(env, name, loader, (const jbyte *)row->bytes, (jsize)row->length);
  jclass global = local == NULL ? NULL : (*env)->NewGlobalRef(env, local);
  (*env)->DeleteLocalRef(env, local);
  return global;
}

static bool bind_thread_classes(JNIEnv *env, struct jvm *jvm)
{
  const JNINativeMethod serve = {"serve", "()V", (void *)jvm_thread_serve};
  const JNINativeMethod serve_task = {"serve", "()V", (void *)jvm_task_serve};
  if ((*env)->RegisterNatives(env, jvm->thread_class, &serve, 1) != 0 ||
      (*env)->RegisterNatives(env, jvm->task_class, &serve_task, 1) != 0)
    return false;
  jvm->task_new = (*env)->GetMethodID(env, jvm->task_class, "<init>", "()V");
  if (jvm->task_new == NULL)
    return false;
  jvm->thread_new =
      (*env)->GetMethodID(env, jvm->thread_class, "<init>",
                          "(Ljava/lang/ThreadGroup;Ljava/lang/String;Ljava/lang/ClassLoader;)V");
  if (jvm->thread_new == NULL)
    return false;
  jvm->thread_is_changed = (*env)->GetFieldID(env, jvm->thread_class, "isChanged", "Z");
  return jvm->thread_is_changed != NULL;
}

static bool bind_cursor_class(JNIEnv *env, struct jvm *jvm)
{
  const struct {
    jmethodID *id;
    const char *name;
    const char *descriptor;
  } rows[] = {
      {&jvm->cursor_new, "<init>", "()V"},
      {&jvm->cursor_begin, "begin", "()Z"},
      {&jvm->cursor_end, "end", "([Ljava/lang/Object;II)Z"},
      {&jvm->cursor_source, "source", "()Ljava/lang/Object;"},
      {&jvm->cursor_open, "open", "(Ljava/lang/Object;ZZ)V"},
      {&jvm->cursor_take, "take", "(IZZLjava/lang/Class;Ljava/lang/Class;)[Ljava/lang/Object;"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    *rows[i].id = (*env)->GetMethodID(env, jvm->cursor_class, rows[i].name, rows[i].descriptor);
    if (*rows[i].id == NULL)
      return false;
  }
  jvm->cursor_given = (*env)->GetFieldID(env, jvm->cursor_class, "given", "I");
  return jvm->cursor_given != NULL;
}

/* The static methods that C calls. */
static bool bind_helpers(JNIEnv *env, struct jvm *jvm)
{
  const struct {
    jclass class;
    jmethodID *id;
    const char *name;
    const char *descriptor;
  } rows[] = {
      {jvm->bulk_copy_class, &jvm->bulk_copy_add, "add",
       "(Ljava/util/Collection;I[B[J[C[Ljava/lang/Object;)V"},
      {jvm->bulk_copy_class, &jvm->bulk_copy_no_keys, "noKeys",
       "(Ljava/util/Map;Ljava/lang/Class;)Ljava/util/Set;"},
      {jvm->bulk_copy_class, &jvm->bulk_copy_put, "put",
       "(Ljava/util/Map;Ljava/util/Set;I[B[J[Ljava/lang/Object;[B[J[C[Ljava/lang/Object;)I"},
      {jvm->bulk_copy_class, &jvm->bulk_copy_set, "set", "([Ljava/lang/Object;II[B[J[C[Ljava/lang/Object;)V"},
      {jvm->traces_class, &jvm->traces_describe, "describe", "(Ljava/lang/Throwable;I)Ljava/lang/String;"},
      {jvm->packages_class, &jvm->packages_has, "has", "(Ljava/lang/String;)Z"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    *rows[i].id = (*env)->GetStaticMethodID(env, rows[i].class, rows[i].name, rows[i].descriptor);
    if (*rows[i].id == NULL)
      return false;
  }
  return true;
}

static bool define_all(JNIEnv *env, struct jvm *jvm)
{
  const struct {
    const char *name;
    jclass *class;
  } rows[] = {
      {"jpeer/peer/PeerThread", &jvm->thread_class},
      {"jpeer/peer/Start", &jvm->start_class},
      {"jpeer/peer/BulkCopy", &jvm->bulk_copy_class},
      {"jpeer/peer/Task", &jvm->task_class},
      {"jpeer/peer/Traces", &jvm->traces_class},
      {"jpeer/peer/ModulePackages", &jvm->packages_class},
      {"jpeer/peer/Cursor", &jvm->cursor_class},
      {"jpeer/peer/Column", &jvm->columns.column_class},
      {"jpeer/peer/ColumnStep", &jvm->columns.step_class},
      {"jpeer/peer/ColumnPath", &jvm->columns.path_class},
      {"jpeer/peer/BadColumns", &jvm->columns.bad_columns_class},
      {"jpeer/peer/Rows", &jvm->columns.rows_class},
      {"jpeer/peer/ObjectRows", &jvm->columns.object_rows_class},
      {"jpeer/peer/ResultSetRows", &jvm->columns.result_set_rows_class},
      {"jpeer/peer/ColumnPages", &jvm->columns.pages_class},
      {"jpeer/peer/SentColumn", &jvm->columns.sent_class},
      {"jpeer/peer/StatementRows", &jvm->columns.statement_rows_class},
      {"jpeer/peer/RowSink", &jvm->columns.sink_class},
      {"jpeer/peer/Callback", &jvm->callback.callback_class},
      {"jpeer/peer/CallbackKind", &jvm->callback.kind_class},
      {"jpeer/peer/CallbackException", &jvm->callback.exception_class},
      {"jpeer/peer/Waiting", &jvm->callback.waiting_class},
      {"jpeer/peer/Released", &jvm->callback.released_class},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    *rows[i].class = define_class(env, jvm->class_loader, rows[i].name);
    if (*rows[i].class == NULL)
      return false;
  }
  return true;
}

enum jp_status jvm_peer_classes_define(struct jvm *jvm, JNIEnv *env, struct jp_error *error)
{
  if (!define_all(env, jvm) || !bind_thread_classes(env, jvm) || !bind_cursor_class(env, jvm) ||
      !bind_helpers(env, jvm) || !callback_natives_bind(env, jvm) || !columns_natives_bind(env, jvm)) {
    (*env)->ExceptionClear(env);
    return jp_fail(error, JP_INTERNAL, "this JVM does not accept the peer's own classes");
  }
  return JP_OK;
}

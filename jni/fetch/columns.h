#ifndef JPEER_JNI_FETCH_COLUMNS_H
#define JPEER_JNI_FETCH_COLUMNS_H
/* The classes of jpeer.peer that read and write rows for jvm_columns and jvm_rows (jni/fetch.h), and what the
 * two functions share. */
#include "jni/members.h"
#include "jni/runtime/machine.h"

/* Binds their members and native methods, when the JVM starts. False: an exception is pending. */
bool columns_natives_bind(JNIEnv *env, struct jvm *jvm);

/* A request whose rows the thread reads or writes. The Java classes ask the policy for it. A request that is
 * nested in it, by a callback of the client, has its own. */
struct rows_asking {
  const struct jvm_request *request;
  struct outcome denial; /* by the judge; its kind is OUTCOME_ERROR where there is one */
  struct rows_asking *outer;
};
void rows_asking_begin(struct rows_asking *asking, const struct jvm_request *request);
void rows_asking_end(const struct rows_asking *asking);

/* The number of a type in Column.java. unit: data NULL: none is given. has_scale distinguishes the two kinds of decimals
 * apart. -1: there is no such type. */
int columns_type_of(struct text type, struct text unit, bool has_scale);
bool columns_type_has_offsets(int type);

#endif

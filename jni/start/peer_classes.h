#ifndef JPEER_JNI_START_PEER_CLASSES_H
#define JPEER_JNI_START_PEER_CLASSES_H
/*
 * The peer's own Java classes (jni/java), compiled with the peer and carried in it as bytes.
 */
#include "jni/runtime/machine.h"

#include <stddef.h>

struct jvm_peer_class {
  const char *name; /* "jpeer/peer/Start" */
  const unsigned char *bytes;
  size_t length;
};

/* Written by cmake/embed_classes.cmake; ends with a row whose name is NULL. */
extern const struct jvm_peer_class jvm_peer_classes[];

/*
 * Defines them in the application's class loader, binds their native methods and fills the fields of jvm for
 * them. Call it once, on the thread "main". JP_INTERNAL or JP_JAVA end the start.
 */
enum jp_status jvm_peer_classes_define(struct jvm *jvm, JNIEnv *env, struct jp_error *error) JP_MUST_CHECK;

#endif

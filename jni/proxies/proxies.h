#ifndef JPEER_JNI_PROXIES_PROXIES_H
#define JPEER_JNI_PROXIES_PROXIES_H
/*
 * The table of proxies. A proxy has a number, a handler that Java calls (jpeer.peer.Callback), its client's
 * callback and its kind. The table does not keep proxies alive. A number is accepted only together with its
 * own handler object, because application code can reach handlers and make others.
 *
 * Any thread that may use Java, with no exception pending. No lock is held while a hook is called.
 */
#include "jni/proxies/kinds.h"

struct callback_proxy {
  uint64_t number; /* from 1; never used again */
  struct rpc_callbacks *callbacks;
  struct jvm_callback_given given;
  struct callback_kind *kind;     /* held */
  _Atomic uint64_t allowed_stamp; /* of the judge that has last allowed the proxy's methods */

  /* Private to proxies.c. */
  jweak handler;
  bool is_made;             /* the hook `made` has registered the number, so `released` must follow */
  _Atomic unsigned holders; /* the table, and each user */
  struct callback_proxy *next;
};

/*
 * Makes a proxy of the kind for a callback of the request's client, and adds it to the table. kind_object:
 * the kind's Java object. The request's judge must have allowed the kind's methods. The caller holds *made;
 * *handler is a local reference to its handler. JP_INVALID: a proxy of these interfaces is impossible, and
 * the text says why. JP_LIMIT: its class would exceed callback_classes_max of the request's limits. JP_JAVA:
 * an exception is pending. JP_NO_MEMORY.
 */
enum jp_status callback_proxy_make(const struct jvm_request *request, const struct jvm_callback_given *given,
                                   struct callback_kind *kind, jobject kind_object,
                                   struct callback_proxy **made, jobject *handler,
                                   struct jp_error *error) JP_MUST_CHECK;
/* Call it when the hook `made` has registered the number. */
void callback_proxy_settle(struct callback_proxy *proxy);
/* Call it when the hook `made` has not registered the number: removes the proxy from the table. The caller
 * still holds it. */
void callback_proxy_forget(struct callback_proxy *proxy);

/* Holds the proxy with the number; *handler (a local reference) is its handler. NULL: none, or the proxy was
 * collected. */
struct callback_proxy *callback_proxy_find(JNIEnv *env, uint64_t number, jobject *handler);
/* Holds the proxy with the number if `handler` is its handler; else NULL. */
struct callback_proxy *callback_proxy_take(JNIEnv *env, uint64_t number, jobject handler);
void callback_proxy_release(JNIEnv *env, struct callback_proxy *proxy);

/* The Java proxy of a handler: a local reference. */
jobject callback_proxy_object(JNIEnv *env, const struct jvm *jvm, jobject handler);

/* Identifies the callback whose proxy the object is. The object's class was made by java.lang.reflect.Proxy.
 * False: the object is not the proxy of a callback, or the callback was released. */
bool callback_proxy_identify(JNIEnv *env, const struct jvm *jvm, jobject object,
                             struct op_callback_identity *identity);

/* The native method of jpeer.peer.Released: does nothing for a number whose handler still exists. */
void JNICALL callback_proxy_collected(JNIEnv *env, jclass class, jlong number);

#endif

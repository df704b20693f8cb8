#ifndef JPEER_JNI_PROXIES_PROXIES_H
#define JPEER_JNI_PROXIES_PROXIES_H
/*
 * The table of proxies: a number for each, with the handler that Java calls (jpeer.peer.Callback), whose callback it
 * is, and its kind. No proxy is kept alive by it. A number means something only together with its own handler object,
 * because called code can reach that and make others.
 *
 * Any thread that may use Java, with no exception pending. No lock is held where a hook is called.
 */
#include "jni/proxies/kinds.h"

struct callback_proxy {
  uint64_t number; /* from 1; never given again */
  struct rpc_callbacks *callbacks;
  struct jvm_callback_given given;
  struct callback_kind *kind;     /* held */
  _Atomic uint64_t allowed_stamp; /* of the judge that has last allowed its methods */

  /* Of proxies.c. */
  jweak handler;
  bool is_made;             /* the hook `made` has taken it, so that `released` is due */
  _Atomic unsigned holders; /* the table, and who uses it */
  struct callback_proxy *next;
};

/*
 * Makes a proxy of the kind, whose Java object is kind_object, for a callback of the request's client, and lists it. Its
 * methods are those that the request's judge has allowed. *made is held by the caller, *handler a local reference to its
 * handler. JP_INVALID: there can be no such proxy, and the text says why. JP_LIMIT: its class would be one more than
 * callback_classes_max of the request's limits. JP_JAVA: an exception is pending. JP_NO_MEMORY.
 */
enum jp_status callback_proxy_make(const struct jvm_request *request, const struct jvm_callback_given *given,
                                   struct callback_kind *kind, jobject kind_object,
                                   struct callback_proxy **made, jobject *handler,
                                   struct jp_error *error) JP_MUST_CHECK;
/* The hook `made` has taken it. */
void callback_proxy_settle(struct callback_proxy *proxy);
/* It has not: the table forgets it; the caller still holds it. */
void callback_proxy_forget(struct callback_proxy *proxy);

/* Holds the proxy of the number; *handler (a local reference) is its handler. NULL: there is none, or it was
 * collected. */
struct callback_proxy *callback_proxy_find(JNIEnv *env, uint64_t number, jobject *handler);
/* Holds the proxy of the number, whose handler is this very object; NULL: it is not. */
struct callback_proxy *callback_proxy_take(JNIEnv *env, uint64_t number, jobject handler);
void callback_proxy_release(JNIEnv *env, struct callback_proxy *proxy);

/* The proxy itself, of a handler: a local reference. */
jobject callback_proxy_object(JNIEnv *env, const struct jvm *jvm, jobject handler);

/* Whose callback the object is, of a class that java.lang.reflect.Proxy has made. False: it is none, or none any more. */
bool callback_proxy_tell(JNIEnv *env, const struct jvm *jvm, jobject object,
                         struct op_callback_identity *told);

/* The native method of jpeer.peer.Released: does nothing for a number whose handler is still there. */
void JNICALL callback_proxy_tell_released(JNIEnv *env, jclass class, jlong number);

#endif

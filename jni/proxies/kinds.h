#ifndef JPEER_JNI_PROXIES_KINDS_H
#define JPEER_JNI_PROXIES_KINDS_H
/*
 * What all callbacks with the same interfaces share: the methods of their proxies, and which of these methods
 * are sent to the client. Reflection (jpeer.peer.CallbackKind) finds them once for each kind. The kinds that
 * were used last are cached for the next callback. Any thread that may use Java, with no exception pending.
 */
#include "base/arena.h"
#include "jni/callbacks.h"
#include "jni/types/element_types.h"

/* Names of default methods whose calls are sent to the client, too. */
struct callback_overrides {
  const struct text *names;
  size_t count;
};

/* The interfaces and options of a client's object. Borrowed. */
struct callback_form {
  struct jvm_class *const *interfaces; /* sorted by name */
  size_t interface_count;
  struct callback_overrides overrides;
  /* the type of the results that is declared by the parameter for which the object was given */
  struct declared_function function;
};

struct callback_method {
  struct jvm_method *method;
  /* the result type, with type variables resolved by subinterfaces and by the parameter's declaration */
  struct jvm_type result;
  const struct element_types *declared; /* for the result; NULL: none declared */
  bool is_sent;                         /* false: a default method, which runs in Java */
  struct jvm_class *given;              /* the first of the client's interfaces that has the method */
  struct jvm_callback_method description;
};

/* A kind is constant. Use its methods only while a proxy or the proxy's caller keeps the interfaces loaded,
 * because the methods belong to the interfaces. If a function needs its context, the Java object keeps the
 * context loaded. */
struct callback_kind {
  struct callback_method *methods;
  size_t method_count;
  struct callback_form form;

  /* Private to kinds.c. */
  jobject object; /* the Java object: a global reference, or a weak one if an interface may be unloaded */
  bool is_weak;
  struct arena memory;
  unsigned holders;
  struct callback_kind *next;
};

/*
 * Returns the kind of the form. The caller holds the interfaces, which are loaded. Release the kind with
 * callback_kind_release. JP_INVALID: a proxy of these interfaces is impossible. The text is meant for the
 * client and says why. JP_JAVA: an exception is pending. JP_NO_MEMORY. *object: the Java object, a local
 * reference.
 */
enum jp_status callback_kind_find(struct jvm_thread *thread, const struct callback_form *form,
                                  struct callback_kind **kind, jobject *object,
                                  struct jp_error *error) JP_MUST_CHECK;
/* Turns an IllegalArgumentException of the peer's own classes into JP_INVALID with its message. */
enum jp_status callback_explain_refusal(struct jvm_thread *thread, jthrowable thrown, struct jp_error *error);
bool callback_kind_has_interfaces(const struct callback_kind *kind, const struct callback_form *form);
bool callback_kind_has_function(const struct callback_kind *kind, const struct callback_form *form);
bool callback_kind_has_overrides(const struct callback_kind *kind, const struct callback_form *form);
struct callback_kind *callback_kind_hold(struct callback_kind *kind); /* returns `kind` */
void callback_kind_release(JNIEnv *env, struct callback_kind *kind);

enum { CALLBACK_NO_FUNCTION = -1 };

/* The number of parameters of a functional interface's function (JLS 9.8); CALLBACK_NO_FUNCTION: no
 * functional interface. The answer is kept in the class. */
int callback_function_arity(struct jvm_thread *thread, struct jvm_class *interface);
/* True if a functional interface's function returns nothing. */
bool callback_function_is_void(struct jvm_thread *thread, struct jvm_class *interface);
/* The name of a functional interface's function; data NULL: no functional interface, or memory is short. */
struct text callback_function_name(struct jvm_thread *thread, struct jvm_class *interface,
                                   struct arena *arena);

#endif

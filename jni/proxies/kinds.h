#ifndef JPEER_JNI_PROXIES_KINDS_H
#define JPEER_JNI_PROXIES_KINDS_H
/*
 * What all callbacks of the same interfaces have in common: the methods of their proxies, and which of these are sent
 * to the client. Reflection tells, once a kind (jpeer.peer.CallbackKind); the kinds used last are kept for the next
 * callback. Any thread that may use Java, with no exception pending.
 */
#include "base/arena.h"
#include "jni/callbacks.h"
#include "jni/types/element_types.h"

/* Which default methods are sent, too: names. */
struct callback_overrides {
  const struct text *names;
  size_t count;
};

/* What a client's object is for Java. Borrowed. */
struct callback_form {
  struct jvm_class *const *interfaces; /* in the order of their names */
  size_t interface_count;
  struct callback_overrides overrides;
  struct declared_function function; /* what the place that it was given for declares of its results */
};

struct callback_method {
  struct jvm_method *method;
  struct jvm_type
      result; /* what it returns, with type variables resolved as the interfaces below and the place say */
  const struct element_types *declared; /* of that; NULL: nothing more is declared */
  bool is_sent;                         /* false: a default method, which runs in Java */
  struct jvm_class *given;              /* the interface, of those that were given, that has it */
  struct jvm_callback_method told;
};

/* Constant. Its methods belong to the interfaces: they are used only while a proxy or its caller keeps these loaded. The Java
 * object keeps the context of the function loaded, where that is needed. */
struct callback_kind {
  struct callback_method *methods;
  size_t method_count;
  struct callback_form form;

  /* Of kinds.c. */
  jobject object; /* the Java object: global, or weak where an interface may be unloaded */
  bool is_weak;
  struct arena memory;
  unsigned holders;
  struct callback_kind *next;
};

/*
 * The kind of the form, whose interfaces the caller holds and which are loaded. Released with callback_kind_release.
 * JP_INVALID: there can be no such proxy, and the text says why, for the client. JP_JAVA: an exception is pending.
 * JP_NO_MEMORY. *object: the Java object, a local reference.
 */
enum jp_status callback_kind_find(struct jvm_thread *thread, const struct callback_form *form,
                                  struct callback_kind **kind, jobject *object,
                                  struct jp_error *error) JP_MUST_CHECK;
/* What an IllegalArgumentException of the peer's own says: JP_INVALID. */
enum jp_status callback_explain_refusal(struct jvm_thread *thread, jthrowable thrown, struct jp_error *error);
bool callback_kind_has_interfaces(const struct callback_kind *kind, const struct callback_form *form);
bool callback_kind_has_function(const struct callback_kind *kind, const struct callback_form *form);
bool callback_kind_has_overrides(const struct callback_kind *kind, const struct callback_form *form);
struct callback_kind *callback_kind_hold(struct callback_kind *kind); /* returns it */
void callback_kind_release(JNIEnv *env, struct callback_kind *kind);

enum { CALLBACK_NO_FUNCTION = -1 };

/* The number of parameters of a functional interface's function (JLS 9.8); CALLBACK_NO_FUNCTION: it is none.
 * Known after the first question. */
int callback_function_arity(struct jvm_thread *thread, struct jvm_class *interface);
/* Of a functional interface: its function returns nothing. */
bool callback_function_is_void(struct jvm_thread *thread, struct jvm_class *interface);
/* Its name; data NULL: it is none, or memory is short. */
struct text callback_function_name(struct jvm_thread *thread, struct jvm_class *interface,
                                   struct arena *arena);

#endif

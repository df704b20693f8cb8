#ifndef JPEER_JNI_RESOLVE_MEMBER_CACHE_H
#define JPEER_JNI_RESOLVE_MEMBER_CACHE_H
/*
 * Resolved members, and a thread's cache of them (design.md, "Resolve once"). A member says all that a
 * repeated call needs; its key is the operation's kind, names and declared types, and the class ids of the
 * receiver and of refs among the arguments. Used on the thread's own thread, without a lock.
 *
 * A member lives until the cache has been filled anew twice: longer than the request that resolved it.
 */
#include "jni/convert/arguments.h"
#include "jni/resolve/call_frame.h"

/* What is kept must not grow with what a caller may send: a call with more is resolved each time. */
enum { KEY_TEXTS_MAX = 1024, KEY_ARGUMENTS_MAX = 32 };

/* What overload resolution may look at of an argument: the declared type, or else the kind of the value; a
 * ref's class. */
struct member_key_argument {
  uint32_t form;     /* says too whether there is a type or a class_id */
  uint32_t class_id; /* of an OP_REF; else 0 */
  struct text type;  /* as declared; data NULL: none was */
};

/* What a member is found by. */
struct member_key {
  uint64_t hash;
  uint32_t receiver_class; /* 0: there is no receiver */
  enum op_kind kind;
  struct text type;
  struct text member;
  size_t argument_count;
  struct member_key_argument *arguments;
};

enum member_action {
  MEMBER_CALL,
  MEMBER_CALL_STATIC,
  MEMBER_NEW,
  MEMBER_NEW_ARRAY, /* plans: none */
  MEMBER_GET,
  MEMBER_GET_STATIC,
  MEMBER_GET_LENGTH, /* of an array */
  MEMBER_PUT,
  MEMBER_PUT_STATIC,
  MEMBER_REFUSE /* refusal and refusal_type say why; nothing is run */
};

struct resolved_member {
  struct member_key key;
  struct resolved_member *next; /* of the same bucket */

  enum jvm_member_kind kind;
  enum member_action action;
  unsigned modifiers;
  struct jvm_class *named;
  struct jvm_class *declaring;
  struct jvm_class *runtime; /* of the receiver; NULL: there is none */
  struct text name;
  struct jvm_method *method; /* MEMBER_CALL*, MEMBER_NEW */
  struct jvm_field *field;   /* MEMBER_GET, MEMBER_PUT and their static forms */
  /* What JNI is called with. Of a static member NULL until the class was initialised through it. */
  jmethodID method_id;
  jfieldID field_id;
  const char *refusal_type;
  const char *refusal;

  uint64_t stamp; /* of the guard that told which overloads are candidates; 0: none had to be asked about */
  struct jvm_holder *holders; /* of jvm_target */
  size_t holder_count;

  bool is_kept; /* lives in the thread's cache, for as long as that has the same serial */
  bool
      leaves_no_references; /* of a member that is kept: running it makes no local reference, but for a ref's and an
                    exception's */
  bool variable;            /* the arguments from the method's last parameter on are gathered into an array */
  size_t plan_count;
  struct argument_plan *plans;
  uint64_t verdicts[OP_CHANNELS];
};

/* A thread's cache. */
struct member_cache {
  uint64_t serial; /* of what the cache holds now, from 1 */
  struct resolved_member **buckets;
  size_t count;
  struct resolved_member **retired; /* what the cache held before it was emptied */
};

/* The thread's cache, made on first use. NULL: memory is short. */
struct member_cache *member_cache_of(struct jvm_thread *thread);

/* The operation's member; NULL: there is none. Sets the frame's hash. */
struct resolved_member *member_cache_find(struct member_cache *cache, const struct operation *operation,
                                          struct call_frame *frame);
/*
 * Keeps a copy of the member for the operation, which member_cache_find has looked for, and gives the copy.
 * Where the key would be too large (KEY_TEXTS_MAX, KEY_ARGUMENTS_MAX) or memory is short, gives the member
 * itself.
 */
struct resolved_member *member_cache_keep(struct member_cache *cache, const struct operation *operation,
                                          const struct call_frame *frame, struct resolved_member *member);

void resolved_member_fill_target(struct resolved_member *member, struct call_frame *frame,
                                 struct jvm_target *target);

#endif

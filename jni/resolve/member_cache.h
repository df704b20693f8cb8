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

/* What is kept must not grow with what a caller may send: a call with more is resolved each time. */
enum { KEY_TEXTS_MAX = 1024, KEY_ARGUMENTS_MAX = 32, FEW_ARGUMENTS = 8, FILLINGS_KEPT = 64 };

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

  bool is_plain;     /* of a member that is kept: running it makes no local reference, but for a ref's and an
                        exception's */
  bool is_brief;     /* of a member that is kept: jvm_brief_run can run it, once it has an id */
  char brief_result; /* of is_brief: the letter of a whole number, or V */
  bool variable;     /* the arguments from the method's last parameter on are gathered into an array */
  size_t plan_count;
  struct argument_plan *plans;
  uint64_t verdicts[OP_CHANNELS];
};

/* The operation in hand, on its way from jvm_resolve to jvm_invoke; what it points to is in the arena, or in
 * `few` where there are few arguments. */
struct jvm_records {
  uint64_t epoch;          /* of the session's objects, when the operation began */
  jobject receiver;        /* local; NULL: there is none */
  uint32_t receiver_class; /* its class id; 0: there is none */
  jobject *objects;        /* local: of each argument that is an OP_REF; NULL for the others */
  uint32_t *classes;       /* their class ids; 0 for the others */
  uint64_t hash;           /* of the key, when it was looked for */
  uint64_t stamp;          /* of the request's guard */
  bool has_references;     /* resolving made local ones */

  struct {
    jobject objects[FEW_ARGUMENTS];
    uint32_t classes[FEW_ARGUMENTS];
    jvalue values[FEW_ARGUMENTS];
  } few;

  uint64_t serial; /* of what the cache holds now, from 1 */
  struct resolved_member **buckets;
  size_t count;
  struct resolved_member **retired;                /* what the cache held before it was filled anew */
  struct resolved_member *fillings[FILLINGS_KEPT]; /* by class id: the add or put of a collection or map */
};

/* The thread's cache, made on first use. NULL: memory is short. */
struct jvm_records *records_of(struct jvm_thread *thread);

/* Makes room for what is known of each of the operation's arguments; false: memory is short. */
bool records_open(struct jvm_records *records, const struct operation *operation, struct arena *arena);
/* The operation's member; receiver_class and classes are set. NULL: there is none. Of an operation that comes
 * again, what is found (or that nothing is) is noted in its memo, and names need not be looked at another
 * time. */
struct resolved_member *records_find(struct jvm_records *records, const struct operation *operation);
/*
 * Keeps a copy of the member for the operation, which records_find has looked for, and gives the copy. Where
 * the key would be too large (KEY_TEXTS_MAX, KEY_ARGUMENTS_MAX) or memory is short, gives the member
 * itself.
 */
struct resolved_member *records_keep(struct jvm_records *records, const struct operation *operation,
                                     struct resolved_member *member);
/* The same of a class's add or put, found by the member's named and runtime class. NULL: there is none.
 * Another class's member may be dropped for it, so that what is found is not to be held. */
struct resolved_member *records_find_filling(struct jvm_records *records, const struct jvm_class *named,
                                             const struct jvm_class *runtime);
struct resolved_member *records_keep_filling(struct jvm_records *records, struct resolved_member *member);

void resolved_member_fill_target(struct resolved_member *member, struct jvm_target *target);

#endif

#ifndef JPEER_JNI_RESOLVE_MEMBER_CACHE_H
#define JPEER_JNI_RESOLVE_MEMBER_CACHE_H
/*
 * Resolved members, and a thread's cache of them (docs/internals/resolution.md, "A thread resolves a member once"). A
 * resolved member holds all that a repeated call needs. Its key is the operation's kind, names and declared
 * types, and the class ids of the receiver and of refs among the arguments. Used on the thread's own thread,
 * without a lock.
 *
 * A cached member lives until the cache has been emptied twice, and so longer than the request that resolved
 * it.
 */
#include "jni/convert/arguments.h"
#include "jni/resolve/resolve.h"
#include "judge/judge.h"

/* Bounds of a key, so that callers cannot make the cache large: an operation beyond them is resolved each
 * time. */
enum { KEY_TEXTS_MAX = 1024, KEY_ARGUMENTS_MAX = 32 };

/* The properties of an argument that overload resolution depends on: its declared type, else the kind of its
 * value; for a ref, the object's class. */
struct member_key_argument {
  uint32_t form;     /* tells, too, whether there is a type or a class_id */
  uint32_t class_id; /* of an OP_REF; else 0 */
  struct text type;  /* as declared; data NULL: none was */
};

/* The key of a member. */
struct member_key {
  uint64_t hash;
  uint32_t receiver_class; /* 0: there is no receiver */
  uint32_t loader;         /* the number of the one that the operation names; 0: none */
  enum op_kind kind;
  bool implies_type; /* of the operation: type is then no text that a request could have */
  bool is_range_put; /* of an array; that of an element has the same names */
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
  MEMBER_GET_PIECE,  /* an element of an array, or a range of it: the operation tells which */
  MEMBER_PUT_PIECE,  /* an element of an array */
  MEMBER_PUT_RANGE,
  MEMBER_PUT,
  MEMBER_PUT_STATIC,
  MEMBER_REFUSE /* refusal and refusal_type say why; nothing is run */
};

/* Whether a result may need a place among the session's objects. */
enum result_place {
  RESULT_PLACE_UNKNOWN, /* until the member is first run */
  RESULT_PLACE_NONE,
  RESULT_PLACE_MAYBE, /* its type is Object, Number, ...: it may be a String or a wrapper */
  RESULT_PLACE_NEEDED
};

/* What a kept member declares of the elements of its parameters, as far as it was asked for. */
struct member_elements {
  struct arena arena;
  size_t count;
  struct {
    bool is_known;
    const struct element_types *types; /* NULL: nothing is declared */
  } of[];
};

struct resolved_member {
  struct member_key key;
  struct resolved_member *next; /* of the same bucket */

  enum op_member_kind kind;
  enum member_action action;
  unsigned modifiers;
  struct jvm_class *named;
  /* Where the name alone has found the class, and it may be unloaded: the member's own reference to the class,
   * and why the name means it. NULL: the key keeps it loaded, or it always is. */
  jweak named_ref;
  struct class_basis basis;
  struct jvm_class *declaring;
  struct jvm_class *runtime; /* of the receiver; NULL: there is none */
  struct text name;
  struct jvm_method *method; /* MEMBER_CALL*, MEMBER_NEW */
  struct jvm_field *field;   /* MEMBER_GET, MEMBER_PUT and their static forms */
  struct jvm_type element;   /* MEMBER_GET_PIECE, MEMBER_PUT_PIECE; of MEMBER_PUT_RANGE the array */
  /* For JNI. NULL for a static member until its class has been initialised by taking the id. */
  jmethodID method_id;
  jfieldID field_id;
  const char *refusal_type;
  const char *refusal;

  uint64_t stamp; /* of the judge that chose the candidates among overloads; 0: it was not asked */
  struct judged_holder *holders; /* of judged_member */
  size_t holder_count;

  bool needs_own_thread; /* it changes a thread of the peer, which only that thread itself may */
  bool is_kept;          /* in the thread's cache, while that has the same serial */
  /* Of a kept member: a run leaves no local reference, unless an argument is a ref or Java throws. */
  bool leaves_no_references;
  enum result_place result_place;
  bool variable; /* the arguments from the method's last parameter on are gathered into an array */
  size_t plan_count;
  struct argument_plan *plans;
  struct member_elements *elements; /* owned; NULL: nothing was asked for, or the member is not kept */
  uint64_t verdicts[OP_CHANNELS];
};

/* A thread's cache. */
struct member_cache {
  uint64_t serial; /* of what the cache holds now, from 1 */
  struct resolved_member **buckets;
  size_t count;
  struct resolved_member *outdated; /* members that were taken out, and may be in use */
  struct jvm_thread *thread;        /* whose cache it is: its env is that of whoever uses it now */
  struct resolved_member **retired; /* what the cache held before it was emptied */
};

/* The thread's cache, made on first use. NULL: memory is short. */
struct member_cache *member_cache_of(struct jvm_thread *thread);

/* Finds the operation's member; NULL: the cache has none. Sets the frame's hash. */
struct resolved_member *member_cache_find(struct member_cache *cache, const struct operation *operation,
                                          struct call_frame *frame);
/* True where the name that was given still means the class. Its class is then held until jvm_request_end. */
bool member_cache_is_current(struct jvm_thread *thread, const struct resolved_member *member,
                             struct call_frame *frame);
/* Takes a member out that is not current. */
void member_cache_take_out(struct member_cache *cache, struct resolved_member *member);
/*
 * Keeps a copy of the member for the operation that member_cache_find has just looked for, and returns the
 * copy. If the key is too large (KEY_TEXTS_MAX, KEY_ARGUMENTS_MAX) or memory is short, returns the member
 * itself.
 */
struct resolved_member *member_cache_keep(struct member_cache *cache, const struct operation *operation,
                                          const struct call_frame *frame, struct resolved_member *member);

void resolved_member_fill_target(struct resolved_member *member, struct call_frame *frame,
                                 struct jvm_target *target);

/* What the member declares of the elements of a parameter, or of a field that is put (index 0). NULL: nothing. Asked for when
 * a list or map is given. arena: the request's. */
const struct element_types *resolved_member_elements(struct jvm_thread *thread,
                                                     struct resolved_member *member, size_t index,
                                                     struct arena *arena);

#endif

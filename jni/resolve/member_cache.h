#ifndef JPEER_JNI_RESOLVE_MEMBER_CACHE_H
#define JPEER_JNI_RESOLVE_MEMBER_CACHE_H
/*
 * Resolved members, and a thread's cache of them (docs/internals/resolution.md, "A thread resolves a member
 * once"). A resolved member holds all that a repeated call needs. Its key is the operation's kind, names and
 * declared types, and the class ids of the receiver and of refs among the arguments. Used on the thread's own
 * thread, without a lock.
 *
 * A cached member lives until the cache has been emptied twice, so it outlives the request that resolved it.
 */
#include "jni/convert/arguments.h"
#include "jni/resolve/resolve.h"
#include "judge/judge.h"

/* Limits of a key, so that callers cannot make the cache large. An operation whose key exceeds a limit is
 * resolved each time. */
enum { KEY_TEXTS_MAX = 1024, KEY_ARGUMENTS_MAX = 32 };

/* The properties of an argument that overload resolution depends on: its declared type, or else the kind of
 * its value; for a ref, the object's class. */
struct member_key_argument {
  uint32_t form;     /* includes whether there is a type or a class_id */
  uint32_t class_id; /* of an OP_REF; else 0 */
  struct text type;  /* as declared; data NULL: not declared */
};

/* The key of a member. */
struct member_key {
  uint64_t hash;
  uint32_t receiver_class; /* 0: no receiver */
  uint32_t loader;         /* the number of the loader that the operation names; 0: none */
  enum op_kind kind;
  bool implies_type; /* the operation names no type: the type is the receiver's class */
  bool is_range_put; /* of an array; a put of one element has the same names */
  struct text type;
  struct text member;
  size_t argument_count;
  struct member_key_argument *arguments;
};

enum member_action {
  MEMBER_CALL,
  MEMBER_CALL_STATIC,
  MEMBER_NEW,
  MEMBER_NEW_ARRAY, /* has no plans */
  MEMBER_GET,
  MEMBER_GET_STATIC,
  MEMBER_GET_LENGTH, /* of an array */
  MEMBER_GET_PIECE,  /* an element or a range of an array; the operation says which */
  MEMBER_PUT_PIECE,  /* an element of an array */
  MEMBER_PUT_RANGE,
  MEMBER_PUT,
  MEMBER_PUT_STATIC,
  MEMBER_REFUSE /* runs nothing; refusal and refusal_type say why */
};

/* Whether a result may need a slot in the session's table of objects. */
enum result_place {
  RESULT_PLACE_UNKNOWN, /* until the member is first run */
  RESULT_PLACE_NONE,
  RESULT_PLACE_MAYBE, /* its type is Object, Number, ...: the result may be a String or a wrapper */
  RESULT_PLACE_NEEDED
};

/* The element types of a cached member's parameters, filled in when a call first needs them. */
struct member_elements {
  struct arena arena;
  size_t count;
  struct {
    bool is_known;
    const struct element_types *types; /* NULL: none declared */
  } of[];
};

struct resolved_member {
  struct member_key key;
  struct resolved_member *next; /* of the same bucket */

  enum op_member_kind kind;
  enum member_action action;
  unsigned modifiers;
  struct jvm_class *named;
  /* Set if the class was found only by its name and may be unloaded: the member's own reference to the class.
   * `basis` says why the name meant the class. NULL: the key keeps the class loaded, or the class is
   * permanent. */
  jweak named_ref;
  struct class_basis basis;
  struct jvm_class *declaring;
  struct jvm_class *runtime; /* of the receiver; NULL: no receiver */
  struct text name;
  struct jvm_method *method; /* MEMBER_CALL*, MEMBER_NEW */
  struct jvm_field *field;   /* MEMBER_GET, MEMBER_PUT and their static forms */
  struct jvm_type element;   /* MEMBER_GET_PIECE, MEMBER_PUT_PIECE; of MEMBER_PUT_RANGE the array */
  /* For JNI. NULL for a static member until its id is needed, because JNI initialises the class when it
   * returns the id. */
  jmethodID method_id;
  jfieldID field_id;
  const char *refusal_type;
  const char *refusal;

  uint64_t stamp; /* of the judge that chose the candidates among overloads; 0: the judge was not asked */
  struct judged_holder *holders; /* of judged_member */
  size_t holder_count;

  bool needs_own_thread; /* changes a thread of the peer; only that thread itself may make this change */
  bool is_kept;          /* in the thread's cache, as long as the cache has this serial */
  /* For a cached member: a call leaves no local reference, unless an argument is a ref or Java throws. */
  bool leaves_no_references;
  enum result_place result_place;
  bool variable; /* the arguments from the method's last parameter on become an array */
  size_t plan_count;
  struct argument_plan *plans;
  struct member_elements *elements; /* owned; NULL: not needed so far, or the member is not cached */
  uint64_t verdicts[JUDGE_WORDS];
};

/* A thread's cache. */
struct member_cache {
  uint64_t serial; /* of the present contents, from 1 */
  struct resolved_member **buckets;
  size_t count;
  struct resolved_member *outdated; /* members that were removed, and may still be in use */
  /* the owner of this cache; its env belongs to the thread that uses it now */
  struct jvm_thread *thread;
  struct resolved_member **retired; /* the contents before the cache was emptied */
};

/* The thread's cache, created on first use. NULL: memory is short. */
struct member_cache *member_cache_of(struct jvm_thread *thread);

/* Finds the operation's member; NULL: not in the cache. Sets the frame's hash. */
struct resolved_member *member_cache_find(struct member_cache *cache, const struct operation *operation,
                                          struct call_frame *frame);
/* True if the given name still means the member's class. The class is then held until jvm_request_end. */
bool member_cache_is_current(struct jvm_thread *thread, const struct resolved_member *member,
                             struct call_frame *frame);
/* Removes a member that is not current. */
void member_cache_take_out(struct member_cache *cache, struct resolved_member *member);
/*
 * Stores a copy of the member for the operation that member_cache_find has just looked for, and returns the
 * copy. If the key is too large (KEY_TEXTS_MAX, KEY_ARGUMENTS_MAX) or memory is short, returns the member
 * itself.
 */
struct resolved_member *member_cache_keep(struct member_cache *cache, const struct operation *operation,
                                          const struct call_frame *frame, struct resolved_member *member);

void resolved_member_fill_target(struct resolved_member *member, struct call_frame *frame,
                                 struct jvm_target *target);

/* The element types of a parameter, or of a field that is put (index 0). NULL: none declared. Called when a
 * list or map is given. arena: the request's. */
const struct element_types *resolved_member_elements(struct jvm_thread *thread,
                                                     struct resolved_member *member, size_t index,
                                                     struct arena *arena);

#endif

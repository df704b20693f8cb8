#ifndef JPEER_JNI_RESOLVE_OVERLOAD_H
#define JPEER_JNI_RESOLVE_OVERLOAD_H
/*
 * Chooses among overloads by Java's rules (JLS 15.12.2) and then, for values without a declared type, by
 * cost. Plain C without a JVM: callbacks answer questions about class objects. Any thread.
 *
 * The order, first success wins:
 *   1. strict invocation (JLS 15.12.2.2): subtyping, primitive widening
 *   2. loose invocation (15.12.2.3): boxing and unboxing as well
 *   3. variable arity (15.12.2.4)
 *   4. by cost, if at least one argument is bare (its type was inferred from the value): the candidate of the
 *      right length with the lowest total cost wins; variable arity only if no fixed form fits. An argument
 *      that steps 1 or 2 accept costs ARGUMENT_COST_STRICT or ARGUMENT_COST_LOOSE; a callback returns
 *      the other costs (jni/convert/argument_costs.h). A value of the right kind that does not fit (300 for
 *      a byte) costs ARGUMENT_COST_MISFIT more: such a candidate wins only if no other remains, and the
 *      conversion then reports the error.
 *
 * Within a step the most specific candidate wins (15.12.2.5). If no single candidate is the most specific,
 * the call is ambiguous.
 */
#include "base/arena.h"
#include "jni/convert/argument_costs.h"

#include <stdbool.h>
#include <stddef.h>

enum { OVERLOAD_FUNCTION = '>' };

struct overload_type {
  /* Z B C S I J F D; 'L' for every reference type; 'N' for the type of a bare null; OVERLOAD_FUNCTION for a
   * bare callback: like a lambda, it can become any functional interface of its arity */
  char kind;
  char unboxed; /* the primitive that a wrapper class unboxes to; else 0 */
  void *handle; /* the reference type, for the callbacks */
};

struct overload_argument {
  struct overload_type type; /* static type: declared, inferred, or the runtime class of a ref */
  bool bare;                 /* inferred: step 4 may choose another type */
};

struct overload_candidate {
  const struct overload_type *params;
  size_t count;
  bool varargs;
  struct overload_type element; /* component of the last parameter; only with varargs */
};

struct overload_hooks {
  void *context;
  /* True for a subtype. Both are references ('L'), or sub is an OVERLOAD_FUNCTION and super a reference. */
  bool (*is_subtype)(void *context, const struct overload_type *sub, const struct overload_type *super);
  /* The wrapper class of a primitive. */
  struct overload_type (*boxed)(void *context, char primitive);
  /* Called for two reference types that the bare argument fits and of which neither is a subtype of the
   * other. True if the argument prefers `one`. A lambda without parameters prefers a functional interface
   * that returns a value (JLS 15.12.2.5). A list of numbers prefers the narrower array of primitives. The
   * preference is a strict order. */
  bool (*is_preferred)(void *context, size_t argument, const struct overload_type *one,
                       const struct overload_type *other);
  /* The cost of converting the bare argument to the type: above ARGUMENT_COST_LOOSE, or
   * ARGUMENT_COST_NEVER. */
  unsigned (*cost)(void *context, size_t argument, const struct overload_type *type);
};

enum overload_result { OVERLOAD_FOUND, OVERLOAD_NONE, OVERLOAD_AMBIGUOUS, OVERLOAD_NO_MEMORY };

struct overload_choice {
  size_t index;       /* OVERLOAD_FOUND */
  bool variable;      /* the arguments from the last parameter on become an array */
  bool is_misfit;     /* chosen although a value does not fit, because no other candidate remains */
  bool by_cost;       /* step 4: the choice depends on the arguments' values, not only on their types */
  const size_t *tied; /* OVERLOAD_AMBIGUOUS: indexes of the candidates, in the arena */
  size_t tied_count;
};

enum overload_result overload_choose(const struct overload_hooks *hooks,
                                     const struct overload_argument *arguments, size_t argument_count,
                                     const struct overload_candidate *candidates, size_t candidate_count,
                                     struct arena *arena, struct overload_choice *choice);

#endif

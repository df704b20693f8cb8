#ifndef JPEER_JNI_CONVERT_ARGUMENT_COSTS_H
#define JPEER_JNI_CONVERT_ARGUMENT_COSTS_H
/*
 * The cost of a bare value when overloads are chosen by cost (jni/resolve/overload.h, step 4).
 *
 * A value that strict or loose invocation accepts costs ARGUMENT_COST_STRICT or ARGUMENT_COST_LOOSE. A value
 * of the right kind that does not fit costs ARGUMENT_COST_MISFIT more than the table says. Conversions that
 * the table omits are impossible.
 *
 *   integer   short 3, byte 4, float and double 3, their wrappers 1 more; Integer and Long 4; String 9
 *   number    float 3, Float 4; String 9; integer types: misfit
 *   boolean   String 9
 *   text      char 3, Character 4; an enum's constant 4; other primitives 8 and their wrappers 9, by the
 *             number or boolean that the text is
 *   array     ArrayList and other lists 3, other collections 4; an array 5 and its dearest element
 *   callback  an interface that is not functional 3; an interface whose function has another number of
 *             parameters: misfit
 *   object    HashMap and other maps 3
 *   null      a primitive: misfit
 *
 * For other classes that can be made of a text or a number, the costs are in native/op/value_classes.json.
 */

enum { ARGUMENT_COST_STRICT = 0, ARGUMENT_COST_LOOSE = 2, ARGUMENT_COST_MISFIT = 1000 };
#define ARGUMENT_COST_NEVER (~0U)

struct conversion;
struct op_value;
struct jvm_type;

/* On the thread of the conversion. */
unsigned argument_cost(struct conversion *conversion, const struct op_value *value, struct jvm_type *to);

#endif

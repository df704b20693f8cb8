#ifndef JPEER_BASE_PRIMITIVES_H
#define JPEER_BASE_PRIMITIVES_H
/*
 * Java's primitive types, in one table. A type is identified by its letter in a descriptor (JVMS 4.3.2); the
 * letter is 'L' for a class and 'V' for void. Pure, any thread; results live as long as the program.
 */
#include "base/text.h"

/*
 * X(letter, member, keyword, type, Word, box, Wrapper, widens_to, range)
 *
 *   member     the member of a jvalue and of union primitive_value
 *   type       the type of an element in packed memory
 *   Word       the word in the names of JNI's functions (CallIntMethodA)
 *   box        the wrapper's name in struct jvm_known
 *   Wrapper    its class in java.lang
 *   widens_to  the letters of the types to which a value is converted without a cast, its own letter first (JLS 5.1.2)
 *   range      the range of values, for messages
 */
#define PRIMITIVES(X)                                                                                        \
  X('Z', z, boolean, uint8_t, Boolean, boolean, Boolean, "Z", "true or false")                               \
  X('B', b, byte, int8_t, Byte, byte, Byte, "BSIJFD", "-128 to 127")                                         \
  X('C', c, char, uint16_t, Char, character, Character, "CIJFD", "one UTF-16 unit")                          \
  X('S', s, short, int16_t, Short, short, Short, "SIJFD", "-32768 to 32767")                                 \
  X('I', i, int, int32_t, Int, integer, Integer, "IJFD", "-2147483648 to 2147483647")                        \
  X('J', j, long, int64_t, Long, long, Long, "JFD", "-9223372036854775808 to 9223372036854775807")           \
  X('F', f, float, float, Float, float, Float, "FD", "up to 3.4028235E38")                                   \
  X('D', d, double, double, Double, double, Double, "D", "up to 1.7976931348623157E308")

/* Has the layout of the primitive members of a jvalue. */
union primitive_value {
#define PRIMITIVE_MEMBER(letter, member, keyword, type, ...) type member;
  PRIMITIVES(PRIMITIVE_MEMBER)
#undef PRIMITIVE_MEMBER
};

struct primitive {
  char letter;
  struct text keyword; /* "int" */
  struct text wrapper; /* "java.lang.Integer" */
  size_t size;         /* bytes of an element in packed memory */
  const char *widens_to;
  const char *range;
};

/* NULL if no primitive has this letter; void is not a primitive. */
const struct primitive *primitive_find_letter(char letter);
const struct primitive *primitive_find_keyword(struct text keyword);
/* The letter of the primitive in a wrapper class ("java.lang.Integer": 'I'); 0 for any other class. */
char primitive_unboxed(struct text class_name);

/* "int" for 'I', "void" for 'V'; absent for any letter that does not belong to a primitive or void. */
struct text primitive_keyword(char letter);
/* True if the word is the name of a primitive, or "void". */
bool primitive_is_keyword(struct text word);

/* Bytes of one packed element; 0 where no primitive has this letter. */
size_t primitive_size(char letter);
/* Sets the least and the greatest value of byte, short, int or long. Returns false for other types. */
bool primitive_integer_range(char letter, int64_t *min, int64_t *max);

/* True if a value of type `from` can be used as type `to` without a cast, and if both types are equal. */
bool primitive_widens(char from, char to);
/* Changes the value, a union primitive_value or a jvalue, from one type to another that it widens to. */
void primitive_widen(char from, char to, void *value);

#endif

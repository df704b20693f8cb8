#ifndef JPEER_CLASSFILE_MODIFIERS_H
#define JPEER_CLASSFILE_MODIFIERS_H
/* Access flags (JVMS tables 4.1-B, 4.5-A, 4.6-A) as java.lang.reflect.Modifier.toString writes modifiers. Any
 * thread. */
#include <stdint.h>

enum modifiers_of { MODIFIERS_OF_CLASS, MODIFIERS_OF_FIELD, MODIFIERS_OF_METHOD, MODIFIERS_OF_PARAMETER };

enum { MODIFIERS_TEXT_MAX = 128 };

/* "public static final" into out, NUL-terminated; "" where there are none. Flags that are no modifiers of
 * such a thing (a bridge, variable arity, ...) are passed over. */
void modifiers_format(uint16_t access, enum modifiers_of of, char out[MODIFIERS_TEXT_MAX]);

#endif

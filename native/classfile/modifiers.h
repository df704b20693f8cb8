#ifndef JPEER_CLASSFILE_MODIFIERS_H
#define JPEER_CLASSFILE_MODIFIERS_H
/* Writes access flags (JVMS tables 4.1-B, 4.5-A, 4.6-A) as java.lang.reflect.Modifier.toString does. Any
 * thread. */
#include <stdint.h>

enum modifiers_of { MODIFIERS_OF_CLASS, MODIFIERS_OF_FIELD, MODIFIERS_OF_METHOD, MODIFIERS_OF_PARAMETER };

enum { MODIFIERS_TEXT_MAX = 128 };

/* Writes "public static final" to out, NUL-terminated; "" where there is no modifier. It skips other flags
 * (bridge, variable arity, ...). */
void modifiers_format(uint16_t access, enum modifiers_of of, char out[MODIFIERS_TEXT_MAX]);

#endif

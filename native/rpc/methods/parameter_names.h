#ifndef JPEER_RPC_METHODS_PARAMETER_NAMES_H
#define JPEER_RPC_METHODS_PARAMETER_NAMES_H
/* Whether a generator can take the names of a method's parameters for parameters in its own language. Any thread. */
#include "rpc/methods/java_methods.h"

/*
 * False where a name is not of ASCII letters, digits and inner underscores, is longer than 64 bytes, or is a word of
 * TypeScript or Python, and where two names (or `instance`) differ in case and underscores alone, which generators
 * change.
 */
bool parameter_names_are_identifiers(const struct java_method *method);

#endif

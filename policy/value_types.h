#ifndef JPEER_POLICY_VALUE_TYPES_H
#define JPEER_POLICY_VALUE_TYPES_H
/*
 * Classes of the JDK that carry values and run no code of an application. Where an argument names one, a
 * policy's default action is not asked (docs/policy.md, "What arguments name"). Pure, any thread.
 */
#include "base/text.h"

#include <stdbool.h>

/* String, the wrappers, BigDecimal, LocalDate, UUID, List, ArrayList, ... */
bool policy_is_value_type(struct text class_name);

/* True for the classes of java.util and the packages below it: an argument may become such a collection or
 * map. */
bool policy_is_value_container(struct text class_name);

#endif

#ifndef JPEER_POLICY_VALUE_TYPES_H
#define JPEER_POLICY_VALUE_TYPES_H
/*
 * Classes of the JDK that carry values and run no code of an application: what a policy's default action is
 * not asked about where an argument names them (docs/policy.md, "What arguments name"). Pure, any thread.
 */
#include "base/text.h"

#include <stdbool.h>

/* String, the wrappers, BigDecimal, LocalDate, UUID, List, ArrayList, ... */
bool policy_is_value_type(struct text class_name);

/* Collections and maps that an argument may be filled into: all of java.util and its packages. */
bool policy_is_value_container(struct text class_name);

#endif

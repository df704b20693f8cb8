#ifndef JPEER_JNI_LOOK_SHAPES_H
#define JPEER_JNI_LOOK_SHAPES_H
/* Classes as the JVM knows them, whatever they were loaded from: from the tables of members. */
#include "jni/members.h"
#include "jni/types/classes.h"
#include "op/look.h"

/*
 * Fills look->shapes with those of the class and of all above it, and asks the guard which methods are open for an
 * object of object_class, which is the class or below it (NULL: there is no object). Hold an object of the class. False:
 * an exception is pending (an interface cannot be linked), or none is (memory is short).
 */
bool shapes_find(const struct jvm_request *request, struct jvm_class *class, struct jvm_class *object_class,
                 struct op_look *look) JP_MUST_CHECK;

#endif

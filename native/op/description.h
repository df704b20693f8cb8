#ifndef JPEER_OP_DESCRIPTION_H
#define JPEER_OP_DESCRIPTION_H
/*
 * The description of an object (OP_DESCRIBE) or of a class. It has the class and its supertypes as the JVM
 * reports them, and includes members that the caller may not use. Plain data, borrowed from the request's
 * arena and from the tables of classes.
 */
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct op_shape_member {
  struct text name;       /* "<init>" for a constructor */
  struct text descriptor; /* valid (JVMS 4.3) */
  struct text signature;  /* empty: none; may be malformed (JVMS 4.7.9.1) */
  uint16_t access;        /* JVMS 4.5, 4.6 */
  uint8_t parameter_count;
  /* a method of an object that is allowed only because a supertype allows it (docs/policy.md) */
  bool is_open;
};

/* A class and the members that it declares. */
struct op_shape {
  struct text name;       /* Class.getName() */
  struct text superclass; /* empty: none */
  struct text *interfaces;
  size_t interface_count;
  struct op_shape_member *methods; /* constructors, bridges and synthetic methods are among them */
  size_t method_count;
  struct op_shape_member *fields;
  size_t field_count;
  uint16_t access;
  bool is_permanent;   /* loaded by the application's class loader or one above it */
  const char *element; /* the jar or folder that the class was loaded from; NULL: not known, or of the JDK */
};

struct op_description {
  struct text only_member; /* describe only the methods of this name, or "<init>"; data NULL: all members */
  /* the class is allowed only as the class of an instance, because its name is denied */
  bool only_ancestors;
  bool is_of_class; /* describes a class, with its functional method, and not an object */
  struct text class_name;
  /* the name that the policy judges; for an array, its element class or primitive keyword */
  struct text judged_name;
  struct text text; /* the result of toString; data NULL: none, or the caller may not call it */
  bool has_length;
  size_t length;
  struct text function_name; /* of a functional interface's method (JLS 9.8); data NULL: none */
  size_t function_arity;
  struct op_shape *shapes; /* the object's class, and then each of its superclasses and interfaces */
  size_t shape_count;
};

#endif

#ifndef JPEER_OP_LOOK_H
#define JPEER_OP_LOOK_H
/*
 * What there is to see of an object (OP_DESCRIBE), or of a class alone: what the JVM tells of the class and of those
 * above it, before anything is left out that the caller may not use. Plain data, borrowed from the request's arena and
 * from the tables of classes.
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
  bool is_open; /* a method of an object that a supertype alone lets the caller use (docs/policy.md) */
};

/* A class and what it declares. */
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
  bool is_permanent; /* loaded by the application's class loader or one above it */
};

struct op_look {
  struct text
      only_member; /* the methods of this name, or "<init>", are looked for alone; data NULL: all members are */
  bool only_ancestors; /* the class is one of the instance's, or there is none: its name alone is denied */
  bool is_of_class;    /* its function is looked for, too */
  struct text class_name;
  struct text judged_name; /* what a policy knows it as: of an array its element class or primitive keyword */
  struct text text;        /* what toString gave; data NULL: nothing, or the caller may not ask */
  bool has_length;
  size_t length;
  struct text
      function_name; /* of the one method that a functional interface wants (JLS 9.8); data NULL: none */
  size_t function_arity;
  struct op_shape *shapes; /* the object's class, and then each of its superclasses and interfaces */
  size_t shape_count;
};

#endif

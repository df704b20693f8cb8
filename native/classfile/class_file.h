#ifndef JPEER_CLASSFILE_CLASS_FILE_H
#define JPEER_CLASSFILE_CLASS_FILE_H
/*
 * Reads a class file into structs (JVMS 4). It skips code and everything else that the catalog does not need,
 * and checks every length, index and text that it reads. Any thread.
 *
 * The structs borrow from the bytes and from the arena.
 */
#include "base/arena.h"
#include "base/status.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

enum {
  ACCESS_PUBLIC = 0x0001,
  ACCESS_PRIVATE = 0x0002,
  ACCESS_PROTECTED = 0x0004,
  ACCESS_STATIC = 0x0008,
  ACCESS_FINAL = 0x0010,
  ACCESS_BRIDGE = 0x0040,  /* of a method */
  ACCESS_VARARGS = 0x0080, /* of a method */
  ACCESS_INTERFACE = 0x0200,
  ACCESS_ABSTRACT = 0x0400,
  ACCESS_SYNTHETIC = 0x1000,
  ACCESS_ENUM = 0x4000,
  ACCESS_MODULE = 0x8000
};

enum modifiers_of { MODIFIERS_OF_CLASS, MODIFIERS_OF_FIELD, MODIFIERS_OF_METHOD, MODIFIERS_OF_PARAMETER };

enum { MODIFIERS_TEXT_MAX = 128 };

/* Writes access flags (JVMS tables 4.1-B, 4.5-A, 4.6-A) as java.lang.reflect.Modifier.toString does: "public
 * static final", NUL-terminated; "" if there is no modifier. Flags that are not modifiers (bridge, variable
 * arity, ...) are left out. */
void modifiers_format(uint16_t access, enum modifiers_of of, char out[MODIFIERS_TEXT_MAX]);

struct class_parameter {
  struct text name; /* empty: unknown */
  uint16_t access;
};

struct class_member {
  struct text name;
  struct text descriptor; /* valid */
  struct text signature;  /* empty: none; may be malformed */
  uint16_t access;        /* a Synthetic attribute (JVMS 4.7.8) counts as ACCESS_SYNTHETIC */
  uint8_t parameter_count;
  struct class_parameter *parameters; /* parameter_count of them; NULL: no names */
  bool is_open;                       /* of struct catalog_method; not in a class file */
};

struct class_file {
  uint16_t major;
  uint16_t minor;
  /* the flags of the InnerClasses entry for this class, if there is such an entry; otherwise the flags of the
   * class */
  uint16_t access;
  uint16_t this_class;    /* its own constant */
  bool local;             /* local or anonymous */
  struct text name;       /* binary name with dots */
  struct text outer;      /* the class of which this class is a member; empty: none */
  struct text superclass; /* empty: none */
  struct text *interfaces;
  size_t interface_count;
  struct class_member *fields;
  size_t field_count;
  struct class_member *methods;
  size_t method_count;
  struct text source_file;     /* empty: unknown */
  struct text *member_classes; /* binary names with dots */
  size_t member_class_count;
  struct text *exports; /* of a module: packages with dots that are exported to everyone */
  size_t export_count;
};

/* JP_INVALID: the error's text names the fault and its byte. */
enum jp_status class_file_parse(const uint8_t *bytes, size_t size, struct arena *arena,
                                struct class_file *file, struct jp_error *error) JP_MUST_CHECK;

#endif

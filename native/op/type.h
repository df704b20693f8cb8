#ifndef JPEER_OP_TYPE_H
#define JPEER_OP_TYPE_H
/*
 * Java type names as callers write them: "int", "int[][]", "[I", "[Ljava.lang.String;", "String[]",
 * "com.example.Foo[]", "Outer$Inner". Pure text, no JVM; any thread.
 */
#include "base/arena.h"
#include "base/status.h"
#include "base/text.h"

/* The longest name that a class file can give a class or a member (JVMS 4.4.7), in bytes. */
enum { OP_NAME_MAX = 65535 };
/* The longest type that a caller may write: the longest class name with the brackets of an array. A longer
 * text is refused before any rule of the policy is checked. */
enum { OP_TYPE_TEXT_MAX = OP_NAME_MAX + 1024 };
/* The dimensions of an array type that a caller may name freely. The JVM makes a class for each dimension,
 * and keeps it as long as the element's class. Without this limit, each class name would allow 255 more
 * classes (JVMS 4.3.2). */
enum { OP_NAMED_DIMENSIONS_MAX = 8 };

struct op_type {
  /* The innermost element type: 'Z' 'B' 'C' 'S' 'I' 'J' 'F' 'D' for a primitive, 'V' for void, 'L' for a
   * class. */
  char base;
  unsigned dimensions; /* 0 to 255 */
  /* the class's binary name with dots ("java.util.Map$Entry") if base is 'L'; otherwise the keyword */
  struct text name;
};

/*
 * Reads the `type` of an argument. Common names of java.lang and java.util (Integer, String, Object, List,
 * Map, ArrayList, HashMap, ...) may be written without their package and are completed (docs/values.md,
 * "Typed values"). JP_INVALID: the error's text may begin with "Invalid characters in type" or "Type name is a
 * Java reserved keyword", which clients know.
 */
enum jp_status op_type_parse_argument(struct text written, struct op_type *type,
                                      struct jp_error *error) JP_MUST_CHECK;

/* Reads the `type` of a request, which is its target. No package is completed. A primitive is refused as a
 * reserved word, but an array of primitives is a type. The errors are those of op_type_parse_argument. */
enum jp_status op_type_parse_target(struct text written, struct op_type *type,
                                    struct jp_error *error) JP_MUST_CHECK;

/* Returns the name that a policy, a message or a result's list of candidates shows: "int[][]",
 * "java.lang.String[]". */
struct text op_type_source_name(const struct op_type *type, struct arena *arena);
/* "[[I", "[Ljava.lang.String;", "java.lang.String", "int": the result of Class.getName(). data NULL: no memory.
 */
struct text op_type_binary_name(const struct op_type *type, struct arena *arena);
/*
 * Reads one JVM field descriptor (JVMS 4.3.2), or the V of a method without result, from the start of
 * *descriptor and moves *descriptor past it. JVMTI writes a '.' in the signature of a hidden class. This '.'
 * becomes a '/', as in Class.getName(). JP_INVALID, JP_NO_MEMORY: *descriptor is unchanged.
 */
enum jp_status op_type_parse_descriptor(struct text *descriptor, struct arena *arena,
                                        struct op_type *type) JP_MUST_CHECK;

#endif

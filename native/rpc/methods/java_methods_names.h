#ifndef JPEER_RPC_METHODS_JAVA_METHODS_NAMES_H
#define JPEER_RPC_METHODS_JAVA_METHODS_NAMES_H
/*
 * Writes and reads the names that Java members and classes have in service descriptions
 * (docs/descriptions.md, "Names"). Pure text, any thread.
 *
 * A method is CLASS.MEMBER ("com.example.Calculator.add"), a constructor CLASS.new. One overload of several
 * is CLASS.MEMBER-TYPE-TYPE, with "void" for no parameter: "com.example.Calculator.add-int-int",
 * "java.lang.String.valueOf-char.array". ".array" follows an element type once for each dimension. No class
 * has such a name, since a package cannot have the name of a class (JLS 7.1). The suffix depends on the
 * parameter types alone, so that it stays when other overloads come and go; Java names have no '-'.
 */
#include "base/buffer.h"
#include "base/text.h"

struct java_method_name {
  struct text class_name; /* binary, with dots */
  struct text member;     /* "new" for a constructor */
  struct text suffix;     /* "int-int"; data NULL: the name has none */
};

/* False where the text has no class or no member, or begins with a reserved prefix: "rpc." (JSON-RPC 2.0, 8)
 * or "system." (JSON-RPC 1.1, 9), or "jpeer.", the peer's own. The parts point into `written`. */
bool java_method_name_parse(struct text written, struct java_method_name *name);

/* Appends the suffix for a method's descriptor, which must be valid (JVMS 4.3.3). */
void java_method_suffix_write(struct text descriptor, struct buffer *out);

/*
 * Appends a class's name as a component key of OpenRPC, which matches ^[a-zA-Z0-9.\-_]+$: '$' becomes '-',
 * and any other character "..XXXX." with its code point in hexadecimal. No two classes have the same key.
 */
void java_component_key_write(struct text class_name, struct buffer *out);

/* True where the pattern covers the class: '*' matches any text without a dot, '**' any text. */
bool java_class_matches(struct text pattern, struct text class_name);

#endif

#ifndef JPEER_RPC_MEMBERS_JAVA_METHODS_NAMES_H
#define JPEER_RPC_MEMBERS_JAVA_METHODS_NAMES_H
/*
 * The names that Java members and classes have in service descriptions, and back. Pure text, any thread.
 *
 * A method is CLASS.MEMBER ("com.example.Calculator.add"), a constructor CLASS.new. One overload of several
 * is CLASS.MEMBER-TYPE-TYPE, with "void" where there is no parameter: "com.example.Calculator.add-int-int",
 * "java.lang.String.valueOf-char.array". An array's element type is followed by ".array" for each dimension:
 * no package has the name of a class (JLS 7.1), so that no class has such a name. The suffix depends on the
 * parameter types alone, so that other overloads come and go without changing it; '-' stands in no Java name.
 */
#include "base/buffer.h"
#include "base/text.h"

struct java_method_name {
  struct text class_name; /* binary, with dots */
  struct text member;     /* "new" for a constructor */
  struct text suffix;     /* "int-int"; data NULL: none, the plain name */
};

/* False where the text has no class or no member, or begins with a prefix that is reserved: "rpc."
 * (JSON-RPC 2.0, 8), "system." (JSON-RPC 1.1, 9). What is written is borrowed. */
bool java_method_name_parse(struct text written, struct java_method_name *name);

/* The suffix for a method's descriptor (valid, JVMS 4.3.3). */
void java_method_suffix_write(struct text descriptor, struct buffer *out);

/*
 * A class's name as a component key of OpenRPC, which has ^[a-zA-Z0-9.\-_]+$: '$' becomes '-', and any other
 * character "..XXXX." with its code point in hexadecimal. No two classes have the same.
 */
void java_component_key_write(struct text class_name, struct buffer *out);

/* Whether the pattern covers the class: '*' stands for anything without a dot, '**' for anything. */
bool java_class_matches(struct text pattern, struct text class_name);

#endif

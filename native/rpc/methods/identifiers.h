#ifndef JPEER_RPC_METHODS_IDENTIFIERS_H
#define JPEER_RPC_METHODS_IDENTIFIERS_H
/*
 * Dotted names as identifiers, for languages and generators in which a method's name must be an identifier
 * (docs/descriptions.md, "Names as identifiers"). The name can be restored from its identifier.
 *
 *   .  is _        _  is _1        -  is _2        $  is _3
 *
 * A letter of ASCII is itself, and so is a digit, except as the first character and after a dot. Every other UTF-16
 * unit is _0xxxx, with its number in lower-case hexadecimal. No two names have the same identifier, and each
 * name has only one identifier. (The scheme is the same as JNI's for the names of native functions, with
 * other punctuation.)
 *
 * Pure text, any thread.
 */
#include "base/arena.h"
#include "base/buffer.h"
#include "base/text.h"

/* Appends the identifier of a name, which is WTF-8. */
void identifier_write(struct text name, struct buffer *out);

/* The name that has the identifier, in the arena; data NULL: no name has this identifier, or memory is
 * short. */
struct text identifier_read(struct text identifier, struct arena *arena);

#endif

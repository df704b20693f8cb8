#ifndef JPEER_CLASSFILE_MODIFIED_UTF8_H
#define JPEER_CLASSFILE_MODIFIED_UTF8_H
/* The text of class files (JVMS 4.4.7) as the peer's own (base/text.h). Any thread. */
#include "base/arena.h"
#include "base/status.h"

/* *text borrows bytes where the two forms are the same, and is made in the arena where not. JP_INVALID: no
 * modified UTF-8; JP_NO_MEMORY. */
enum jp_status modified_utf8_decode(const uint8_t *bytes, size_t count, struct arena *arena,
                                    struct text *text) JP_MUST_CHECK;

#endif

#ifndef JPEER_CLASSFILE_MODIFIED_UTF8_H
#define JPEER_CLASSFILE_MODIFIED_UTF8_H
/* Converts the text of class files (JVMS 4.4.7) into the peer's own (base/text.h). Any thread. */
#include "base/arena.h"
#include "base/status.h"

/* *text borrows the bytes where both forms are the same, and is in the arena where they differ. JP_INVALID:
 * the bytes are not modified UTF-8. JP_NO_MEMORY. */
enum jp_status modified_utf8_decode(const uint8_t *bytes, size_t count, struct arena *arena,
                                    struct text *text) JP_MUST_CHECK;

#endif

#ifndef JPEER_CLI_PARENT_WATCH_H
#define JPEER_CLI_PARENT_WATCH_H
/*
 * Ends the peer with the program that started it, however that one ends: it holds the other end of a pipe or socket,
 * which the kernel closes (--stop-on-eof). A signal of the parent's death would be one of the thread that forked.
 */
#include "cli/options.h"

/* int: a descriptor that is open for reading. It is not inherited by programs that the application starts. */
option_reader parent_watch_read;

/*
 * Reads the descriptor on a thread of its own, and sends this process SIGTERM when nothing can come any more; again
 * each grace_ms, as long as the process lives. The bytes are dropped; where the last ones are PARENT_WATCH_STOP, the
 * program has planned the stop, and nothing is logged. Once a process, before the JVM is started.
 *
 * folder: removed then, with the sockets and locks that are in it, because the program that has made it may be gone; it
 * stays where anything else is in it. NULL: none. It must live as long as the process.
 */
#define PARENT_WATCH_STOP "stop"
enum jp_status parent_watch_start(int descriptor, const char *folder, int64_t grace_ms,
                                  struct jp_error *error) JP_MUST_CHECK;
/* Of a socket that can be written: tells the program at its other end why this peer does not start. Else nothing. */
void parent_watch_report(int descriptor, const char *why);

#endif

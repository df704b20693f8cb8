#ifndef JPEER_CLI_PARENT_WATCH_H
#define JPEER_CLI_PARENT_WATCH_H
/*
 * Ends the peer when the program that started it ends, for any reason: the program has the other end of a
 * pipe or socket, and the kernel closes this end (--stop-on-eof). A signal of the parent's death
 * (PR_SET_PDEATHSIG) would depend on the thread that forked.
 */
#include "base/options.h"

/* int: a descriptor that is open for reading. It is not inherited by programs that the application starts. */
option_reader parent_watch_read;

/*
 * Starts a thread that reads the descriptor. When no more bytes can arrive, the thread sends this process
 * SIGTERM, and sends it again after each grace_ms, as long as the process lives. The bytes are dropped; if
 * the last bytes are PARENT_WATCH_STOP, the program has planned the stop, and nothing is logged. Call it once
 * in a process, before the JVM is started.
 *
 * folder: the folder that is removed when no more bytes can arrive, together with its sockets and locks,
 * because the program that has made the folder may have ended. A folder that contains anything else is kept.
 * NULL: no folder. The text must be valid as long as the process.
 */
#define PARENT_WATCH_STOP "stop"
enum jp_status parent_watch_start(int descriptor, const char *folder, int64_t grace_ms,
                                  struct jp_error *error) JP_MUST_CHECK;
/* If the descriptor is a socket that can be written, tries to send the program at its other end the reason
 * why this peer does not start. Otherwise does nothing. */
void parent_watch_report(int descriptor, const char *why);

#endif

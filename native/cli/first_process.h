#ifndef JPEER_CLI_FIRST_PROCESS_H
#define JPEER_CLI_FIRST_PROCESS_H
/*
 * jpeer as the first process of a PID namespace, as in a container. The kernel drops signals to that process that it does
 * not handle, such as SIGTERM while a program starts, and expects it to wait for processes whose parents have ended.
 */

/*
 * If this process is the first one, runs the program in a child, and returns there only. This process passes signals on to the
 * child, waits for all children, and ends with the child's exit status (128 and the number of the signal that has ended
 * it). Otherwise does nothing. If there can be no child, the program runs in this process. Main's thread, before
 * it makes another.
 *
 * A signal that arrives before main is kept: from the moment that the dynamic linker has loaded the program.
 */
void first_process_split(void);

#endif

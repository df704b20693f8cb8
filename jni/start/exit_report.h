#ifndef JPEER_JNI_START_EXIT_REPORT_H
#define JPEER_JNI_START_EXIT_REPORT_H
/* Where a JVM was told to exit and does not: finds the shutdown hook that it waits for. */
#include <stddef.h>

struct jvm;

/*
 * Writes it into text as a few words, cut to its size. Runs no Java code of the application. Call it on a
 * thread that the JVM does not know. If the JVM no longer answers, it may never return.
 */
void jvm_exit_report(struct jvm *jvm, char *text, size_t size);

#endif

#ifndef JPEER_JNI_START_EXIT_REPORT_H
#define JPEER_JNI_START_EXIT_REPORT_H
/* For a JVM that was told to exit and does not: which shutdown hook it waits for. */
#include <stddef.h>

struct jvm;

/*
 * Writes it into text as a few words, cut where they are too long. Runs no Java code of the application. On a
 * thread that the JVM does not know; it may never return where the JVM no longer answers.
 */
void jvm_exit_report(struct jvm *jvm, char *text, size_t size);

#endif

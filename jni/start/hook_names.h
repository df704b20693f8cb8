#ifndef JPEER_JNI_START_HOOK_NAMES_H
#define JPEER_JNI_START_HOOK_NAMES_H
/*
 * Removes the names of the JVM's hooks from the JVM's list of its arguments.
 *
 * HotSpot lists every option that it was created with, and so "vfprintf", "exit" and "abort".
 * RuntimeMXBean.getInputArguments() and jcmd VM.command_line show the list. Programs that start a JVM like
 * their own (JMH, build tools) pass it on, and java takes a word without a dash for the main class.
 */

/* Call it once, on the thread that has created the JVM, before any code of the application runs. names: as
 * they were given, one after the other; NULL ends them. Does nothing if the JVM does not export where its
 * arguments are. */
void jvm_hide_hook_names(const char *const *names);

#endif

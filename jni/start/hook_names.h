#ifndef JPEER_JNI_START_HOOK_NAMES_H
#define JPEER_JNI_START_HOOK_NAMES_H
/*
 * Takes the names of the JVM's hooks out of what the JVM tells as its arguments.
 *
 * HotSpot keeps every option that it is made with, "vfprintf", "exit" and "abort" among them, and
 * RuntimeMXBean.getInputArguments() and jcmd VM.command_line tell them. Programs that start a JVM like their
 * own (JMH, build tools) pass the list on, and java takes a word without a dash for the main class.
 */

/* Once, when the JVM is made, on the thread that made it, before any code of the application runs. names: as
 * they were given, one after the other; NULL behind the last. In a JVM that does not export where its
 * arguments are, nothing changes. */
void jvm_hide_hook_names(const char *const *names);

#endif

#ifndef JPEER_JNI_FIGURES_H
#define JPEER_JNI_FIGURES_H
/*
 * Figures of the JVM: its heap, its collections, its threads. Reads the management beans of the platform
 * (java.lang.management), which run no code of the application. Their classes are loaded by the first read, so a start does
 * not pay for them.
 */
#include <stdint.h>

struct jvm_figure_reader;
struct jvm_thread;

/* A figure that the JVM does not have is UINT64_MAX. */
struct jvm_figures {
  uint64_t heap_used; /* bytes */
  uint64_t heap_committed;
  uint64_t heap_max;
  uint64_t gc_ms; /* of all collectors, so far */
  uint64_t gc_count;
  uint64_t threads;
};

/* NULL: memory is short. The reader is used and destroyed on this thread. */
struct jvm_figure_reader *jvm_figure_reader_create(void);
void jvm_figure_reader_destroy(struct jvm_thread *thread, struct jvm_figure_reader *reader);

/* The heap, which needs no bean. Waits while the JVM is at a safepoint, for example for a collection; so does the next. */
void jvm_figures_read_heap(struct jvm_thread *thread, struct jvm_figures *figures);
/* Collections and threads. Of a JVM without the module java.management all are UINT64_MAX. */
void jvm_figures_read_beans(struct jvm_thread *thread, struct jvm_figure_reader *reader,
                            struct jvm_figures *figures);

#endif

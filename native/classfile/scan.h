#ifndef JPEER_CLASSFILE_SCAN_H
#define JPEER_CLASSFILE_SCAN_H
/*
 * Reads all classes of a JDK and of a class path into a builder, on all processors of the process: one thread
 * reads each jar, folder or part of the JDK's image into its own builder. The builders are merged in the
 * order of the class path, so the result is the same for any number of threads. Used only by catalog.c.
 */
#include "classfile/builder.h"

#include <stdatomic.h>

struct scan_config {
  struct catalog_config catalog;
  unsigned threads; /* including the caller's; 0: one for each processor */
  /* the scan ends soon after *is_stopped becomes true; NULL: the scan is never stopped */
  const atomic_bool *is_stopped;
};

/* Returns when all threads have ended. JP_NOT_FOUND, JP_IO, JP_LIMIT, JP_NO_MEMORY as catalog_load; JP_CLOSED: it was
 * stopped. */
enum jp_status scan_run(const struct scan_config *config, struct builder *builder,
                        struct jp_error *error) JP_MUST_CHECK;

#endif

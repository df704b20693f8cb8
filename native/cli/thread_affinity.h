#ifndef JPEER_CLI_THREAD_AFFINITY_H
#define JPEER_CLI_THREAD_AFFINITY_H
/* The options that name executors: --thread-affinity and --fx-thread. Pure functions, main's thread. */
#include "base/arena.h"
#include "base/options.h"
#include "jni/executors.h"

/* struct option_list: appends a text NAME=CLASS.MEMBER. */
option_reader thread_affinity_read;

/* Makes the executors in the list and, with has_fx, JavaFX's executor. The executors borrow the list's texts,
 * and are allocated in the arena. JP_INVALID: two have the same name. */
enum jp_status thread_affinity_make(const struct option_list *list, bool has_fx, struct arena *arena,
                                    struct jvm_executor **executors, size_t *count,
                                    struct jp_error *error) JP_MUST_CHECK;

#endif

#ifndef JPEER_CLIENT_LAUNCH_OUTPUT_H
#define JPEER_CLIENT_LAUNCH_OUTPUT_H
/*
 * Hands on what a child writes, on a thread of its own, until both pipes have ended.
 */
#include "client/messages/client_error.h"

#include <pthread.h>
#include <stdbool.h>

struct output {
  pthread_t thread;
  bool runs;
  int descriptors[2]; /* of the child's stdout and stderr; owned */
  int stop;           /* an eventfd: the child has ended */
  void (*on_output)(void *context, int descriptor, struct jp_text bytes);
  void *context;
};

/* Takes the descriptors, even on failure. */
enum jp_client_status output_start(struct output *output, const int descriptors[2],
                                   void (*on_output)(void *context, int descriptor, struct jp_text bytes),
                                   void *context, struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* When the child has ended: waits until its last words were handed on. A grandchild that holds the pipes does
 * not hold this up. */
void output_finish(struct output *output);

#endif

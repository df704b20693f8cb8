#include "client/launch/output.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* What the child has written is in the pipes when it has ended; only a grandchild can write more. */
enum { CHUNK = 16 * 1024, FAREWELL_MS = 1000 };

static void close_descriptor(int *descriptor)
{
  if (*descriptor >= 0)
    close(*descriptor);
  *descriptor = -1;
}

static void hand_on(struct output *output, int which)
{
  char bytes[CHUNK];
  ssize_t count = read(output->descriptors[which], bytes, sizeof bytes);
  if (count > 0)
    output->on_output(output->context, STDOUT_FILENO + which, (struct jp_text){bytes, (size_t)count});
  else if (count == 0 || errno != EINTR)
    close_descriptor(&output->descriptors[which]);
}

/* Hands on what there is. False: nothing came in time. */
static bool read_some(struct output *output, int timeout_ms, bool *is_stopped)
{
  struct pollfd set[3] = {{.fd = output->descriptors[0], .events = POLLIN},
                          {.fd = output->descriptors[1], .events = POLLIN},
                          {.fd = *is_stopped ? -1 : output->stop, .events = POLLIN}};
  int ready = poll(set, 3, timeout_ms);
  for (int i = 0; ready > 0 && i < 2; i++) {
    if (set[i].revents != 0)
      hand_on(output, i);
  }
  *is_stopped = *is_stopped || (ready > 0 && set[2].revents != 0);
  return ready != 0;
}

static void *read_all(void *argument)
{
  struct output *output = argument;
  bool is_stopped = false;
  while (!is_stopped && (output->descriptors[0] >= 0 || output->descriptors[1] >= 0))
    (void)read_some(output, -1, &is_stopped);
  int64_t deadline = clock_now_ms() + FAREWELL_MS;
  while (clock_now_ms() < deadline && read_some(output, 0, &is_stopped))
    continue;
  return NULL;
}

static void close_all(struct output *output)
{
  close_descriptor(&output->descriptors[0]);
  close_descriptor(&output->descriptors[1]);
  close_descriptor(&output->stop);
}

enum jp_client_status output_start(struct output *output, const int descriptors[2],
                                   void (*on_output)(void *context, int descriptor, struct jp_text bytes),
                                   void *context, struct jp_client_error *error)
{
  *output = (struct output){.descriptors = {descriptors[0], descriptors[1]},
                            .stop = -1,
                            .on_output = on_output,
                            .context = context};
  if (on_output == NULL)
    return JP_CLIENT_OK;
  output->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  int fault = output->stop < 0 ? errno : pthread_create(&output->thread, NULL, read_all, output);
  output->runs = fault == 0;
  if (fault == 0)
    return JP_CLIENT_OK;
  close_all(output);
  return client_fail(error, JP_CLIENT_LIMIT, "no thread for the peer's output: %s", strerror(fault));
}

void output_finish(struct output *output)
{
  if (!output->runs)
    return;
  (void)eventfd_write(output->stop, 1);
  pthread_join(output->thread, NULL);
  close_all(output);
  output->runs = false;
}

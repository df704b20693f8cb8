#ifndef JPEER_NET_SERVICE_MANAGER_H
#define JPEER_NET_SERVICE_MANAGER_H
/*
 * Tells the service manager (systemd, or a container's manager) whether the peer starts, serves, loads its files again
 * or stops: the protocol of sd_notify(3), without libsystemd. Each message is a datagram of NAME=VALUE lines to the
 * Unix socket that NOTIFY_SOCKET names.
 *
 * Process-wide, like the environment. Without a service manager every function does nothing. A message that cannot be
 * sent is a line in the log, and never ends the peer. Any thread, unless a comment says otherwise.
 */
#include "base/status.h"
#include "base/transitions.h"

#include <stdbool.h>
#include <stdint.h>

/* Guarded by the lock of net/service_manager.c. */
enum service_state {
  SERVICE_ABSENT,   /* no message is sent */
  SERVICE_STARTING, /* READY=1 was not sent yet */
  SERVICE_READY,    /* READY=1 was sent */
  SERVICE_STOPPING, /* STOPPING=1 was sent */
};

static const uint16_t service_transitions[] = {
    [SERVICE_ABSENT] = TO(SERVICE_STARTING),
    [SERVICE_STARTING] = TO(SERVICE_READY) | TO(SERVICE_STOPPING) | TO(SERVICE_ABSENT),
    [SERVICE_READY] = TO(SERVICE_STOPPING) | TO(SERVICE_ABSENT),
    [SERVICE_STOPPING] = TO(SERVICE_ABSENT),
};

/* Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, and removes them from the environment, so that programs that the
 * application starts do not speak for the peer. notifies false: only removes them. A name that cannot be used is a
 * warning in the log. Main's thread, before it makes another. */
void service_manager_open(bool notifies);

/* True if messages go to a service manager. */
bool service_manager_is_present(void);

/* STATUS=: what `systemctl status` shows. */
void service_manager_status(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* READY=1, with the addresses (NULL-terminated) as status. Once; nothing is sent after service_manager_stopping. */
void service_manager_ready(const char *const *addresses);

/* RELOADING=1 with the time of the request, when `loads` loads have begun. READY=1 follows when service_manager_reloaded
 * has been called as often. */
void service_manager_reloading(unsigned loads);
void service_manager_reloaded(void);

/* STOPPING=1. The service manager is asked to wait for at least grace_ms. */
void service_manager_stopping(int64_t grace_ms);

/* If the service manager watches the peer (WATCHDOG_USEC), starts a thread that sends WATCHDOG=1 twice in that time as
 * long as is_healthy(context). The first beat that is left out, and the first one after that, are lines in the log.
 * JP_LIMIT: no thread. Call it once. */
enum jp_status service_manager_watch(bool (*is_healthy)(const void *context), const void *context,
                                     struct jp_error *error) JP_MUST_CHECK;

/* Ends the thread. Call it before the context of service_manager_watch is destroyed. */
void service_manager_close(void);

#endif

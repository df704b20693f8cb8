#include "net/inherited_sockets.h"

#include "base/log.h"
#include "base/text.h"
#include "net/server.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { FIRST_FD = 3, SOCKETS_MAX = 3 * NET_ENDPOINTS_MAX /* of the three options with addresses */ };

static struct {
  size_t count;
  struct inherited_socket items[SOCKETS_MAX];
  char reason[256]; /* why there are no sockets */
} sockets = {.reason = "LISTEN_FDS is not set"};

/* -1: it is not a decimal number, or too large. */
static long read_number(const char *text)
{
  const size_t digits = strspn(text, "0123456789");
  return digits == 0 || digits > 9 || text[digits] != '\0' ? -1 : strtol(text, NULL, 10);
}

/* False: sockets.reason says why no socket is for this process. */
static bool read_count(size_t *count)
{
  const char *fds = getenv("LISTEN_FDS");
  const char *process = getenv("LISTEN_PID");
  if (fds == NULL)
    return false;
  const long number = read_number(fds);
  if (process == NULL || read_number(process) != getpid())
    text_format(sockets.reason, sizeof sockets.reason, "LISTEN_PID is %s, and this is process %ld",
                process == NULL ? "not set" : process, (long)getpid());
  else if (number < 1)
    text_format(sockets.reason, sizeof sockets.reason, "LISTEN_FDS is \"%s\"", fds);
  else if (number > SOCKETS_MAX)
    text_format(sockets.reason, sizeof sockets.reason,
                "LISTEN_FDS is %ld, and %d sockets can be used at most", number, SOCKETS_MAX);
  else
    *count = (size_t)number;
  return *count > 0;
}

void inherited_sockets_receive(void)
{
  size_t count = 0;
  if (read_count(&count)) {
    const char *names = getenv("LISTEN_FDNAMES");
    struct text rest = text_of(names == NULL ? "" : names);
    for (size_t i = 0; i < count; i++) {
      struct inherited_socket *socket = &sockets.items[i];
      const char *colon = memchr(rest.data, ':', rest.len);
      const size_t length = colon == NULL ? rest.len : (size_t)(colon - rest.data);
      *socket = (struct inherited_socket){.fd = FIRST_FD + (int)i};
      text_format(socket->name, sizeof socket->name, "%.*s", (int)length, rest.data);
      if (length == 0)
        text_format(socket->name, sizeof socket->name, "unknown"); /* as libsystemd calls it */
      rest = text_slice(rest, colon == NULL ? rest.len : length + 1, rest.len);
      socket->state = fcntl(socket->fd, F_SETFD, FD_CLOEXEC) == 0 ? INHERITED_UNUSED : INHERITED_MISSING;
    }
    sockets.count = count;
  }
  unsetenv("LISTEN_FDS");
  unsetenv("LISTEN_PID");
  unsetenv("LISTEN_FDNAMES");
}

/* Fills in the address. */
static enum jp_status read_address(struct inherited_socket *socket, struct jp_error *error)
{
  union {
    struct sockaddr any;
    struct sockaddr_un local;
    struct sockaddr_storage storage;
  } address = {0};
  socklen_t length = sizeof address;
  if (getsockname(socket->fd, &address.any, &length) != 0)
    return jp_fail(error, JP_INVALID, "takes a listening socket (descriptor %d: %s)", socket->fd,
                   strerror(errno));
  if (address.any.sa_family == AF_UNIX) {
    if (length <= offsetof(struct sockaddr_un, sun_path) || address.local.sun_path[0] == '\0')
      return jp_fail(
          error, JP_INVALID,
          "takes a Unix socket with a path, because an abstract name has no mode that keeps other users out "
          "(descriptor %d)",
          socket->fd);
    text_format(socket->path, sizeof socket->path, "%.*s",
                (int)(length - (socklen_t)offsetof(struct sockaddr_un, sun_path)), address.local.sun_path);
    return JP_OK;
  }
  char port[8];
  if ((address.any.sa_family != AF_INET && address.any.sa_family != AF_INET6) ||
      getnameinfo(&address.any, length, socket->host, sizeof socket->host, port, sizeof port,
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return jp_fail(error, JP_INVALID, "takes a socket of TCP or a Unix socket (descriptor %d is neither)",
                   socket->fd);
  socket->port = (uint16_t)read_number(port);
  return JP_OK;
}

static enum jp_status check_socket(struct inherited_socket *socket, struct jp_error *error)
{
  int type = 0;
  int listens = 0;
  socklen_t length = sizeof type;
  if (getsockopt(socket->fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0)
    return jp_fail(error, JP_INVALID, "takes a listening socket (descriptor %d: %s)", socket->fd,
                   strerror(errno));
  if (type != SOCK_STREAM)
    return jp_fail(error, JP_INVALID, "takes a stream socket (descriptor %d is a %s socket: ListenStream=)",
                   socket->fd, type == SOCK_DGRAM ? "datagram" : "packet");
  length = sizeof listens;
  if (getsockopt(socket->fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) != 0 || listens == 0)
    return jp_fail(error, JP_INVALID, "takes a listening socket (descriptor %d does not listen: Accept=no)",
                   socket->fd);
  return read_address(socket, error);
}

enum jp_status inherited_sockets_find(const char *name, const struct inherited_socket *previous,
                                      const struct inherited_socket **found, struct jp_error *error)
{
  size_t i = previous == NULL ? 0 : (size_t)(previous - sockets.items) + 1;
  *found = NULL;
  while (i < sockets.count && strcmp(sockets.items[i].name, name) != 0)
    i++;
  if (i < sockets.count) {
    struct inherited_socket *socket = &sockets.items[i];
    if (socket->state == INHERITED_USED)
      return jp_fail(error, JP_INVALID, "takes each name once");
    if (socket->state == INHERITED_MISSING)
      return jp_fail(error, JP_INVALID, "takes a listening socket (descriptor %d: %s)", socket->fd,
                     strerror(EBADF));
    socket->state = INHERITED_USED;
    *found = socket;
    return check_socket(socket, error);
  }
  if (previous != NULL)
    return JP_OK;
  if (sockets.count == 0)
    return jp_fail(error, JP_INVALID,
                   "takes the name of a socket that the service manager has passed (none: %s)",
                   sockets.reason);
  char names[512];
  size_t length = 0;
  for (size_t each = 0; each < sockets.count && length < sizeof names; each++)
    length += (size_t)snprintf(names + length, sizeof names - length, "%s%s", each == 0 ? "" : ", ",
                               sockets.items[each].name);
  return jp_fail(error, JP_INVALID, "takes the name of a socket that the service manager has passed (%s)",
                 names);
}

void inherited_sockets_close_rest(void)
{
  for (size_t i = 0; i < sockets.count; i++) {
    if (sockets.items[i].state == INHERITED_MISSING)
      log_warn("LISTEN_FDS is %zu, but descriptor %d is not open: there is no socket %s", sockets.count,
               sockets.items[i].fd, sockets.items[i].name);
    if (sockets.items[i].state != INHERITED_UNUSED)
      continue;
    log_warn("the service manager has passed the socket %s, which no address names (--json-rpc fd:%s): it is "
             "closed",
             sockets.items[i].name, sockets.items[i].name);
    close(sockets.items[i].fd);
  }
}

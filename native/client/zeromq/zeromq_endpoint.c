#include "client/zeromq/zeromq_endpoint.h"

#include "client/messages/client_error.h"
#include "client/stream.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>

static enum jp_client_status format_address(const struct client_stream *stream,
                                            char endpoint[ZEROMQ_ENDPOINT_MAX], struct jp_client_error *error)
{
  struct sockaddr_storage address = {0};
  socklen_t size = sizeof address;
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  if (getpeername(stream->fd, (struct sockaddr *)&address, &size) != 0)
    return client_fail(error, JP_CLIENT_REFUSED, "%s", strerror(errno));
  int failure = getnameinfo((const struct sockaddr *)&address, size, host, sizeof host, port, sizeof port,
                            NI_NUMERICHOST | NI_NUMERICSERV);
  if (failure != 0)
    return client_fail(error, JP_CLIENT_REFUSED, "%s", gai_strerror(failure));
  /* A numeric address is far shorter than the room. */
  snprintf(endpoint, ZEROMQ_ENDPOINT_MAX,
           address.ss_family == AF_INET6 ? "tcp://[%.64s]:%.5s" : "tcp://%.64s:%.5s", host, port);
  return JP_CLIENT_OK;
}

enum jp_client_status zeromq_endpoint_find(const struct client_url *url, int64_t deadline_ns,
                                           char endpoint[ZEROMQ_ENDPOINT_MAX], struct jp_client_error *error)
{
  struct client_stream stream;
  client_stream_init(&stream);
  enum jp_client_status status = client_stream_connect(&stream, url, deadline_ns, error);
  if (status == JP_CLIENT_OK && url->host.data == NULL)
    snprintf(endpoint, ZEROMQ_ENDPOINT_MAX, "ipc://%.*s", TEXT_ARGS(url->path));
  else if (status == JP_CLIENT_OK)
    status = format_address(&stream, endpoint, error);
  client_stream_fini(&stream);
  return status;
}

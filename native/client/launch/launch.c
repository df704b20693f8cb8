#include "jpeer/client.h"

#include "base/arena.h"
#include "base/clock.h"
#include "client/client_open.h"
#include "client/launch/child.h"
#include "client/launch/command_line.h"
#include "client/launch/output.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#define SOCKET_NAME "/socket"
#define LOCK_SUFFIX ".lock"

enum { START_TIMEOUT_MS = 30000, RETRY_MS = 3, PATH_SIZE = sizeof((struct sockaddr_un *)0)->sun_path };

struct jp_peer {
  struct child child;
  struct output output;
  struct jp_client *client;
  char folder[PATH_SIZE - sizeof SOCKET_NAME]; /* "": none was made */
  char socket[PATH_SIZE];
  char url[PATH_SIZE + 16];     /* for others */
  char own_url[PATH_SIZE + 16]; /* of the launch's own connection: over shared memory if the peer offers it */
};

/* ---- a folder that nobody else may enter ---- */

static bool make_folder_in(struct jp_peer *peer, const char *parent)
{
  if (parent == NULL || parent[0] != '/')
    return false;
  int length = snprintf(peer->folder, sizeof peer->folder, "%s/jpeer-XXXXXX", parent);
  if (length > 0 && (size_t)length < sizeof peer->folder && mkdtemp(peer->folder) != NULL)
    return true;
  peer->folder[0] = '\0';
  return false;
}

static enum jp_client_status make_folder(struct jp_peer *peer, struct jp_client_error *error)
{
  if (!make_folder_in(peer, getenv("XDG_RUNTIME_DIR")) && !make_folder_in(peer, getenv("TMPDIR")) &&
      !make_folder_in(peer, "/tmp"))
    return client_fail(error, JP_CLIENT_REFUSED, "cannot make a folder for the peer's socket in /tmp: %s",
                       strerror(errno));
  snprintf(peer->socket, sizeof peer->socket, "%s" SOCKET_NAME, peer->folder);
  snprintf(peer->url, sizeof peer->url, "ws+unix:%s", peer->socket);
  snprintf(peer->own_url, sizeof peer->own_url, "shm:%s", peer->socket);
  return JP_CLIENT_OK;
}

/* A peer that was killed leaves its socket, and while it binds that, the lock beside it (net/unix_socket.c). */
static void remove_folder(struct jp_peer *peer)
{
  char lock[PATH_SIZE + sizeof LOCK_SUFFIX];
  if (peer->folder[0] == '\0')
    return;
  unlink(peer->socket);
  snprintf(lock, sizeof lock, "%s" LOCK_SUFFIX, peer->socket);
  unlink(lock);
  rmdir(peer->folder);
  peer->folder[0] = '\0';
}

/* ---- start ---- */

static bool environment_has_policy(void)
{
  for (size_t i = 0; environ[i] != NULL; i++) {
    if (launch_names_policy(environ[i]))
      return true;
  }
  return false;
}

static enum jp_client_status start_child(struct jp_peer *peer, const struct jp_launch_config *config,
                                         struct jp_client_error *error)
{
  struct arena arena;
  arena_init(&arena);
  const char *const *command = launch_command_line(config, peer->socket, environment_has_policy(), &arena);
  enum jp_client_status status = command == NULL
                                     ? client_fail(error, JP_CLIENT_NO_MEMORY, "out of memory")
                                     : child_start(&peer->child, command, config->on_output != NULL, error);
  arena_fini(&arena);
  if (status == JP_CLIENT_OK)
    status =
        output_start(&peer->output, peer->child.output, config->on_output, config->output_context, error);
  return status;
}

/* The socket is there before the JVM is up; what connects early waits for its answer. */
static enum jp_client_status connect_to_child(struct jp_peer *peer, const struct jp_launch_config *config,
                                              struct jp_client_error *error)
{
  int timeout_ms = config->start_timeout_ms > 0 ? config->start_timeout_ms : START_TIMEOUT_MS;
  int64_t deadline = clock_now_ms() + timeout_ms;
  struct jp_client_config client = {.size = sizeof client};
  if (config->client != NULL)
    client = *config->client;
  for (;;) {
    int64_t left_ms = deadline - clock_now_ms();
    if (left_ms <= 0)
      return client_fail(error, JP_CLIENT_TIMEOUT, "the peer did not answer within %d ms", timeout_ms);
    client.connect_timeout_ms = (int)left_ms;
    enum jp_client_status status = client_open(peer->own_url, &client, true, &peer->client, error);
    if (status != JP_CLIENT_REFUSED && status != JP_CLIENT_CLOSED)
      return status;
    if (child_await(&peer->child, RETRY_MS)) {
      char end[40];
      char why[sizeof error->text];
      child_describe_end(&peer->child, end, sizeof end);
      child_read_reason(&peer->child, why, sizeof why);
      return client_fail(error, JP_CLIENT_REFUSED, "the peer has ended before it was ready, with %s%s%s", end,
                         why[0] == '\0' ? "" : ": ", why);
    }
  }
}

static void end_peer(struct jp_peer *peer, int timeout_ms)
{
  jp_client_close(peer->client);
  child_let_go(&peer->child);
  if (!child_await(&peer->child, timeout_ms)) {
    child_kill(&peer->child);
    (void)child_await(&peer->child, -1);
  }
  output_finish(&peer->output);
  remove_folder(peer);
}

enum jp_client_status jp_launch(const struct jp_launch_config *given, struct jp_peer **peer,
                                struct jp_client_error *error)
{
  const struct jp_launch_config none = {.size = sizeof none};
  const struct jp_launch_config *config = given != NULL ? given : &none;
  *peer = NULL;
  if (config->size < sizeof *config ||
      (config->client != NULL && config->client->size < sizeof *config->client))
    return client_fail(error, JP_CLIENT_INVALID, "a configuration's size is not sizeof its struct");
  struct jp_peer *made = calloc(1, sizeof *made);
  if (made == NULL)
    return client_fail(error, JP_CLIENT_NO_MEMORY, "out of memory");
  made->child.lifeline = -1;
  enum jp_client_status status = make_folder(made, error);
  if (status == JP_CLIENT_OK)
    status = start_child(made, config, error);
  if (status == JP_CLIENT_OK)
    status = connect_to_child(made, config, error);
  if (status != JP_CLIENT_OK) {
    end_peer(made, 0);
    free(made);
    return status;
  }
  *peer = made;
  return JP_CLIENT_OK;
}

/* ---- a peer that runs ---- */

struct jp_client *jp_peer_client(const struct jp_peer *peer)
{
  return peer->client;
}

const char *jp_peer_url(const struct jp_peer *peer)
{
  return peer->url;
}

int jp_peer_process_id(const struct jp_peer *peer)
{
  return (int)peer->child.pid;
}

int jp_peer_stop(struct jp_peer *peer, int timeout_ms)
{
  if (peer == NULL)
    return 0;
  end_peer(peer, timeout_ms);
  int status = peer->child.status;
  free(peer);
  return status;
}

#include "client/client_directory.h"

#include "base/arena.h"
#include "base/clock.h"
#include "client/directory_lookup.h"
#include "client/messages/client_error.h"
#include "client/transports/client_stream.h"
#include "directory/entries.h"

#include <stdlib.h>

enum { NS_IN_MS = 1000000 };
enum { TRY_MS_MIN = 250, TRIES_IN_TIME = 4 };

/* The peer of a connection, as the directory knows it. All zero: none. */
struct peer_identity {
  struct uuid uuid;
  int64_t since_ms; /* 0: unknown */
};

struct client_directory {
  const struct client_url *url;
  struct directory_access access;
  struct member_session *session;
  struct member_place place; /* of the connection */
  char *address;             /* of its peer; `parts` borrows from it */
  struct client_url parts;
  struct peer_identity peer;
  bool has_moved;
};

enum jp_client_status client_directory_create(const struct client_url *url,
                                              const struct jp_directory_config *config,
                                              const struct uuid *session, struct client_directory **directory,
                                              struct jp_client_error *error)
{
  struct jp_error why;
  *directory = NULL;
  if (config != NULL && config->size >= offsetof(struct jp_directory_config, name_space) &&
      config->endpoints != NULL)
    return client_fail(error, JP_CLIENT_INVALID,
                       "%.*s: the URL names the directory, so endpoints must be NULL", TEXT_ARGS(url->whole));
  if (directory_name_check(url->target, &why) != JP_OK)
    return client_fail(error, JP_CLIENT_INVALID, "%.*s: the URL %s", TEXT_ARGS(url->whole), why.text);
  struct client_directory *made = calloc(1, sizeof *made);
  if (made == NULL)
    return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a client");
  made->url = url;
  enum jp_client_status status = directory_access_init(&made->access, config, url->endpoints, error);
  if (status == JP_CLIENT_OK) {
    made->session = member_session_enter(session, url->whole);
    if (made->session == NULL)
      status = client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a client");
  }
  if (status != JP_CLIENT_OK) {
    client_directory_destroy(made);
    return status;
  }
  *directory = made;
  return JP_CLIENT_OK;
}

void client_directory_destroy(struct client_directory *directory)
{
  if (directory == NULL)
    return;
  client_directory_disconnect(directory);
  member_session_leave(directory->session);
  directory_access_fini(&directory->access);
  free(directory->address);
  free(directory);
}

void client_directory_disconnect(struct client_directory *directory)
{
  member_place_leave(&directory->place, MEMBER_LEFT);
}

bool client_directory_has_moved(const struct client_directory *directory)
{
  return directory->has_moved;
}

/* ---- one peer ---- */

/* The address is what somebody has written into the directory: it may only be a port that serves the kind. */
static enum jp_client_status read_address(struct client_directory *directory,
                                          const struct transport_kind *kind,
                                          const struct client_credentials *credentials, struct text address,
                                          struct jp_client_error *error)
{
  const struct transport_kind *found;
  free(directory->address);
  directory->address = strndup(address.data, address.len);
  if (directory->address == NULL)
    return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for an address");
  enum jp_client_status status = client_url_parse(directory->address, &directory->parts, &found, error);
  if (status != JP_CLIENT_OK)
    return status;
  if (found != kind || directory->parts.host.data == NULL || directory->parts.endpoints.data != NULL)
    return client_fail(error, JP_CLIENT_PROTOCOL, "%s: an address of another kind", directory->address);
  if (client_credentials_need_tls(credentials) && !directory->parts.is_secure)
    return client_fail(error, JP_CLIENT_REFUSED,
                       "%s: the peer has no TLS, which ca_file and cert_file ask for", directory->address);
  return JP_CLIENT_OK;
}

static enum jp_client_status open_at(struct client_directory *directory, const struct transport_kind *kind,
                                     const struct transport_options *options, struct text address,
                                     struct client_transport **transport, struct jp_client_error *error)
{
  enum jp_client_status status = read_address(directory, kind, options->credentials, address, error);
  return status != JP_CLIENT_OK ? status : kind->open(&directory->parts, options, transport, error);
}

/* True if the port of the last address accepts connections. */
static bool is_listening(const struct client_directory *directory)
{
  enum { WAIT_MS = 250 };
  struct client_url port = directory->parts;
  struct client_stream stream;
  port.is_secure = false;
  client_stream_init(&stream);
  bool is_open = client_stream_connect(&stream, &port, NULL, clock_now_ns() + (int64_t)WAIT_MS * NS_IN_MS,
                                       NULL) == JP_CLIENT_OK;
  client_stream_fini(&stream);
  return is_open;
}

/* The other clients of the session are connected to the peer. Another peer would be another session: *has_ended says
 * whether the peer has ended, which the others may not have noticed. */
static enum jp_client_status join_session(struct client_directory *directory,
                                          const struct transport_kind *kind,
                                          const struct transport_options *options,
                                          struct client_transport **transport, bool *has_ended,
                                          struct jp_client_error *error)
{
  enum jp_client_status status =
      open_at(directory, kind, options, member_place_url(&directory->place), transport, error);
  *has_ended = status == JP_CLIENT_REFUSED && !is_listening(directory);
  if (status == JP_CLIENT_OK)
    (void)uuid_parse(member_place_uuid(&directory->place), &directory->peer.uuid);
  else
    member_place_leave(&directory->place, *has_ended ? MEMBER_FAILED : MEMBER_LEFT);
  return status;
}

/* ---- several peers ---- */

struct connecting {
  struct client_directory *directory;
  const struct transport_kind *kind;
  struct transport_options options;
  int64_t deadline_ns;
  struct client_transport **transport;
};

static int time_left(int64_t deadline_ns)
{
  const int64_t left_ms = (deadline_ns - clock_now_ns()) / NS_IN_MS;
  return left_ms > 0 ? (int)left_ms : 0;
}

/* One that accepts connections and never answers must not use up the time of the others. */
static int time_for_one(int left_ms, size_t others)
{
  if (others == 0)
    return left_ms;
  const int share_ms = left_ms / TRIES_IN_TIME;
  const int least_ms = left_ms < TRY_MS_MIN ? left_ms : TRY_MS_MIN;
  return share_ms > least_ms ? share_ms : least_ms;
}

static void note_peer(struct client_directory *directory, const struct found_peer *peer)
{
  const struct peer_identity now = {peer->uuid, peer->since_ms};
  directory->has_moved = !uuid_equal(&directory->peer.uuid, &now.uuid) ||
                         (directory->peer.since_ms != 0 && directory->peer.since_ms != now.since_ms);
  directory->peer = now;
}

static struct member_candidate *list_candidates(const struct found_peers *found,
                                                const struct transport_kind *kind, struct arena *arena)
{
  struct member_candidate *candidates = arena_calloc(arena, found->count, sizeof *candidates);
  for (size_t i = 0; candidates != NULL && i < found->count; i++) {
    const struct found_peer *peer = &found->items[i];
    char *uuid = arena_alloc(arena, UUID_TEXT_LENGTH + 1);
    if (uuid == NULL)
      return NULL;
    uuid_format(&peer->uuid, uuid);
    candidates[i].uuid = text_of(uuid);
    candidates[i].url = kind == client_url_binary_kind() ? peer->zmq_rpc : peer->json_rpc;
    candidates[i].was_tried = candidates[i].url.data == NULL;
  }
  return candidates;
}

/* Tries the candidates until one accepts. The error is that of the last one. */
static enum jp_client_status try_candidates(struct connecting *connecting, const struct found_peers *found,
                                            struct member_candidate *candidates, size_t usable,
                                            struct jp_client_error *error)
{
  struct client_directory *directory = connecting->directory;
  enum jp_client_status status = JP_CLIENT_REFUSED;
  size_t index;
  for (size_t tried = 0; tried < usable; tried++) {
    const int left_ms = time_left(connecting->deadline_ns);
    if (tried > 0 && left_ms == 0)
      break;
    enum member_choice choice =
        member_place_choose(&directory->place, directory->session, candidates, found->count, &index);
    if (choice == MEMBER_NO_MEMORY)
      return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a connection");
    if (choice == MEMBER_NONE_LEFT)
      break;
    connecting->options.timeout_ms = time_for_one(left_ms, usable - tried - 1);
    status = open_at(directory, connecting->kind, &connecting->options, candidates[index].url,
                     connecting->transport, error);
    if (status == JP_CLIENT_OK) {
      member_place_confirm(&directory->place);
      note_peer(directory, &found->items[index]);
      return JP_CLIENT_OK;
    }
    member_place_leave(&directory->place, status == JP_CLIENT_NO_MEMORY || status == JP_CLIENT_NO_TOKEN
                                              ? MEMBER_LEFT
                                              : MEMBER_FAILED);
    if (status == JP_CLIENT_NO_MEMORY)
      return status;
  }
  if (directory->url->is_service && usable > 1)
    client_error_prefix(error, "none of the %zu members has accepted a connection; the last: ", usable);
  return status;
}

static enum jp_client_status find_peers(const struct client_directory *directory, int timeout_ms,
                                        struct arena *arena, struct found_peers *found,
                                        struct jp_client_error *error)
{
  const struct client_url *url = directory->url;
  return url->is_service
             ? directory_find_service(&directory->access, url->target, timeout_ms, arena, found, error)
             : directory_find_peer(&directory->access, url->target, timeout_ms, arena, found, error);
}

static enum jp_client_status connect_to_found(struct connecting *connecting, struct arena *arena,
                                              struct jp_client_error *error)
{
  struct found_peers found;
  enum jp_client_status status =
      find_peers(connecting->directory, time_left(connecting->deadline_ns), arena, &found, error);
  if (status != JP_CLIENT_OK)
    return status;
  struct member_candidate *candidates = list_candidates(&found, connecting->kind, arena);
  if (candidates == NULL)
    return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a list of peers");
  size_t usable = 0;
  for (size_t i = 0; i < found.count; i++)
    usable += !candidates[i].was_tried;
  if (usable == 0)
    return client_fail(
        error, JP_CLIENT_REFUSED,
        connecting->kind == client_url_binary_kind()
            ? "the directory has no address tcp: of the peer, which binary messages need"
            : "the directory has no address ws: or wss: of the peer; one of tcp: is for binary "
              "messages");
  return try_candidates(connecting, &found, candidates, usable, error);
}

enum jp_client_status
client_directory_connect(struct client_directory *directory, const struct transport_kind *kind,
                         const struct transport_options *options, enum directory_connect how,
                         struct client_transport **transport, struct jp_client_error *error)
{
  struct connecting connecting = {.directory = directory,
                                  .kind = kind,
                                  .options = *options,
                                  .deadline_ns = clock_now_ns() + (int64_t)options->timeout_ms * NS_IN_MS,
                                  .transport = transport};
  enum jp_client_status status = JP_CLIENT_OK;
  bool should_find = true;
  if (how == DIRECTORY_FIRST && member_place_take_shared(&directory->place, directory->session))
    status = join_session(directory, kind, options, transport, &should_find, error);
  if (should_find) {
    struct arena arena;
    arena_init(&arena);
    status = connect_to_found(&connecting, &arena, error);
    arena_fini(&arena);
  }
  if (status != JP_CLIENT_OK)
    client_error_prefix(error, "%.*s: ", TEXT_ARGS(directory->url->whole));
  return status;
}

/* ---- without a connection ---- */

enum jp_client_status client_directory_find_address(const char *url, int timeout_ms, char **address,
                                                    struct jp_client_error *error)
{
  const struct transport_kind *kind;
  struct client_url parts;
  struct client_directory *directory = NULL;
  struct found_peers found;
  struct arena arena;
  const struct uuid nobody = {{0}};
  *address = NULL;
  enum jp_client_status status = client_url_parse(url, &parts, &kind, error);
  if (status == JP_CLIENT_OK)
    status = client_directory_create(&parts, NULL, &nobody, &directory, error);
  if (directory == NULL)
    return status;
  arena_init(&arena);
  status = find_peers(directory, timeout_ms, &arena, &found, error);
  for (size_t i = 0; status == JP_CLIENT_OK && i < found.count && *address == NULL; i++) {
    if (found.items[i].json_rpc.data != NULL) {
      *address = strdup(found.items[i].json_rpc.data);
      if (*address == NULL)
        status = client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for an address");
    }
  }
  if (status == JP_CLIENT_OK && *address == NULL)
    status = client_fail(error, JP_CLIENT_REFUSED, "the directory has no address ws: or wss: of the peer");
  if (status != JP_CLIENT_OK)
    client_error_prefix(error, "%s: ", url);
  arena_fini(&arena);
  client_directory_destroy(directory);
  return status;
}

#include "client/directory_lookup.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "client/messages/client_error.h"
#include "client/transports/client_url.h"
#include "directory/entries.h"

#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_MS = 5000, SHOWN_MAX = 200 };

enum jp_client_status directory_fail(struct jp_client_error *error, const struct jp_error *why)
{
  static const enum jp_client_status statuses[] = {
      [JP_NO_MEMORY] = JP_CLIENT_NO_MEMORY,   [JP_INVALID] = JP_CLIENT_PROTOCOL, [JP_LIMIT] = JP_CLIENT_LIMIT,
      [JP_NOT_FOUND] = JP_CLIENT_UNSUPPORTED, [JP_DENIED] = JP_CLIENT_REFUSED,   [JP_IO] = JP_CLIENT_REFUSED,
      [JP_CLOSED] = JP_CLIENT_REFUSED,
  };
  enum jp_client_status status =
      (size_t)why->status < sizeof statuses / sizeof statuses[0] ? statuses[why->status] : JP_CLIENT_OK;
  const bool has_subject = text_starts_with(text_of(why->text), TEXT("the directory "));
  return client_fail(error, status == JP_CLIENT_OK ? JP_CLIENT_REFUSED : status, "%s%s",
                     has_subject ? "" : "the directory: ", why->text);
}

/* ---- access ---- */

/* A copy of the value, or else of the variable. NULL: neither is set, or *is_good is false. */
static char *copy_setting(const char *value, const char *variable, bool *is_good)
{
  if (value == NULL)
    value = getenv(variable);
  if (value == NULL || value[0] == '\0')
    return NULL;
  char *copy = strdup(value);
  *is_good = *is_good && copy != NULL;
  return copy;
}

/* Each endpoint with its scheme. NULL: no memory. */
static char *write_endpoints(struct text endpoints, bool is_secure)
{
  struct buffer out;
  buffer_init(&out);
  for (size_t at = 0; at < endpoints.len;) {
    const char *comma = memchr(endpoints.data + at, ',', endpoints.len - at);
    size_t end = comma == NULL ? endpoints.len : (size_t)(comma - endpoints.data);
    buffer_printf(&out, "%s%s%.*s", at == 0 ? "" : ",", is_secure ? "https://" : "http://",
                  TEXT_ARGS(text_slice(endpoints, at, end)));
    at = end + 1;
  }
  char *copy = out.failed ? NULL : strndup(out.data, out.len);
  buffer_fini(&out);
  return copy;
}

enum jp_client_status directory_access_init(struct directory_access *access,
                                            const struct jp_directory_config *config,
                                            struct text dir_endpoints, struct jp_client_error *error)
{
  struct jp_directory_config given = {0};
  *access = (struct directory_access){.timeout_ms = TIMEOUT_MS};
  if (config != NULL && (config->size == 0 || config->size > sizeof given))
    return client_fail(error, config->size == 0 ? JP_CLIENT_INVALID : JP_CLIENT_UNSUPPORTED,
                       "size of jp_directory_config is %s",
                       config->size == 0 ? "not set" : "of a later version than the library");
  if (config != NULL)
    memcpy(&given, config, config->size);
  if (given.timeout_ms < 0)
    return client_fail(error, JP_CLIENT_INVALID, "timeout_ms of jp_directory_config is negative");
  if (given.timeout_ms > 0)
    access->timeout_ms = given.timeout_ms;
  bool is_good = true;
  struct etcd_options *options = &access->options;
  options->ca_file = copy_setting(given.ca_file, "JPEER_DIR_CACERT", &is_good);
  options->cert_file = copy_setting(given.cert_file, "JPEER_DIR_CERT", &is_good);
  options->key_file = copy_setting(given.key_file, "JPEER_DIR_KEY", &is_good);
  options->user_file = copy_setting(given.user_file, "JPEER_DIR_USER_FILE", &is_good);
  access->space = copy_setting(given.name_space, "JPEER_DIR_NAMESPACE", &is_good);
  if (access->space == NULL && is_good)
    access->space = strdup(DIRECTORY_NAMESPACE);
  bool is_secure = options->ca_file != NULL || options->cert_file != NULL;
  options->endpoints = dir_endpoints.data != NULL
                           ? write_endpoints(dir_endpoints, is_secure)
                           : copy_setting(given.endpoints, "JPEER_DIRECTORY", &is_good);
  struct jp_error why;
  enum jp_client_status status = JP_CLIENT_OK;
  if (!is_good || access->space == NULL || (dir_endpoints.data != NULL && options->endpoints == NULL))
    status = client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a directory");
  else if (options->endpoints == NULL)
    status = client_fail(error, JP_CLIENT_INVALID, "no endpoints of a directory are given");
  else if (directory_name_check(text_of(access->space), &why) != JP_OK)
    status = client_fail(error, JP_CLIENT_INVALID, "the namespace of the directory %s", why.text);
  else if (etcd_endpoints_check(options->endpoints, NULL, &why) != JP_OK)
    status = client_fail(error, JP_CLIENT_INVALID, "the address of the directory %s", why.text);
  if (status != JP_CLIENT_OK)
    directory_access_fini(access);
  return status;
}

void directory_access_fini(struct directory_access *access)
{
  free((void *)access->options.endpoints);
  free((void *)access->options.ca_file);
  free((void *)access->options.cert_file);
  free((void *)access->options.key_file);
  free((void *)access->options.user_file);
  free(access->space);
  *access = (struct directory_access){0};
}

enum jp_client_status directory_open(const struct directory_access *access, struct etcd_client **etcd,
                                     struct jp_client_error *error)
{
  struct jp_error why;
  enum jp_status status = etcd_client_create(&access->options, etcd, &why);
  if (status == JP_INVALID) /* of the caller's texts or files */
    return client_fail(error, JP_CLIENT_INVALID, "the directory: %s", why.text);
  return status == JP_OK ? JP_CLIENT_OK : directory_fail(error, &why);
}

/* ---- reading entries ---- */

static void note_fault(struct arena *arena, struct found_peers *found, struct text key,
                       const struct jp_error *why)
{
  char shown[4 * SHOWN_MAX];
  if (found->fault_count++ > 0)
    return;
  text_escape(text_cut(key, SHOWN_MAX), "", "", shown, sizeof shown);
  found->fault = arena_printf(arena, "%s: %s", shown, why->text).data;
}

/* The entry of the UUID, which is the last one if there is one: keys come in order. NULL: no memory. */
static struct found_peer *enter_peer(struct arena *arena, struct found_peers *found, size_t *capacity,
                                     const struct uuid *uuid)
{
  if (found->count > 0 && uuid_equal(&found->items[found->count - 1].uuid, uuid))
    return &found->items[found->count - 1];
  struct found_peer *items = arena_grow(arena, found->items, found->count, capacity, sizeof *items);
  if (items == NULL)
    return NULL;
  found->items = items;
  items[found->count] = (struct found_peer){.uuid = *uuid};
  return &items[found->count++];
}

/* NUL-terminated. */
static struct text keep_text(struct arena *arena, struct text t, bool *is_good)
{
  if (t.data == NULL)
    return t;
  struct text kept = arena_printf(arena, "%.*s", TEXT_ARGS(t));
  *is_good = *is_good && kept.data != NULL;
  return kept;
}

/* The address may only be one that clients accept: without a user, for example. */
static enum jp_status check_address(struct text address, struct jp_error *error)
{
  struct client_url parts;
  const struct transport_kind *kind;
  struct jp_client_error why;
  if (address.data != NULL && client_url_parse(address.data, &parts, &kind, &why) == JP_CLIENT_INVALID)
    return jp_fail(error, JP_INVALID, "%s", why.text);
  return JP_OK;
}

static enum jp_status keep_addresses(struct arena *arena, struct text json_rpc, struct text zmq_rpc,
                                     struct found_peer *peer, struct jp_error *error)
{
  bool is_good = true;
  struct text json = keep_text(arena, json_rpc, &is_good);
  struct text zmq = keep_text(arena, zmq_rpc, &is_good);
  if (!is_good)
    return jp_fail_memory(error, NULL);
  enum jp_status status = check_address(json, error);
  if (status == JP_OK)
    status = check_address(zmq, error);
  if (status == JP_OK) {
    peer->json_rpc = json;
    peer->zmq_rpc = zmq;
  }
  return status;
}

static enum jp_status read_entry(struct arena *arena, const struct etcd_pair *pair,
                                 const struct directory_key *key, struct found_peer *peer,
                                 struct jp_error *error)
{
  struct directory_info info;
  struct directory_state state;
  struct directory_member member;
  bool is_good = true;
  enum jp_status status = JP_OK;
  if (key->kind == DIRECTORY_KEY_INFO) {
    status = directory_info_read(pair->value, arena, &info, error);
    if (status != JP_OK)
      return status;
    peer->name = keep_text(arena, info.name, &is_good);
    peer->since_ms = info.ctime_ms;
  } else if (key->kind == DIRECTORY_KEY_STATE) {
    status = directory_state_read(pair->value, arena, &state, error);
    if (status != JP_OK)
      return status;
    status = keep_addresses(arena, state.json_rpc, state.zmq_rpc, peer, error);
    peer->zmq_curve = keep_text(arena, state.zmq_curve, &is_good);
  } else {
    status = directory_member_read(pair->value, arena, &member, error);
    if (status == JP_OK)
      status = keep_addresses(arena, member.json_rpc, member.zmq_rpc, peer, error);
  }
  return is_good ? status : jp_fail_memory(error, NULL);
}

/* A peer whose name was taken goes on without it, and others may write any name: the key by-name counts. */
static void drop_lost_names(const struct directory_access *access, const struct etcd_pairs *pairs,
                            struct found_peers *found)
{
  for (size_t i = 0; i < found->count; i++)
    found->items[i].has_name = false;
  for (size_t i = 0; i < pairs->count; i++) {
    struct directory_key key;
    struct uuid uuid;
    directory_key_read(pairs->items[i].key, text_of(access->space), &key);
    if (key.kind != DIRECTORY_KEY_NAME || !uuid_parse(pairs->items[i].value, &uuid))
      continue;
    for (size_t j = 0; j < found->count; j++) {
      struct found_peer *peer = &found->items[j];
      if (peer->name.data != NULL && text_equal(peer->name, key.name) && uuid_equal(&peer->uuid, &uuid))
        peer->has_name = true;
    }
  }
  for (size_t i = 0; i < found->count; i++) {
    if (!found->items[i].has_name)
      found->items[i].name = TEXT_ABSENT;
  }
}

/* Removes the peers without a state (of a service: without a member), which are dead. */
static void drop_dead(struct found_peers *found)
{
  size_t kept = 0;
  for (size_t i = 0; i < found->count; i++) {
    if (found->items[i].is_alive)
      found->items[kept++] = found->items[i];
  }
  found->count = kept;
}

/* alive: the kind of the entries that only peers have that are alive. */
static enum jp_client_status read_entries(const struct directory_access *access,
                                          const struct etcd_pairs *pairs, enum directory_key_kind alive,
                                          struct arena *arena, struct found_peers *found,
                                          struct jp_client_error *error)
{
  size_t capacity = 0;
  *found = (struct found_peers){.revision = pairs->revision};
  for (size_t i = 0; i < pairs->count; i++) {
    struct directory_key key;
    struct jp_error why;
    directory_key_read(pairs->items[i].key, text_of(access->space), &key);
    if (key.kind != alive && key.kind != DIRECTORY_KEY_INFO)
      continue;
    struct found_peer *peer = enter_peer(arena, found, &capacity, &key.uuid);
    if (peer == NULL)
      return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a list of peers");
    enum jp_status status = read_entry(arena, &pairs->items[i], &key, peer, &why);
    if (status == JP_NO_MEMORY)
      return directory_fail(error, &why);
    if (status != JP_OK)
      note_fault(arena, found, pairs->items[i].key, &why);
    else if (key.kind == alive)
      peer->is_alive = true;
  }
  drop_dead(found);
  return JP_CLIENT_OK;
}

/* ---- looking up ---- */

/* Reads a key, or all keys with a prefix. key.data NULL: no memory. *is_lost, if not NULL: no endpoint has answered. */
static enum jp_client_status read_keys(struct etcd_client *etcd, struct text key, enum etcd_span span,
                                       int64_t deadline_ms, struct arena *arena, struct etcd_pairs *pairs,
                                       bool *is_lost, struct jp_client_error *error)
{
  struct jp_error why;
  if (is_lost != NULL)
    *is_lost = false;
  if (key.data == NULL)
    return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a look-up");
  enum jp_status status = etcd_read(etcd, key, span, deadline_ms, arena, pairs, &why);
  if (is_lost != NULL)
    *is_lost = status == JP_IO;
  return status == JP_OK ? JP_CLIENT_OK : directory_fail(error, &why);
}

enum jp_client_status directory_find_all(const struct directory_access *access, struct etcd_client *etcd,
                                         int64_t deadline_ms, struct arena *arena, struct found_peers *found,
                                         bool *is_lost, struct jp_client_error *error)
{
  struct etcd_pairs pairs = {0};
  enum jp_client_status status = read_keys(etcd, directory_prefix_peers(arena, text_of(access->space)),
                                           ETCD_PREFIX, deadline_ms, arena, &pairs, is_lost, error);
  if (status == JP_CLIENT_OK)
    status = read_entries(access, &pairs, DIRECTORY_KEY_STATE, arena, found, error);
  if (status == JP_CLIENT_OK)
    drop_lost_names(access, &pairs, found);
  return status;
}

static enum jp_client_status find_uuid(const struct directory_access *access, struct etcd_client *etcd,
                                       struct text name, int64_t deadline_ms, struct arena *arena,
                                       struct uuid *uuid, struct jp_client_error *error)
{
  struct etcd_pairs pairs = {0};
  const bool is_uuid = uuid_parse(name, uuid);
  enum jp_client_status status = read_keys(etcd, directory_key_name(arena, text_of(access->space), name),
                                           ETCD_ONE_KEY, deadline_ms, arena, &pairs, NULL, error);
  if (status != JP_CLIENT_OK)
    return status;
  if (pairs.count == 0)
    return client_fail(error, JP_CLIENT_REFUSED, "no peer of the directory has that %s",
                       is_uuid ? "UUID" : "name");
  if (!uuid_parse(pairs.items[0].value, uuid))
    return client_fail(error, JP_CLIENT_PROTOCOL, "the directory names no UUID for that name, but \"%.*s\"",
                       TEXT_ARGS(text_cut(pairs.items[0].value, SHOWN_MAX)));
  return JP_CLIENT_OK;
}

static enum jp_client_status fail_fault(const struct found_peers *found, struct jp_client_error *error)
{
  return client_fail(error, JP_CLIENT_PROTOCOL, "the entry of the directory cannot be read: %s",
                     found->fault);
}

/* The peer of the UUID, if it is alive. */
static enum jp_client_status read_by_uuid(const struct directory_access *access, struct etcd_client *etcd,
                                          const struct uuid *uuid, int64_t deadline_ms, struct arena *arena,
                                          struct found_peers *found, struct jp_client_error *error)
{
  struct etcd_pairs pairs = {0};
  struct text key = directory_key_info(arena, text_of(access->space), uuid);
  if (key.data != NULL)
    key.len -= sizeof "info" - 1; /* the prefix of all keys of that peer */
  enum jp_client_status status = read_keys(etcd, key, ETCD_PREFIX, deadline_ms, arena, &pairs, NULL, error);
  if (status == JP_CLIENT_OK)
    status = read_entries(access, &pairs, DIRECTORY_KEY_STATE, arena, found, error);
  if (status == JP_CLIENT_OK && found->count == 0 && found->fault != NULL)
    return fail_fault(found, error);
  return status;
}

/* A UUID comes first; a name may have the form of one. */
static enum jp_client_status read_peer(const struct directory_access *access, struct etcd_client *etcd,
                                       struct text target, int64_t deadline_ms, struct arena *arena,
                                       struct found_peers *found, struct jp_client_error *error)
{
  struct uuid uuid;
  *found = (struct found_peers){0};
  enum jp_client_status status = JP_CLIENT_OK;
  if (uuid_parse(target, &uuid))
    status = read_by_uuid(access, etcd, &uuid, deadline_ms, arena, found, error);
  if (status != JP_CLIENT_OK || found->count > 0)
    return status;
  status = find_uuid(access, etcd, target, deadline_ms, arena, &uuid, error);
  if (status == JP_CLIENT_OK)
    status = read_by_uuid(access, etcd, &uuid, deadline_ms, arena, found, error);
  if (status == JP_CLIENT_OK && found->count == 0)
    return client_fail(error, JP_CLIENT_REFUSED, "the peer that has the name in the directory has ended");
  return status;
}

static enum jp_client_status read_service(const struct directory_access *access, struct etcd_client *etcd,
                                          struct text service, int64_t deadline_ms, struct arena *arena,
                                          struct found_peers *found, struct jp_client_error *error)
{
  struct etcd_pairs pairs = {0};
  enum jp_client_status status =
      read_keys(etcd, directory_prefix_service(arena, text_of(access->space), service), ETCD_PREFIX,
                deadline_ms, arena, &pairs, NULL, error);
  if (status == JP_CLIENT_OK)
    status = read_entries(access, &pairs, DIRECTORY_KEY_SERVICE, arena, found, error);
  if (status == JP_CLIENT_OK && found->count == 0 && found->fault != NULL)
    return fail_fault(found, error);
  if (status == JP_CLIENT_OK && found->count == 0)
    return client_fail(error, JP_CLIENT_REFUSED, "no peer of the directory has that service");
  return status;
}

typedef enum jp_client_status reader(const struct directory_access *access, struct etcd_client *etcd,
                                     struct text target, int64_t deadline_ms, struct arena *arena,
                                     struct found_peers *found, struct jp_client_error *error);

static enum jp_client_status find_with(reader *read, const struct directory_access *access,
                                       struct text target, int timeout_ms, struct arena *arena,
                                       struct found_peers *found, struct jp_client_error *error)
{
  const int most_ms = timeout_ms < access->timeout_ms ? timeout_ms : access->timeout_ms;
  struct etcd_client *etcd;
  enum jp_client_status status = directory_open(access, &etcd, error);
  if (status != JP_CLIENT_OK)
    return status;
  status = read(access, etcd, target, clock_now_ms() + most_ms, arena, found, error);
  etcd_client_destroy(etcd);
  return status;
}

enum jp_client_status directory_find_peer(const struct directory_access *access, struct text target,
                                          int timeout_ms, struct arena *arena, struct found_peers *found,
                                          struct jp_client_error *error)
{
  return find_with(read_peer, access, target, timeout_ms, arena, found, error);
}

enum jp_client_status directory_find_service(const struct directory_access *access, struct text service,
                                             int timeout_ms, struct arena *arena, struct found_peers *found,
                                             struct jp_client_error *error)
{
  return find_with(read_service, access, service, timeout_ms, arena, found, error);
}

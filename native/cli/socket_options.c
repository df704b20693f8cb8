#include "cli/socket_options.h"

#include "base/unix_account.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  OWN_USER = 0600,
  GROUP_TOO = 0660,
  EVERYONE = 0666,
  OTHER_USERS = 0077,
  OTHERS_CONNECT = 0022, /* connecting to a socket needs the permission to write to its file */
  MODE_MAX = 0777
};

/* ---- readers ---- */

enum jp_status socket_options_read_mode(const struct option *option, const char *text, void *value,
                                        struct jp_error *error)
{
  (void)option;
  size_t length = strlen(text);
  unsigned long mode = strtoul(text, NULL, 8);
  bool good = length >= 3 && length <= 4 && strspn(text, "01234567") == length && mode <= MODE_MAX;
  if (!good || (mode & OWN_USER) != OWN_USER)
    return jp_fail(error, JP_INVALID, "takes an octal mode that begins with 06 or 07, such as 0660");
  *(mode_t *)value = (mode_t)mode;
  return JP_OK;
}

static enum jp_status find_account(enum unix_account_kind kind, const char *text, uint32_t *id,
                                   struct jp_error *error)
{
  struct jp_error reason;
  if (unix_account_find(kind, text, id, &reason) == JP_OK)
    return JP_OK;
  return jp_fail(error, JP_INVALID, "takes the name or number of a %s (%s)",
                 kind == UNIX_USER ? "user" : "group", reason.text);
}

static enum jp_status add_account(struct run_accounts *accounts, unsigned id, struct jp_error *error)
{
  /* one place is left for --socket-group */
  if (accounts->count == ADMISSION_MAX - 1)
    return jp_fail(error, JP_INVALID, "takes %d of them at most", ADMISSION_MAX - 1);
  accounts->ids[accounts->count++] = id;
  return JP_OK;
}

enum jp_status socket_options_read_group(const struct option *option, const char *text, void *value,
                                         struct jp_error *error)
{
  (void)option;
  struct run_group *group = value;
  group->is_given = true;
  return find_account(UNIX_GROUP, text, &group->id, error);
}

enum jp_status socket_options_read_users(const struct option *option, const char *text, void *value,
                                         struct jp_error *error)
{
  (void)option;
  uint32_t id;
  enum jp_status status = find_account(UNIX_USER, text, &id, error);
  return status == JP_OK ? add_account(value, id, error) : status;
}

enum jp_status socket_options_read_groups(const struct option *option, const char *text, void *value,
                                          struct jp_error *error)
{
  (void)option;
  uint32_t id;
  enum jp_status status = find_account(UNIX_GROUP, text, &id, error);
  return status == JP_OK ? add_account(value, id, error) : status;
}

/* ---- the rules between them ---- */

static const char *find_given(const struct socket_options *options)
{
  if (options->users.count > 0)
    return "--allow-user";
  if (options->groups.count > 0)
    return "--allow-group";
  if (options->group.is_given)
    return "--socket-group";
  return options->mode != 0 ? "--socket-mode" : NULL;
}

/* If only members of the file's group are admitted, the mode keeps out all others. Otherwise everyone may
 * connect, and the peer refuses users that are not admitted. */
static mode_t choose_mode(const struct socket_options *options, bool has_others)
{
  if (options->mode != 0)
    return options->mode;
  if (!has_others)
    return OWN_USER;
  return options->users.count == 0 && options->groups.count == 0 ? GROUP_TOO : EVERYONE;
}

static bool has_id(const struct run_accounts *accounts, unsigned id)
{
  for (size_t i = 0; i < accounts->count; i++) {
    if (accounts->ids[i] == id)
      return true;
  }
  return false;
}

/* NULL: none. */
static const unsigned *find_shared(const struct run_accounts *accounts, enum unix_account_kind kind)
{
  for (size_t i = 0; i < accounts->count; i++) {
    if (unix_account_is_shared(kind, accounts->ids[i]))
      return &accounts->ids[i];
  }
  return NULL;
}

/* The system reports one number for all accounts that the user namespace lacks. Allowing this number would
 * admit all of them. */
static enum jp_status check_namespace(const struct socket_options *options, struct jp_error *error)
{
  const unsigned own = geteuid();
  const bool is_own = unix_account_is_shared(UNIX_USER, own);
  const unsigned *user = is_own ? &own : find_shared(&options->users, UNIX_USER);
  const unsigned *group = find_shared(&options->groups, UNIX_GROUP);
  if (group == NULL && options->group.is_given && unix_account_is_shared(UNIX_GROUP, options->group.id))
    group = &options->group.id;
  if (user != NULL)
    return jp_fail(
        error, JP_INVALID,
        "%s %u would admit every user of the machine whom this user namespace (container) lacks: the "
        "system reports them as this one",
        is_own ? "the peer's own user" : "--allow-user", *user);
  if (group != NULL)
    return jp_fail(
        error, JP_INVALID,
        "the group %u would admit the members of every group of the machine that this user namespace "
        "(container) lacks: the system reports them as this one",
        *group);
  return JP_OK;
}

enum jp_status socket_options_settle(const struct socket_options *options, bool has_sockets,
                                     bool makes_sockets, bool has_principals, struct net_config *net,
                                     struct jp_error *error)
{
  const char *given = find_given(options);
  if (given != NULL && has_principals)
    return jp_fail(error, JP_INVALID,
                   "%s is not for a peer with --principals, whose file lists users and groups", given);
  if (has_principals) {
    net->socket_access = (struct unix_socket_access){.mode = EVERYONE, .group = (gid_t)-1};
    return JP_OK;
  }
  if (given != NULL && !has_sockets)
    return jp_fail(error, JP_INVALID,
                   "%s is for Unix sockets: it needs --json-rpc unix:PATH or --zmq-rpc ipc://PATH", given);
  if (has_sockets && !makes_sockets && options->mode != 0)
    return jp_fail(error, JP_INVALID,
                   "--socket-mode is for sockets that the peer makes: for those of fd: set SocketMode= in "
                   "the socket unit");
  struct admission *admission = &net->admission;
  for (size_t i = 0; i < options->users.count; i++)
    admission->users[admission->user_count++] = options->users.ids[i];
  for (size_t i = 0; i < options->groups.count; i++)
    admission->groups[admission->group_count++] = options->groups.ids[i];
  if (options->group.is_given)
    admission->groups[admission->group_count++] = options->group.id;
  bool has_others = admission_has_others(admission);
  mode_t mode = choose_mode(options, has_others);
  if (!has_others && (mode & OTHER_USERS) != 0)
    return jp_fail(
        error, JP_INVALID,
        "--socket-mode %04o lets other users open the socket, and none of them may use the peer: name "
        "them with --allow-user, --allow-group or --socket-group",
        mode);
  /* the mode of a file does not keep root out */
  if (has_others && (mode & OTHERS_CONNECT) == 0 && !has_id(&options->users, 0))
    return jp_fail(error, JP_INVALID, "--socket-mode %04o keeps out everyone whom %s admits", mode, given);
  net->socket_access = (struct unix_socket_access){
      .mode = mode, .group = options->group.is_given ? options->group.id : (gid_t)-1};
  return has_others ? check_namespace(options, error) : JP_OK;
}

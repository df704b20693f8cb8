#ifndef JPEER_CLI_SOCKET_OPTIONS_H
#define JPEER_CLI_SOCKET_OPTIONS_H
/*
 * --socket-mode, --socket-group, --allow-user and --allow-group: which users of the machine may use the
 * peer's Unix sockets. A user or a group is a name, which is looked up when the option is read, or a number,
 * which need not have a name. Main's thread.
 */
#include "base/options.h"
#include "net/server.h"

/* The value of --allow-user or --allow-group. */
struct run_accounts {
  struct option_list texts; /* first: a repeated option's value begins with it (base/options.h) */
  size_t count;
  unsigned ids[ADMISSION_MAX];
};

/* The value of --socket-group. */
struct run_group {
  bool is_given;
  gid_t id;
};

option_reader socket_options_read_mode;   /* mode_t */
option_reader socket_options_read_group;  /* struct run_group */
option_reader socket_options_read_users;  /* struct run_accounts: appends */
option_reader socket_options_read_groups; /* struct run_accounts: appends */

/* The options as they were read. */
struct socket_options {
  struct run_accounts users;
  struct run_accounts groups;
  struct run_group group;
  mode_t mode; /* 0: not given */
};

/* Sets net->socket_access and net->admission. JP_INVALID: the options contradict each other, or there is no
 * Unix socket (has_sockets), or none that the peer makes (makes_sockets), or the peer has principals (has_principals). With principals everyone may
 * connect, and the principals decide who is admitted. */
enum jp_status socket_options_settle(const struct socket_options *options, bool has_sockets,
                                     bool makes_sockets, bool has_principals, struct net_config *net,
                                     struct jp_error *error) JP_MUST_CHECK;

#endif

#ifndef JPEER_CLI_DIRECTORY_OPTIONS_H
#define JPEER_CLI_DIRECTORY_OPTIONS_H
/*
 * -d and the options that belong to it: how the peer is listed in the directory (directory/registration.h).
 * Main's thread.
 */
#include "base/options.h"
#include "cli/endpoints.h"
#include "directory/registration.h"

/* All texts are borrowed from the arguments and the environment. */
struct directory_options {
  struct option_list services; /* --service */
  const char *endpoints;       /* -d; NULL: the peer is in no directory */
  const char *space;
  const char *advertise; /* NULL: the address that the peer listens on */
  const char *ca_file;
  const char *cert_file;
  const char *key_file;
  const char *user_file;
  const char *name; /* as --name has it; NULL: not given */
  int64_t ttl_s;
  int64_t timeout_ms;
  bool no_wait;
  bool
      is_from_environment; /* -d is: a peer without ports, such as a launched one, is not in the directory then */
  bool is_optional;
};

option_reader directory_options_read_endpoints; /* const char * */
option_reader directory_options_read_name;      /* const char *: of a namespace */
option_reader directory_options_read_service;   /* struct option_list */
option_reader directory_options_read_host;      /* const char * */
option_reader directory_options_read_ttl;       /* int64_t seconds within min and max: 10, 10s, 5m, 1h */

void directory_options_defaults(struct directory_options *options);
/* The rules between these options, and with the addresses. May set `endpoints` to NULL. JP_INVALID. */
enum jp_status directory_options_check(struct directory_options *options, const struct run_endpoints *json,
                                       const struct run_endpoints *zmq, struct jp_error *error) JP_MUST_CHECK;

/* The addresses that the directory has of a peer; empty: the peer does not serve it. */
struct directory_addresses {
  char json_url[320];
  char zmq_url[320];
};

/* Chooses among the addresses of a peer (net_addresses): the first that is not a loopback address, else the first.
 * Warns if others cannot reach what is chosen. */
void directory_options_choose(const struct directory_options *options, const char *const *addresses,
                              struct directory_addresses *chosen);

#endif

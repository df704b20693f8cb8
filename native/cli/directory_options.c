#include "cli/directory_options.h"

#include "base/log.h"
#include "directory/entries.h"

#include <stdio.h>
#include <string.h>

enum { HOST_MAX = 253, TTL_STANDARD_S = 10, TIMEOUT_STANDARD_MS = 5000 };

void directory_options_defaults(struct directory_options *options)
{
  options->space = DIRECTORY_NAMESPACE;
  options->ttl_s = TTL_STANDARD_S;
  options->timeout_ms = TIMEOUT_STANDARD_MS;
}

/* ---- readers ---- */

enum jp_status directory_options_read_endpoints(const struct option *option, const char *text, void *value,
                                                struct jp_error *error)
{
  (void)option;
  *(const char **)value = text;
  return etcd_endpoints_check(text, NULL, error);
}

enum jp_status directory_options_read_name(const struct option *option, const char *text, void *value,
                                           struct jp_error *error)
{
  (void)option;
  *(const char **)value = text;
  return directory_name_check(text_of(text), error);
}

enum jp_status directory_options_read_service(const struct option *option, const char *text, void *value,
                                              struct jp_error *error)
{
  const struct option_list *list = value;
  enum jp_status status = directory_name_check(text_of(text), error);
  for (size_t i = 0; i < list->count && status == JP_OK; i++) {
    if (strcmp(list->items[i], text) == 0)
      status = jp_fail(error, JP_INVALID, "takes each name once");
  }
  if (status == JP_OK && list->count == REGISTRATION_SERVICES_MAX)
    status = jp_fail(error, JP_INVALID, "takes %d names at most", REGISTRATION_SERVICES_MAX);
  return status == JP_OK ? option_read_list(option, text, value, error) : status;
}

static bool is_ipv6(const char *host)
{
  const char *colon = strchr(host, ':');
  return colon != NULL && strchr(colon + 1, ':') != NULL;
}

enum jp_status directory_options_read_host(const struct option *option, const char *text, void *value,
                                           struct jp_error *error)
{
  (void)option;
  size_t length = strlen(text);
  const char *allowed = is_ipv6(text) ? "0123456789abcdefABCDEF:.[]"
                                      : "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-._";
  if (length == 0 || length > HOST_MAX || strspn(text, allowed) != length)
    return jp_fail(error, JP_INVALID, "takes a host name or address without a port");
  *(const char **)value = text;
  return JP_OK;
}

enum jp_status directory_options_read_ttl(const struct option *option, const char *text, void *value,
                                          struct jp_error *error)
{
  enum { DIGITS_MAX = 6, DECIMAL = 10, MINUTE = 60, HOUR = 3600 };
  int64_t seconds = 0;
  size_t digits = strspn(text, "0123456789");
  for (size_t i = 0; i < digits && digits <= DIGITS_MAX; i++)
    seconds = seconds * DECIMAL + (text[i] - '0');
  const char *unit = text + digits;
  if (strcmp(unit, "m") == 0)
    seconds *= MINUTE;
  else if (strcmp(unit, "h") == 0)
    seconds *= HOUR;
  else if (*unit != '\0' && strcmp(unit, "s") != 0)
    seconds = 0;
  if (digits == 0 || seconds < option->min || seconds > option->max)
    return jp_fail(error, JP_INVALID, "takes %s: seconds, or a number with s, m or h, from %lld to %lld s",
                   option->takes, (long long)option->min, (long long)option->max);
  *(int64_t *)value = seconds;
  return JP_OK;
}

/* ---- rules ---- */

static const char *first_given(const struct directory_options *options)
{
  return options->services.count > 0                        ? "--service"
         : strcmp(options->space, DIRECTORY_NAMESPACE) != 0 ? "--dir-namespace"
         : options->advertise != NULL                       ? "--advertise"
         : options->ca_file != NULL                         ? "--dir-cacert"
         : options->cert_file != NULL                       ? "--dir-cert"
         : options->key_file != NULL                        ? "--dir-key"
         : options->user_file != NULL                       ? "--dir-user-file"
         : options->ttl_s != TTL_STANDARD_S                 ? "--dir-ttl"
         : options->timeout_ms != TIMEOUT_STANDARD_MS       ? "--dir-timeout"
         : options->no_wait                                 ? "--dir-no-wait"
         : options->is_optional                             ? "--dir-optional"
                                                            : NULL;
}

static bool listens_anywhere(const struct run_endpoints *endpoints)
{
  for (size_t i = 0; i < endpoints->count; i++) {
    const struct run_endpoint *endpoint = &endpoints->items[i];
    if (endpoint->path == NULL && (strcmp(endpoint->host, "0.0.0.0") == 0 ||
                                   strcmp(endpoint->host, "::") == 0 || strcmp(endpoint->host, "0") == 0))
      return true;
  }
  return false;
}

enum jp_status directory_options_check(struct directory_options *options, const struct run_endpoints *json,
                                       const struct run_endpoints *zmq, struct jp_error *error)
{
  struct etcd_endpoint_facts facts;
  const char *given = first_given(options);
  if (options->endpoints == NULL)
    return given == NULL ? JP_OK : jp_fail(error, JP_INVALID, "%s needs -d", given);
  enum jp_status status = etcd_endpoints_check(options->endpoints, &facts, error);
  if (status != JP_OK)
    return status;
  if (options->name != NULL && directory_name_check(text_of(options->name), error) != JP_OK) {
    char why[sizeof error->text];
    text_format(why, sizeof why, "%s", error->text);
    return jp_fail(error, JP_INVALID, "--name with -d %s, not \"%.*s\"", why, OPTION_SHOWN(options->name));
  }
  if ((options->cert_file == NULL) != (options->key_file == NULL))
    return jp_fail(error, JP_INVALID, "--dir-cert and --dir-key are given together");
  if ((options->ca_file != NULL || options->cert_file != NULL) && !facts.any_tls)
    return jp_fail(error, JP_INVALID, "%s needs -d https://HOST:PORT",
                   options->ca_file != NULL ? "--dir-cacert" : "--dir-cert");
  const bool has_port = endpoints_have_port(json) || endpoints_have_port(zmq);
  if (!has_port && options->is_from_environment) {
    options->endpoints = NULL;
    return JP_OK;
  }
  if (!has_port)
    return jp_fail(error, JP_INVALID,
                   "-d is for peers with ports: it needs --json-rpc [HOST:]PORT or --zmq-rpc [HOST:]PORT");
  if (options->advertise == NULL && (listens_anywhere(json) || listens_anywhere(zmq)))
    return jp_fail(
        error, JP_INVALID,
        "-d needs --advertise HOST for a peer that listens on all addresses: others could not know "
        "which to use");
  return JP_OK;
}

/* ---- addresses ---- */

/* The part HOST:PORT of SCHEME://HOST:PORT/PATH; data NULL: the address has another scheme. */
static struct text read_authority(const char *address, const char *scheme)
{
  size_t length = strlen(scheme);
  if (strncmp(address, scheme, length) != 0)
    return TEXT_ABSENT;
  address += length;
  return (struct text){address, strcspn(address, "/")};
}

static bool is_loopback(struct text authority)
{
  return text_starts_with(authority, TEXT("127.")) || text_starts_with(authority, TEXT("localhost:")) ||
         text_starts_with(authority, TEXT("[::1]:"));
}

static void choose_address(const char *const *addresses, const char *scheme, struct text *chosen)
{
  for (size_t i = 0; addresses[i] != NULL; i++) {
    struct text authority = read_authority(addresses[i], scheme);
    if (authority.data != NULL && (chosen->data == NULL || (is_loopback(*chosen) && !is_loopback(authority))))
      *chosen = authority;
  }
}

static void write_url(const struct directory_options *options, const char *const *addresses,
                      const char *scheme, char *url, size_t size)
{
  struct text authority = TEXT_ABSENT;
  choose_address(addresses, scheme, &authority);
  if (authority.data == NULL)
    return;
  const char *host = options->advertise;
  const bool is_bare = host != NULL && is_ipv6(host) && host[0] != '[';
  struct text port = text_slice(authority, text_find_last(authority, ':'), authority.len);
  if (host == NULL)
    text_format(url, size, "%s%.*s", scheme, TEXT_ARGS(authority));
  else
    text_format(url, size, "%s%s%s%s%.*s", scheme, is_bare ? "[" : "", host, is_bare ? "]" : "",
                TEXT_ARGS(port));
}

void directory_options_choose(const struct directory_options *options, const char *const *addresses,
                              struct directory_addresses *chosen)
{
  struct etcd_endpoint_facts facts = {.all_loopback = true};
  *chosen = (struct directory_addresses){.json_url = ""};
  write_url(options, addresses, "wss://", chosen->json_url, sizeof chosen->json_url);
  if (chosen->json_url[0] == '\0')
    write_url(options, addresses, "ws://", chosen->json_url, sizeof chosen->json_url);
  write_url(options, addresses, "tcp://", chosen->zmq_url, sizeof chosen->zmq_url);
  if (etcd_endpoints_check(options->endpoints, &facts, NULL) != JP_OK || facts.all_loopback)
    return;
  const char *url = chosen->json_url[0] != '\0' ? chosen->json_url : chosen->zmq_url;
  if (is_loopback(text_of(strstr(url, "://") + sizeof "://" - 1)))
    log_warn(
        "the directory %s gets the address %s, which only this machine can reach (--advertise HOST names "
        "another)",
        options->endpoints, url);
  if (options->user_file != NULL && !facts.all_tls)
    log_warn("the directory %s gets the password of --dir-user-file without TLS (https://HOST:PORT has it)",
             options->endpoints);
}

#include "cli/run_options.h"

#include "base/near_name.h"
#include "classfile/class_path.h"
#include "cli/java_arguments.h"
#include "cli/java_options.h"
#include "cli/run_option_rows.h"
#include "cli/thread_affinity.h"
#include "policy/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whoever sets these variables can give the JVM any option, including debuggers and agents. */
#define JVM_VARIABLES "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"

static void set_defaults(struct run_options *options)
{
  *options =
      (struct run_options){.log_level = LOG_LEVEL_INFO,
                           .grace_ms = 5000,
                           .stop_on_eof = -1,
                           .default_action = POLICY_UNSET,
                           .policy_watch_ms = 2000,
                           .limits = {.max_depth = 128,
                                      .max_batch = 1000,
                                      .session_max_objects = 4000000,
                                      .values_max = 1000000,
                                      .sessions_max = 100000,
                                      .sessions_per_address = 10000,
                                      .session_ttl_ms = 600000,
                                      .callbacks = {.calls_max = 1000, .depth_max = 64, .threads_max = 256},
                                      .java = {.inline_array_max = 1000,
                                               .stack_frames_max = 64,
                                               .number_digits_max = 10000,
                                               .callback_classes_max = 10000}}};
  net_config_defaults(&options->net);
  directory_options_defaults(&options->directory);
  options->net.input_max_total = 0; /* set by check_rules, because the default depends on message_max */
}

/* ---- the application ---- */

struct run_words {
  char *const *items; /* the words after the options */
  size_t count;
  bool jar_given; /* -jar was given on the command line, not in the environment */
  bool service_given;
  const char *(*variable)(const char *name); /* the parameter of run_options_read */
};

/* Chooses the application to run. An application on the command line replaces one in the environment. */
static enum jp_status choose_application(struct run_options *options, const struct run_words *words,
                                         bool has_class, struct jp_error *error)
{
  const char *module = options->main_module;
  if (words->service_given && (words->jar_given || module != NULL))
    return jp_fail(error, JP_INVALID, "--as-service runs no main class: it cannot be combined with %s",
                   words->jar_given ? "-jar" : "-m");
  if (words->service_given && has_class)
    return jp_fail(error, JP_INVALID, "--as-service runs no main class: \"%.*s\" is one too many",
                   OPTION_SHOWN(words->items[0]));
  if (words->jar_given || module != NULL || has_class)
    options->as_service = false;
  if (words->service_given || module != NULL || has_class)
    options->jar = NULL;
  if (options->as_service && options->jar != NULL)
    return jp_fail(error, JP_INVALID, "JPEER_AS_SERVICE and JPEER_JAR cannot both be set");
  return JP_OK;
}

/* Sets main_class, jar, main_module or as_service, args and class_path. With options->show or
 * options->version the user need not name anything to run. */
static enum jp_status settle_application(struct run_options *options, const struct run_words *words,
                                         struct jp_error *error)
{
  /* After -jar and -m there are no further options, so all words are arguments of the application. */
  bool has_class = !words->jar_given && options->main_module == NULL && words->count > 0;
  enum jp_status status = choose_application(options, words, has_class, error);
  if (status != JP_OK)
    return status;
  if (options->class_path == NULL && words->variable != NULL)
    options->class_path = words->variable("CLASSPATH");
  options->args = words->items;
  options->arg_count = words->count;
  if (options->jar != NULL || options->main_module != NULL || options->as_service)
    return JP_OK;
  if (words->count == 0 && (options->version || options->show != NULL))
    return JP_OK;
  if (words->count == 0)
    return jp_fail(error, JP_INVALID, "run takes a main class, -jar FILE, -m MODULE or --as-service");
  options->main_class = words->items[0];
  const char *dot = strrchr(options->main_class, '.');
  if (dot != NULL && strcmp(dot, ".java") == 0 && access(options->main_class, F_OK) == 0)
    return jp_fail(error, JP_INVALID, "%.*s: programs in source files are not run: compile them first",
                   OPTION_SHOWN(options->main_class));
  options->args++;
  options->arg_count--;
  return JP_OK;
}

/* ---- the rules between options ---- */

static const char *standard_name(const struct run_options *options)
{
  if (options->main_class != NULL)
    return options->main_class;
  if (options->main_module != NULL)
    return options->main_module;
  if (options->jar == NULL)
    return "jpeer";
  const char *slash = strrchr(options->jar, '/');
  return slash != NULL ? slash + 1 : options->jar;
}

static enum jp_status check_limits(const struct net_config *net, struct jp_error *error)
{
  enum { CONTROL_PAGE = 4096 };
  if (net->threads > net->threads_max)
    return jp_fail(error, JP_INVALID, "--rpc-threads takes at most --rpc-threads-max, which is %zu",
                   net->threads_max);
  if (net->input_max_total != 0 && net->input_max_total < net->message_max)
    return jp_fail(error, JP_INVALID, "--input-max-total takes at least --message-max, which is %zu bytes",
                   net->message_max);
  size_t connection = CONTROL_PAGE + 2 * net->shm_ring;
  if (net->shm_ring != 0 && net->shm_total < connection)
    return jp_fail(
        error, JP_INVALID,
        "--shm-total takes at least the memory of one connection, a page and two rings of --shm-ring, "
        "which is %zu bytes",
        connection);
  return JP_OK;
}

/* judges_certificates: the certificates of clients are judged by the principals file, so that no authority is
 * needed for them. */
static enum jp_status check_tls(const struct tls_files *tls, bool has_ports, bool judges_certificates,
                                struct jp_error *error)
{
  const bool has_more =
      tls->client_ca != NULL || tls->client_crl != NULL || tls->client_auth != TLS_CLIENT_AUTH_UNSET;
  if ((tls->certificate == NULL) != (tls->key == NULL))
    return jp_fail(error, JP_INVALID, "--tls-cert and --tls-key are given together");
  if (!tls_is_configured(tls))
    return has_more ? jp_fail(error, JP_INVALID,
                              "--tls-client-ca, --tls-client-crl and --tls-client-auth need --tls-cert")
                    : JP_OK;
  if (!has_ports)
    return jp_fail(error, JP_INVALID,
                   "--tls-cert is for ports of WebSocket and HTTP: it needs --json-rpc [HOST:]PORT");
  if (tls->client_crl != NULL && tls->client_ca == NULL)
    return jp_fail(error, JP_INVALID, "--tls-client-crl needs --tls-client-ca");
  if (tls->client_ca != NULL && tls->client_auth == TLS_CLIENT_AUTH_NONE)
    return jp_fail(error, JP_INVALID, "--tls-client-ca has no effect with --tls-client-auth none");
  if (tls_client_auth(tls) != TLS_CLIENT_AUTH_NONE && tls->client_ca == NULL && !judges_certificates)
    return jp_fail(error, JP_INVALID,
                   "--tls-client-auth %s needs --tls-client-ca: without, any certificate would be accepted",
                   tls->client_auth == TLS_CLIENT_AUTH_OPTIONAL ? "optional" : "require");
  return JP_OK;
}

/* With CURVE each client may make its own key. Without a list of allowed keys, every client would count as
 * the owner. */
static enum jp_status check_curve(bool has_ports, bool has_principals, struct jp_error *error)
{
  if (!has_ports)
    return jp_fail(error, JP_INVALID,
                   "--zmq-curve-key is for ports of ZeroMQ: it needs --zmq-rpc [HOST:]PORT");
  if (!has_principals)
    return jp_fail(error, JP_INVALID,
                   "--zmq-curve-key needs --principals: without, any client's key would be accepted");
  return JP_OK;
}

/* A policy that is only observed allows everything that presets do not deny. */
static enum jp_status check_policy_mode(const struct run_options *options, struct jp_error *error)
{
  const char *remote = endpoints_find_remote(&options->json);
  if (remote == NULL)
    remote = endpoints_find_remote(&options->zmq);
  if (options->policy_mode != POLICY_OBSERVED || remote == NULL)
    return JP_OK;
  return jp_fail(
      error, JP_INVALID,
      "--policy-mode observe is for loopback addresses and Unix sockets only: whoever reaches %s could "
      "use everything that the presets allow",
      remote);
}

static enum jp_status check_audit(const struct run_options *options, struct jp_error *error)
{
  const struct audit_config *audit = &options->audit;
  const char *given = audit->has_starts                             ? "--audit-starts"
                      : audit->has_values                           ? "--audit-values"
                      : options->audit_on_error == (int)AUDIT_STOPS ? "--audit-on-error"
                                                                    : NULL;
  if (audit->path == NULL && given != NULL)
    return jp_fail(error, JP_INVALID, "%s needs --audit", given);
  if (audit->path != NULL && (audit->path[0] == '\0' || strcmp(audit->path, "-") == 0))
    return jp_fail(error, JP_INVALID, "--audit takes the path of a file");
  return JP_OK;
}

/* Checks the rules between options, and sets defaults that depend on others. */
static enum jp_status check_rules(struct run_options *options, struct jp_error *error)
{
  static const size_t standard_input_max = (size_t)256 << 20;
  struct net_config *net = &options->net;
  /* the total must have room for this many of the longest messages, because one client may use a quarter of
   * the total (net/admission/input_budget.h) */
  enum { MESSAGES = 4 };
  bool has_principals = options->principals_file != NULL;
  const bool has_tls = tls_is_configured(&net->tls); /* of the listeners of WebSocket and HTTP */
  const struct endpoint_guard json_guard = {
      .is_insecure = options->insecure_listen, .has_principals = has_principals, .is_encrypted = has_tls};
  const struct endpoint_guard zmq_guard = {.is_insecure = options->insecure_listen,
                                           .has_principals = has_principals,
                                           .is_encrypted = net->zmq_curve_key != NULL,
                                           .encryption = "--zmq-curve-key"};
  enum jp_status status = endpoints_check("--json-rpc", &options->json, &json_guard, error);
  if (status == JP_OK)
    status = endpoints_check("--metrics-listen", &options->metrics, &json_guard, error);
  if (status == JP_OK)
    status = endpoints_check("--zmq-rpc", &options->zmq, &zmq_guard, error);
  if (status == JP_OK)
    status =
        check_tls(&net->tls, endpoints_have_port(&options->json) || endpoints_have_port(&options->metrics),
                  has_principals, error);
  if (status == JP_OK && net->zmq_curve_key != NULL)
    status = check_curve(endpoints_have_port(&options->zmq), has_principals, error);
  net->tls.watch_ms = options->policy_watch_ms;
  if (status == JP_OK)
    status =
        socket_options_settle(&options->sockets,
                              endpoints_have_socket(&options->json) || endpoints_have_socket(&options->zmq) ||
                                  endpoints_have_socket(&options->metrics),
                              endpoints_make_socket(&options->json) || endpoints_make_socket(&options->zmq) ||
                                  endpoints_make_socket(&options->metrics),
                              has_principals, net, error);
  if (status == JP_OK)
    status = check_policy_mode(options, error);
  if (status == JP_OK)
    status = check_audit(options, error);
  options->directory.name = options->name; /* the default is no name to find a peer by */
  if (status == JP_OK)
    status = directory_options_check(&options->directory, &options->json, &options->zmq, error);
  if (status != JP_OK)
    return status;
  status = check_limits(net, error);
  if (status != JP_OK)
    return status;
  if (net->input_max_total == 0)
    net->input_max_total =
        net->message_max > standard_input_max / MESSAGES ? net->message_max * MESSAGES : standard_input_max;
  options->limits.message_max = net->message_max;
  options->limits.connections_max = net->connections_max;
  options->limits.threads_max = net->threads_max;
  options->limits.java.assembled_max = net->input_max_total;
  options->limits.java.by_value_depth_max = options->limits.max_depth;
  options->limits.java.application_loader_only = options->compat_pal;
  status = thread_affinity_make(&options->thread_affinities, options->fx_thread, &options->arena,
                                &options->executors, &options->executor_count, error);
  if (status != JP_OK)
    return status;
  if (options->name == NULL)
    options->name = option_is_name(text_of(standard_name(options))) ? standard_name(options) : "jpeer";
  return JP_OK;
}

/* ---- reading ---- */

static enum option_origin find_origin(const struct option_result *result, size_t offset)
{
  for (size_t row = 0; row < run_option_count; row++) {
    if (run_option_rows[row].offset == offset)
      return (enum option_origin)result->origin[row];
  }
  return OPTION_NOT_SET;
}

/* Parses the options of the peer and of java, from the command line and the environment. */
static enum jp_status parse_options(const struct java_arguments *arguments,
                                    const char *(*variable)(const char *name), struct run_options *options,
                                    struct option_result *result, struct jp_error *error)
{
  struct option_input input = {.options = run_option_rows,
                               .option_count = run_option_count,
                               .args = arguments->words,
                               .arg_count = arguments->count,
                               .variable = variable,
                               .read_other = java_option_read,
                               .other_name = java_option_name};
  enum jp_status status = options_parse(&input, options, result, error);
  if (status == JP_OK &&
      find_origin(result, offsetof(struct run_options, jvm_options)) == OPTION_FROM_VARIABLE)
    option_list_rotate(&options->jvm_options, options->line_jvm_options);
  return status;
}

/* java_variable: JDK_JAVA_OPTIONS, or NULL. */
static enum jp_status read_options(char *const *args, size_t arg_count,
                                   const char *(*variable)(const char *name), const char *java_variable,
                                   struct run_options *options, struct jp_error *error)
{
  set_defaults(options);
  arena_init(&options->arena);
  options->java_variable = java_variable;
  struct java_arguments arguments;
  enum jp_status status =
      java_arguments_expand(args, arg_count, java_variable, &options->arena, &arguments, error);
  if (status != JP_OK)
    return status;
  struct option_result result;
  status = parse_options(&arguments, variable, options, &result, error);
  if (status != JP_OK || options->help)
    return status;
  options->directory.is_from_environment =
      find_origin(&result, offsetof(struct run_options, directory.endpoints)) == OPTION_FROM_VARIABLE;
  options->has_uuid = find_origin(&result, offsetof(struct run_options, uuid)) != OPTION_NOT_SET;
  const struct run_words words = {
      .items = arguments.words + result.used,
      .count = arguments.count - result.used,
      .jar_given = find_origin(&result, offsetof(struct run_options, jar)) == OPTION_GIVEN,
      .service_given = find_origin(&result, offsetof(struct run_options, as_service)) == OPTION_GIVEN,
      .variable = variable};
  status = settle_application(options, &words, error);
  return status == JP_OK ? check_rules(options, error) : status;
}

enum jp_status run_options_read(char *const *args, size_t arg_count,
                                const char *(*variable)(const char *name), struct run_options *options,
                                struct jp_error *error)
{
  const char *java_variable = variable != NULL ? variable("JDK_JAVA_OPTIONS") : NULL;
  if (java_variable != NULL) {
    /* JDK_JAVA_OPTIONS can be read only after the other options, because these say whether it counts. */
    struct jp_error unused;
    enum jp_status status = read_options(args, arg_count, variable, NULL, options, &unused);
    if (options->jvm_env == JVM_ENV_IGNORE)
      java_variable = NULL;
    if (options->jvm_env == JVM_ENV_IGNORE && status == JP_OK)
      return JP_OK;
    run_options_fini(options);
  }
  return read_options(args, arg_count, variable, java_variable, options, error);
}

void run_options_fini(struct run_options *options)
{
  option_list_fini(&options->json.texts);
  option_list_fini(&options->zmq.texts);
  option_list_fini(&options->metrics.texts);
  option_list_fini(&options->sockets.users.texts);
  option_list_fini(&options->sockets.groups.texts);
  option_list_fini(&options->directory.services);
  option_list_fini(&options->jvm_options);
  option_list_fini(&options->ignored_options);
  option_list_fini(&options->thread_affinities);
  arena_fini(&options->arena);
}

void run_options_set_environment(const struct run_options *options)
{
  static const char *const names[] = {JVM_VARIABLES, NULL};
  for (size_t i = 0; names[i] != NULL && options->jvm_env == JVM_ENV_IGNORE; i++)
    unsetenv(names[i]);
}

/* ---- notices ---- */

void run_options_print_variable(const struct run_options *options)
{
  if (options->java_variable != NULL && options->java_variable[0] != '\0')
    fprintf(stderr, "NOTE: Picked up JDK_JAVA_OPTIONS: %s\n", options->java_variable);
}

static void log_unknown_variables(char *const *environment)
{
  for (; *environment != NULL; environment++) {
    struct text name = {*environment, strcspn(*environment, "=")};
    if (!text_starts_with(name, TEXT("JPEER_")) || text_equal(name, TEXT("JPEER_URL"))) /* of jpeer call */
      continue;
    struct near_name search;
    near_name_init(&search, name);
    for (size_t row = 0; row < run_option_count; row++) {
      if (run_option_rows[row].variable != NULL)
        near_name_offer(&search, text_of(run_option_rows[row].variable));
    }
    if (search.best.data == NULL)
      log_warn("%.*s is set, and no option has this variable", TEXT_ARGS(name));
    else if (!text_equal(search.best, name))
      log_warn("%.*s is set, and no option has this variable: did you mean %s?", TEXT_ARGS(name),
               search.best.data);
  }
}

/* The JVM reads two of these variables itself. */
static void log_jvm_variables(const struct run_options *options)
{
  static const char *const names[] = {JVM_VARIABLES, NULL};
  for (size_t i = 0; names[i] != NULL; i++) {
    if (getenv(names[i]) != NULL)
      log_info(options->jvm_env == JVM_ENV_IGNORE
                   ? "%s is set, and is ignored"
                   : "%s is set: its options change the JVM (--jvm-env ignore removes the variable)",
               names[i]);
  }
}

static void log_missing_entries(const char *path, const char *what)
{
  struct text rest = text_of(path);
  struct text entry;
  while (class_path_next(&rest, &entry)) {
    struct text path_name = entry;
    (void)class_path_is_wildcard(entry, &path_name); /* if the entry is a wildcard, only the folder has to
                                                      * exist */
    char *name = strndup(path_name.data, path_name.len);
    if (name != NULL && path_name.len > 0 && access(name, F_OK) != 0)
      log_warn("the %s names %.*s, which does not exist", what, TEXT_ARGS(entry));
    free(name);
  }
}

void run_options_log_notices(const struct run_options *options, char *const *environment)
{
  for (size_t i = 0; i < options->ignored_options.count; i++)
    log_warn("%s", options->ignored_options.items[i]);
  log_unknown_variables(environment);
  log_jvm_variables(options);
  if (admission_has_others(&options->net.admission) &&
      (endpoints_have_port(&options->json) || endpoints_have_port(&options->zmq)))
    log_warn("every user of this machine can use the ports: --allow-user, --allow-group and --socket-group "
             "are for Unix "
             "sockets");
  if (options->class_path != NULL && options->jar == NULL)
    log_missing_entries(options->class_path, "class path");
  if (options->module_path != NULL)
    log_missing_entries(options->module_path, "module path");
}

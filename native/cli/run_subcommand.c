/* `jpeer run` starts options, policy, sockets, peer and JVM. Cheap steps that often fail come first. */
#include "audit/audit.h"
#include "base/c_library.h"
#include "base/curve_keys.h"
#include "base/log.h"
#include "base/runtime_folder.h"
#include "classfile/catalog.h"
#include "classfile/class_path.h"
#include "cli/java_command.h"
#include "cli/near_class.h"
#include "cli/parent_watch.h"
#include "cli/policy_options.h"
#include "cli/ready.h"
#include "cli/run_option_rows.h"
#include "cli/run_options.h"
#include "cli/subcommands.h"
#include "directory/registration.h"
#include "jni/jvm.h"
#include "judge/uses.h"
#include "net/inherited_sockets.h"
#include "net/server.h"
#include "net/service_manager.h"
#include "policy/policy_source.h"
#include "principal/principals.h"
#include "rpc/peer.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct run {
  struct run_options options;
  struct uuid uuid;
  struct jvm_home home;
  struct policy_source *policies;
  struct policy_watch *policy_watch; /* NULL: no policy file, or `principals` has a watch */
  struct principals *principals;     /* NULL: everyone is owner */
  struct catalog *catalog;
  struct net_server *server;
  struct registration *registration; /* NULL: no -d */
  struct curve_keys curve;           /* the public key alone */
  struct directory_addresses addresses;
  struct rpc_peer *peer;
  struct ready ready;
  struct ready presence; /* the file for `jpeer ps` */
  char presence_path[PATH_MAX];
  bool has_begun; /* the main class was found, and the peer has begun to serve */
};

static void print_help(void)
{
  puts(
      "usage: jpeer run [options] [-cp PATH] MAIN [args]\n"
      "       jpeer run [options] -jar FILE [args]\n"
      "       jpeer run [options] -p PATH -m MODULE[/MAIN] [args]\n"
      "       jpeer run [options] --as-service [-cp PATH]\n"
      "\n"
      "Launches a JVM in this process, runs the application, and serves its objects to clients. Every\n"
      "option has a variable in the environment: JPEER_ and its long name (JPEER_JSON_RPC; JPEER_JVM_OPTIONS "
      "for\n"
      "-J). The command line wins.");
  options_print_help(stdout, run_option_rows, run_option_count);
  puts("\nThe options of java are accepted, too, in any order with these: -Xmx1g, -Dk=v, -XX:..., -ea, "
       "-javaagent:...,\n"
       "-agentlib:..., -verbose:..., --add-opens, --add-modules, -p, -m, -version, --list-modules, --dry-run "
       "and\n"
       "the others; so are @FILE, CLASSPATH and JDK_JAVA_OPTIONS (docs/flags.md)."
       "\n\nMS is milliseconds, or a number with ms, s, m or h. Exit codes: 0, 1 (run time), 2 (usage).");
}

/* ---- start ---- */

static struct policy_config make_policy_config(const struct run_options *options)
{
  return (struct policy_config){.file = options->policy_file,
                                .presets = options->policy_presets,
                                .allow = options->allow,
                                .idempotent = options->idempotent,
                                .withheld = options->compat_pal ? RPC_COMPAT_WITHHELD : NULL,
                                .default_action = (enum policy_action)options->default_action,
                                .observes = options->policy_mode == POLICY_OBSERVED};
}

static enum jp_status load_policy(struct run *run, struct jp_error *error)
{
  struct policy_config config = make_policy_config(&run->options);
  return policy_source_create(&config, &run->policies, error);
}

/* ---- principals ---- */

/* The function principals_config.check_allow. It is also called when the file is loaded again. */
static enum jp_status check_allow(void *context, const char *patterns, const char *name,
                                  struct jp_error *error)
{
  const struct run *run = context;
  return policy_option_check_allow(patterns, name, &run->home, error);
}

static void end_gone_principals(void *context)
{
  struct run *run = context;
  rpc_peer_principals_changed(run->peer);
  net_principals_changed(run->server);
}

static enum jp_status load_principals(struct run *run, struct jp_error *error)
{
  const struct principals_config config = {.file = run->options.principals_file,
                                           .policy = make_policy_config(&run->options),
                                           .base = run->policies,
                                           .check_allow = check_allow,
                                           .changed = end_gone_principals,
                                           .context = run};
  if (config.file == NULL)
    return JP_OK;
  enum jp_status status = principals_create(&config, &run->principals, error);
  run->options.net.principals = run->principals;
  if (status == JP_OK && endpoints_have_port(&run->options.zmq) && run->options.net.zmq_curve_key == NULL &&
      !principals_have_anonymous(run->principals))
    return jp_fail(
        error, JP_INVALID,
        "--zmq-rpc with a port needs --zmq-curve-key or a principal that is anonymous, because its clients "
        "show no evidence otherwise: or use ipc://PATH");
  return status;
}

/* The catalog reads the modules of the module path as it reads the class path. */
static enum jp_status create_catalog(struct run *run, struct jp_error *error)
{
  const struct run_options *options = &run->options;
  struct buffer path;
  buffer_init(&path);
  if (options->module_path != NULL)
    module_path_expand(text_of(options->module_path), &path);
  const char *class_path = options->jar != NULL ? options->jar : options->class_path;
  if (class_path == NULL && options->main_module == NULL)
    class_path = ".";
  if (class_path != NULL)
    buffer_printf(&path, "%s%s", path.len > 0 ? ":" : "", class_path);
  buffer_append_char(&path, '\0');
  struct catalog_config catalog = {.class_path = path.data, .java_home = run->home.java_home};
  enum jp_status status =
      path.failed ? jp_fail_memory(error, NULL) : catalog_create(&catalog, &run->catalog, error);
  buffer_fini(&path);
  return status;
}

static enum jp_status create_peer(struct run *run, struct jp_error *error)
{
  const struct run_options *options = &run->options;
  enum { RANDOM_REF_MAX = (1 << 30) - 1 };
  enum jp_status status = create_catalog(run, error);
  if (status != JP_OK)
    return status;
  struct rpc_peer_config config = {
      .uuid = run->uuid,
      .name = options->name,
      .version = JPEER_VERSION,
      .policies = run->policies,
      .catalog = run->catalog,
      .limits = options->limits,
      .compat_pal = options->compat_pal,
      .executors = options->executors,
      .executor_count = options->executor_count,
  };
  /* The first ref is random, so that a ref from an earlier process almost certainly names no object. */
  config.limits.first_ref_min = options->first_ref > 0 ? (uint32_t)options->first_ref : 1;
  config.limits.first_ref_max = options->first_ref > 0 ? (uint32_t)options->first_ref
                                : options->compat_pal  ? 1
                                                       : RANDOM_REF_MAX;
  status = rpc_peer_create(&config, &run->peer, error);
  if (status == JP_OK)
    rpc_peer_set_addresses(run->peer, net_addresses(run->server));
  return status;
}

/* ---- the directory ---- */

static const char *text_or_null(const char *text)
{
  return text[0] == '\0' ? NULL : text;
}

static enum jp_status create_registration(struct run *run, struct jp_error *error)
{
  const struct directory_options *options = &run->options.directory;
  const char *key_file = run->options.net.zmq_curve_key;
  if (options->endpoints == NULL)
    return JP_OK;
  if (key_file != NULL) {
    enum jp_status status = curve_keys_read(key_file, &run->curve, error);
    explicit_bzero(run->curve.secret_key, sizeof run->curve.secret_key);
    if (status != JP_OK)
      return status;
  }
  directory_options_choose(options, net_addresses(run->server), &run->addresses);
  const struct registration_config config = {
      .etcd = {.endpoints = options->endpoints,
               .ca_file = options->ca_file,
               .cert_file = options->cert_file,
               .key_file = options->key_file,
               .user_file = options->user_file},
      .space = options->space,
      .uuid = run->uuid,
      .name = options->name,
      .json_url = text_or_null(run->addresses.json_url),
      .zmq_url = text_or_null(run->addresses.zmq_url),
      .zmq_curve = run->addresses.zmq_url[0] == '\0' ? NULL : text_or_null(run->curve.public_key),
      .services = options->services.items,
      .service_count = options->services.count,
      .ttl_s = options->ttl_s,
      .timeout_ms = options->timeout_ms,
      .patience = options->no_wait ? REGISTRATION_FAILS_AT_ONCE : REGISTRATION_WAITS,
      .need = options->is_optional ? REGISTRATION_OPTIONAL : REGISTRATION_REQUIRED};
  enum jp_status status = registration_create(&config, &run->registration, error);
  if (status != JP_OK)
    jp_error_prefix(error, "-d");
  return status;
}

/* ---- the JVM's hooks ---- */

/* The peer is in the directory when it is ready. While the process ends, it is neither. */
static enum jp_status announce_peer(struct run *run, struct jp_error *error)
{
  enum jp_status status = run->registration == NULL ? JP_OK : registration_begin(run->registration, error);
  if (status != JP_OK)
    return status == JP_CLOSED ? JP_OK : status;
  struct ready_facts facts = {run->uuid, run->options.name, net_addresses(run->server),
                              net_metrics_addresses(run->server)};
  if (run->presence.path != NULL && ready_announce(&run->presence, &facts, error) != JP_OK)
    log_debug("jpeer ps will not show this peer: %s", error->text);
  *error = (struct jp_error){0};
  status = ready_announce(&run->ready, &facts, error);
  if (status == JP_OK)
    service_manager_ready(facts.addresses);
  return status;
}

static enum jp_status begin_serving(void *context, struct jvm *jvm, struct jp_error *error)
{
  struct run *run = context;
  enum jp_status status = rpc_peer_attach(run->peer, jvm, error);
  if (status == JP_OK)
    status = net_start(run->server, rpc_peer_service(run->peer), error);
  if (status == JP_OK && (run->options.ready_when == READY_NOW || run->options.as_service))
    status = announce_peer(run, error);
  run->has_begun = status == JP_OK;
  return status;
}

static enum jp_status reach_stage(void *context, enum jvm_stage stage, struct jp_error *error)
{
  struct run *run = context;
  enum jvm_stage awaited =
      run->options.ready_when == READY_CLASS_LOADED ? JVM_MAIN_INITIALISED : JVM_MAIN_RETURNED;
  return run->options.ready_when != READY_NOW && stage == awaited ? announce_peer(run, error) : JP_OK;
}

/* No client shall come by the directory to a peer that refuses. */
static void withdraw_peer(void *context)
{
  const struct run *run = context;
  registration_withdraw(run->registration);
}

static void drain_requests(void *context)
{
  struct run *run = context;
  service_manager_stopping(run->options.grace_ms);
  ready_withdraw(&run->presence);
  ready_withdraw(&run->ready);
  net_drain(run->server, run->options.grace_ms);
  catalog_stop(run->catalog);
  if (!rpc_peer_detach(run->peer))
    log_warn("the sessions did not end in time");
}

static void print_error(void *context, const struct jp_error *error)
{
  const struct run *run = context;
  service_manager_status("%s", error->text);
  if (run->options.log_format == LOG_JSON || run->options.log_file != NULL)
    log_error("the peer ends: %s", error->text);
  if (run->options.log_format != LOG_JSON || run->options.log_file != NULL)
    fprintf(stderr, "jpeer run: %s\n", error->text);
  if (!run->has_begun)
    parent_watch_report(run->options.stop_on_eof, error->text);
}

static void reload_files(void *context)
{
  const struct run *run = context;
  const bool has_policy = run->principals != NULL || run->policy_watch != NULL;
  service_manager_reloading((unsigned)has_policy + tls_is_configured(&run->options.net.tls));
  if (run->principals != NULL)
    principals_watch_reload(run->principals, service_manager_reloaded);
  else if (run->policy_watch != NULL)
    policy_watch_reload(run->policy_watch, service_manager_reloaded);
  (void)net_reload(run->server, service_manager_reloaded);
}

enum { LOG_FINISH_MS = 500 }; /* for lines that a slow reader of stderr has not read */

static void audit_end(const int *status)
{
  struct buffer line;
  if (!audit_is_on())
    return;
  audit_line_begin(&line, "ended");
  if (status != NULL)
    audit_line_number(&line, "status", *status);
  else
    audit_line_text(&line, "by", TEXT("exit(3)"));
  (void)audit_line_end(&line);
  audit_finish();
}

/* Runtime.halt and a second signal end the process without a drain. */
static void end_process(void *context, const int *status)
{
  struct run *run = context;
  ready_withdraw(&run->presence);
  ready_withdraw(&run->ready);
  fflush(stderr);
  if (status != NULL)
    log_debug("the process ends with status %d", *status);
  audit_end(status);
  log_finish(LOG_FINISH_MS);
}

/* Wildcards are expanded here as by the java command, because the JVM does not expand them. For the JVM, too,
 * an empty path means the current folder. A module without a class path gets no class path. */
static enum jp_status expand_class_path(struct run *run, struct buffer *class_path, struct jp_error *error)
{
  const struct run_options *options = &run->options;
  const char *path = options->class_path;
  if (path == NULL)
    path = options->main_module != NULL ? "" : ".";
  buffer_init(class_path);
  if (options->class_path != NULL || options->main_module == NULL)
    class_path_expand(text_of(path), class_path);
  buffer_append_char(class_path, '\0');
  return class_path->failed ? jp_fail_memory(error, NULL) : JP_OK;
}

static int launch_jvm(struct run *run, struct jp_error *error)
{
  const struct run_options *options = &run->options;
  struct buffer class_path;
  if (expand_class_path(run, &class_path, error) != JP_OK)
    return EXIT_RUN_TIME;
  struct jvm_launch launch = {
      .home = &run->home,
      .class_path = class_path.data,
      .options = options->jvm_options.items,
      .option_count = options->jvm_options.count,
      .main_class = options->main_class,
      .jar = options->jar,
      .main_module = options->main_module,
      .args = (const char *const *)options->args,
      .arg_count = options->arg_count,
      .as_service = options->as_service,
      .grace_ms = options->grace_ms,
  };
  /* For a service, SIGHUP is a reload in any case: `systemctl reload` must not stop it. */
  const bool has_files = run->policy_watch != NULL || run->principals != NULL ||
                         tls_is_configured(&run->options.net.tls) || service_manager_is_present();
  struct jvm_hooks hooks = {.context = run,
                            .started = begin_serving,
                            .reached = reach_stage,
                            .stopping = withdraw_peer,
                            .drain = drain_requests,
                            .died = print_error,
                            .exiting = end_process,
                            .hangup = has_files ? reload_files : NULL};
  int code = jvm_run(&launch, &hooks, error);
  if (code != EXIT_GOOD && !run->has_begun && error->status == JP_NOT_FOUND && options->main_class != NULL)
    near_class_suggest(class_path.data, options->main_class, error);
  buffer_fini(&class_path);
  return code;
}

/* ---- */

static void announce_policy(const struct run *run)
{
  struct policy *policy = policy_source_take(run->policies);
  const char *notice = policy_notice(policy);
  if (notice != NULL)
    log_info("%s", notice);
  policy_destroy(policy);
  if (run->options.json.count + run->options.zmq.count == 0)
    log_warn("neither --json-rpc nor --zmq-rpc is given: nothing can call this peer");
}

/* If the file cannot be made, the peer runs without it. */
static void choose_presence(struct run *run)
{
  char folder[PATH_MAX];
  char uuid[UUID_TEXT_LENGTH + 1];
  struct jp_error error = {0};
  if (runtime_folder_make(folder, sizeof folder, &error) != JP_OK) {
    log_debug("jpeer ps will not show this peer: %s", error.text);
    return;
  }
  uuid_format(&run->uuid, uuid);
  text_format(run->presence_path, sizeof run->presence_path, "%s/%s.json", folder, uuid);
  run->presence.path = run->presence_path;
  run->presence.is_silent = true;
}

/* For options that need no peer, java replaces this process. */
static int become_java(struct run *run, struct jp_error *error)
{
  struct buffer class_path;
  java_command_print_version(&run->options);
  if (jvm_locate(run->options.jvm, &run->home, error) == JP_OK &&
      expand_class_path(run, &class_path, error) == JP_OK) {
    java_command_become(&run->home, &run->options, class_path.data, error);
    buffer_fini(&class_path);
  }
  return EXIT_RUN_TIME;
}

static enum jp_status begin_audit(const struct run *run, struct jp_error *error)
{
  struct audit_config config = run->options.audit;
  struct buffer line;
  char uuid[UUID_TEXT_LENGTH + 1];
  config.on_error = (enum audit_on_error)run->options.audit_on_error;
  if (config.path == NULL)
    return JP_OK;
  enum jp_status status = audit_open(&config, error);
  if (status != JP_OK) {
    jp_error_prefix(error, "--audit");
    return status;
  }
  audit_set_reopened(uses_write_again);
  uuid_format(&run->uuid, uuid);
  audit_line_begin(&line, "begun");
  audit_line_text(&line, "name", text_of(run->options.name));
  audit_line_text(&line, "uuid", text_of(uuid));
  audit_line_text(&line, "version", TEXT(JPEER_VERSION));
  audit_line_number(&line, "pid", getpid());
  (void)audit_line_end(&line);
  audit_settle();
  return JP_OK;
}

static bool is_healthy(const void *server)
{
  return net_is_healthy(server);
}

static int run_peer(struct run *run, struct jp_error *error)
{
  const struct run_options *options = &run->options;
  c_library_bound_arenas();
  if (options->has_uuid)
    run->uuid = options->uuid;
  else
    uuid_random(&run->uuid);
  choose_presence(run);
  if (begin_audit(run, error) != JP_OK)
    return EXIT_RUN_TIME;
  if (load_policy(run, error) != JP_OK)
    return EXIT_USAGE;
  enum jp_status status = JP_OK;
  if (options->stop_on_eof >= 0)
    status = parent_watch_start(options->stop_on_eof, options->remove_on_eof, options->grace_ms, error);
  if (status == JP_OK && options->policy_file != NULL && options->principals_file == NULL)
    status = policy_watch_start(run->policies, options->policy_watch_ms, &run->policy_watch, error);
  if (status != JP_OK || jvm_locate(options->jvm, &run->home, error) != JP_OK)
    return EXIT_RUN_TIME;
  enum jp_status allowed = policy_option_check_allow(options->allow, NULL, &run->home, error);
  if (allowed != JP_OK)
    return allowed == JP_INVALID ? EXIT_USAGE : EXIT_RUN_TIME;
  if (load_principals(run, error) != JP_OK)
    return EXIT_USAGE;
  /* -showversion prints java's version before the application runs. */
  if (options->show_first != NULL && java_command_run(&run->home, options->show_first, error) != JP_OK)
    return EXIT_RUN_TIME;
  run->options.net.json = endpoints_for_net(&run->options.json);
  run->options.net.zmq = endpoints_for_net(&run->options.zmq);
  run->options.net.metrics = endpoints_for_net(&run->options.metrics);
  if (net_bind(&run->options.net, &run->server, error) != JP_OK || create_peer(run, error) != JP_OK ||
      create_registration(run, error) != JP_OK)
    return EXIT_RUN_TIME;
  /* The watch is started now, because a reload notifies the server and the peer, which must exist. */
  if (run->principals != NULL &&
      principals_watch_start(run->principals, options->policy_watch_ms, error) != JP_OK)
    return EXIT_RUN_TIME;
  announce_policy(run);
  inherited_sockets_close_rest();
  if (service_manager_watch(is_healthy, run->server, error) != JP_OK)
    return EXIT_RUN_TIME;
  service_manager_status("starts the JVM");
  if (net_begin(run->server, rpc_peer_service(run->peer), error) != JP_OK)
    return EXIT_RUN_TIME;
  return launch_jvm(run, error);
}

static void run_fini(struct run *run)
{
  registration_destroy(run->registration);
  service_manager_close();
  principals_watch_stop(run->principals);
  policy_watch_stop(run->policy_watch);
  bool is_unused = net_destroy(run->server); /* else a thread may use all of this until the process ends */
  if (is_unused) {
    rpc_peer_destroy(run->peer);
    catalog_destroy(run->catalog);
    principals_destroy(run->principals);
    policy_source_destroy(run->policies);
  }
  ready_withdraw(&run->presence);
  ready_fini(&run->presence);
  ready_withdraw(&run->ready);
  ready_fini(&run->ready);
  if (is_unused)
    run_options_fini(&run->options);
}

static const char *read_variable(const char *name)
{
  return getenv(name);
}

int subcommand_run(char *const *args, size_t arg_count)
{
  struct run run = {0};
  struct jp_error error = {0};
  int code = EXIT_GOOD;
  inherited_sockets_receive();
  enum jp_status status = run_options_read(args, arg_count, read_variable, &run.options, &error);
  log_set_level((enum log_level)run.options.log_level);
  log_set_format((enum log_format)run.options.log_format);
  /* A peer that a client has started is no service: its variables are those of the client. */
  service_manager_open(run.options.stop_on_eof < 0);
  run_options_print_variable(&run.options);
  /* The old ready file is removed before any error is reported, so that nobody mistakes the ready file of an
   * earlier peer for that of this peer. */
  bool runs_java = run.options.help || run.options.version || run.options.show != NULL || run.options.dry_run;
  (void)!ready_init(&run.presence, NULL, NULL);
  struct jp_error *first = status == JP_OK ? &error : NULL;
  enum jp_status removed = ready_init(&run.ready, runs_java ? NULL : run.options.ready_file, first);
  if (status != JP_OK) {
    code = EXIT_USAGE;
  } else if (run.options.help) {
    print_help();
  } else if (run.options.version || run.options.show != NULL || run.options.dry_run) {
    code = become_java(&run, &error);
  } else if (removed != JP_OK) {
    code = EXIT_RUN_TIME;
  } else if (run.options.log_file != NULL && log_open(run.options.log_file, &error) != JP_OK) {
    jp_error_prefix(&error, "--log-file");
    run.options.log_file = NULL; /* the log is still on stderr */
    code = EXIT_RUN_TIME;
  } else {
    run_options_log_notices(&run.options, environ);
    run_options_set_environment(&run.options);
    code = run_peer(&run, &error);
  }
  if (error.text[0] != '\0' && code != EXIT_GOOD)
    print_error(&run, &error);
  audit_end(&code); /* before its path is freed */
  log_finish(LOG_FINISH_MS);
  run_fini(&run);
  return code;
}

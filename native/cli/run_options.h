#ifndef JPEER_CLI_RUN_OPTIONS_H
#define JPEER_CLI_RUN_OPTIONS_H
/*
 * The options of `jpeer run` (cli/run_option_rows.h) and the options of `java` (cli/java_options.h), their
 * defaults, the rules between them, and the application that the options and the remaining words name.
 *
 * Texts are borrowed from the arguments and the environment, so that a struct run_options is valid as long as
 * the arguments and the environment. It owns the texts from argument files. Main's thread.
 */
#include "audit/audit.h"
#include "base/arena.h"
#include "base/log.h"
#include "base/options.h"
#include "base/uuid.h"
#include "cli/directory_options.h"
#include "cli/endpoints.h"
#include "cli/socket_options.h"
#include "jni/executors.h"
#include "rpc/peer.h"

enum ready_when { READY_NOW, READY_CLASS_LOADED, READY_MAIN_RETURNED };

/* Whether what a policy does not allow is denied. */
enum policy_mode { POLICY_ENFORCED, POLICY_OBSERVED };

/* What happens to the variables of the environment that give the JVM options. */
enum jvm_env { JVM_ENV_USE, JVM_ENV_IGNORE };

struct run_options {
  /* the application */
  const char *class_path;
  const char *jar;
  const char *main_class;
  const char *main_module; /* -m: MODULE, or MODULE/CLASS */
  const char *module_path; /* as in the JVM's options; NULL: none */
  char *const *args;       /* main's */
  size_t arg_count;

  /* the peer */
  const char *name; /* never NULL after run_options_read */
  const char *ready_file;
  int64_t grace_ms;

  /* the JVM */
  const char *jvm;
  /* options from the environment are first, because the JVM uses the last of several equal options */
  struct option_list jvm_options;
  size_t line_jvm_options;            /* how many of jvm_options are options of java on the command line */
  struct option_list ignored_options; /* a sentence about each option of java that has no effect here */
  const char *java_variable;          /* JDK_JAVA_OPTIONS; NULL: not set */
  const char *show;       /* an option of java that shows something and runs no application: --list-modules */
  const char *show_value; /* of --describe-module; NULL: the option has no value */
  const char *show_first; /* for -showversion: the option of java to run before the application: -version */
  bool dry_run;

  /* addresses, the crew, and limits */
  struct run_endpoints json;
  struct run_endpoints zmq;
  struct run_endpoints metrics;
  struct socket_options sockets;
  struct net_config net;                /* without its endpoints */
  struct rpc_limits limits;             /* without the first refs */
  size_t first_ref;                     /* 0: at random */
  struct option_list thread_affinities; /* NAME=CLASS.MEMBER */
  struct jvm_executor *executors;       /* these executors, and the executor of fx_thread, are in the arena
                                         * below */
  size_t executor_count;

  struct directory_options directory;

  /* policy */
  const char *policy_file;
  const char *principals_file;
  const char *policy_presets;
  const char *allow;      /* patterns of classes, separated by commas */
  const char *idempotent; /* patterns of members, separated by commas */
  int64_t policy_watch_ms;

  const char *remove_on_eof; /* a folder */

  /* smaller members */
  int log_level;  /* enum log_level */
  int log_format; /* enum log_format */
  const char *log_file;
  struct audit_config audit; /* on_error is set from audit_on_error */
  int audit_on_error;        /* enum audit_on_error */
  int policy_mode;           /* enum policy_mode */
  int jvm_env;               /* enum jvm_env */
  int ready_when;            /* enum ready_when */
  int default_action;        /* enum policy_action */
  int stop_on_eof;           /* a descriptor; -1: none */
  bool insecure_listen;
  bool as_service;
  bool fx_thread;
  bool compat_pal;
  bool help; /* a request of the user, like `version`, `dry_run` and `show`; several of these can be given */
  bool version;
  bool has_uuid;
  struct uuid uuid;

  struct arena arena; /* owns joined texts and texts from files */
};

/* Sets the defaults and reads the arguments after `run` and the environment (base/options.h explains the
 * parameter `variable`). JP_INVALID: a usage error in one line. If help or version is set, nothing else was
 * checked. Caller calls run_options_fini in any case. */
enum jp_status run_options_read(char *const *args, size_t arg_count,
                                const char *(*variable)(const char *name), struct run_options *options,
                                struct jp_error *error) JP_MUST_CHECK;
void run_options_fini(struct run_options *options);

/* With `--jvm-env ignore`, unsets the variables of the environment that give the JVM options. Call it before
 * any thread is made. */
void run_options_set_environment(const struct run_options *options);
/* Prints java's line about JDK_JAVA_OPTIONS. */
void run_options_print_variable(const struct run_options *options);
/* Logs unusual options and variables that are not errors: a line for each option of java without effect, each
 * unknown JPEER_ variable, and each entry of the class path and the module path that does not exist.
 * environment has NAME=VALUE texts and ends with NULL. */
void run_options_log_notices(const struct run_options *options, char *const *environment);

#endif

#include "cli/run_option_rows.h"

#include "base/web_origin.h"
#include "cli/parent_watch.h"
#include "cli/policy_options.h"
#include "cli/run_options.h"
#include "cli/thread_affinity.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* ---- readers for this table only ---- */

static enum jp_status read_uuid(const struct option *option, const char *text, void *value,
                                struct jp_error *error)
{
  (void)option;
  (void)error;
  return uuid_parse(text_of(text), value) ? JP_OK : JP_INVALID;
}

static enum jp_status read_name(const struct option *option, const char *text, void *value,
                                struct jp_error *error)
{
  (void)option;
  if (!option_is_name(text_of(text)))
    return jp_fail(error, JP_INVALID, "takes a name of 1 to 128 bytes of UTF-8 without control characters");
  *(const char **)value = text;
  return JP_OK;
}

/* Unreserved characters (RFC 3986, 2.3) need no escapes, so that the path has one spelling. */
static enum jp_status read_prefix(const struct option *option, const char *text, void *value,
                                  struct jp_error *error)
{
  (void)option;
  size_t length = strlen(text);
  bool good = length >= 1 && length <= 128 && text[0] == '/' && (length == 1 || text[length - 1] != '/');
  for (size_t i = 0; good && i < length; i++)
    good = strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/", text[i]) != NULL &&
           (text[i] != '/' || text[i + 1] != '/');
  if (!good)
    return jp_fail(error, JP_INVALID, "takes a path such as /rpc, of letters, digits and - . _ ~");
  *(const char **)value = text;
  return JP_OK;
}

static enum jp_status read_origins(const struct option *option, const char *text, void *value,
                                   struct jp_error *error)
{
  (void)option;
  struct web_origins *origins = NULL;
  enum jp_status status = web_origins_create(text_of(text), &origins, error);
  web_origins_destroy(origins);
  if (status == JP_OK)
    *(const char **)value = text;
  return status;
}

static enum jp_status read_compat(const struct option *option, const char *text, void *value,
                                  struct jp_error *error)
{
  int index;
  enum jp_status status = option_read_word(option, text, &index, error);
  if (status == JP_OK)
    *(bool *)value = true;
  return status;
}

/* The rule of net/server.h. */
static enum jp_status read_ring_size(const struct option *option, const char *text, void *value,
                                     struct jp_error *error)
{
  enum { STEP = 4096 };
  size_t size = 0;
  enum jp_status status = option_read_size(option, text, &size, error);
  if (status == JP_OK && size % STEP != 0)
    return jp_fail(error, JP_INVALID, "takes 0 or a multiple of %d bytes (64K, 1M)", STEP);
  if (status == JP_OK)
    *(size_t *)value = size;
  return status;
}

/* ---- the table ---- */

static const char *const log_levels[] = {"error", "warn", "info", "debug", NULL};
static const char *const ready_words[] = {"now", "class-loaded", "main-returned", NULL};
static const char *const on_disconnect_words[] = {"interrupt", "finish", NULL};
static const char *const compat_words[] = {"pal", NULL};

#define AT(member) .offset = offsetof(struct run_options, member)
#define DAY_MS     86400000LL
#define GIB        ((int64_t)1 << 30)
#define MANY       1000000000LL

const struct option run_option_rows[] = {
    {.group = "The application:",
     .names = {"-cp", "--class-path", "-classpath"},
     .variable = "JPEER_CLASS_PATH",
     .takes = "PATH",
     .standard = ".",
     .help = "where classes are searched, as for java",
     .read = option_read_text,
     AT(class_path),
     .last_counts = true},
    {.names = {"-jar"},
     .variable = "JPEER_JAR",
     .takes = "FILE",
     .help = "runs the main class that the jar names; the words after FILE are its arguments",
     .read = option_read_text,
     AT(jar),
     .ends = true},
    {.names = {"--as-service"},
     .variable = "JPEER_AS_SERVICE",
     .help = "runs no main class: serves until it is stopped",
     .read = option_read_switch,
     AT(as_service)},

    {.group = "Addresses:",
     .names = {"--json-rpc"},
     .variable = "JPEER_JSON_RPC",
     .takes = "[HOST:]PORT|auto|unix:PATH",
     .help = "serves JSON-RPC over WebSocket and HTTP; HOST is 127.0.0.1 by default; PATH is a socket that "
             "only its user can open; may be repeated; the variable is split at blanks",
     .read = endpoints_read_json,
     AT(json),
     .repeats = true},
    {.names = {"--zmq-rpc"},
     .variable = "JPEER_ZMQ_RPC",
     .takes = "[HOST:]PORT|auto|ipc://PATH",
     .help = "serves JSON-RPC and binary messages over ZeroMQ; may be repeated likewise",
     .read = endpoints_read_zmq,
     AT(zmq),
     .repeats = true},
    {.names = {"--http-prefix"},
     .variable = "JPEER_HTTP_PREFIX",
     .takes = "PATH",
     .standard = "/rpc",
     .help =
         "the path of the service over WebSocket and HTTP, in addition to /; GET PATH/METHOD calls a method",
     .read = read_prefix,
     AT(net.http_prefix)},
    {.names = {"--allow-origin"},
     .variable = "JPEER_ALLOW_ORIGIN",
     .takes = "A,B,...",
     .help =
         "origins (http://host:port) whose web pages may call the peer from a browser; the rest are refused",
     .read = read_origins,
     AT(net.allow_origins)},
    {.names = {"--insecure-listen"},
     .variable = "JPEER_INSECURE_LISTEN",
     .help = "allows addresses other than loopback, where anyone who reaches them is a client",
     .read = option_read_switch,
     AT(insecure_listen)},

    {.group = "Policy:",
     .names = {"--rpc-allow"},
     .variable = "JPEER_RPC_ALLOW",
     .takes = "A,B,...",
     .help = "patterns of classes (com.example.**) whose public members clients may use; the rest is denied. "
             "A wildcard "
             "that matches classes of the JDK needs jdk: before it (jdk:java.time.*)",
     .read = option_read_text,
     AT(allow)},
    {.names = {"--rpc-policy"},
     .variable = "JPEER_RPC_POLICY",
     .takes = "PATH",
     .help = "the policy file (YAML): what clients may use",
     .read = option_read_text,
     AT(policy_file)},
    {.names = {"--rpc-policy-watch-interval"},
     .variable = "JPEER_RPC_POLICY_WATCH_INTERVAL",
     .takes = "MS",
     .standard = "2000",
     .help = "how often the policy file is checked for changes; a changed file is loaded again; 0: never",
     .read = option_read_duration,
     AT(policy_watch_ms),
     .min = 0,
     .max = DAY_MS},
    {.names = {"--rpc-policy-preset"},
     .variable = "JPEER_RPC_POLICY_PRESET",
     .takes = "A,B,...",
     .help = "presets: deny-unsafe, deny-jdk-internals, deny-classloading, deny-reflection, "
             "deny-serialization, deny-scripting, deny-nonpublic, deny-files",
     .read = option_read_text,
     AT(policy_presets)},
    {.names = {"--rpc-idempotent"},
     .variable = "JPEER_RPC_IDEMPOTENT",
     .takes = "A,B,...",
     .help = "patterns (Class.member) of members that HTTP GET may call by name, in addition to those of the "
             "file",
     .read = option_read_text,
     AT(idempotent)},
    {.names = {"--rpc-default-action"},
     .variable = "JPEER_RPC_DEFAULT_ACTION",
     .takes = "ALLOW|DENY",
     .help = "for members that no rule and no preset decides about; replaces the file's",
     .read = policy_option_read_action,
     AT(default_action),
     .words = policy_option_actions},

    {.group = "The peer:",
     .names = {"-n", "--name"},
     .variable = "JPEER_NAME",
     .takes = "NAME",
     .standard = "the main class or the jar",
     .help = "the peer's name",
     .read = read_name,
     AT(name)},
    {.names = {"-u", "--uuid"},
     .variable = "JPEER_UUID",
     .takes = "UUID",
     .standard = "a random one",
     .help = "the peer's UUID",
     .read = read_uuid,
     AT(uuid)},
    {.names = {"--ready-file"},
     .variable = "JPEER_READY_FILE",
     .takes = "PATH",
     .help = "written when the peer is ready: uuid, name, pid and addresses as JSON",
     .read = option_read_text,
     AT(ready_file)},
    {.names = {"--ready-when"},
     .variable = "JPEER_READY_WHEN",
     .takes = "now|class-loaded|main-returned",
     .standard = "now",
     .help = "when the peer is ready: before the main class is initialised, after that, or when main has "
             "returned; "
             "it serves from the first on",
     .read = option_read_word,
     AT(ready_when),
     .words = ready_words},
    {.names = {"--log-level"},
     .variable = "JPEER_LOG_LEVEL",
     .takes = "error|warn|info|debug",
     .standard = "info",
     .help = "how much is logged on stderr",
     .read = option_read_word,
     AT(log_level),
     .words = log_levels},
    {.names = {"--grace"},
     .variable = "JPEER_GRACE",
     .takes = "MS",
     .standard = "5000",
     .help = "how long running requests may continue when the peer stops",
     .read = option_read_duration,
     AT(grace_ms),
     .max = DAY_MS},
    {.names = {"--stop-on-eof"},
     .variable = "JPEER_STOP_ON_EOF",
     .takes = "FD",
     .help =
         "stops, as at SIGTERM, when the other end of this pipe or socket is closed: the peer ends with the "
         "program that started it, and logs that unless the last that has come is the word \"stop\"; a peer "
         "that "
         "does not start writes the reason to a socket",
     .read = parent_watch_read,
     AT(stop_on_eof),
     .max = INT_MAX},
    {.names = {"--remove-on-eof"},
     .variable = "JPEER_REMOVE_ON_EOF",
     .takes = "DIR",
     .help = "with --stop-on-eof: a folder that the program has made for the peer's sockets, and that is "
             "removed then "
             "with the sockets and their locks; it stays where anything else is in it",
     .read = option_read_text,
     AT(remove_on_eof)},
    {.names = {"--compat"},
     .variable = "JPEER_COMPAT",
     .takes = "pal",
     .help = "answers as the Java implementation does, for its clients",
     .read = read_compat,
     AT(compat_pal),
     .words = compat_words},
    {.names = {"-d", "--dir"},
     .takes = "HOST:PORT",
     .refused = "directory registration is not available in this version",
     .help = "refused: directory registration is not available in this version"},

    {.group = "The JVM:",
     .names = {"--jvm"},
     .variable = "JPEER_JVM",
     .takes = "PATH",
     .standard = "JAVA_HOME, java on PATH, the usual folders",
     .help = "libjvm.so, or a Java home",
     .read = option_read_text,
     AT(jvm)},
    {.names = {"-J"},
     .variable = "JPEER_JVM_OPTIONS",
     .takes = "OPTION",
     .help = "an unchanged option of the JVM (-J -Xmx1g); may be repeated; the variable is split at "
             "blanks",
     .read = option_read_list,
     AT(jvm_options),
     .repeats = true,
     .attaches = true},

    {.group = "Threads:",
     .names = {"--rpc-threads"},
     .variable = "JPEER_RPC_THREADS",
     .takes = "N",
     .standard = "the usable processors",
     .help = "threads that serve requests when there is little to do",
     .read = option_read_count,
     AT(net.threads),
     .min = 1,
     .max = 10000},
    {.names = {"--rpc-threads-max"},
     .variable = "JPEER_RPC_THREADS_MAX",
     .takes = "N",
     .standard = "256",
     .help = "how many there may be while calls are slow",
     .read = option_read_count,
     AT(net.threads_max),
     .min = 1,
     .max = 10000},
    {.names = {"--call-timeout"},
     .variable = "JPEER_CALL_TIMEOUT",
     .takes = "MS",
     .standard = "0",
     .help = "how long a call may last before it is interrupted and answered with an error; 0: as long as it "
             "takes",
     .read = option_read_duration,
     AT(limits.call_timeout_ms),
     .max = 100 * DAY_MS},
    {.names = {"--lost-threads-max"},
     .variable = "JPEER_LOST_THREADS_MAX",
     .takes = "N",
     .standard = "64",
     .help =
         "how many threads that ignore an interrupt are replaced by others; one client may hold a quarter",
     .read = option_read_count,
     AT(net.lost_max),
     .min = 0,
     .max = 10000},
    {.names = {"--on-disconnect"},
     .variable = "JPEER_ON_DISCONNECT",
     .takes = "interrupt|finish",
     .standard = "interrupt",
     .help = "what becomes of the call that a client runs when it leaves",
     .read = option_read_word,
     AT(net.on_disconnect),
     .words = on_disconnect_words},
    {.names = {"--busy-timeout"},
     .variable = "JPEER_BUSY_TIMEOUT",
     .takes = "MS",
     .standard = "5000",
     .help = "how long a request waits while every thread is inside Java",
     .read = option_read_duration,
     AT(net.busy_timeout_ms),
     .max = DAY_MS},

    {.names = {"--thread-affinity"},
     .variable = "JPEER_THREAD_AFFINITY",
     .takes = "NAME=CLASS.MEMBER",
     .help = "an executor for requests with that threadAffinity: a static method with a Runnable, or a "
             "static method or field with an Executor; may be repeated; the variable is split at blanks",
     .read = thread_affinity_read,
     AT(thread_affinities),
     .repeats = true},
    {.names = {"--fx-thread"},
     .variable = "JPEER_FX_THREAD",
     .help = "the same as --thread-affinity FX=javafx.application.Platform.runLater",
     .read = option_read_switch,
     AT(fx_thread)},

    {.group = "Sessions:",
     .names = {"--session-ttl"},
     .variable = "JPEER_SESSION_TTL",
     .takes = "MS",
     .standard = "10m",
     .help = "how long a session without a connection is kept",
     .read = option_read_duration,
     AT(limits.session_ttl_ms),
     .min = 1,
     .max = 365 * DAY_MS},
    {.names = {"--session-max-objects"},
     .variable = "JPEER_SESSION_MAX_OBJECTS",
     .takes = "N",
     .standard = "4000000",
     .help = "objects that a session may hold",
     .read = option_read_count,
     AT(limits.session_max_objects),
     .min = 1,
     .max = MANY},
    {.names = {"--sessions-max"},
     .variable = "JPEER_SESSIONS_MAX",
     .takes = "N",
     .standard = "100000",
     .help = "sessions that may exist",
     .read = option_read_count,
     AT(limits.sessions_max),
     .min = 1,
     .max = MANY},
    {.names = {"--sessions-per-address"},
     .variable = "JPEER_SESSIONS_PER_ADDRESS",
     .takes = "N",
     .standard = "10000",
     .help = "sessions that the clients of one address may have; 0: as many as there may be",
     .read = option_read_count,
     AT(limits.sessions_per_address),
     .max = MANY},

    {.names = {"--first-ref"},
     .variable = "JPEER_FIRST_REF",
     .takes = "N",
     .standard = "at random, 1 with --compat pal",
     .help = "the first ref of a session; a later session of the same name continues after the last ref",
     .read = option_read_count,
     AT(first_ref),
     .min = 1,
     .max = 1 << 30},

    {.group = "Callbacks:",
     .names = {"--callback-timeout"},
     .variable = "JPEER_CALLBACK_TIMEOUT",
     .takes = "MS",
     .standard = "0",
     .help = "how long a callback waits for its answer; 0: without a limit",
     .read = option_read_duration,
     AT(limits.callbacks.timeout_ms),
     .max = 365 * DAY_MS},
    {.names = {"--callbacks-max"},
     .variable = "JPEER_CALLBACKS_MAX",
     .takes = "N",
     .standard = "1000",
     .help = "callbacks that may wait for the answers of a connection",
     .read = option_read_count,
     AT(limits.callbacks.calls_max),
     .min = 1,
     .max = 1000000},
    {.names = {"--callback-depth"},
     .variable = "JPEER_CALLBACK_DEPTH",
     .takes = "N",
     .standard = "64",
     .help = "callbacks that may wait inside one another on a thread, as long as its stack has room",
     .read = option_read_count,
     AT(limits.callbacks.depth_max),
     .min = 1,
     .max = 10000},
    {.names = {"--callback-threads-max"},
     .variable = "JPEER_CALLBACK_THREADS_MAX",
     .takes = "N",
     .standard = "256",
     .help = "threads of the peer that may wait in callbacks, in addition to those of --rpc-threads-max",
     .read = option_read_count,
     AT(limits.callbacks.threads_max),
     .min = 1,
     .max = 4096},
    {.names = {"--callback-classes-max"},
     .variable = "JPEER_CALLBACK_CLASSES_MAX",
     .takes = "N",
     .standard = "10000",
     .help = "sets of interfaces that Java sees callbacks as; each is a class that stays",
     .read = option_read_count,
     AT(limits.java.callback_classes_max),
     .min = 1,
     .max = 1000000},

    {.group = "Messages and connections:",
     .names = {"--message-max"},
     .variable = "JPEER_MESSAGE_MAX",
     .takes = "BYTES",
     .standard = "16M",
     .help = "the longest message (4096, 64K, 16M)",
     .read = option_read_size,
     AT(net.message_max),
     .min = 256,
     .max = GIB},
    {.names = {"--input-max-total"},
     .variable = "JPEER_INPUT_MAX_TOTAL",
     .takes = "BYTES",
     .standard = "256M, or 4 times --message-max",
     .help = "input of all clients together that is being collected",
     .read = option_read_size,
     AT(net.input_max_total),
     .min = 256,
     .max = 1024 * GIB},
    {.names = {"--depth-max"},
     .variable = "JPEER_DEPTH_MAX",
     .takes = "N",
     .standard = "128",
     .help = "how deep a message may nest",
     .read = option_read_count,
     AT(limits.max_depth),
     .min = 4,
     .max = 256}, /* a level takes up to 800 bytes of stack; a thread that serves has at least 256 KiB */
    {.names = {"--batch-max"},
     .variable = "JPEER_BATCH_MAX",
     .takes = "N",
     .standard = "1000",
     .help = "requests in one batch",
     .read = option_read_count,
     AT(limits.max_batch),
     .min = 1,
     .max = 1000000},
    {.names = {"--values-max"},
     .variable = "JPEER_VALUES_MAX",
     .takes = "N",
     .standard = "1000000",
     .help = "elements of lists and maps in one request, those of arrays of primitives not counted",
     .read = option_read_count,
     AT(limits.values_max),
     /* shorter lists may be served by shapes, which do not count (rpc/fastpath/shape_cache.h) */
     .min = 65536,
     .max = MANY},
    {.names = {"--array-value-max"},
     .variable = "JPEER_ARRAY_VALUE_MAX",
     .takes = "N",
     .standard = "1000",
     .help = "the longest array whose elements are sent with its ref",
     .read = option_read_count,
     AT(limits.java.inline_array_max),
     .max = 1000000},
    {.names = {"--number-digits-max"},
     .variable = "JPEER_NUMBER_DIGITS_MAX",
     .takes = "N",
     .standard = "10000",
     .help = "digits of a number in a request, in any form",
     .read = option_read_count,
     AT(limits.java.number_digits_max),
     .min = 32,
     .max = MANY},
    {.names = {"--stack-frames-max"},
     .variable = "JPEER_STACK_FRAMES_MAX",
     .takes = "N",
     .standard = "64",
     .help = "stack frames in the description of a throwable; 0: none",
     .read = option_read_count,
     AT(limits.java.stack_frames_max),
     .max = 10000},
    {.names = {"--send-buffer-max"},
     .variable = "JPEER_SEND_BUFFER_MAX",
     .takes = "BYTES",
     .standard = "16M",
     .help = "unsent answers a connection, or a ZeroMQ client, may have",
     .read = option_read_size,
     AT(net.send_buffer_max),
     .min = 4096,
     .max = GIB},
    {.names = {"--zmq-pending-max"},
     .variable = "JPEER_ZMQ_PENDING_MAX",
     .takes = "N",
     .standard = "1000",
     .help = "requests that a ZeroMQ client may have waiting",
     .read = option_read_count,
     AT(net.zmq_pending_max),
     .min = 1,
     .max = 1000000},
    {.names = {"--pinned-threads-max"},
     .variable = "JPEER_PINNED_THREADS_MAX",
     .takes = "N",
     .standard = "256",
     .help = "connections that may have a thread of their own (control pin_thread)",
     .read = option_read_count,
     AT(net.pinned_max),
     .max = 100000},
    {.names = {"--shm-ring"},
     .variable = "JPEER_SHM_RING",
     .takes = "BYTES",
     .standard = "1M",
     .help = "shared memory of a connection, each way, in steps of 4096; 0: no shared memory",
     .read = read_ring_size,
     AT(net.shm_ring),
     .max = GIB},
    {.names = {"--shm-total"},
     .variable = "JPEER_SHM_TOTAL",
     .takes = "BYTES",
     .standard = "256M",
     .help = "shared memory of all connections together",
     .read = option_read_size,
     AT(net.shm_total),
     .max = 1024 * GIB},
    {.names = {"--shm-spin"},
     .variable = "JPEER_SHM_SPIN",
     .takes = "MICROSECONDS",
     .standard = "50",
     .help =
         "how long a thread busy-polls shared memory for the next message before it sleeps; 0: not at all",
     .read = option_read_count,
     AT(net.shm_spin_us),
     .max = 10000},
    {.names = {"--connections-max"},
     .variable = "JPEER_CONNECTIONS_MAX",
     .takes = "N",
     .standard = "10000",
     .help = "open connections",
     .read = option_read_count,
     AT(net.connections_max),
     .min = 1,
     .max = 1000000},
    {.names = {"--header-timeout"},
     .variable = "JPEER_HEADER_TIMEOUT",
     .takes = "MS",
     .standard = "10s",
     .help = "for a request's line and headers",
     .read = option_read_duration,
     AT(net.header_timeout_ms),
     .min = 1,
     .max = DAY_MS},
    {.names = {"--body-timeout"},
     .variable = "JPEER_BODY_TIMEOUT",
     .takes = "MS",
     .standard = "60s",
     .help = "for a request's body",
     .read = option_read_duration,
     AT(net.body_timeout_ms),
     .min = 1,
     .max = DAY_MS},
    {.names = {"--idle-timeout"},
     .variable = "JPEER_IDLE_TIMEOUT",
     .takes = "MS",
     .standard = "60s",
     .help = "for an HTTP connection between requests",
     .read = option_read_duration,
     AT(net.idle_timeout_ms),
     .min = 1,
     .max = DAY_MS},

    {.group = "Also:", .names = {"--help", "-h"}, .help = "shows this", .read = option_read_switch, AT(help)},
    {.names = {"--version"},
     .help = "shows the versions of jpeer and of the JVM",
     .read = option_read_switch,
     AT(version)},
};
const size_t run_option_count = sizeof run_option_rows / sizeof run_option_rows[0];

#include "cli/run_rules.h"

#include "cli/thread_affinity.h"
#include "policy/policy.h"

#include <string.h>

bool run_rules_is_name(struct text name)
{
  bool is_good = name.len > 0 && name.len <= 128 && text_valid_utf8(name) == name.len;
  for (size_t i = 0; is_good && i < name.len; i++)
    is_good = (unsigned char)name.data[i] >= ' ' && name.data[i] != 0x7F;
  return is_good;
}

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

/* Allows for several of the longest messages at a time. */
static size_t standard_input_max(size_t message_max)
{
  enum { MESSAGES = 4 }; /* a quarter holds one: see net/admission/input_budget.h */
  size_t standard = (size_t)256 << 20;
  return message_max > standard / MESSAGES ? message_max * MESSAGES : standard;
}

static enum jp_status check_limits(const struct run_options *options, struct jp_error *error)
{
  enum { CONTROL_PAGE = 4096 };
  if (options->threads > options->threads_max)
    return jp_fail(error, JP_INVALID, "--rpc-threads takes at most --rpc-threads-max, which is %zu",
                   options->threads_max);
  if (options->input_max_total != 0 && options->input_max_total < options->message_max)
    return jp_fail(error, JP_INVALID, "--input-max-total takes at least --message-max, which is %zu bytes",
                   options->message_max);
  size_t connection = CONTROL_PAGE + 2 * options->shm_ring;
  if (options->shm_ring != 0 && options->shm_total < connection)
    return jp_fail(
        error, JP_INVALID,
        "--shm-total takes at least the memory of one connection, a page and two rings of --shm-ring, "
        "which is %zu bytes",
        connection);
  return JP_OK;
}

enum jp_status run_rules_check(struct run_options *options, struct jp_error *error)
{
  enum jp_status status = endpoints_check("--json-rpc", &options->json, options->insecure_listen, error);
  if (status == JP_OK)
    status = endpoints_check("--zmq-rpc", &options->zmq, options->insecure_listen, error);
  if (status != JP_OK)
    return status;
  status = check_limits(options, error);
  if (status != JP_OK)
    return status;
  if (options->input_max_total == 0)
    options->input_max_total = standard_input_max(options->message_max);
  status = thread_affinity_make(&options->thread_affinities, options->fx_thread, &options->arena,
                                &options->executors, &options->executor_count, error);
  if (status != JP_OK)
    return status;
  if (options->name == NULL)
    options->name = run_rules_is_name(text_of(standard_name(options))) ? standard_name(options) : "jpeer";
  return JP_OK;
}

void run_rules_set_defaults(struct run_options *options)
{
  *options = (struct run_options){.log_level = LOG_LEVEL_INFO,
                                  .grace_ms = 5000,
                                  .stop_on_eof = -1,
                                  .threads_max = 256,
                                  .default_action = POLICY_UNSET,
                                  .busy_timeout_ms = 5000,
                                  .callbacks_max = 1000,
                                  .callback_depth = 64,
                                  .callback_classes_max = 10000,
                                  .callback_threads_max = 256,
                                  .session_ttl_ms = 600000,
                                  .session_max_objects = 4000000,
                                  .http_prefix = "/rpc",
                                  .sessions_max = 100000,
                                  .sessions_per_address = 10000,
                                  .message_max = 16 << 20,
                                  .depth_max = 128,
                                  .batch_max = 1000,
                                  .values_max = 1000000,
                                  .send_buffer_max = 16 << 20,
                                  .zmq_pending_max = 1000,
                                  .shm_ring = 1 << 20,
                                  .shm_total = 256 << 20,
                                  .shm_spin_us = 50,
                                  .connections_max = 10000,
                                  .header_timeout_ms = 10000,
                                  .body_timeout_ms = 60000,
                                  .idle_timeout_ms = 60000,
                                  .policy_watch_ms = 2000,
                                  .array_value_max = 1000,
                                  .stack_frames_max = 64,
                                  .number_digits_max = 10000};
}

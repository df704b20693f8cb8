#ifndef JPEER_CLI_POLICY_OPTIONS_H
#define JPEER_CLI_POLICY_OPTIONS_H
/* The values of the policy's options in `jpeer run` and `jpeer policy`. Main's thread. */
#include "cli/options.h"
#include "jni/jvm.h"

/* int, an enum policy_action; the row's words are policy_option_actions. */
option_reader policy_option_read_action;
extern const char *const policy_option_actions[];

/* unsigned, a set of one enum policy_channel. */
option_reader policy_option_read_channel;

/* Refuses --rpc-allow if one of its wildcards matches a class of this JDK and has no "jdk:" before it
 * (policy/allow.h). patterns NULL: the option is not given. Reads the image of the JDK only if a pattern has
 * a wildcard that needs it. JP_INVALID: the text names what the wildcard would allow. JP_NOT_FOUND, JP_IO:
 * the image cannot be read. */
enum jp_status policy_option_check_allow(const char *patterns, const struct jvm_home *home,
                                         struct jp_error *error) JP_MUST_CHECK;

#endif

#ifndef JPEER_CLI_POLICY_OPTIONS_H
#define JPEER_CLI_POLICY_OPTIONS_H
/* The values of the policy's options in `jpeer run` and `jpeer policy`. Main's thread. */
#include "base/options.h"
#include "jni/jvm.h"

/* int, an enum policy_action; the row's words are policy_option_actions. */
option_reader policy_option_read_action;
extern const char *const policy_option_actions[];

/* unsigned, a set of one enum policy_channel. */
option_reader policy_option_read_channel;

/* Refuses a wildcard of --rpc-allow (NULL: none) that matches a class of this JDK and has no "jdk:" before it
 * (policy/allow.h). name: how the error names the patterns; NULL: "--rpc-allow". Any thread. Reads the image
 * of the JDK only if there are such wildcards. JP_INVALID: the text names what the wildcard would allow.
 * JP_NOT_FOUND, JP_IO: the image cannot be read. */
enum jp_status policy_option_check_allow(const char *patterns, const char *name, const struct jvm_home *home,
                                         struct jp_error *error) JP_MUST_CHECK;

#endif

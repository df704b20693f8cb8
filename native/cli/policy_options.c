#include "cli/policy_options.h"

#include "policy/vocabulary.h"

const char *const policy_option_actions[] = {"ALLOW", "DENY", NULL};

enum jp_status policy_option_read_action(const struct option *option, const char *text, void *value,
                                         struct jp_error *error)
{
  static const int actions[] = {POLICY_ALLOW, POLICY_DENY};
  int index;
  enum jp_status status = option_read_word(option, text, &index, error);
  if (status == JP_OK)
    *(int *)value = actions[index];
  return status;
}

enum jp_status policy_option_read_channel(const struct option *option, const char *text, void *value,
                                          struct jp_error *error)
{
  char known[256];
  (void)option;
  if (policy_word_find(&policy_channel_words, text_of(text), value))
    return JP_OK;
  policy_words_list(&policy_channel_words, " or ", known, sizeof known);
  return jp_fail(error, JP_INVALID, "takes %s", known);
}

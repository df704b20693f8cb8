#include "policy/rules.h"

#define VOCABULARY(what, words)                                                                              \
  {                                                                                                          \
    (what), (words), sizeof(words) / sizeof((words)[0])                                                      \
  }

static const struct policy_word channels[] = {
    {"WEBSOCKET_RPC", 1u << POLICY_WEBSOCKET},
    {"HTTP_RPC", 1u << POLICY_HTTP},
    {"ZMQ_SOCKET_RPC", 1u << POLICY_ZMQ},
    {"LOG_RPC", 1u << POLICY_LOG},
    {"CLI_RPC", 1u << POLICY_CLI},
    {"REPLAY_INJECTION", 1u << POLICY_REPLAY},
};

static const struct policy_word members[] = {
    {"METHOD", 1u << POLICY_METHOD},           {"STATIC_METHOD", 1u << POLICY_STATIC_METHOD},
    {"CONSTRUCTOR", 1u << POLICY_CONSTRUCTOR}, {"FIELD_GET", 1u << POLICY_FIELD_GET},
    {"FIELD_SET", 1u << POLICY_FIELD_SET},
};

static const struct policy_word visibilities[] = {
    {"PUBLIC", 1u << POLICY_PUBLIC},
    {"PROTECTED", 1u << POLICY_PROTECTED},
    {"PACKAGE_PRIVATE", 1u << POLICY_PACKAGE_PRIVATE},
    {"DEFAULT", 1u << POLICY_PACKAGE_PRIVATE},
    {"PRIVATE", 1u << POLICY_PRIVATE},
    {"ALL", POLICY_ALL_VISIBILITIES},
};

static const struct policy_word actions[] = {
    {"ALLOW", POLICY_ALLOW},
    {"DENY", POLICY_DENY},
    {"LOG_AND_ALLOW", POLICY_LOG_AND_ALLOW},
    {"LOG_AND_DENY", POLICY_LOG_AND_DENY},
};

const struct policy_vocabulary policy_channel_words = VOCABULARY("channel", channels);
const struct policy_vocabulary policy_member_words = VOCABULARY("member category", members);
const struct policy_vocabulary policy_visibility_words = VOCABULARY("visibility", visibilities);
const struct policy_vocabulary policy_action_words = VOCABULARY("action", actions);

bool policy_word_find(const struct policy_vocabulary *vocabulary, struct text word, unsigned *value)
{
  for (size_t i = 0; i < vocabulary->count; i++) {
    if (text_equal(text_of(vocabulary->words[i].word), word)) {
      *value = vocabulary->words[i].value;
      return true;
    }
  }
  return false;
}

const char *policy_channel_name(enum policy_channel channel)
{
  for (size_t i = 0; i < sizeof channels / sizeof channels[0]; i++)
    if (channels[i].value == 1u << channel)
      return channels[i].word;
  return "UNKNOWN";
}

uint32_t policy_combinations(unsigned member_set, unsigned visibility_set)
{
  uint32_t combinations = 0;
  for (unsigned member = 0; member < POLICY_MEMBERS; member++)
    if ((member_set & 1u << member) != 0)
      combinations |= (visibility_set & POLICY_ALL_VISIBILITIES) << (member * POLICY_VISIBILITIES);
  return combinations;
}

#include "policy/vocabulary.h"

#include <assert.h>
#include <stdio.h>

#define ROWS(words)       (sizeof(words) / sizeof((words)[0]))
#define ROW(word, number) [number] = {(word), 1u << (number)}
#define VOCABULARY(what, words)                                                                              \
  {                                                                                                          \
    (what), (words), ROWS(words)                                                                             \
  }

static const struct policy_word channels[] = {
    ROW("WEBSOCKET_RPC", POLICY_WEBSOCKET),
    ROW("HTTP_RPC", POLICY_HTTP),
    ROW("ZMQ_SOCKET_RPC", POLICY_ZMQ),
    ROW("LOG_RPC", POLICY_LOG),
    ROW("CLI_RPC", POLICY_CLI),
    ROW("REPLAY_INJECTION", POLICY_REPLAY),
};
static_assert(ROWS(channels) == POLICY_CHANNELS, "each channel has a word");

static const struct policy_word categories[] = {
    ROW("METHOD", POLICY_METHOD),           ROW("STATIC_METHOD", POLICY_STATIC_METHOD),
    ROW("CONSTRUCTOR", POLICY_CONSTRUCTOR), ROW("FIELD_GET", POLICY_FIELD_GET),
    ROW("FIELD_SET", POLICY_FIELD_SET),     ROW("CALLBACK", POLICY_CALLBACK),
};
static_assert(ROWS(categories) == POLICY_CATEGORIES, "each category has a word");

/* One visibility has two words. */
static const struct policy_word visibilities[] = {
    {"PUBLIC", 1u << POLICY_PUBLIC},
    {"PROTECTED", 1u << POLICY_PROTECTED},
    {"PACKAGE_PRIVATE", 1u << POLICY_PACKAGE_PRIVATE},
    {"DEFAULT", 1u << POLICY_PACKAGE_PRIVATE},
    {"PRIVATE", 1u << POLICY_PRIVATE},
    {"ALL", POLICY_ALL_VISIBILITIES},
};
static_assert(ROWS(visibilities) == POLICY_VISIBILITIES + 2, "each visibility has a word");

static const struct policy_word actions[] = {
    {"ALLOW", POLICY_ALLOW},
    {"DENY", POLICY_DENY},
    {"LOG_AND_ALLOW", POLICY_LOG_AND_ALLOW},
    {"LOG_AND_DENY", POLICY_LOG_AND_DENY},
};

const struct policy_vocabulary policy_channel_words = VOCABULARY("channel", channels);
const struct policy_vocabulary policy_category_words = VOCABULARY("member category", categories);
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

void policy_words_list(const struct policy_vocabulary *vocabulary, const char *last, char *list, size_t size)
{
  size_t used = 0;
  list[0] = '\0';
  for (size_t i = 0; i < vocabulary->count && used < size; i++) {
    const char *separator = i == 0 ? "" : i + 1 == vocabulary->count ? last : ", ";
    used += (size_t)snprintf(list + used, size - used, "%s%s", separator, vocabulary->words[i].word);
  }
}

const char *policy_channel_name(enum policy_channel channel)
{
  return channels[channel].word;
}

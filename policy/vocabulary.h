#ifndef JPEER_POLICY_VOCABULARY_H
#define JPEER_POLICY_VOCABULARY_H
/*
 * The words of a policy file and of `jpeer policy`, in one table each. Constant: any thread.
 *
 * A new channel, category or visibility is a constant of its enum in policy/policy.h and a row here; the
 * build fails if a row is missing.
 */
#include "policy/policy.h"

#define POLICY_ALL_CHANNELS     ((1u << POLICY_CHANNELS) - 1)
#define POLICY_ALL_CATEGORIES   ((1u << POLICY_CATEGORIES) - 1)
#define POLICY_ALL_VISIBILITIES ((1u << POLICY_VISIBILITIES) - 1)

/* The channels that this version serves. */
#define POLICY_SERVED_CHANNELS (1u << POLICY_WEBSOCKET | 1u << POLICY_HTTP | 1u << POLICY_ZMQ)
/* The channels on which rules, presets and the default action do not apply. */
#define POLICY_EXEMPT_CHANNELS (1u << POLICY_CLI | 1u << POLICY_REPLAY)
/* The categories of operations that may have a receiver, whose own class is judged, too. */
#define POLICY_RECEIVER_CATEGORIES (1u << POLICY_METHOD | 1u << POLICY_FIELD_GET | 1u << POLICY_FIELD_SET)

struct policy_word {
  const char *word;
  unsigned value;
};

struct policy_vocabulary {
  const char *what; /* "channel", for an error message */
  const struct policy_word *words;
  size_t count;
};

extern const struct policy_vocabulary policy_channel_words;  /* values: 1 << enum policy_channel */
extern const struct policy_vocabulary policy_category_words; /* values: 1 << enum policy_category */
/* Values: sets of 1 << enum policy_visibility, for ALL is one of the words. */
extern const struct policy_vocabulary policy_visibility_words;
extern const struct policy_vocabulary policy_action_words; /* values: enum policy_action */

/* Words are spelt exactly as docs/policy.md has them. False for a word that is not in the vocabulary. */
bool policy_word_find(const struct policy_vocabulary *vocabulary, struct text word, unsigned *value);

/* Writes all words, "A, B or C" where last is " or ", cut off at `size` bytes with their NUL. */
void policy_words_list(const struct policy_vocabulary *vocabulary, const char *last, char *list, size_t size);

#endif

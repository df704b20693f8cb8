#include "policy/vocabulary.h"

#include "tests/unit/unit.h"

static void check_words(const struct policy_vocabulary *vocabulary, unsigned count)
{
  assert_int_equal(vocabulary->count, count);
  for (unsigned i = 0; i < count; i++) {
    unsigned value = 0;
    assert_non_null(vocabulary->words[i].word);
    assert_true(policy_word_find(vocabulary, text_of(vocabulary->words[i].word), &value));
    assert_int_equal(value, 1u << i);
  }
}

UNIT_TEST(test_each_constant_has_its_word)
{
  check_words(&policy_channel_words, POLICY_CHANNELS);
  check_words(&policy_category_words, POLICY_CATEGORIES);
  static const char *const names[] = {"WEBSOCKET_RPC", "HTTP_RPC", "ZMQ_SOCKET_RPC",
                                      "LOG_RPC",       "CLI_RPC",  "REPLAY_INJECTION"};
  for (unsigned channel = 0; channel < POLICY_CHANNELS; channel++)
    assert_string_equal(policy_channel_name((enum policy_channel)channel), names[channel]);
}

UNIT_TEST(test_each_visibility_has_a_word)
{
  unsigned alone = 0;
  unsigned all = 0;
  for (size_t i = 0; i < policy_visibility_words.count; i++) {
    unsigned value = policy_visibility_words.words[i].value;
    alone |= (value & (value - 1)) == 0 ? value : 0;
  }
  assert_int_equal(alone, POLICY_ALL_VISIBILITIES);
  assert_true(policy_word_find(&policy_visibility_words, TEXT("ALL"), &all));
  assert_int_equal(all, POLICY_ALL_VISIBILITIES);
}

UNIT_TEST(test_unknown_words)
{
  static const char *const words[] = {"", "method", "METHODS", "METHO", "ALLOW"};
  for (size_t i = 0; i < COUNT_OF(words); i++) {
    unsigned value = 77;
    assert_false(policy_word_find(&policy_category_words, text_of(words[i]), &value));
    assert_int_equal(value, 77);
  }
}

UNIT_TEST(test_lists)
{
  char list[80];
  policy_words_list(&policy_action_words, " or ", list, sizeof list);
  assert_string_equal(list, "ALLOW, DENY, LOG_AND_ALLOW or LOG_AND_DENY");
  policy_words_list(&policy_action_words, ", ", list, sizeof list);
  assert_string_equal(list, "ALLOW, DENY, LOG_AND_ALLOW, LOG_AND_DENY");
  policy_words_list(&policy_action_words, ", ", list, 10);
  assert_string_equal(list, "ALLOW, DE");
}

UNIT_MAIN

#include "policy/explain.h"

#include "policy/vocabulary.h"

enum { CASES = POLICY_CATEGORIES * POLICY_VISIBILITIES, ACTION_WIDTH = 14 };

/* The decision for one category and visibility. */
struct ruling {
  struct policy_verdict verdict;
  struct text object_class; /* the class of the object that is denied; data NULL: the named class decided */
};

struct table {
  struct ruling rulings[POLICY_CATEGORIES][POLICY_VISIBILITIES];
};

/* ---- decisions ---- */

static struct ruling make_ruling(const struct policy *policy, const struct policy_question *question,
                                 struct policy_query query)
{
  struct ruling ruling = {.verdict = policy_check(policy, &query)};
  bool has_object = (POLICY_RECEIVER_CATEGORIES & 1u << query.category) != 0;
  for (size_t i = 0; has_object && ruling.verdict.allow && i < question->object_class_count; i++) {
    query.class_name = question->object_classes[i];
    struct policy_verdict other = policy_check_object(policy, &query);
    if (!other.allow)
      ruling = (struct ruling){.verdict = other, .object_class = query.class_name};
  }
  return ruling;
}

static void fill_table(const struct policy *policy, const struct policy_question *question,
                       enum policy_channel channel, struct table *table)
{
  for (int category = 0; category < POLICY_CATEGORIES; category++) {
    for (int visibility = 0; visibility < POLICY_VISIBILITIES; visibility++) {
      const struct policy_query query = {.channel = channel,
                                         .category = (enum policy_category)category,
                                         .visibility = (enum policy_visibility)visibility,
                                         .class_name = question->class_name,
                                         .member_name = question->member_name};
      table->rulings[category][visibility] = make_ruling(policy, question, query);
    }
  }
}

/* The name "<init>" belongs only to constructors. */
static bool is_possible(const struct policy_question *question, int category)
{
  return (category == POLICY_CONSTRUCTOR) == text_equal(question->member_name, TEXT("<init>"));
}

static bool is_same_ruling(const struct ruling *a, const struct ruling *b)
{
  return a->verdict.allow == b->verdict.allow && a->verdict.log == b->verdict.log &&
         a->verdict.reason == b->verdict.reason && a->object_class.data == b->object_class.data;
}

static bool is_same_table(const struct policy_question *question, const struct table *a,
                          const struct table *b)
{
  for (int category = 0; category < POLICY_CATEGORIES; category++) {
    for (int visibility = 0; visibility < POLICY_VISIBILITIES; visibility++) {
      if (is_possible(question, category) &&
          !is_same_ruling(&a->rulings[category][visibility], &b->rulings[category][visibility]))
        return false;
    }
  }
  return true;
}

/* ---- words ---- */

/* One word for each member of the set: the first that means only this member, so neither DEFAULT nor ALL. */
static void append_words(struct buffer *out, const struct policy_vocabulary *vocabulary, unsigned set)
{
  const char *separator = "";
  for (size_t i = 0; i < vocabulary->count; i++) {
    unsigned value = vocabulary->words[i].value;
    if ((set & value) != value || (value & (value - 1)) != 0)
      continue;
    buffer_printf(out, "%s%s", separator, vocabulary->words[i].word);
    separator = ", ";
    set &= ~value;
  }
}

static unsigned find_visibilities(const struct table *table, int category, const struct ruling *ruling)
{
  unsigned set = 0;
  for (int visibility = 0; visibility < POLICY_VISIBILITIES; visibility++) {
    if (is_same_ruling(&table->rulings[category][visibility], ruling))
      set |= 1u << visibility;
  }
  return set;
}

/* "METHOD, STATIC_METHOD: PUBLIC; FIELD_GET: PUBLIC, PRIVATE": categories with the same visibilities are
 * grouped. */
static void append_cases(struct buffer *out, const struct policy_question *question,
                         const struct table *table, const struct ruling *ruling)
{
  const char *separator = "";
  unsigned written = 0;
  for (int category = 0; category < POLICY_CATEGORIES; category++) {
    unsigned visibilities = find_visibilities(table, category, ruling);
    if (!is_possible(question, category) || visibilities == 0 || (written & 1u << category) != 0)
      continue;
    unsigned categories = 0;
    for (int other = category; other < POLICY_CATEGORIES; other++) {
      if (is_possible(question, other) && find_visibilities(table, other, ruling) == visibilities)
        categories |= 1u << other;
    }
    written |= categories;
    buffer_append_text(out, text_of(separator));
    append_words(out, &policy_category_words, categories);
    buffer_append_text(out, TEXT(": "));
    append_words(out, &policy_visibility_words, visibilities);
    separator = "; ";
  }
}

static void append_ruling(struct buffer *out, const struct policy *policy,
                          const struct policy_question *question, const struct table *table,
                          const struct ruling *ruling)
{
  bool allows = ruling->verdict.allow;
  const char *action =
      ruling->verdict.log ? (allows ? "LOG_AND_ALLOW" : "LOG_AND_DENY") : (allows ? "ALLOW" : "DENY");
  buffer_printf(out, "  %-*s%s", ACTION_WIDTH, action, policy_reason(policy, ruling->verdict.reason));
  if (ruling->object_class.data != NULL)
    buffer_printf(out, ", about the object's class %.*s", TEXT_ARGS(ruling->object_class));
  buffer_append_text(out, TEXT("\n                  for "));
  append_cases(out, question, table, ruling);
  buffer_append_char(out, '\n');
}

static bool is_written(const struct ruling *const *written, size_t count, const struct ruling *ruling)
{
  for (size_t i = 0; i < count; i++) {
    if (is_same_ruling(written[i], ruling))
      return true;
  }
  return false;
}

static void append_table(struct buffer *out, const struct policy *policy,
                         const struct policy_question *question, const struct table *table)
{
  const struct ruling *written[CASES];
  size_t count = 0;
  for (int category = 0; category < POLICY_CATEGORIES; category++) {
    for (int visibility = 0; is_possible(question, category) && visibility < POLICY_VISIBILITIES;
         visibility++) {
      const struct ruling *ruling = &table->rulings[category][visibility];
      if (is_written(written, count, ruling))
        continue;
      written[count++] = ruling;
      append_ruling(out, policy, question, table, ruling);
    }
  }
}

void policy_explain(const struct policy *policy, const struct policy_question *question, struct buffer *out)
{
  for (unsigned left = question->channels; left != 0;) {
    struct table table;
    unsigned first = left & -left;
    fill_table(policy, question, (enum policy_channel)__builtin_ctz(first), &table);
    unsigned alike = first;
    for (int channel = 0; channel < POLICY_CHANNELS; channel++) {
      struct table other;
      if ((left & ~first & 1u << channel) == 0)
        continue;
      fill_table(policy, question, (enum policy_channel)channel, &other);
      if (is_same_table(question, &table, &other))
        alike |= 1u << channel;
    }
    left &= ~alike;
    buffer_printf(out, "%.*s.%.*s via ", TEXT_ARGS(question->class_name), TEXT_ARGS(question->member_name));
    append_words(out, &policy_channel_words, alike);
    buffer_append_char(out, '\n');
    append_table(out, policy, question, &table);
  }
}

/*
 * Runs the files of cases/. Each file has settings, then a policy file between two lines "---", then
 * questions, one in each line:
 *
 *   presets NAMES        --rpc-policy-preset
 *   allow PATTERNS       --rpc-allow
 *   default ACTION       --rpc-default-action
 *   ---
 *   (the policy file; if empty, there is none)
 *   ---
 *   check CHANNEL MEMBER VISIBILITY CLASS NAME  ALLOW|DENY|LOG_AND_ALLOW|LOG_AND_DENY [REASON]
 *   other CHANNEL MEMBER VISIBILITY CLASS NAME  the same, for policy_check_other
 *   object CHANNEL MEMBER VISIBILITY CLASS NAME the same, for policy_check_object
 *   names CHANNEL MEMBER[,MEMBER] CLASS NAME    ASK|DENY|LOG_AND_DENY [REASON]
 *   class CHANNEL MEMBER[,MEMBER] CLASS         the same, for policy_check_class
 *   shows CHANNEL CLASS                         YES|NO
 *   idempotent CLASS NAME                       YES|NO
 *
 * Then every class and member in the file is judged in every way: the three early answers must never
 * contradict the full answer.
 */
#include "policy/rules.h"
#include "policy/vocabulary.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { NAMES_MAX = 128, TOKENS_MAX = 8 };

struct names {
  char *texts[NAMES_MAX];
  size_t count;
};

struct case_file {
  const char *name;
  int line;
  char *tokens[TOKENS_MAX]; /* of the question */
  char *reason;             /* the rest of its line */
  struct policy *policy;
  struct names classes;
  struct names members;
};

static void stop(const struct case_file *file, const char *problem, const char *detail)
{
  fail_msg("%s:%d: %s %s", file->name, file->line, problem, detail);
}

static unsigned word(const struct case_file *file, const struct policy_vocabulary *vocabulary,
                     const char *token)
{
  unsigned value = 0;
  if (!policy_word_find(vocabulary, text_of(token), &value))
    stop(file, "unknown word", token);
  return value;
}

/* The number of the bit with this name. */
static unsigned bit(const struct case_file *file, const struct policy_vocabulary *vocabulary,
                    const char *token)
{
  return (unsigned)__builtin_ctz(word(file, vocabulary, token));
}

static void remember(struct names *names, const char *name)
{
  for (size_t i = 0; i < names->count; i++)
    if (strcmp(names->texts[i], name) == 0)
      return;
  assert_true(names->count < NAMES_MAX);
  names->texts[names->count++] = strdup(name);
}

static void forget(struct names *names)
{
  for (size_t i = 0; i < names->count; i++)
    free(names->texts[i]);
}

static void expect(const struct case_file *file, const char *got, const char *expected,
                   const struct policy_verdict *verdict)
{
  if (strcmp(got, expected) != 0)
    stop(file, "got", got);
  if (file->reason == NULL || verdict == NULL)
    return;
  const char *reason = policy_reason(file->policy, verdict->reason);
  if (strcmp(reason, file->reason) != 0)
    stop(file, "reason is", reason);
}

static const char *verdict_word(const struct policy_verdict *verdict)
{
  if (verdict->log)
    return verdict->allow ? "LOG_AND_ALLOW" : "LOG_AND_DENY";
  return verdict->allow ? "ALLOW" : "DENY";
}

typedef struct policy_verdict check_function(const struct policy *policy, const struct policy_query *query);

static void ask(struct case_file *file, check_function *function)
{
  struct policy_query query = {
      .channel = bit(file, &policy_channel_words, file->tokens[1]),
      .category = bit(file, &policy_category_words, file->tokens[2]),
      .visibility = bit(file, &policy_visibility_words, file->tokens[3]),
      .class_name = text_of(file->tokens[4]),
      .member_name = text_of(file->tokens[5]),
  };
  remember(&file->classes, file->tokens[4]);
  remember(&file->members, file->tokens[5]);
  struct policy_verdict verdict = function(file->policy, &query);
  expect(file, verdict_word(&verdict), file->tokens[6], &verdict);
}

static void ask_check(struct case_file *file)
{
  ask(file, policy_check);
}

static void ask_other(struct case_file *file)
{
  ask(file, policy_check_other);
}

static void ask_object(struct case_file *file)
{
  ask(file, policy_check_object);
}

static unsigned read_categories(const struct case_file *file, char *words)
{
  unsigned categories = 0;
  for (char *token; (token = strsep(&words, ",")) != NULL;)
    categories |= word(file, &policy_category_words, token);
  return categories;
}

static void expect_early(const struct case_file *file, enum policy_early early, const char *expected,
                         const struct policy_verdict *verdict)
{
  if (early == POLICY_EARLY_ASK)
    expect(file, "ASK", expected, NULL);
  else
    expect(file, verdict_word(verdict), expected, verdict);
}

static void ask_names(struct case_file *file)
{
  struct policy_verdict verdict;
  enum policy_early early = policy_check_names(
      file->policy, bit(file, &policy_channel_words, file->tokens[1]), read_categories(file, file->tokens[2]),
      text_of(file->tokens[3]), text_of(file->tokens[4]), &verdict);
  remember(&file->classes, file->tokens[3]);
  remember(&file->members, file->tokens[4]);
  expect_early(file, early, file->tokens[5], &verdict);
}

static void ask_class(struct case_file *file)
{
  struct policy_verdict verdict;
  enum policy_early early =
      policy_check_class(file->policy, bit(file, &policy_channel_words, file->tokens[1]),
                         read_categories(file, file->tokens[2]), text_of(file->tokens[3]), &verdict);
  remember(&file->classes, file->tokens[3]);
  expect_early(file, early, file->tokens[4], &verdict);
}

static void ask_shows(struct case_file *file)
{
  bool shows = policy_shows_class(file->policy, bit(file, &policy_channel_words, file->tokens[1]),
                                  text_of(file->tokens[2]));
  remember(&file->classes, file->tokens[2]);
  expect(file, shows ? "YES" : "NO", file->tokens[3], NULL);
}

static void ask_idempotent(struct case_file *file)
{
  bool is = policy_is_idempotent(file->policy, text_of(file->tokens[1]), text_of(file->tokens[2]));
  expect(file, is ? "YES" : "NO", file->tokens[3], NULL);
}

static const struct question {
  const char *word;
  size_t tokens; /* without the reason */
  void (*ask)(struct case_file *file);
} questions[] = {
    {"check", 7, ask_check},           {"other", 7, ask_other}, {"object", 7, ask_object},
    {"names", 6, ask_names},           {"class", 5, ask_class}, {"shows", 4, ask_shows},
    {"idempotent", 4, ask_idempotent},
};

static void run_question(struct case_file *file, char *line)
{
  char *rest = line + strspn(line, " ");
  if (*rest == '\0' || *rest == '#')
    return;
  size_t wanted = strcspn(rest, " ");
  const struct question *question = NULL;
  for (size_t i = 0; i < COUNT_OF(questions); i++)
    if (strlen(questions[i].word) == wanted && strncmp(questions[i].word, rest, wanted) == 0)
      question = &questions[i];
  if (question == NULL)
    stop(file, "no such question:", rest);
  for (size_t i = 0; i < question->tokens; i++) {
    file->tokens[i] = strsep(&rest, " ");
    if (file->tokens[i] == NULL)
      stop(file, "too few words", "");
    if (rest != NULL)
      rest += strspn(rest, " ");
  }
  file->reason = rest == NULL || *rest == '\0' ? NULL : rest;
  question->ask(file);
}

/* The categories for which some visibility is allowed, as a set. */
static unsigned allowed_categories(const struct case_file *file, struct policy_query query)
{
  unsigned allowed = 0;
  for (unsigned category = 0; category < POLICY_CATEGORIES; category++) {
    for (unsigned visibility = 0; visibility < POLICY_VISIBILITIES; visibility++) {
      query.category = category;
      query.visibility = visibility;
      if (policy_check(file->policy, &query).allow)
        allowed |= 1u << category;
    }
  }
  return allowed;
}

static void check_early_answers(const struct case_file *file, const struct policy_query *query)
{
  unsigned allowed = allowed_categories(file, *query);
  for (unsigned categories = 1; categories <= POLICY_ALL_CATEGORIES; categories++) {
    struct policy_verdict verdict = {.allow = true};
    enum policy_early early = policy_check_names(file->policy, query->channel, categories, query->class_name,
                                                 query->member_name, &verdict);
    if ((early == POLICY_EARLY_ASK) != ((allowed & categories) != 0) ||
        (early == POLICY_EARLY_DENY && verdict.allow))
      stop(file, "policy_check_names is wrong about", query->class_name.data);
    if ((allowed & categories) != 0 && policy_check_class(file->policy, query->channel, categories,
                                                          query->class_name, &verdict) != POLICY_EARLY_ASK)
      stop(file, "policy_check_class hides", query->class_name.data);
  }
  if ((allowed & ~(1u << POLICY_CALLBACK)) != 0 &&
      !policy_shows_class(file->policy, query->channel, query->class_name))
    stop(file, "policy_shows_class hides", query->class_name.data);
}

static void check_consistency(const struct case_file *file)
{
  for (size_t i = 0; i < file->classes.count; i++) {
    for (size_t j = 0; j < file->members.count; j++) {
      for (unsigned channel = 0; channel < POLICY_CHANNELS; channel++) {
        struct policy_query query = {.channel = channel,
                                     .class_name = text_of(file->classes.texts[i]),
                                     .member_name = text_of(file->members.texts[j])};
        check_early_answers(file, &query);
      }
    }
  }
}

/* Makes a policy of the lines before the questions. */
static void open_policy(struct case_file *file, const char *presets, const char *allow,
                        enum policy_action action, const char *yaml)
{
  char folder[] = "/tmp/jpeer-policy-XXXXXX";
  char path[sizeof folder + sizeof "/policy.yaml"];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/policy.yaml", folder);
  FILE *out = fopen(path, "w");
  assert_non_null(out);
  fputs(yaml, out);
  assert_int_equal(fclose(out), 0);
  struct policy_config config = {.file = *yaml == '\0' ? NULL : path,
                                 .presets = *presets == '\0' ? NULL : presets,
                                 .allow = *allow == '\0' ? NULL : allow,
                                 .default_action = action};
  struct jp_error error = {0};
  enum jp_status status = policy_create(&config, &file->policy, &error);
  unlink(path);
  rmdir(folder);
  if (status != JP_OK)
    stop(file, "policy:", error.text);
}

static bool is_fence(const char *line)
{
  return strcmp(line, "---\n") == 0;
}

static void run_case(const char *path, const char *name)
{
  FILE *in = fopen(path, "r");
  assert_non_null(in);
  struct case_file file = {.name = name};
  char line[512];
  char presets[256] = "";
  char allow[256] = "";
  char yaml[8192] = "";
  enum policy_action action = POLICY_UNSET;
  int fences = 0;
  while (fgets(line, sizeof line, in) != NULL) {
    file.line++;
    if (is_fence(line)) {
      if (++fences == 2)
        open_policy(&file, presets, allow, action, yaml);
    } else if (fences == 1) {
      size_t used = strlen(yaml);
      assert_true(used + strlen(line) < sizeof yaml);
      memcpy(yaml + used, line, strlen(line) + 1);
    } else {
      line[strcspn(line, "\n")] = '\0';
      if (fences == 2)
        run_question(&file, line);
      else if (strncmp(line, "default ", 8) == 0)
        action = word(&file, &policy_action_words, line + 8);
      else if (sscanf(line, "presets %255s", presets) != 1 && sscanf(line, "allow %255s", allow) != 1 &&
               *line != '#')
        stop(&file, "no such setting:", line);
    }
  }
  fclose(in);
  assert_int_equal(fences, 2);
  check_consistency(&file);
  forget(&file.classes);
  forget(&file.members);
  policy_destroy(file.policy);
}

UNIT_TEST(test_cases)
{
  DIR *folder = opendir(CASES);
  assert_non_null(folder);
  int count = 0;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    if (!text_ends_with(text_of(entry->d_name), TEXT(".case")))
      continue;
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", CASES, entry->d_name);
    run_case(path, entry->d_name);
    count++;
  }
  closedir(folder);
  assert_true(count > 0);
}

UNIT_MAIN

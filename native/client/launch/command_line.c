#include "client/launch/command_line.h"

#include <string.h>

/* The options that say what a peer allows (docs/flags.md, "Policy"), with their variables. */
static const struct {
  const char *option;
  const char *variable;
} policy_options[] = {
    {"--rpc-allow", "JPEER_RPC_ALLOW"},
    {"--rpc-policy", "JPEER_RPC_POLICY"},
    {"--rpc-policy-preset", "JPEER_RPC_POLICY_PRESET"},
    {"--rpc-default-action", "JPEER_RPC_DEFAULT_ACTION"},
};

enum { POLICY_OPTIONS = sizeof policy_options / sizeof policy_options[0] };

/* "--rpc-policy" and "--rpc-policy=FILE", but not "--rpc-policy-watch-interval". */
static bool begins_with_name(const char *word, const char *name)
{
  size_t length = strlen(name);
  return strncmp(word, name, length) == 0 && (word[length] == '\0' || word[length] == '=');
}

bool launch_names_policy(const char *variable)
{
  for (size_t i = 0; i < POLICY_OPTIONS; i++) {
    const char *equals = strchr(variable, '=');
    /* An empty variable counts as unset. */
    if (begins_with_name(variable, policy_options[i].variable) && equals != NULL && equals[1] != '\0')
      return true;
  }
  return false;
}

static bool option_names_policy(const char *word)
{
  for (size_t i = 0; i < POLICY_OPTIONS; i++) {
    if (begins_with_name(word, policy_options[i].option))
      return true;
  }
  return false;
}

struct words {
  const char **items;
  size_t count;
};

static void add(struct words *words, const char *word)
{
  words->items[words->count++] = word;
}

static void add_two(struct words *words, const char *option, const char *value)
{
  add(words, option);
  add(words, value);
}

static size_t count_words(const char *const *list)
{
  size_t count = 0;
  while (list != NULL && list[count] != NULL)
    count++;
  return count;
}

static void add_all(struct words *words, const char *const *list)
{
  for (size_t i = 0; list != NULL && list[i] != NULL; i++)
    add(words, list[i]);
}

static void add_policy(struct words *words, const struct jp_launch_config *config, bool has_policy)
{
  for (size_t i = 0; config->options != NULL && config->options[i] != NULL; i++)
    has_policy = has_policy || option_names_policy(config->options[i]);
  if (!has_policy)
    add_two(words, "--rpc-default-action", "ALLOW");
}

const char *const *launch_command_line(const struct jp_launch_config *config, const char *socket_path,
                                       bool has_policy, struct arena *arena)
{
  enum { OWN_WORDS = 16 };
  size_t most = OWN_WORDS + count_words(config->options) + 2 * count_words(config->jvm_options) +
                count_words(config->arguments);
  struct words words = {.items = arena_calloc(arena, most, sizeof(const char *))};
  struct text address = arena_printf(arena, "unix:%s", socket_path);
  struct text descriptor = arena_printf(arena, "%d", LAUNCH_PARENT_DESCRIPTOR);
  if (words.items == NULL || address.data == NULL || descriptor.data == NULL)
    return NULL;
  add_two(&words, config->program != NULL ? config->program : "jpeer", "run");
  add_two(&words, "--json-rpc", address.data);
  add_two(&words, "--stop-on-eof", descriptor.data);
  add_policy(&words, config, has_policy);
  if (config->class_path != NULL)
    add_two(&words, "-cp", config->class_path);
  for (size_t i = 0; config->jvm_options != NULL && config->jvm_options[i] != NULL; i++)
    add_two(&words, "-J", config->jvm_options[i]);
  add_all(&words, config->options);
  add(&words, config->main_class != NULL ? config->main_class : "--as-service");
  if (config->main_class != NULL)
    add_all(&words, config->arguments);
  return words.items;
}

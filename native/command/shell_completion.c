/* Completion for bash, zsh and fish: their scripts ask `jpeer complete` what the last word may become. */
#include "command/completer.h"
#include "command/peers.h"

#include "base/runtime_folder.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>

static void propose_word(struct text typed, const char *candidate)
{
  if (text_starts_with(text_of(candidate), typed))
    puts(candidate);
}

static void propose_option_names(struct text typed, const struct option *options, size_t count)
{
  for (size_t row = 0; row < count; row++) {
    for (size_t i = 0; i < OPTION_NAMES && options[row].names[i] != NULL; i++)
      propose_word(typed, options[row].names[i]);
  }
}

static void propose_addresses(struct text typed)
{
  struct arena arena;
  struct running_peer *first;
  arena_init(&arena);
  (void)!peers_list(&arena, &first, NULL);
  for (const struct running_peer *peer = first; peer != NULL; peer = peer->next) {
    for (const char **address = peer->addresses; *address != NULL; address++)
      propose_word(typed, *address);
  }
  arena_fini(&arena);
}

static void propose_sessions(struct text typed)
{
  char folder[PATH_MAX];
  char path[PATH_MAX + sizeof "/sessions"];
  if (runtime_folder_make(folder, sizeof folder, NULL) != JP_OK)
    return;
  text_format(path, sizeof path, "%s/sessions", folder);
  DIR *files = opendir(path);
  for (const struct dirent *entry; files != NULL && (entry = readdir(files)) != NULL;) {
    if (entry->d_name[0] != '.')
      propose_word(typed, entry->d_name);
  }
  if (files != NULL)
    closedir(files);
}

/* The last item of a list with commas; names: "deny-unsafe, deny-files". */
static void propose_presets(struct text typed, const char *names)
{
  size_t comma = text_find_last(typed, ',');
  struct text before = comma == SIZE_MAX ? TEXT("") : text_slice(typed, 0, comma + 1);
  struct text last = text_slice(typed, before.len, typed.len);
  while (*names != '\0') {
    size_t length = strcspn(names, ", ");
    if (length > 0 && text_starts_with((struct text){names, length}, last))
      printf("%.*s%.*s\n", TEXT_ARGS(before), (int)length, names);
    names += length + strspn(names + length, ", ");
  }
}

/* Packages, classes and members; a method without its parenthesis, because a shell would take it for its own. */
static void propose_names(struct text typed, const char *url)
{
  struct command command;
  struct completion found = {0};
  const bool is_open = command_open_for_completion(&command, url);
  struct completer *completer = is_open ? completer_create(&command) : NULL;
  if (completer != NULL)
    completer_complete(completer, typed, typed.len, &found);
  struct text last = TEXT_ABSENT;
  for (size_t i = 0; i < found.count; i++) {
    struct text item = found.items[i];
    while (item.len > 0 && (item.data[item.len - 1] == '(' || item.data[item.len - 1] == ')'))
      item.len--;
    if (last.data == NULL || !text_equal(last, item))
      printf("%.*s%.*s\n", (int)found.from, typed.data, TEXT_ARGS(item));
    last = item;
  }
  completer_destroy(completer);
  command_close_for_completion(&command);
}

static const char *find_option(char *const *words, size_t count, const char *name, const char *other)
{
  for (size_t i = 1; i + 1 < count; i++) {
    if (strcmp(words[i], name) == 0 || strcmp(words[i], other) == 0)
      return words[i + 1];
  }
  return NULL;
}

static bool is_option(const char *word, const char *name, const char *other)
{
  return strcmp(word, name) == 0 || strcmp(word, other) == 0;
}

static void complete_argument(char *const *words, size_t count, const struct option *options,
                              size_t option_count, const char *presets)
{
  static const char *const named[] = {"call", "each", "describe", "ls"};
  struct text typed = text_of(words[count - 1]);
  const char *before = words[count - 2];
  if (is_option(before, "-u", "--url")) {
    /* but of `jpeer run` it is a UUID */
    if (strcmp(words[0], "run") != 0)
      propose_addresses(typed);
  } else if (is_option(before, "-s", "--session") || (strcmp(words[0], "end") == 0 && count == 2)) {
    propose_sessions(typed);
  } else if (is_option(before, "--rpc-policy-preset", "--rpc-policy-preset")) {
    propose_presets(typed, presets);
  } else if (count > 2 && options_take_next(options, option_count, before)) {
    return; /* a file, or what only the user knows */
  } else if (typed.len > 0 && typed.data[0] == '-') {
    propose_option_names(typed, options, option_count);
  } else if (strcmp(words[0], "shell") == 0) {
    propose_addresses(typed);
  } else {
    const char *url = find_option(words, count, "-u", "--url");
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
      if (strcmp(words[0], named[i]) == 0)
        propose_names(typed, url != NULL ? url : getenv("JPEER_URL"));
    }
  }
}

void command_complete(char *const *words, size_t count, const struct completion_of_others *others)
{
  struct option options[COMMAND_OPTIONS_MAX];
  if (count == 0)
    return;
  if (count == 1) {
    for (size_t i = 0; command_name(i) != NULL; i++)
      propose_word(text_of(words[0]), command_name(i));
    for (size_t i = 0; others->names[i] != NULL; i++)
      propose_word(text_of(words[0]), others->names[i]);
  } else if (strcmp(words[0], "run") == 0) {
    complete_argument(words, count, others->run_options, others->run_option_count, others->presets);
  } else {
    complete_argument(words, count, options, command_select_options(words[0], options), "");
  }
}

/* ---- scripts ---- */

static const char bash_script[] =
    "# jpeer: source <(jpeer completion bash)\n"
    "_jpeer() {\n"
    "  local line=\"${COMP_LINE:0:COMP_POINT}\" words word part found\n"
    "  read -ra words <<< \"$line\"\n"
    "  [[ $line == *[[:blank:]] ]] && words+=(\"\")\n"
    "  word=\"${words[-1]}\"\n"
    "  # bash has split the word at colons and equals signs, and completes its last part\n"
    "  part=\"${COMP_WORDS[COMP_CWORD]}\"\n"
    "  [[ $part == [:=] ]] && part=\n"
    "  mapfile -t found < <(jpeer complete -- \"${words[@]:1}\" 2>/dev/null)\n"
    "  COMPREPLY=(\"${found[@]#\"${word%\"$part\"}\"}\")\n"
    "  if (( ${#COMPREPLY[@]} == 0 )); then\n"
    "    compopt -o default\n"
    "  elif (( ${#words[@]} > 2 )) && [[ ${words[1]} != run && ${COMPREPLY[0]} != -* ]]; then\n"
    "    compopt -o nospace\n"
    "  fi\n"
    "}\n"
    "complete -F _jpeer jpeer\n";

static const char zsh_script[] =
    "#compdef jpeer\n"
    "# jpeer: source <(jpeer completion zsh), or a file _jpeer in a folder of fpath\n"
    "_jpeer() {\n"
    "  local -a found\n"
    "  found=(\"${(@f)$(jpeer complete -- \"${(@)words[2,CURRENT]}\" 2>/dev/null)}\")\n"
    "  if [[ -z $found[1] ]]; then\n"
    "    _files\n"
    "  elif (( CURRENT > 2 )) && [[ $words[2] != run && $found[1] != -* ]]; then\n"
    "    compadd -S '' -a found\n"
    "  else\n"
    "    compadd -a found\n"
    "  fi\n"
    "}\n"
    "if [[ $funcstack[1] == _jpeer ]]; then\n"
    "  _jpeer \"$@\"\n"
    "else\n"
    "  compdef _jpeer jpeer\n"
    "fi\n";

static const char fish_script[] = "# jpeer: jpeer completion fish | source\n"
                                  "function __jpeer_complete\n"
                                  "  set -l words (commandline -opc) (commandline -ct)\n"
                                  "  set -l found (jpeer complete -- $words[2..-1] 2>/dev/null)\n"
                                  "  if test (count $found) -eq 0\n"
                                  "    __fish_complete_path (commandline -ct)\n"
                                  "  else\n"
                                  "    printf '%s\\n' $found\n"
                                  "  end\n"
                                  "end\n"
                                  "complete -c jpeer -f -a '(__jpeer_complete)'\n";

int command_print_completion(const char *shell)
{
  const char *script = shell == NULL                ? NULL
                       : strcmp(shell, "bash") == 0 ? bash_script
                       : strcmp(shell, "zsh") == 0  ? zsh_script
                       : strcmp(shell, "fish") == 0 ? fish_script
                                                    : NULL;
  if (script == NULL) {
    fputs("jpeer completion: takes bash, zsh or fish\n", stderr);
    return COMMAND_USAGE;
  }
  fputs(script, stdout);
  return COMMAND_GOOD;
}

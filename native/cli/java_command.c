#include "cli/java_command.h"

#include "cli/build_version.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct command {
  char path[PATH_MAX + sizeof "/bin/java"];
  const char **words; /* owned; the texts are borrowed */
  size_t count;
};

enum { FIXED_WORDS = 16 };

static enum jp_status begin_command(struct command *command, const struct jvm_home *home, size_t options,
                                    struct jp_error *error)
{
  snprintf(command->path, sizeof command->path, "%s/bin/java", home->java_home);
  command->words = calloc(options + FIXED_WORDS, sizeof *command->words);
  command->count = 0;
  if (command->words == NULL)
    return jp_fail_memory(error, NULL);
  command->words[command->count++] = command->path;
  /* The options in this variable have been read, and java would announce them again. */
  unsetenv("JDK_JAVA_OPTIONS");
  return JP_OK;
}

static void add_word(struct command *command, const char *word)
{
  command->words[command->count++] = word;
}

/* Prints to stdout if the option has two dashes, and otherwise to stderr, as java does. */
static void print_version(const char *option)
{
  bool for_stdout = strncmp(option, "--", 2) == 0;
  fprintf(for_stdout ? stdout : stderr, "%s\n", build_version);
  fflush(stdout);
}

/* The option with which java is run; NULL: the option is --dry-run. */
static const char *choose_show(const struct run_options *options)
{
  return options->version ? "--version" : options->show;
}

void java_command_print_version(const struct run_options *options)
{
  const char *show = choose_show(options);
  if (show != NULL && (strcmp(show, "-version") == 0 || strcmp(show, "--version") == 0))
    print_version(show);
}

void java_command_become(const struct jvm_home *home, const struct run_options *options,
                         const char *class_path, struct jp_error *error)
{
  const char *show = choose_show(options);
  struct command command;
  if (begin_command(&command, home, options->jvm_options.count, error) != JP_OK)
    return;
  for (size_t i = 0; i < options->jvm_options.count; i++)
    add_word(&command, options->jvm_options.items[i]);
  if (class_path[0] != '\0' && options->jar == NULL) {
    add_word(&command, "-cp");
    add_word(&command, class_path);
  }
  if (show != NULL) {
    add_word(&command, show);
    if (options->show_value != NULL)
      add_word(&command, options->show_value);
  } else {
    add_word(&command, "--dry-run");
    if (options->jar != NULL || options->main_module != NULL)
      add_word(&command, options->jar != NULL ? "-jar" : "-m");
    if (options->jar != NULL)
      add_word(&command, options->jar);
    else
      add_word(&command, options->main_module != NULL ? options->main_module : options->main_class);
  }
  execv(command.path, (char *const *)command.words);
  jp_fail(error, JP_IO, "%s cannot be run: %m", command.path);
  free(command.words);
}

enum jp_status java_command_run(const struct jvm_home *home, const char *option, struct jp_error *error)
{
  struct command command;
  enum jp_status status = begin_command(&command, home, 0, error);
  if (status != JP_OK)
    return status;
  add_word(&command, option);
  print_version(option);
  pid_t child;
  int fault = posix_spawn(&child, command.path, NULL, NULL, (char *const *)command.words, environ);
  if (fault == 0) {
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
      ;
  } else {
    status = jp_fail(error, JP_IO, "%s cannot be run: %s", command.path, strerror(fault));
  }
  free(command.words);
  return status;
}

#include "cli/java_command.h"

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

static enum jp_status begin(struct command *command, const struct jvm_home *home, size_t options,
                            struct jp_error *error)
{
  snprintf(command->path, sizeof command->path, "%s/bin/java", home->java_home);
  command->words = calloc(options + FIXED_WORDS, sizeof *command->words);
  command->count = 0;
  if (command->words == NULL)
    return jp_fail(error, JP_NO_MEMORY, "out of memory");
  command->words[command->count++] = command->path;
  /* Its options are among ours already, and java would tell of it again. */
  unsetenv("JDK_JAVA_OPTIONS");
  return JP_OK;
}

static void add(struct command *command, const char *word)
{
  command->words[command->count++] = word;
}

/* java tells its version on stdout where the option has two dashes. */
static void say_version(const char *option)
{
  bool for_stdout = strncmp(option, "--", 2) == 0;
  fputs("jpeer " JPEER_VERSION "\n", for_stdout ? stdout : stderr);
  fflush(stdout);
}

/* NULL: something is to be loaded and not run. */
static const char *what_to_show(const struct run_options *options)
{
  return options->version ? "--version" : options->show;
}

void java_command_say_version(const struct run_options *options)
{
  const char *show = what_to_show(options);
  if (show != NULL && (strcmp(show, "-version") == 0 || strcmp(show, "--version") == 0))
    say_version(show);
}

static void add_application(struct command *command, const struct run_options *options)
{
  add(command, "--dry-run");
  if (options->jar != NULL)
    add(command, "-jar");
  else if (options->main_module != NULL)
    add(command, "-m");
  if (options->jar != NULL)
    add(command, options->jar);
  else
    add(command, options->main_module != NULL ? options->main_module : options->main_class);
}

void java_command_become(const struct jvm_home *home, const struct run_options *options,
                         const char *class_path, struct jp_error *error)
{
  const char *show = what_to_show(options);
  struct command command;
  if (begin(&command, home, options->jvm_options.count, error) != JP_OK)
    return;
  for (size_t i = 0; i < options->jvm_options.count; i++)
    add(&command, options->jvm_options.items[i]);
  if (class_path[0] != '\0' && options->jar == NULL) {
    add(&command, "-cp");
    add(&command, class_path);
  }
  if (show != NULL) {
    add(&command, show);
    if (options->show_value != NULL)
      add(&command, options->show_value);
  } else {
    add_application(&command, options);
  }
  execv(command.path, (char *const *)command.words);
  jp_fail(error, JP_IO, "%s cannot be run: %m", command.path);
  free(command.words);
}

enum jp_status java_command_run(const struct jvm_home *home, const char *option, struct jp_error *error)
{
  struct command command;
  enum jp_status status = begin(&command, home, 0, error);
  if (status != JP_OK)
    return status;
  add(&command, option);
  say_version(option);
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

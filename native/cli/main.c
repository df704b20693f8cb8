#include "cli/subcommands.h"

#include "base/near_name.h"
#include "cli/build_version.h"
#include "cli/first_process.h"
#include "cli/run_option_rows.h"
#include "command/command.h"
#include "policy/presets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct subcommand {
  const char *name;
  int (*run)(char *const *args, size_t arg_count); /* NULL: reserved for a later version */
  const char *help;                                /* NULL: not for users */
};

static int print_manual(char *const *args, size_t arg_count);
static int print_completion(char *const *args, size_t arg_count);
static int complete_words(char *const *args, size_t arg_count);

static const struct subcommand subcommands[] = {
    {"run", subcommand_run, "launches a JVM with an application and serves its objects (jpeer run --help)"},
    {"policy", subcommand_policy, "checks a policy file, and explains what it decides (jpeer policy --help)"},
    {"token", subcommand_token, "makes a token for a principal (jpeer token --help)"},
    {"keygen", subcommand_keygen, "makes a pair of keys for ZeroMQ's CURVE (jpeer keygen --help)"},
    {"completion", print_completion, "prints the completion script for bash, zsh or fish"},
    {"man", print_manual, "prints a man page: jpeer man call | man -l -"},
    {"complete", complete_words, NULL},
    {"log", NULL, NULL},
};
enum { SUBCOMMANDS = sizeof subcommands / sizeof subcommands[0] };

static void print_help(FILE *out)
{
  fputs("usage: jpeer SUBCOMMAND ...\n\nA JVM with its objects callable over JSON-RPC.\n\n", out);
  for (size_t i = 0; i < SUBCOMMANDS; i++) {
    if (subcommands[i].help != NULL)
      fprintf(out, "  %-12s%s\n", subcommands[i].name, subcommands[i].help);
  }
  for (size_t i = 0; command_name(i) != NULL; i++)
    fprintf(out, "  %-12s%s\n", command_name(i), command_summary(i));
  fputs("  help        shows this; jpeer help run the options of run\n"
        "  --help      shows this\n  --version   shows the version\n",
        out);
}

static int fail_unknown(const char *name)
{
  struct near_name search;
  near_name_init(&search, text_of(name));
  for (size_t i = 0; i < SUBCOMMANDS; i++) {
    if (subcommands[i].help != NULL)
      near_name_offer(&search, text_of(subcommands[i].name));
  }
  for (size_t i = 0; command_name(i) != NULL; i++)
    near_name_offer(&search, text_of(command_name(i)));
  if (search.best.data == NULL)
    fprintf(stderr, "jpeer: unknown subcommand \"%s\" (--help lists them)\n", name);
  else
    fprintf(stderr, "jpeer: unknown subcommand \"%s\": did you mean %s? (--help lists them)\n", name,
            search.best.data);
  return EXIT_USAGE;
}

static int run_subcommand(const char *name, char *const *args, size_t arg_count)
{
  int code;
  if (command_run(name, args, arg_count, &code))
    return code;
  for (size_t i = 0; i < SUBCOMMANDS; i++) {
    if (strcmp(subcommands[i].name, name) != 0)
      continue;
    if (subcommands[i].run != NULL)
      return subcommands[i].run(args, arg_count);
    fprintf(stderr, "jpeer: %s is not available in this version\n", name);
    return EXIT_USAGE;
  }
  return fail_unknown(name);
}

static int print_manual(char *const *args, size_t arg_count)
{
  const char *name = arg_count == 0 ? "" : args[0];
  if (arg_count > 0 && command_print_manual(name))
    return EXIT_GOOD;
  if (strcmp(name, "run") == 0) {
    options_print_manual(
        stdout, "jpeer run", "launches a JVM with an application, and serves its objects",
        "jpeer run [options] [-cp PATH] MAIN [args]\n"
        "jpeer run [options] -jar FILE [args]\n"
        "jpeer run [options] -p PATH -m MODULE[/MAIN] [args]\n"
        "jpeer run [options] --as-service [-cp PATH]",
        "Every option has a variable in the environment: JPEER_ and its long name. The options of java are\n"
        "accepted, too.",
        run_option_rows, run_option_count);
    return EXIT_GOOD;
  }
  if (strcmp(name, "token") == 0) {
    token_print_manual(stdout);
    return EXIT_GOOD;
  }
  if (strcmp(name, "keygen") == 0) {
    keygen_print_manual(stdout);
    return EXIT_GOOD;
  }
  if (arg_count > 0) {
    fprintf(stderr, "jpeer man: there is no page for \"%s\"\n", name);
    return EXIT_USAGE;
  }
  char *text = NULL;
  size_t length = 0;
  FILE *out = open_memstream(&text, &length);
  if (out == NULL)
    return EXIT_RUN_TIME;
  print_help(out);
  fclose(out);
  options_print_manual(stdout, "jpeer", "a JVM with its objects callable over JSON-RPC",
                       "jpeer SUBCOMMAND ...", text, NULL, 0);
  free(text);
  return EXIT_GOOD;
}

static int print_completion(char *const *args, size_t arg_count)
{
  return command_print_completion(arg_count == 1 ? args[0] : NULL);
}

/* For completion scripts: "--", and the words after "jpeer". */
static int complete_words(char *const *args, size_t arg_count)
{
  static const char *const names[] = {"run", "policy", "token", "keygen", "help", "completion", "man", NULL};
  const struct completion_of_others others = {names, run_option_rows, run_option_count, policy_preset_names};
  if (arg_count > 0 && strcmp(args[0], "--") == 0)
    command_complete(args + 1, arg_count - 1, &others);
  return EXIT_GOOD;
}

static int show_help(char *const *args, size_t arg_count)
{
  static char option[] = "--help";
  static char *const help_args[] = {option, NULL};
  if (arg_count > 0)
    return run_subcommand(args[0], help_args, 1);
  print_help(stdout);
  return EXIT_GOOD;
}

/* If the peer's own sockets or files had the descriptors 0, 1 or 2, the output of the JVM and the application
 * would be written to them. For this reason each of these descriptors that is closed is opened here. It is
 * opened only for writing, so reading descriptor 0 then fails. */
static bool open_standard_streams(void)
{
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
    /* open returns the lowest number that is free. */
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_WRONLY) != fd)
      return false;
  }
  return true;
}

int main(int argc, char **argv)
{
  first_process_split();
  if (!open_standard_streams())
    return EXIT_RUN_TIME;
  /* stderr gets only whole lines. HotSpot writes a warning in three pieces, and another thread could write a
   * line between them. */
  setvbuf(stderr, NULL, _IOLBF, 0);
  if (argc < 2) {
    print_help(stderr);
    return EXIT_USAGE;
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
    print_help(stdout);
    return EXIT_GOOD;
  }
  if (strcmp(argv[1], "--version") == 0) {
    puts(build_version);
    return EXIT_GOOD;
  }
  if (strcmp(argv[1], "help") == 0)
    return show_help(argv + 2, (size_t)argc - 2);
  return run_subcommand(argv[1], argv + 2, (size_t)argc - 2);
}

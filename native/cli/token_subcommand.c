/* `jpeer token new` makes a token for a principal, and lists its hash in the principals file. */
#include "base/options.h"
#include "cli/subcommands.h"
#include "principal/principal_token.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct token_options {
  const char *file;
  bool help;
};

#define AT(member) .offset = offsetof(struct token_options, member)

static const struct option token_rows[] = {
    {.names = {"--file"},
     .takes = "PATH",
     .help = "the principals file: the hash is added to the principal's entry, and comments stay",
     .read = option_read_text,
     AT(file)},
    {.names = {"--help", "-h"}, .help = "shows this", .read = option_read_switch, AT(help)},
};
enum { TOKEN_ROWS = sizeof token_rows / sizeof token_rows[0] };

static const char about[] =
    "Makes a token for the principal NAME, and prints it once: the token in the first line, its hash in the\n"
    "second. Principals files list only hashes (jpeer run --principals). The token belongs in a file that "
    "only\n"
    "its user can read, never in an argument, a variable of the environment or a URL.";
static const char synopsis[] = "jpeer token new NAME [--file PATH]";

static void print_help(FILE *out)
{
  fprintf(out, "usage: %s\n\n%s\n", synopsis, about);
  options_print_help(out, token_rows, TOKEN_ROWS);
  fputs("\nExit codes: 0, 1 (the file cannot be changed), 2 (usage).\n", out);
}

void token_print_manual(FILE *out)
{
  options_print_manual(out, "jpeer token", "makes a token for a principal", synopsis, about, token_rows,
                       TOKEN_ROWS);
}

/* Reads NAME and the options, in any order. */
static enum jp_status read_arguments(char *const *args, size_t arg_count, struct token_options *options,
                                     const char **name, struct jp_error *error)
{
  struct option_input input = {
      .options = token_rows, .option_count = TOKEN_ROWS, .args = args, .arg_count = arg_count};
  for (;;) {
    struct option_result result;
    enum jp_status status = options_parse(&input, options, &result, error);
    if (status != JP_OK || options->help)
      return status;
    input.args += result.used;
    input.arg_count -= result.used;
    if (input.arg_count == 0)
      break;
    if (*name != NULL)
      return jp_fail(error, JP_INVALID, "\"%.*s\" is one argument too many (jpeer token --help)",
                     OPTION_SHOWN(input.args[0]));
    *name = input.args[0];
    input.args++;
    input.arg_count--;
  }
  return *name != NULL ? JP_OK : jp_fail(error, JP_INVALID, "new takes NAME (jpeer token --help)");
}

/* Prints without stdio, because stdio's buffer would keep the token. */
static enum jp_status print_token(const char *token, const char *hash, struct jp_error *error)
{
  char lines[PRINCIPAL_TOKEN_LENGTH + PRINCIPAL_HASH_LENGTH + 3];
  const size_t length = (size_t)snprintf(lines, sizeof lines, "%s\n%s\n", token, hash);
  enum jp_status status = JP_OK;
  for (size_t at = 0; status == JP_OK && at < length;) {
    const ssize_t count = write(STDOUT_FILENO, lines + at, length - at);
    if (count < 0 && errno != EINTR)
      status = jp_fail(error, JP_IO, "the token could not be printed: %s", strerror(errno));
    at += count > 0 ? (size_t)count : 0;
  }
  explicit_bzero(lines, sizeof lines);
  return status;
}

/* The token is printed only after its hash was written to the file. Otherwise a printed token might not be
 * valid. */
static enum jp_status make_token(const struct token_options *options, const char *name,
                                 struct jp_error *error)
{
  char token[PRINCIPAL_TOKEN_LENGTH + 1];
  char hash[PRINCIPAL_HASH_LENGTH + 1];
  enum jp_status status = principal_token_make(token, hash, error);
  if (status == JP_OK && options->file != NULL)
    status = principal_token_add(options->file, name, hash, error);
  if (status == JP_OK)
    status = print_token(token, hash, error);
  explicit_bzero(token, sizeof token);
  return status;
}

int subcommand_token(char *const *args, size_t arg_count)
{
  struct token_options options = {0};
  struct jp_error error = {0};
  const char *name = NULL;
  bool is_new = arg_count > 0 && strcmp(args[0], "new") == 0;
  if (arg_count > 0 && (strcmp(args[0], "--help") == 0 || strcmp(args[0], "-h") == 0)) {
    print_help(stdout);
    return EXIT_GOOD;
  }
  if (!is_new) {
    print_help(stderr);
    return EXIT_USAGE;
  }
  int code = EXIT_GOOD;
  if (read_arguments(args + 1, arg_count - 1, &options, &name, &error) != JP_OK)
    code = EXIT_USAGE;
  else if (options.help)
    print_help(stdout);
  else if (make_token(&options, name, &error) != JP_OK)
    code = EXIT_RUN_TIME;
  text_hide_tokens(error.text);
  if (code != EXIT_GOOD)
    fprintf(stderr, "jpeer token: %s\n", error.text);
  return code;
}

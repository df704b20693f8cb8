/* `jpeer keygen` makes a pair of CURVE keys, for a peer or a client. */
#include "base/options.h"
#include "cli/subcommands.h"
#include "net/zeromq/zeromq_keys.h"

#include <stdio.h>
#include <string.h>

static const char about[] =
    "Makes a pair of CURVE keys, of a peer (jpeer run --zmq-curve-key FILE) or of a client, in a new FILE "
    "with\n"
    "the mode 0600, and prints the public key: a peer's belongs in the configuration of its clients\n"
    "(server_key), a client's in the principals file (curve-keys). The file stays where it is used.";
static const char synopsis[] = "jpeer keygen FILE";

static void print_help(FILE *out)
{
  fprintf(out, "usage: %s\n\n%s\n\nExit codes: 0, 1 (the file cannot be made, or exists), 2 (usage).\n",
          synopsis, about);
}

void keygen_print_manual(FILE *out)
{
  options_print_manual(out, "jpeer keygen", "makes a pair of keys for ZeroMQ's CURVE", synopsis, about, NULL,
                       0);
}

static enum jp_status make_keys(const char *path, struct jp_error *error)
{
  struct curve_keys keys;
  enum jp_status status = zeromq_keys_make(&keys, error);
  if (status == JP_OK)
    status = curve_keys_write(path, &keys, error);
  if (status == JP_OK && (printf("%s\n", keys.public_key) < 0 || fflush(stdout) != 0))
    status = jp_fail(error, JP_IO, "%s was made, but its public key could not be printed", path);
  explicit_bzero(&keys, sizeof keys);
  return status;
}

int subcommand_keygen(char *const *args, size_t arg_count)
{
  struct jp_error error = {0};
  if (arg_count > 0 && (strcmp(args[0], "--help") == 0 || strcmp(args[0], "-h") == 0)) {
    print_help(stdout);
    return EXIT_GOOD;
  }
  if (arg_count != 1 || args[0][0] == '-' || args[0][0] == '\0') {
    fputs("jpeer keygen: takes one FILE (jpeer keygen --help)\n", stderr);
    return EXIT_USAGE;
  }
  if (make_keys(args[0], &error) == JP_OK)
    return EXIT_GOOD;
  fprintf(stderr, "jpeer keygen: %s\n", error.text);
  return EXIT_RUN_TIME;
}

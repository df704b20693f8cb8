#include "cli/java_options.h"

#include <string.h>

enum effect {
  PASS_ON, /* `text` is passed to the JVM; NULL: the option is passed unchanged */
  /* the option and its value are passed to the JVM in one word; `text` is the long name of the option */
  JOIN_VALUE,
  TAKE_CLASS_PATH, /* the text after the name is the class path */
  TAKE_MODULE,
  SHOW_ONLY,  /* java runs with this option instead of the peer */
  SHOW_FIRST, /* java runs with the option `text` before the application is run */
  LOAD_ONLY,
  ASK_HELP,
  IGNORE,
  IGNORE_WITH_NOTICE, /* ignored, with the notice `text` */
  REFUSE              /* the error is `text` */
};

struct java_option {
  const char *name;
  const char *text;
  const char *takes; /* the value's form: the value is the next argument, or follows the '=' of a long name */
  enum effect effect;
  bool is_prefix;   /* the name is a prefix of the option: -Xmx1g */
  bool is_for_line; /* not accepted in JDK_JAVA_OPTIONS */
  bool ends;        /* the arguments after the option belong to the application */
};

/* ---- the table ---- */

/* The first row that matches an option is used, so whole names precede prefixes. */
static const struct java_option rows[] = {
    {.name = "-p", .effect = JOIN_VALUE, .text = "--module-path", .takes = "PATH"},
    {.name = "--module-path", .effect = JOIN_VALUE, .text = "--module-path", .takes = "PATH"},
    {.name = "--upgrade-module-path", .effect = JOIN_VALUE, .text = "--upgrade-module-path", .takes = "PATH"},
    {.name = "--add-modules", .effect = JOIN_VALUE, .text = "--add-modules", .takes = "MODULE,..."},
    {.name = "--limit-modules", .effect = JOIN_VALUE, .text = "--limit-modules", .takes = "MODULE,..."},
    {.name = "--add-exports",
     .effect = JOIN_VALUE,
     .text = "--add-exports",
     .takes = "MODULE/PACKAGE=MODULE,..."},
    {.name = "--add-opens",
     .effect = JOIN_VALUE,
     .text = "--add-opens",
     .takes = "MODULE/PACKAGE=MODULE,..."},
    {.name = "--add-reads", .effect = JOIN_VALUE, .text = "--add-reads", .takes = "MODULE=MODULE,..."},
    {.name = "--patch-module", .effect = JOIN_VALUE, .text = "--patch-module", .takes = "MODULE=FILE:..."},
    {.name = "--enable-native-access",
     .effect = JOIN_VALUE,
     .text = "--enable-native-access",
     .takes = "MODULE,..."},
    {.name = "--enable-final-field-mutation",
     .effect = JOIN_VALUE,
     .text = "--enable-final-field-mutation",
     .takes = "MODULE,..."},
    {.name = "--enable-preview", .effect = PASS_ON},
    {.name = "--illegal-access=", .effect = PASS_ON, .is_prefix = true},
    {.name = "--illegal-native-access=", .effect = PASS_ON, .is_prefix = true},
    {.name = "--illegal-final-field-mutation=", .effect = PASS_ON, .is_prefix = true},
    {.name = "--sun-misc-unsafe-memory-access=", .effect = PASS_ON, .is_prefix = true},
    {.name = "--finalization=", .effect = PASS_ON, .is_prefix = true},
    {.name = "--show-module-resolution", .effect = PASS_ON, .text = "-Djdk.module.showModuleResolution=true"},

    {.name = "-m", .effect = TAKE_MODULE, .takes = "MODULE[/CLASS]", .is_for_line = true, .ends = true},
    {.name = "--module", .effect = TAKE_MODULE, .takes = "MODULE[/CLASS]", .is_for_line = true, .ends = true},

    {.name = "-Djava.class.path=", .effect = TAKE_CLASS_PATH, .is_prefix = true},
    {.name = "-D", .effect = PASS_ON, .is_prefix = true},
    {.name = "-ea", .effect = PASS_ON},
    {.name = "-ea:", .effect = PASS_ON, .is_prefix = true},
    {.name = "-enableassertions", .effect = PASS_ON},
    {.name = "-enableassertions:", .effect = PASS_ON, .is_prefix = true},
    {.name = "-da", .effect = PASS_ON},
    {.name = "-da:", .effect = PASS_ON, .is_prefix = true},
    {.name = "-disableassertions", .effect = PASS_ON},
    {.name = "-disableassertions:", .effect = PASS_ON, .is_prefix = true},
    {.name = "-esa", .effect = PASS_ON},
    {.name = "-enablesystemassertions", .effect = PASS_ON},
    {.name = "-dsa", .effect = PASS_ON},
    {.name = "-disablesystemassertions", .effect = PASS_ON},
    {.name = "-javaagent:", .effect = PASS_ON, .is_prefix = true},
    {.name = "-agentlib:", .effect = PASS_ON, .is_prefix = true},
    {.name = "-agentpath:", .effect = PASS_ON, .is_prefix = true},
    {.name = "-verbose", .effect = PASS_ON},
    {.name = "-verbose:", .effect = PASS_ON, .is_prefix = true},
    {.name = "-verbosegc", .effect = PASS_ON, .text = "-verbose:gc"},
    {.name = "-noclassgc", .effect = PASS_ON, .text = "-Xnoclassgc"},
    {.name = "-debug", .effect = PASS_ON, .text = "-Xdebug"},
    {.name = "-verify", .effect = PASS_ON, .text = "-Xverify:all"},
    {.name = "-noverify", .effect = PASS_ON, .text = "-Xverify:none"},
    {.name = "-server", .effect = IGNORE},          /* a JDK has no other JVM */
    {.name = "-client", .effect = IGNORE},          /* java ignores it, too */
    {.name = "--disable-@files", .effect = IGNORE}, /* argument files have been read already */
    {.name = "-splash:",
     .effect = IGNORE_WITH_NOTICE,
     .text = "-splash: is ignored: a peer shows no splash screen",
     .is_prefix = true},

    {.name = "-version", .effect = SHOW_ONLY, .is_for_line = true},
    {.name = "--version", .effect = SHOW_ONLY, .is_for_line = true},
    {.name = "-fullversion", .effect = SHOW_ONLY, .is_for_line = true},
    {.name = "--full-version", .effect = SHOW_ONLY, .is_for_line = true},
    {.name = "-X", .effect = SHOW_ONLY, .is_for_line = true},
    {.name = "--help-extra", .effect = SHOW_ONLY, .is_for_line = true},
    {.name = "--list-modules", .effect = SHOW_ONLY},
    {.name = "--describe-module", .effect = SHOW_ONLY, .takes = "MODULE"},
    {.name = "--validate-modules", .effect = SHOW_ONLY},
    {.name = "--dry-run", .effect = LOAD_ONLY, .is_for_line = true},
    {.name = "-showversion", .effect = SHOW_FIRST, .text = "-version"},
    {.name = "--show-version", .effect = SHOW_FIRST, .text = "--version"},
    {.name = "-?", .effect = ASK_HELP, .is_for_line = true},
    {.name = "-help", .effect = ASK_HELP, .is_for_line = true},
    {.name = "--source",
     .effect = REFUSE,
     .text = "programs in source files are not run: compile them first",
     .is_prefix = true},
    {.name = "-XshowSettings",
     .effect = REFUSE,
     .text = "a peer does not show the JVM's settings: java -XshowSettings does",
     .is_prefix = true},
    {.name = "-Xdiag", .effect = PASS_ON, .text = "-Dsun.java.launcher.diag=true"},
    {.name = "-Xfuture", .effect = PASS_ON, .text = "-Xverify:all"},
    {.name = "-X", .effect = PASS_ON, .is_prefix = true},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* True if the argument is the option of the row; *value is then the value attached to it, or NULL. */
static bool matches_row(const struct java_option *option, const char *argument, const char **value)
{
  size_t length = strlen(option->name);
  *value = NULL;
  if (strncmp(argument, option->name, length) != 0)
    return false;
  const char *rest = argument + length;
  if (option->is_prefix || *rest == '\0')
    return true;
  if (option->takes == NULL || option->name[1] != '-' || *rest != '=')
    return false;
  *value = rest + 1;
  return true;
}

static const struct java_option *find_option(const char *argument, const char **value)
{
  for (size_t i = 0; i < ROWS; i++) {
    if (matches_row(&rows[i], argument, value))
      return &rows[i];
  }
  return NULL;
}

static enum jp_status add_to_jvm(struct run_options *options, const char *text, struct jp_error *error)
{
  options->line_jvm_options++;
  return option_read_list(NULL, text, &options->jvm_options, error);
}

static enum jp_status join_value(struct run_options *options, const char *name, const char *value,
                                 struct jp_error *error)
{
  struct text joined = arena_printf(&options->arena, "%s=%s", name, value);
  if (joined.data == NULL)
    return jp_fail_memory(error, NULL);
  if (strcmp(name, "--module-path") == 0)
    options->module_path = joined.data + strlen("--module-path=");
  return add_to_jvm(options, joined.data, error);
}

/* value: the value of the option, if the option has a value. */
static enum jp_status apply_option(const struct java_option *option, const char *argument, const char *value,
                                   struct run_options *options, struct jp_error *error)
{
  switch (option->effect) {
  case PASS_ON:
    return add_to_jvm(options, option->text != NULL ? option->text : argument, error);
  case JOIN_VALUE:
    return join_value(options, option->text, value, error);
  case TAKE_CLASS_PATH:
    options->class_path = argument + strlen(option->name);
    break;
  case TAKE_MODULE:
    if (*value == '\0' || *value == '/' || value[strlen(value) - 1] == '/')
      return jp_fail(error, JP_INVALID, "%s takes %s, not \"%.*s\"", option->name, option->takes,
                     OPTION_SHOWN(value));
    options->main_module = value;
    break;
  case SHOW_ONLY: /* if there are several such options, java runs with the first */
    if (options->show == NULL) {
      options->show = option->name;
      options->show_value = value;
    }
    break;
  case SHOW_FIRST:
    options->show_first = option->text;
    break;
  case LOAD_ONLY:
    options->dry_run = true;
    break;
  case ASK_HELP:
    options->help = true;
    break;
  case IGNORE:
    break;
  case IGNORE_WITH_NOTICE:
    return option_read_list(NULL, option->text, &options->ignored_options, error);
  case REFUSE:
    return jp_fail(error, JP_INVALID, "%s: %s", option->name, option->text);
  }
  return JP_OK;
}

enum jp_status java_option_read(void *values, char *const *args, size_t arg_count, size_t *taken, bool *ends,
                                struct jp_error *error)
{
  const char *value;
  const struct java_option *option = find_option(args[0], &value);
  if (option == NULL)
    return JP_NOT_FOUND;
  *taken = 1;
  *ends = option->ends;
  if (option->takes != NULL && value == NULL) {
    if (arg_count == 1)
      return jp_fail(error, JP_INVALID, "%s takes %s, and nothing follows it", option->name, option->takes);
    value = args[1];
    *taken = 2;
  }
  return apply_option(option, args[0], value, values, error);
}

const char *java_option_name(size_t index)
{
  return index < ROWS ? rows[index].name : NULL;
}

bool java_option_takes_next(const char *argument)
{
  const char *value;
  const struct java_option *option = find_option(argument, &value);
  return option != NULL && option->takes != NULL && value == NULL;
}

bool java_option_is_for_line(const char *argument)
{
  /* Options of java that have a row in the table of jpeer's own options. */
  static const char *const others[] = {"-jar", "-h", "--help"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    if (strcmp(argument, others[i]) == 0)
      return true;
  }
  const char *value;
  const struct java_option *option = find_option(argument, &value);
  return option != NULL && option->is_for_line;
}

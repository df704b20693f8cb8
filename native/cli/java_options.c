#include "cli/java_options.h"

#include <string.h>

struct java_option;

/* value: of an option that takes one. */
typedef enum jp_status apply_function(const struct java_option *option, const char *argument,
                                      const char *value, struct run_options *options, struct jp_error *error);

struct java_option {
  const char *name;
  apply_function *apply;
  const char *text;  /* for apply, to say or to pass on */
  const char *takes; /* the value's form: the value is the next argument, or follows the '=' of a long name */
  bool is_prefix;    /* the name is how the option begins: -Xmx1g */
  bool is_for_line;  /* not taken in JDK_JAVA_OPTIONS */
  bool ends;         /* what follows belongs to the application */
};

/* ---- the effects of options ---- */

static enum jp_status add_to_jvm(struct run_options *options, const char *text, struct jp_error *error)
{
  options->line_jvm_options++;
  return option_read_list(NULL, text, &options->jvm_options, error);
}

static enum jp_status pass_on(const struct java_option *option, const char *argument, const char *value,
                              struct run_options *options, struct jp_error *error)
{
  (void)value;
  return add_to_jvm(options, option->text != NULL ? option->text : argument, error);
}

/* The JVM takes such an option as one word, and only under its long name, which is `text`. */
static enum jp_status join_value(const struct java_option *option, const char *argument, const char *value,
                                 struct run_options *options, struct jp_error *error)
{
  (void)argument;
  struct text joined = arena_printf(&options->arena, "%s=%s", option->text, value);
  if (joined.data == NULL)
    return jp_fail(error, JP_NO_MEMORY, "out of memory");
  if (strcmp(option->text, "--module-path") == 0)
    options->module_path = joined.data + strlen("--module-path=");
  return add_to_jvm(options, joined.data, error);
}

static enum jp_status take_class_path(const struct java_option *option, const char *argument,
                                      const char *value, struct run_options *options, struct jp_error *error)
{
  (void)value;
  (void)error;
  options->class_path = argument + strlen(option->name);
  return JP_OK;
}

static enum jp_status take_module(const struct java_option *option, const char *argument, const char *value,
                                  struct run_options *options, struct jp_error *error)
{
  (void)argument;
  if (*value == '\0' || *value == '/' || value[strlen(value) - 1] == '/')
    return jp_fail(error, JP_INVALID, "%s takes %s, not \"%.200s\"", option->name, option->takes, value);
  options->main_module = value;
  return JP_OK;
}

static enum jp_status show_only(const struct java_option *option, const char *argument, const char *value,
                                struct run_options *options, struct jp_error *error)
{
  (void)argument;
  (void)error;
  if (options->show == NULL) {
    options->show = option->name;
    options->show_value = value;
  }
  return JP_OK;
}

static enum jp_status show_first(const struct java_option *option, const char *argument, const char *value,
                                 struct run_options *options, struct jp_error *error)
{
  (void)argument;
  (void)value;
  (void)error;
  options->show_first = option->text;
  return JP_OK;
}

static enum jp_status load_only(const struct java_option *option, const char *argument, const char *value,
                                struct run_options *options, struct jp_error *error)
{
  (void)option;
  (void)argument;
  (void)value;
  (void)error;
  options->dry_run = true;
  return JP_OK;
}

static enum jp_status ask_help(const struct java_option *option, const char *argument, const char *value,
                               struct run_options *options, struct jp_error *error)
{
  (void)option;
  (void)argument;
  (void)value;
  (void)error;
  options->help = true;
  return JP_OK;
}

static enum jp_status ignore_option(const struct java_option *option, const char *argument, const char *value,
                                    struct run_options *options, struct jp_error *error)
{
  (void)option;
  (void)argument;
  (void)value;
  (void)options;
  (void)error;
  return JP_OK;
}

static enum jp_status pass_over(const struct java_option *option, const char *argument, const char *value,
                                struct run_options *options, struct jp_error *error)
{
  (void)argument;
  (void)value;
  return option_read_list(NULL, option->text, &options->passed_over, error);
}

static enum jp_status refuse_option(const struct java_option *option, const char *argument, const char *value,
                                    struct run_options *options, struct jp_error *error)
{
  (void)argument;
  (void)value;
  (void)options;
  return jp_fail(error, JP_INVALID, "%s: %s", option->name, option->text);
}

/* ---- the table ---- */

/* The first row that matches counts, so that whole names come before prefixes. */
static const struct java_option rows[] = {
    {.name = "-p", .apply = join_value, .text = "--module-path", .takes = "PATH"},
    {.name = "--module-path", .apply = join_value, .text = "--module-path", .takes = "PATH"},
    {.name = "--upgrade-module-path", .apply = join_value, .text = "--upgrade-module-path", .takes = "PATH"},
    {.name = "--add-modules", .apply = join_value, .text = "--add-modules", .takes = "MODULE,..."},
    {.name = "--limit-modules", .apply = join_value, .text = "--limit-modules", .takes = "MODULE,..."},
    {.name = "--add-exports",
     .apply = join_value,
     .text = "--add-exports",
     .takes = "MODULE/PACKAGE=MODULE,..."},
    {.name = "--add-opens", .apply = join_value, .text = "--add-opens", .takes = "MODULE/PACKAGE=MODULE,..."},
    {.name = "--add-reads", .apply = join_value, .text = "--add-reads", .takes = "MODULE=MODULE,..."},
    {.name = "--patch-module", .apply = join_value, .text = "--patch-module", .takes = "MODULE=FILE:..."},
    {.name = "--enable-native-access",
     .apply = join_value,
     .text = "--enable-native-access",
     .takes = "MODULE,..."},
    {.name = "--enable-final-field-mutation",
     .apply = join_value,
     .text = "--enable-final-field-mutation",
     .takes = "MODULE,..."},
    {.name = "--enable-preview", .apply = pass_on},
    {.name = "--illegal-access=", .apply = pass_on, .is_prefix = true},
    {.name = "--illegal-native-access=", .apply = pass_on, .is_prefix = true},
    {.name = "--illegal-final-field-mutation=", .apply = pass_on, .is_prefix = true},
    {.name = "--sun-misc-unsafe-memory-access=", .apply = pass_on, .is_prefix = true},
    {.name = "--finalization=", .apply = pass_on, .is_prefix = true},
    {.name = "--show-module-resolution", .apply = pass_on, .text = "-Djdk.module.showModuleResolution=true"},

    {.name = "-m", .apply = take_module, .takes = "MODULE[/CLASS]", .is_for_line = true, .ends = true},
    {.name = "--module", .apply = take_module, .takes = "MODULE[/CLASS]", .is_for_line = true, .ends = true},

    {.name = "-Djava.class.path=", .apply = take_class_path, .is_prefix = true},
    {.name = "-D", .apply = pass_on, .is_prefix = true},
    {.name = "-ea", .apply = pass_on},
    {.name = "-ea:", .apply = pass_on, .is_prefix = true},
    {.name = "-enableassertions", .apply = pass_on},
    {.name = "-enableassertions:", .apply = pass_on, .is_prefix = true},
    {.name = "-da", .apply = pass_on},
    {.name = "-da:", .apply = pass_on, .is_prefix = true},
    {.name = "-disableassertions", .apply = pass_on},
    {.name = "-disableassertions:", .apply = pass_on, .is_prefix = true},
    {.name = "-esa", .apply = pass_on},
    {.name = "-enablesystemassertions", .apply = pass_on},
    {.name = "-dsa", .apply = pass_on},
    {.name = "-disablesystemassertions", .apply = pass_on},
    {.name = "-javaagent:", .apply = pass_on, .is_prefix = true},
    {.name = "-agentlib:", .apply = pass_on, .is_prefix = true},
    {.name = "-agentpath:", .apply = pass_on, .is_prefix = true},
    {.name = "-verbose", .apply = pass_on},
    {.name = "-verbose:", .apply = pass_on, .is_prefix = true},
    {.name = "-verbosegc", .apply = pass_on, .text = "-verbose:gc"},
    {.name = "-noclassgc", .apply = pass_on, .text = "-Xnoclassgc"},
    {.name = "-debug", .apply = pass_on, .text = "-Xdebug"},
    {.name = "-verify", .apply = pass_on, .text = "-Xverify:all"},
    {.name = "-noverify", .apply = pass_on, .text = "-Xverify:none"},
    {.name = "-server", .apply = ignore_option},          /* a JDK has no other JVM */
    {.name = "-client", .apply = ignore_option},          /* java ignores it, too */
    {.name = "--disable-@files", .apply = ignore_option}, /* argument files have been read by now */
    {.name = "-splash:",
     .apply = pass_over,
     .text = "-splash: is passed over: a peer shows no splash screen",
     .is_prefix = true},

    {.name = "-version", .apply = show_only, .is_for_line = true},
    {.name = "--version", .apply = show_only, .is_for_line = true},
    {.name = "-fullversion", .apply = show_only, .is_for_line = true},
    {.name = "--full-version", .apply = show_only, .is_for_line = true},
    {.name = "-X", .apply = show_only, .is_for_line = true},
    {.name = "--help-extra", .apply = show_only, .is_for_line = true},
    {.name = "--list-modules", .apply = show_only},
    {.name = "--describe-module", .apply = show_only, .takes = "MODULE"},
    {.name = "--validate-modules", .apply = show_only},
    {.name = "--dry-run", .apply = load_only, .is_for_line = true},
    {.name = "-showversion", .apply = show_first, .text = "-version"},
    {.name = "--show-version", .apply = show_first, .text = "--version"},
    {.name = "-?", .apply = ask_help, .is_for_line = true},
    {.name = "-help", .apply = ask_help, .is_for_line = true},
    {.name = "--source",
     .apply = refuse_option,
     .text = "programs in source files are not run: compile them first",
     .is_prefix = true},
    {.name = "-XshowSettings",
     .apply = refuse_option,
     .text = "a peer does not show the JVM's settings: java -XshowSettings does",
     .is_prefix = true},
    {.name = "-Xdiag", .apply = pass_on, .text = "-Dsun.java.launcher.diag=true"},
    {.name = "-Xfuture", .apply = pass_on, .text = "-Xverify:all"},
    {.name = "-X", .apply = pass_on, .is_prefix = true},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* Options in jpeer's own table that java takes on its command line alone. */
static const char *const other_line_options[] = {"-jar", "-h", "--help"};

/* True where the row is the argument's; *value is then the value attached to it, or NULL. */
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
  return option->apply(option, args[0], value, values, error);
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
  for (size_t i = 0; i < sizeof other_line_options / sizeof *other_line_options; i++) {
    if (strcmp(argument, other_line_options[i]) == 0)
      return true;
  }
  const char *value;
  const struct java_option *option = find_option(argument, &value);
  return option != NULL && option->is_for_line;
}

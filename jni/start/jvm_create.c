#include "jni/start/jvm_create.h"

#include "base/buffer.h"
#include "base/log.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_STACK = 1024 * 1024, SMALLEST_STACK = 256 * 1024 };

/* Process-wide, because the JVM calls its hooks without a context argument. */
static struct {
  pthread_mutex_t lock;
  atomic_bool collecting; /* the JVM is being created; its output is collected */
  struct buffer words;
  FILE *wanted; /* the stream of the JVM's last output */
  void (*on_death)(const struct jp_error *error);
} hearing = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char *const hook_names[] = {"vfprintf", "exit", "abort"};
enum { HOOKS = sizeof hook_names / sizeof hook_names[0] };

struct options {
  JavaVMOption *rows;
  size_t count;
  char *owned[3]; /* option texts that were allocated */
};

/* HotSpot passes the hook only the beginning of a warning, "OpenJDK 64-Bit Server VM warning: ", and writes
 * the rest of the line to the stream itself. */
static bool begins_warning(const char *text)
{
  static const char end[] = " warning: ";
  size_t length = strlen(text);
  return length >= sizeof end - 1 && strcmp(text + length - (sizeof end - 1), end) == 0;
}

static jint JNICALL JP_PRINTF(2, 0) hear_words(FILE *stream, const char *format, va_list args)
{
  if (!atomic_load(&hearing.collecting)) {
    jint written = vfprintf(stream, format, args);
    /* Without this hook the JVM would write its output without a buffer. The flush has the same effect, so
     * that no output is lost when the process ends. stderr needs no flush: it is line-buffered (main.c), and
     * hooks.exiting flushes an unfinished line. */
    if (stream != stderr)
      fflush(stream);
    return written;
  }
  char text[2048];
  jint length = (jint)text_format_va(text, sizeof text, format, args);
  if (begins_warning(text)) {
    fputs(text, stream);
    return length;
  }
  pthread_mutex_lock(&hearing.lock);
  buffer_append_text(&hearing.words, text_of(text));
  hearing.wanted = stream;
  pthread_mutex_unlock(&hearing.lock);
  return length;
}

static void end_hearing(bool pass_on)
{
  atomic_store(&hearing.collecting, false);
  pthread_mutex_lock(&hearing.lock);
  if (pass_on && hearing.words.len > 0)
    fwrite(hearing.words.data, 1, hearing.words.len, hearing.wanted);
  buffer_fini(&hearing.words);
  pthread_mutex_unlock(&hearing.lock);
}

/* Joins the JVM's lines into one, without the lines of a stack trace. */
static void append_as_line(struct buffer *line, struct text words)
{
  for (size_t begin = 0; begin < words.len;) {
    const char *newline = memchr(words.data + begin, '\n', words.len - begin);
    size_t end = newline == NULL ? words.len : (size_t)(newline - words.data);
    if (end > begin && words.data[begin] != '\t') {
      if (line->len > 0)
        BUFFER_LITERAL(line, "; ");
      buffer_append_text(line, text_slice(words, begin, end));
    }
    begin = end + 1;
  }
}

static void JNICALL on_abort(void);

static void add_option(struct options *options, char *text, void *extra)
{
  options->rows[options->count++] = (JavaVMOption){.optionString = text, .extraInfo = extra};
}

static char *make_class_path_option(const struct jvm_launch *launch)
{
  /* With a module, an empty class path means no class path, as with java. */
  const char *path = launch->main_module != NULL ? "" : ".";
  if (launch->jar != NULL)
    path = launch->jar;
  else if (launch->class_path != NULL)
    path = launch->class_path;
  char *text = NULL;
  return asprintf(&text, "-Djava.class.path=%s", path) < 0 ? NULL : text;
}

/* jps and similar tools show this as the process's command. */
static char *make_command_option(const struct jvm_launch *launch)
{
  struct buffer text;
  buffer_init(&text);
  const char *what = launch->jar != NULL ? launch->jar : launch->main_class;
  if (launch->main_module != NULL)
    what = launch->main_module;
  buffer_printf(&text, "-Dsun.java.command=%s", what != NULL ? what : "jpeer");
  for (size_t i = 0; i < launch->arg_count; i++)
    buffer_printf(&text, " %s", launch->args[i]);
  buffer_append_char(&text, '\0');
  if (text.failed) {
    buffer_fini(&text);
    return NULL;
  }
  return text.data;
}

static enum jp_status add_user_options(struct options *options, const struct jvm_launch *launch,
                                       struct jp_error *error)
{
  for (size_t i = 0; i < launch->option_count; i++) {
    /* Options without a dash are the names of hooks ("exit", "abort"), which belong to the peer. */
    if (launch->options[i][0] != '-')
      return jp_fail(error, JP_INVALID, "the JVM option \"%s\" does not begin with '-'", launch->options[i]);
    add_option(options, (char *)launch->options[i], NULL);
  }
  return JP_OK;
}

static enum jp_status make_options(const struct jvm_launch *launch, void(JNICALL *exits)(jint status),
                                   struct options *options, struct jp_error *error)
{
  enum { OWN_OPTIONS = 6 };
  options->rows = calloc(launch->option_count + OWN_OPTIONS, sizeof *options->rows);
  options->owned[0] = make_class_path_option(launch);
  options->owned[1] = make_command_option(launch);
  /* The module of MODULE or MODULE/CLASS: the root of the boot layer. */
  if (launch->main_module != NULL &&
      asprintf(&options->owned[2], "-Djdk.module.main=%.*s", (int)strcspn(launch->main_module, "/"),
               launch->main_module) < 0)
    options->owned[2] = NULL;
  if (options->rows == NULL || options->owned[0] == NULL || options->owned[1] == NULL ||
      (launch->main_module != NULL && options->owned[2] == NULL))
    return jp_fail_memory(error, NULL);
  /* The hooks must precede the other options, because the JVM reads options in order, and reports an invalid
   * option only through hooks that it has read already. */
  add_option(options, (char *)hook_names[0], (void *)hear_words);
  add_option(options, (char *)hook_names[1], (void *)exits);
  add_option(options, (char *)hook_names[2], (void *)on_abort);
  add_option(options, options->owned[0], NULL);
  add_option(options, options->owned[1], NULL);
  if (options->owned[2] != NULL)
    add_option(options, options->owned[2], NULL);
  return add_user_options(options, launch, error);
}

/* ---- the names of the hooks ---- */

/*
 * HotSpot lists every option with which it was created, including "vfprintf", "exit" and "abort".
 * RuntimeMXBean.getInputArguments() and jcmd VM.command_line show the list. Programs that start a JVM like
 * their own (JMH, build tools) pass it on, and java reads a word without a dash as the main class. For this
 * reason these names are removed from the list.
 *
 * HotSpot exports a table of its own fields, with their names, types and addresses, for debuggers and
 * profilers (gHotSpotVMStructs; further variables describe the layout of a row). In versions 17 to 25 the
 * table has the two fields that hold the arguments. If anything differs from that, nothing is changed.
 */
struct table {
  const char *row; /* the first */
  uint64_t stride;
  uint64_t type_name_at; /* offset in a row: const char * */
  uint64_t field_name_at;
  uint64_t type_at; /* const char *: the field's own type */
  uint64_t is_static_at;
  uint64_t address_at; /* void * */
};

static bool find_table(struct table *table)
{
  const struct {
    const char *symbol;
    uint64_t *value;
  } layout[] = {
      {"gHotSpotVMStructEntryArrayStride", &table->stride},
      {"gHotSpotVMStructEntryTypeNameOffset", &table->type_name_at},
      {"gHotSpotVMStructEntryFieldNameOffset", &table->field_name_at},
      {"gHotSpotVMStructEntryTypeStringOffset", &table->type_at},
      {"gHotSpotVMStructEntryIsStaticOffset", &table->is_static_at},
      {"gHotSpotVMStructEntryAddressOffset", &table->address_at},
  };
  const char *const *rows = dlsym(RTLD_DEFAULT, "gHotSpotVMStructs");
  if (rows == NULL)
    return false;
  table->row = *rows;
  for (size_t i = 0; i < sizeof layout / sizeof *layout; i++) {
    const uint64_t *value = dlsym(RTLD_DEFAULT, layout[i].symbol);
    if (value == NULL)
      return false;
    *layout[i].value = *value;
  }
  return table->row != NULL && table->stride > 0;
}

static const char *read_text_at(const char *row, uint64_t offset)
{
  return *(const char *const *)(row + offset);
}

static bool is_text_at(const char *row, uint64_t offset, const char *wanted)
{
  const char *text = read_text_at(row, offset);
  return text != NULL && strcmp(text, wanted) == 0;
}

/* The address of a static field of HotSpot's class Arguments; NULL: no field of this name and type. */
static void *find_field(const struct table *table, const char *name, const char *type)
{
  for (const char *row = table->row; read_text_at(row, table->type_name_at) != NULL; row += table->stride) {
    if (is_text_at(row, table->type_name_at, "Arguments") && is_text_at(row, table->field_name_at, name) &&
        is_text_at(row, table->type_at, type) && *(const int32_t *)(row + table->is_static_at) != 0)
      return *(void *const *)(row + table->address_at);
  }
  return NULL;
}

static bool are_hooks(char *const *arguments)
{
  for (size_t i = 0; i < HOOKS; i++) {
    if (arguments[i] == NULL || strcmp(arguments[i], hook_names[i]) != 0)
      return false;
  }
  return true;
}

/* On the thread that has created the JVM, before any code of the application runs. Does nothing if the JVM
 * does not export the addresses of its arguments. */
static void hide_hook_names(void)
{
  struct table table;
  char ***arguments = NULL;
  int *count = NULL;
  if (find_table(&table)) {
    arguments = find_field(&table, "_jvm_args_array", "char**");
    count = find_field(&table, "_num_jvm_args", "int");
  }
  for (int at = 0; arguments != NULL && count != NULL && at + HOOKS <= *count; at++) {
    if (!are_hooks(*arguments + at))
      continue;
    /* The texts are not freed, because another thread may be reading the list. */
    memmove(*arguments + at, *arguments + at + HOOKS, (size_t)(*count - at - HOOKS) * sizeof **arguments);
    *count -= HOOKS;
    return;
  }
  log_debug("the JVM lists the names of its hooks among its arguments");
}

/* ---- creating the JVM ---- */

typedef jint(JNICALL *create_function)(JavaVM **vm, void **env, void *args);

/* NULL: *error says why. */
static create_function open_library(const struct jvm_home *home, struct jp_error *error)
{
  /* Never closed: a JVM cannot be unloaded. */
  void *library = dlopen(home->libjvm, RTLD_NOW | RTLD_GLOBAL);
  if (library == NULL) {
    jp_fail(error, JP_IO, "the JVM's library cannot be loaded: %s", dlerror());
    return NULL;
  }
  create_function create = (create_function)dlsym(library, "JNI_CreateJavaVM");
  if (create == NULL)
    jp_fail(error, JP_IO, "%s is no JVM: it has no JNI_CreateJavaVM", home->libjvm);
  return create;
}

static const char *find_reason(jint code)
{
  switch (code) {
  case JNI_EVERSION:
    return "it does not know this version of JNI";
  case JNI_ENOMEM:
    return "not enough memory";
  case JNI_EEXIST:
    return "there is one in this process already";
  default:
    return "see its message above";
  }
}

static enum jp_status explain_failure(jint code, struct jp_error *error)
{
  enum jp_status status = code == JNI_EINVAL ? JP_INVALID : JP_INTERNAL;
  struct buffer line;
  buffer_init(&line);
  pthread_mutex_lock(&hearing.lock);
  append_as_line(&line, buffer_text(&hearing.words));
  pthread_mutex_unlock(&hearing.lock);
  if (line.len == 0)
    buffer_append_text(&line, text_of(find_reason(code)));
  jp_fail(error, status, "the JVM cannot be started: %.*s", TEXT_ARGS(buffer_text(&line)));
  buffer_fini(&line);
  return status;
}

static void die_while_created(void)
{
  struct jp_error error;
  (void)explain_failure(JNI_ERR, &error);
  hearing.on_death(&error);
}

/* Inside JNI_CreateJavaVM the JVM may end the process: through its abort hook and _exit (too little memory,
 * an agent that does not load), or through exit(3): jvm_create_pass_on_words. */
static void JNICALL on_abort(void)
{
  if (atomic_load(&hearing.collecting))
    die_while_created();
}

bool jvm_create_pass_on_words(void)
{
  if (!atomic_load(&hearing.collecting))
    return false;
  end_hearing(true);
  return true;
}

enum jp_status jvm_create(const struct jvm_launch *launch, const struct jvm_create_ends *ends, JavaVM **vm,
                          JNIEnv **env, struct jp_error *error)
{
  struct options options = {0};
  create_function create = open_library(launch->home, error);
  if (create == NULL)
    return JP_IO;
  enum jp_status status = make_options(launch, ends->exits, &options, error);
  if (status != JP_OK)
    goto out;

  JavaVMInitArgs args = {.version = JNI_VERSION_10, .nOptions = (jint)options.count, .options = options.rows};
  buffer_init(&hearing.words);
  hearing.on_death = ends->died;
  /* After the library was opened, so that its own handlers run later. */
  if (atexit(ends->exits_natively) != 0) {
    status = jp_fail_memory(error, NULL);
    goto out;
  }
  atomic_store(&hearing.collecting, true);
  jint code = create(vm, (void **)env, &args);
  if (code == JNI_OK)
    hide_hook_names();
  else
    status = explain_failure(code, error);
  end_hearing(code == JNI_OK);
out:
  free(options.rows);
  for (size_t i = 0; i < sizeof options.owned / sizeof options.owned[0]; i++)
    free(options.owned[i]);
  return status;
}

/* "512k", "1m", "1024" (in units of `unit` bytes if no letter follows); 0: not a size. */
static size_t parse_size(const char *text, size_t unit)
{
  char *end;
  unsigned long long number = strtoull(text, &end, 10);
  switch (*end) {
  case 'k':
  case 'K':
    unit = 1024;
    break;
  case 'm':
  case 'M':
    unit = 1024ULL * 1024;
    break;
  case 'g':
  case 'G':
    unit = 1024ULL * 1024 * 1024;
    break;
  default:
    break;
  }
  size_t size;
  return __builtin_mul_overflow(number, unit, &size) ? 0 : size;
}

size_t jvm_main_stack_size(const struct jvm_launch *launch)
{
  static const struct {
    const char *prefix;
    size_t unit;
  } rows[] = {{"-Xss", 1}, {"-XX:ThreadStackSize=", 1024}};
  size_t size = DEFAULT_STACK;
  for (size_t i = 0; i < launch->option_count; i++) {
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
      size_t length = strlen(rows[row].prefix);
      if (strncmp(launch->options[i], rows[row].prefix, length) == 0)
        size = parse_size(launch->options[i] + length, rows[row].unit);
    }
  }
  if (size == 0)
    return DEFAULT_STACK;
  return size < SMALLEST_STACK ? SMALLEST_STACK : size;
}

/* jvm_locate over a tree of fake Java homes. */
#include "tests/unit/unit.h"

#include "jni/jvm.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

static void write_file(const char *path, const char *content, mode_t mode)
{
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(content, file);
  fclose(file);
  assert_int_equal(chmod(path, mode), 0);
}

static void make_folders(const char *home, const char *const *folders)
{
  char path[256];
  snprintf(path, sizeof path, "%s/%s", root, home);
  mkdir(path, 0755);
  for (; *folders != NULL; folders++) {
    snprintf(path, sizeof path, "%s/%s/%s", root, home, *folders);
    assert_int_equal(mkdir(path, 0755), 0);
  }
}

static void make_home(const char *home, const char *release)
{
  static const char *const folders[] = {"bin", "lib", "lib/server", NULL};
  make_folders(home, folders);
  char path[256];
  snprintf(path, sizeof path, "%s/%s/lib/server/libjvm.so", root, home);
  write_file(path, "", 0644);
  snprintf(path, sizeof path, "%s/%s/bin/java", root, home);
  write_file(path, "#!/bin/sh\n", 0755);
  snprintf(path, sizeof path, "%s/%s/release", root, home);
  if (release != NULL)
    write_file(path, release, 0644);
}

static int make_tree(void **state)
{
  (void)state;
  snprintf(root, sizeof root, "/tmp/jpeer-locate-XXXXXX");
  if (mkdtemp(root) == NULL)
    return -1;
  make_home("jdk21", "IMPLEMENTOR=\"X\"\nJAVA_VERSION=\"21.0.2\"\n");
  make_home("jdk8", "JAVA_VERSION=\"1.8.0_292\"\n");
  make_home("unsaid", NULL);
  static const char *const bare[] = {"bin", NULL};
  make_folders("bare", bare);
  char from[128];
  char to[128];
  snprintf(from, sizeof from, "%s/jdk21/bin/java", root);
  snprintf(to, sizeof to, "%s/bare/bin/java", root);
  return symlink(from, to);
}

static int remove_tree(void **state)
{
  (void)state;
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", root);
  return system(command); /* NOLINT(bugprone-command-processor): a path that this test made */
}

/* '@' is replaced by the root of the tree. */
static const char *resolve(const char *text, char out[256])
{
  if (text == NULL)
    return NULL;
  size_t n = 0;
  for (; *text != '\0'; text++) {
    if (*text == '@')
      n += (size_t)snprintf(out + n, 256 - n, "%s", root);
    else
      out[n++] = *text;
  }
  out[n] = '\0';
  return out;
}

static void set_variable(const char *name, const char *value)
{
  char resolved[256];
  if (value == NULL)
    unsetenv(name);
  else
    setenv(name, resolve(value, resolved), 1);
}

static const struct row {
  const char *requested;
  const char *java_home;
  const char *path;
  const char *found; /* the Java home; NULL: none */
  int feature;
  const char *said; /* if no JVM was found */
} rows[] = {
    /* --jvm is never replaced by another place */
    {"/nowhere", "@/jdk21", NULL, NULL, 0, "--jvm /nowhere (nothing there)"},
    {"@/bare", "@/jdk21", NULL, NULL, 0, "/bare (no lib/server/libjvm.so)"},
    {"@/jdk8", "@/jdk21", NULL, NULL, 0, "/jdk8 (Java 8)"},
    {"@/jdk8/lib/server/libjvm.so", "@/jdk21", NULL, NULL, 0, "(Java 8)"},
    {"", "@/jdk21", NULL, NULL, 0, "--jvm  (nothing there)"},
    {"@/jdk21", "@/unsaid", NULL, "@/jdk21", 21, NULL},
    {"@/jdk21/", "@/unsaid", NULL, "@/jdk21", 21, NULL},
    {"@/jdk21/lib/server/libjvm.so", NULL, NULL, "@/jdk21", 21, NULL},
    {"@/unsaid", NULL, NULL, "@/unsaid", 0, NULL},
    /* JAVA_HOME, then PATH with its links followed */
    {NULL, "@/jdk21", "@/unsaid/bin", "@/jdk21", 21, NULL},
    {NULL, "@/unsaid", "@/jdk21/bin", "@/unsaid", 0, NULL},
    {NULL, "@/bare", "@/bare:@/bare/bin:@/unsaid/bin", "@/jdk21", 21, NULL},
    {NULL, "@/jdk8", "/nowhere:@/jdk21/bin", "@/jdk21", 21, NULL},
    {NULL, "", "@/unsaid/bin", "@/unsaid", 0, NULL},
};

UNIT_TEST(each_place_is_found_in_order)
{
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    const struct row *row = &rows[i];
    char requested[256];
    char wanted[256];
    set_variable("JAVA_HOME", row->java_home);
    set_variable("PATH", row->path == NULL ? "/nowhere" : row->path);
    struct jvm_home home;
    struct jp_error error = {.status = JP_OK};
    enum jp_status status = jvm_locate(resolve(row->requested, requested), &home, &error);
    if (row->found == NULL) {
      assert_int_equal(status, JP_NOT_FOUND);
      if (strstr(error.text, row->said) == NULL)
        fail_msg("row %zu: %s", i, error.text);
      continue;
    }
    if (status != JP_OK)
      fail_msg("row %zu: %s", i, error.text);
    assert_string_equal(home.java_home, resolve(row->found, wanted));
    assert_int_equal(home.feature_version, row->feature);
    char library[sizeof wanted + 32];
    snprintf(library, sizeof library, "%s/lib/server/libjvm.so", wanted);
    assert_string_equal(home.libjvm, library);
  }
}

UNIT_MAIN_WITH(make_tree, remove_tree)

#include "base/buffer.h"
#include "jni/jvm.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OLDEST_FEATURE_VERSION = 17 };

static const char library_in_home[] = "lib/server/libjvm.so";

/* The folders of distributions, vendors and version managers; '~' is $HOME. The newest JVM in them is
 * used. */
static const char *const usual_folders[] = {
    "/usr/lib/jvm/*", "/usr/java/*", "/usr/local/openjdk-*", "/usr/local/lib/jvm/*",
    "/opt/java/*",    "/opt/jdk*",   "/opt/*jdk*",           "~/.sdkman/candidates/java/current",
    "~/.jdks/*",
};
enum { USUAL_FOLDERS = sizeof usual_folders / sizeof usual_folders[0] };

struct search {
  struct jvm_home *home;
  struct buffer searched; /* every place that was searched, and why it failed */
};

static void note_place(struct search *search, const char *label, const char *place, const char *fault)
{
  if (search->searched.len > 0)
    BUFFER_LITERAL(&search->searched, ", ");
  buffer_printf(&search->searched, "%s%s%s", label, place, fault);
}

static int read_feature_version(const char *java_home)
{
  char path[PATH_MAX];
  if ((size_t)snprintf(path, sizeof path, "%s/release", java_home) >= sizeof path)
    return 0;
  FILE *file = fopen(path, "re");
  if (file == NULL)
    return 0;
  static const char key[] = "JAVA_VERSION=\"";
  char line[4096];
  int feature = 0;
  while (feature == 0 && fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, key, sizeof key - 1) != 0)
      continue;
    /* "17.0.13" is 17, "1.8.0_292" is 8. */
    const char *version = line + sizeof key - 1;
    const char *dot = strchr(version, '.');
    feature = atoi(version);
    if (feature == 1 && dot != NULL)
      feature = atoi(dot + 1);
  }
  fclose(file);
  return feature;
}

static bool is_readable_file(const char *path)
{
  struct stat facts;
  return stat(path, &facts) == 0 && S_ISREG(facts.st_mode) && access(path, R_OK) == 0;
}

/* Removes the last `count` names from a path. */
static void cut_names(char *path, int count)
{
  for (; count > 0; count--) {
    char *slash = strrchr(path, '/');
    if (slash == NULL)
      return;
    *slash = '\0';
  }
}

/* Uses the library; its Java home is three folders up. */
static bool take_library(struct search *search, const char *label, const char *place, const char *library)
{
  struct jvm_home found;
  if (realpath(library, found.libjvm) == NULL) {
    note_place(search, label, place, " (nothing there)");
    return false;
  }
  memcpy(found.java_home, found.libjvm, sizeof found.java_home);
  cut_names(found.java_home, 3);
  found.feature_version = read_feature_version(found.java_home);
  if (found.feature_version != 0 && found.feature_version < OLDEST_FEATURE_VERSION) {
    char fault[64];
    snprintf(fault, sizeof fault, " (Java %d)", found.feature_version);
    note_place(search, label, place, fault);
    return false;
  }
  *search->home = found;
  return true;
}

static bool take_home(struct search *search, const char *label, const char *place)
{
  char library[PATH_MAX];
  int length = snprintf(library, sizeof library, "%s/%s", place, library_in_home);
  if ((size_t)length >= sizeof library || !is_readable_file(library)) {
    note_place(search, label, place, " (no lib/server/libjvm.so)");
    return false;
  }
  return take_library(search, label, place, library);
}

static bool take_requested(struct search *search, const char *requested)
{
  struct stat facts;
  if (stat(requested, &facts) == 0 && S_ISDIR(facts.st_mode))
    return take_home(search, "--jvm ", requested);
  return take_library(search, "--jvm ", requested, requested);
}

static bool take_java_home(struct search *search)
{
  const char *place = getenv("JAVA_HOME");
  if (place == NULL || place[0] == '\0') {
    note_place(search, "JAVA_HOME", "", " (not set)");
    return false;
  }
  return take_home(search, "JAVA_HOME ", place);
}

static bool find_on_path(char java[PATH_MAX])
{
  const char *path = getenv("PATH");
  while (path != NULL && path[0] != '\0') {
    size_t length = strcspn(path, ":");
    char candidate[PATH_MAX];
    int wanted = snprintf(candidate, sizeof candidate, "%.*s/java", (int)length, path);
    if ((size_t)wanted < sizeof candidate && is_readable_file(candidate) && access(candidate, X_OK) == 0)
      return realpath(candidate, java) != NULL;
    path += length + (path[length] == ':');
  }
  return false;
}

static bool take_path(struct search *search)
{
  char java[PATH_MAX];
  if (!find_on_path(java)) {
    note_place(search, "java on PATH", "", " (none)");
    return false;
  }
  cut_names(java, 2); /* HOME/bin/java */
  return take_home(search, "java on PATH, of ", java);
}

/* Sets *best to the newest Java that the pattern finds, if it is newer than *best. */
static void search_pattern(const char *pattern, struct jvm_home *best, bool *has_best)
{
  glob_t found;
  if (glob(pattern, 0, NULL, &found) != 0)
    return;
  for (size_t i = 0; i < found.gl_pathc; i++) {
    struct jvm_home candidate;
    struct search quiet = {.home = &candidate};
    if (take_home(&quiet, "", found.gl_pathv[i]) &&
        (!*has_best || candidate.feature_version > best->feature_version)) {
      *best = candidate;
      *has_best = true;
    }
    buffer_fini(&quiet.searched);
  }
  globfree(&found);
}

static bool take_usual(struct search *search)
{
  struct jvm_home best;
  bool has_best = false;
  for (size_t i = 0; i < USUAL_FOLDERS; i++) {
    const char *folder = usual_folders[i];
    const char *home = folder[0] == '~' ? getenv("HOME") : "";
    char pattern[PATH_MAX];
    if (home != NULL &&
        (size_t)snprintf(pattern, sizeof pattern, "%s%s", home, folder + (folder[0] == '~')) < sizeof pattern)
      search_pattern(pattern, &best, &has_best);
    note_place(search, "", folder, "");
  }
  if (has_best)
    *search->home = best;
  return has_best;
}

enum jp_status jvm_locate(const char *requested, struct jvm_home *home, struct jp_error *error)
{
  struct search search = {.home = home};
  buffer_init(&search.searched);
  bool found = requested != NULL ? take_requested(&search, requested)
                                 : take_java_home(&search) || take_path(&search) || take_usual(&search);
  enum jp_status status = JP_OK;
  if (!found)
    status = jp_fail(error, JP_NOT_FOUND, "no JVM found (Java %d or later); searched at: %.*s",
                     OLDEST_FEATURE_VERSION, TEXT_ARGS(buffer_text(&search.searched)));
  buffer_fini(&search.searched);
  return status;
}

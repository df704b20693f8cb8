#include "directory/curl_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static struct {
  pthread_once_t once;
  enum jp_status status;
  struct jp_error error;
  struct curl_library functions;
} loaded = {.once = PTHREAD_ONCE_INIT};

#define FUNCTION(name)                                                                                       \
  {                                                                                                          \
    "curl_" #name, offsetof(struct curl_library, name)                                                       \
  }

static void *open_library(void)
{
  /* Debian has curl with OpenSSL, and with GnuTLS, under two names. */
  static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
  char fault[256] = "";
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    void *handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle != NULL)
      return handle;
    if (i == 0)
      strncpy(fault, dlerror(), sizeof fault - 1);
  }
  loaded.status =
      jp_fail(&loaded.error, JP_NOT_FOUND,
              "the directory needs libcurl, which cannot be loaded (Debian: libcurl4): %s", fault);
  return NULL;
}

static void load(void)
{
  static const struct {
    const char *name;
    size_t offset;
  } functions[] = {FUNCTION(global_init),    FUNCTION(easy_init),           FUNCTION(easy_cleanup),
                   FUNCTION(easy_reset),     FUNCTION(easy_setopt),         FUNCTION(easy_getinfo),
                   FUNCTION(easy_strerror),  FUNCTION(slist_append),        FUNCTION(slist_free_all),
                   FUNCTION(multi_init),     FUNCTION(multi_cleanup),       FUNCTION(multi_add_handle),
                   FUNCTION(multi_perform),  FUNCTION(multi_remove_handle), FUNCTION(multi_poll),
                   FUNCTION(multi_info_read)};
  void *handle = open_library();
  if (handle == NULL)
    return;
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    void *symbol = dlsym(handle, functions[i].name);
    if (symbol == NULL) {
      loaded.status = jp_fail(&loaded.error, JP_NOT_FOUND,
                              "the directory needs libcurl 7.66 or later: %s is missing", functions[i].name);
      return;
    }
    memcpy((char *)&loaded.functions + functions[i].offset, &symbol, sizeof symbol);
  }
  int code = loaded.functions.global_init(CURL_INIT_ALL);
  if (code != CURL_CODE_OK)
    loaded.status = jp_fail(&loaded.error, JP_NOT_FOUND, "the directory needs libcurl, which fails: %s",
                            loaded.functions.easy_strerror(code));
}

enum jp_status curl_library_load(const struct curl_library **library, struct jp_error *error)
{
  pthread_once(&loaded.once, load);
  *library = &loaded.functions;
  if (loaded.status != JP_OK && error != NULL)
    *error = loaded.error;
  return loaded.status;
}

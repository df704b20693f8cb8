#include "cli/policy_options.h"

#include "classfile/jimage.h"
#include "policy/allow.h"
#include "policy/vocabulary.h"

#include <dlfcn.h>

const char *const policy_option_actions[] = {"ALLOW", "DENY", NULL};

enum jp_status policy_option_read_action(const struct option *option, const char *text, void *value,
                                         struct jp_error *error)
{
  static const int actions[] = {POLICY_ALLOW, POLICY_DENY};
  int index;
  enum jp_status status = option_read_word(option, text, &index, error);
  if (status == JP_OK)
    *(int *)value = actions[index];
  return status;
}

enum jp_status policy_option_read_channel(const struct option *option, const char *text, void *value,
                                          struct jp_error *error)
{
  char known[256];
  (void)option;
  if (policy_word_find(&policy_channel_words, text_of(text), value))
    return JP_OK;
  policy_words_list(&policy_channel_words, " or ", known, sizeof known);
  return jp_fail(error, JP_INVALID, "takes %s", known);
}

enum jp_status policy_option_check_allow(const char *patterns, const char *name, const struct jvm_home *home,
                                         struct jp_error *error)
{
  if (patterns == NULL)
    return JP_OK;
  struct policy_allow_check check;
  struct arena arena;
  arena_init(&arena);
  enum jp_status status = policy_allow_check_begin(&check, text_of(patterns), name, &arena, error);
  if (status == JP_OK && check.count > 0) {
    struct jimage *jimage;
    /* The library that reads the image needs the library of the JVM, and would load another JVM than --jvm
     * names. */
    (void)dlopen(home->libjvm, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
    status = jimage_open(home->java_home, &jimage, error);
    if (status == JP_OK) {
      jimage_visit_names(jimage, policy_allow_see_class, &check);
      jimage_close(jimage);
      status = policy_allow_check_end(&check, error);
    } else {
      jp_error_prefix(error,
                      "cannot find out whether %s matches classes of the JDK ('jdk:' before each "
                      "wildcard allows them)",
                      check.name);
    }
  }
  arena_fini(&arena);
  return status;
}

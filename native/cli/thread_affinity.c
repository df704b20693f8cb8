#include "cli/thread_affinity.h"

#include "base/text.h"

static const struct jvm_executor fx = {
    .name = TEXT("FX"), .class_name = TEXT("javafx.application.Platform"), .member = TEXT("runLater")};

/* Names between dots (JVMS 4.2.2). */
static bool is_qualified(struct text name)
{
  bool good = text_valid_utf8(name) == name.len;
  bool after_dot = true;
  for (size_t i = 0; good && i < name.len; i++) {
    char c = name.data[i];
    good = (unsigned char)c > ' ' && strchr("/;[]()<>=", c) == NULL && !(after_dot && c == '.');
    after_dot = c == '.';
  }
  return good && !after_dot;
}

/* Splits NAME=CLASS.MEMBER. */
static bool split_entry(const char *written, struct jvm_executor *executor)
{
  const char *equals = strchr(written, '=');
  const char *dot = strrchr(written, '.');
  if (equals == NULL || dot == NULL || dot < equals)
    return false;
  struct text text = text_of(written);
  size_t class_at = (size_t)(equals - written) + 1;
  size_t member_at = (size_t)(dot - written) + 1;
  *executor = (struct jvm_executor){.name = text_slice(text, 0, class_at - 1),
                                    .class_name = text_slice(text, class_at, member_at - 1),
                                    .member = text_slice(text, member_at, text.len)};
  return option_is_name(executor->name) && is_qualified(text_slice(text, class_at, text.len));
}

enum jp_status thread_affinity_read(const struct option *option, const char *text, void *value,
                                    struct jp_error *error)
{
  struct jvm_executor executor;
  return split_entry(text, &executor) ? option_read_list(option, text, value, error) : JP_INVALID;
}

static enum jp_status check_names(const struct jvm_executor *executors, size_t count, struct jp_error *error)
{
  for (size_t i = 0; i < count; i++) {
    for (size_t j = 0; j < i; j++) {
      if (text_equal(executors[i].name, executors[j].name))
        return jp_fail(error, JP_INVALID,
                       "--thread-affinity takes each name once (%.*s is that of --fx-thread): %.*s is given "
                       "twice",
                       TEXT_ARGS(fx.name), TEXT_ARGS(executors[i].name));
    }
  }
  return JP_OK;
}

enum jp_status thread_affinity_make(const struct option_list *list, bool has_fx, struct arena *arena,
                                    struct jvm_executor **executors, size_t *count, struct jp_error *error)
{
  size_t made = 0;
  *executors = arena_calloc(arena, list->count + 1, sizeof **executors);
  *count = 0;
  if (*executors == NULL)
    return jp_fail_memory(error, NULL);
  for (size_t i = 0; i < list->count; i++)
    made += split_entry(list->items[i], &(*executors)[made]);
  if (has_fx)
    (*executors)[made++] = fx;
  *count = made;
  return check_names(*executors, made, error);
}

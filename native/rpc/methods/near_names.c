#include "rpc/methods/near_names.h"

#include "rpc/methods/java_methods_names.h"
#include "rpc/suggest/suggest.h"

/* The receiver is the first parameter of an object's method. */
static struct text parameter_name(const struct java_method *method, size_t at)
{
  return method->has_receiver && at == 0 ? TEXT("instance")
                                         : method->parameters[at - method->has_receiver].name;
}

static size_t count_parameters(const struct java_method *method)
{
  return (size_t)method->parameter_count + method->has_receiver;
}

static bool is_given(struct json_value params, struct text name)
{
  struct json_cursor cursor = json_enter(params);
  struct text key;
  struct json_value value;
  while (json_next_member(&cursor, &key, &value)) {
    if (json_key_is(key, name))
      return true;
  }
  return false;
}

static bool is_parameter(const struct java_method *method, struct text key)
{
  for (size_t at = 0; at < count_parameters(method); at++) {
    if (json_key_is(key, parameter_name(method, at)))
      return true;
  }
  return false;
}

static void offer_keys(const struct java_method *method, struct json_value params, struct nearest *nearest)
{
  struct json_cursor cursor = json_enter(params);
  struct text key;
  struct json_value value;
  while (json_next_member(&cursor, &key, &value)) {
    if (!is_parameter(method, key))
      nearest_offer(nearest, key, nearest_distance(key, nearest->wanted, nearest->limit));
  }
}

struct text java_methods_near_param(const struct java_method *methods, size_t count, struct json_value params,
                                    struct arena *arena)
{
  for (size_t i = 0; i < count; i++) {
    for (size_t at = 0; at < count_parameters(&methods[i]); at++) {
      struct text name = parameter_name(&methods[i], at);
      struct nearest nearest;
      nearest_begin(&nearest, name, name);
      if (name.len > 1 && !is_given(params, name)) /* every letter is near to another one */
        offer_keys(&methods[i], params, &nearest);
      if (nearest.count > 0)
        return arena_printf(arena, " (\"%.*s\": did you mean \"%.*s\"?)", TEXT_ARGS(nearest.names[0]),
                            TEXT_ARGS(name));
    }
  }
  return TEXT("");
}

void java_methods_suggest_overloads(const struct java_method *methods, size_t count, struct text written,
                                    struct text suffix, struct arena *arena, struct outcome *outcome)
{
  struct text before = text_slice(written, 0, written.len - suffix.len);
  struct nearest nearest;
  struct buffer each;
  nearest_begin(&nearest, suffix, suffix);
  buffer_init(&each);
  for (size_t i = 0; i < count; i++) {
    buffer_clear(&each);
    java_method_suffix_write(methods[i].descriptor, &each);
    struct text name = each.failed ? TEXT_ABSENT : arena_text(arena, buffer_text(&each));
    if (name.data != NULL)
      nearest_offer(&nearest, name, nearest_distance(name, suffix, nearest.limit));
  }
  buffer_fini(&each);
  rpc_suggest(&nearest, before, TEXT(""), arena, outcome);
}

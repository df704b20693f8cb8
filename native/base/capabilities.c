#include "base/capabilities.h"

#include <stdbool.h>
#include <stddef.h>

const struct capability capabilities[CAPABILITIES] = {
    {CAPABILITY_OPTION, TEXT("array_value_max")},
    {CAPABILITY_OPTION, TEXT("elements")},
    {CAPABILITY_OPTION, TEXT("encoding")},
    {CAPABILITY_OPTION, TEXT("idempotent")},
    {CAPABILITY_OPTION, TEXT("keep")},
    {CAPABILITY_OPTION, TEXT("loader")},
    {CAPABILITY_OPTION, TEXT("longs")},
    {CAPABILITY_OPTION, TEXT("threadAffinity")},
    {CAPABILITY_OPTION, TEXT("throwables")},
    {CAPABILITY_OPTION, TEXT("timeout")},
    {CAPABILITY_OPTION, TEXT("types")},
    {CAPABILITY_OPTION, TEXT("within")},
    {CAPABILITY_CONTROL, TEXT("calls")},
    {CAPABILITY_CONTROL, TEXT("cancel")},
    {CAPABILITY_CONTROL, TEXT("pin_thread")},
    {CAPABILITY_CONTROL, TEXT("session")},
    {CAPABILITY_CONTROL, TEXT("share_session")},
    {CAPABILITY_CONTROL, TEXT("stats")},
    {CAPABILITY_CONTROL, TEXT("unpin_thread")},
    {CAPABILITY_CONTROL, TEXT("whoami")},
    {CAPABILITY_METHOD, TEXT("assemble")},
    {CAPABILITY_METHOD, TEXT("columns")},
    {CAPABILITY_METHOD, TEXT("describe")},
    {CAPABILITY_METHOD, TEXT("fetch")},
    {CAPABILITY_META, TEXT("list_names")},
    {CAPABILITY_CALLBACKS, TEXT("callbacks")},
    {CAPABILITY_CALLBACKS, TEXT("callbacks.arity")},
    {CAPABILITY_CALLBACKS, TEXT("callbacks.borrow")},
    {CAPABILITY_CALLBACKS, TEXT("callbacks.oneway")},
    {CAPABILITY_CALLBACKS, TEXT("callbacks.origin")},
    {CAPABILITY_CALLBACKS, TEXT("callbacks.overrides")},
    {CAPABILITY_CALLBACKS, TEXT("callbacks.process")},
};

/* How a peer refuses what it does not know. Callbacks are arguments: a peer ignores their unknown members. */
static const struct {
  enum capability_kind kind;
  struct text begin;
} refusals[] = {
    {CAPABILITY_OPTION, TEXT("Unknown option: ")},
    {CAPABILITY_CONTROL, TEXT("Invalid control method: ")},
    {CAPABILITY_METHOD, TEXT("Invalid method: jpeer.")},
    {CAPABILITY_META, TEXT("Invalid meta service: ")},
};

struct text capability_find_lacking(struct text message)
{
  for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
    if (!text_starts_with(message, refusals[i].begin))
      continue;
    const struct text name = text_slice(message, refusals[i].begin.len, message.len);
    for (size_t each = 0; each < CAPABILITIES; each++) {
      if (capabilities[each].kind == refusals[i].kind && text_equal(capabilities[each].name, name))
        return capabilities[each].name;
    }
  }
  return TEXT_ABSENT;
}

#include "rpc/compat.h"

/* Returns the element class of an array type. For a malformed type, returns the part that can be read. */
static struct text element_of(struct text type)
{
  struct text name = type;
  while (name.len > 0 && *name.data == '[')
    name = text_slice(name, 1, name.len);
  if (name.len < type.len && name.len > 0 && *name.data == 'L')
    name = text_slice(name, 1, name.len - (name.data[name.len - 1] == ';'));
  while (text_ends_with(name, TEXT("[]")))
    name = text_slice(name, 0, name.len - 2);
  return name;
}

bool rpc_compat_withholds(const struct operation *operation, struct text *class_name)
{
  const struct text prefix = TEXT("io.quasient.pal.");
  *class_name = element_of(operation->type);
  return class_name->len > prefix.len &&
         text_equal_ignore_case(text_slice(*class_name, 0, prefix.len), prefix);
}

void rpc_compat_reword(struct outcome *outcome)
{
  if (outcome->is_misfit) {
    outcome->failure = FAILURE_SERVER;
    outcome->throwable_type = TEXT("java.lang.IllegalArgumentException");
  }
  if (outcome->failure == FAILURE_DENIED)
    outcome->throwable_type = TEXT("io.quasient.pal.core.rpc.policy.RpcAccessDeniedException");
}

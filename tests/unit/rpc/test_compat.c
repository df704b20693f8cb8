#include "rpc/compat.h"

#include "tests/unit/cases.h"

static void check_type(const char *place, const char *type, const char *withheld)
{
  char *copy = unit_exact_copy(type, strlen(type));
  const struct operation operation = {.type = {copy, strlen(type)}};
  struct text class_name;
  if (!rpc_compat_withholds(&operation, &class_name))
    class_name = TEXT("");
  unit_assert_text(class_name, text_of(withheld), place, __LINE__);
  test_free(copy);
}

UNIT_TEST(names_below_the_package_are_withheld)
{
  unit_cases(WITHHELD, check_type);
  check_type("nothing", "", "");
  const struct operation without = {.kind = OP_CONTROL};
  struct text nothing;
  assert_false(rpc_compat_withholds(&without, &nothing));
}

UNIT_TEST(denials_and_misfits_get_a_throwable)
{
  struct outcome denied = {.kind = OUTCOME_ERROR, .failure = FAILURE_DENIED};
  struct outcome misfit = {.kind = OUTCOME_ERROR, .failure = FAILURE_INVALID_PARAMS, .is_misfit = true};
  struct outcome other = {.kind = OUTCOME_ERROR, .failure = FAILURE_INVALID_PARAMS};
  rpc_compat_reword(&denied);
  assert_int_equal(denied.failure, FAILURE_DENIED);
  assert_text(denied.throwable_type, "io.quasient.pal.core.rpc.policy.RpcAccessDeniedException");
  rpc_compat_reword(&misfit);
  assert_int_equal(misfit.failure, FAILURE_SERVER);
  assert_text(misfit.throwable_type, "java.lang.IllegalArgumentException");
  rpc_compat_reword(&other);
  assert_int_equal(other.failure, FAILURE_INVALID_PARAMS);
  assert_null(other.throwable_type.data);
}

UNIT_MAIN

#include "rpc/compat.h"

#include "tests/unit/unit.h"

UNIT_TEST(names_below_the_package_are_withheld)
{
  static const struct {
    const char *type;
    const char *class_name; /* NULL: it is not withheld */
  } rows[] = {
      {"io.quasient.pal.Peer", "io.quasient.pal.Peer"},
      {"io.quasient.pal.core.Peer$Inner", "io.quasient.pal.core.Peer$Inner"},
      {"IO.Quasient.Pal.core.Peer", "IO.Quasient.Pal.core.Peer"},
      {"io.quasient.pal.Peer[][]", "io.quasient.pal.Peer"},
      {"[[Lio.quasient.pal.Peer;", "io.quasient.pal.Peer"},
      {"io.quasient.pal.a:b", "io.quasient.pal.a:b"},
      {"[Lio.quasient.pal.Peer", "io.quasient.pal.Peer"},
      {"io.quasient.pal.", NULL},
      {"io.quasient.pal", NULL},
      {"io.quasient.palace.Peer", NULL},
      {"com.example.io.quasient.pal.Peer", NULL},
      {"Lio.quasient.pal.Peer;", NULL},
      {"[", NULL},
      {"[I", NULL},
      {"[L", NULL},
      {"", NULL},
  };
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    char *copy = unit_exact_copy(rows[i].type, strlen(rows[i].type));
    const struct operation operation = {.type = {copy, strlen(rows[i].type)}};
    struct text class_name;
    assert_int_equal(rpc_compat_withholds(&operation, &class_name), rows[i].class_name != NULL);
    if (rows[i].class_name != NULL)
      assert_true(text_equal(class_name, text_of(rows[i].class_name)));
    test_free(copy);
  }
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

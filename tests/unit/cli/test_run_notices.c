#include "cli/run_notices.h"

#include "tests/unit/unit.h"

UNIT_TEST(test_near_variables)
{
  static const struct {
    const char *name;
    const char *near; /* NULL: none */
  } cases[] = {
      {"JPEER_JSONRPC", "JPEER_JSON_RPC"},
      {"JPEER_SESION_TTL", "JPEER_SESSION_TTL"},
      {"JPEER_NAMES", "JPEER_NAME"},
      {"JPEER_COLOUR_OF_THE_LOG", NULL},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const char *near = run_notices_near_variable(text_of(cases[i].name));
    if (cases[i].near == NULL)
      assert_null(near);
    else
      assert_string_equal(near, cases[i].near);
  }
}

UNIT_MAIN

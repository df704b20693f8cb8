/* Names of parameters that generators cannot take over. */
#include "rpc/methods/parameter_names.h"
#include "tests/unit/unit.h"

enum { PARAMETERS_MAX = 3 };

UNIT_TEST(names_are_judged)
{
  static const struct {
    const char *names[PARAMETERS_MAX];
    bool has_receiver;
    bool wanted;
  } cases[] = {
      {{NULL}, false, true},
      {{NULL}, true, true},
      {{"fromIndex", "to_index", "a1"}, true, true},
      {{"type"}, true, true},
      {{"in"}, false, false},
      {{"and"}, false, false},
      {{"yield"}, false, false},
      {{"a", "function"}, false, false},
      {{"None"}, false, false},
      {{"self"}, false, false},
      {{"instance_"}, true, false},
      {{"in_stance"}, true, false},
      {{"in_stance"}, false, true},
      {{"aB", "a_b"}, false, false},
      {{"_a"}, false, false},
      {{"1a"}, false, false},
      {{"a$"}, false, false},
      {{"\xC3\xA4"}, false, false},
      {{""}, false, false},
      {{"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggg"}, false, true},
      {{"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffggggg"}, false, false},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct java_parameter parameters[PARAMETERS_MAX];
    struct java_method method = {.parameters = parameters, .has_receiver = cases[i].has_receiver};
    while (method.parameter_count < PARAMETERS_MAX && cases[i].names[method.parameter_count] != NULL) {
      parameters[method.parameter_count].name = text_of(cases[i].names[method.parameter_count]);
      method.parameter_count++;
    }
    if (parameter_names_are_identifiers(&method) != cases[i].wanted)
      fail_msg("case %zu", i);
  }
}

UNIT_MAIN

/* The reader against jansson: the input is the text. See tests/unit/json/oracle.h for the allowed differences. */
#include "tests/unit/json/oracle.h"

#include "tests/fuzz/fuzz.h"

FUZZ_TARGET(input)
{
  require(oracle_compare(input) != ORACLE_DIFFER);
}

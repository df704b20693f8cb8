/* The reader against jansson: the input is the text. See tests/unit/json/oracle.h for what may differ. */
#include "tests/unit/json/oracle.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  const char *why = "";
  if (oracle_compare((struct text){(const char *)data, size}, &why) == ORACLE_DIFFER) {
    fprintf(stderr, "the reader and jansson differ: %s\n", why);
    abort();
  }
  return 0;
}

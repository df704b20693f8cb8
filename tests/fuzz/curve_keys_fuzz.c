/* Any bytes as the file of a pair of CURVE keys: it has two valid keys, or the error names the file and no part of the
 * secret key. */
#include "base/curve_keys.h"

#include "tests/fuzz/memory_file.h"

#include <sys/stat.h>

enum { SHOWN = 12 }; /* characters of a key that no error has by chance */

/* No error shows a key. */
static void check_error(struct text input, const char *path, const struct jp_error *error)
{
  require(error->status == JP_INVALID && strstr(error->text, path) != NULL);
  const char *mark = input.len == 0 ? NULL : memmem(input.data, input.len, "secret-key = \"", 14);
  size_t left = mark == NULL ? 0 : input.len - (size_t)(mark + 14 - input.data);
  if (left >= CURVE_KEY_LENGTH && curve_key_is_valid((struct text){mark + 14, CURVE_KEY_LENGTH}))
    require(memmem(error->text, strlen(error->text), mark + 14, SHOWN) == NULL);
}

FUZZ_TARGET(input)
{
  char path[FUZZ_PATH_SIZE];
  struct curve_keys keys;
  struct jp_error error = {0};
  int file = open_copy(input, path);
  require(fchmod(file, 0600) == 0);
  if (curve_keys_read(path, &keys, &error) == JP_OK)
    require(curve_key_is_valid(text_of(keys.public_key)) && curve_key_is_valid(text_of(keys.secret_key)));
  else
    check_error(input, path, &error);
  close(file);
}

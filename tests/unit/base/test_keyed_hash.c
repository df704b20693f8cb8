#include "base/keyed_hash.h"
#include "tests/unit/unit.h"

static void hash_of(struct keyed_hash *hash, const char *bytes, uint8_t out[KEYED_HASH_BYTES])
{
  assert_int_equal(keyed_hash_compute(hash, bytes, strlen(bytes), out), JP_OK);
}

UNIT_TEST(a_key_gives_the_same_bytes_the_same_hash)
{
  struct keyed_hash *hash;
  uint8_t first[KEYED_HASH_BYTES];
  uint8_t again[KEYED_HASH_BYTES];
  uint8_t other[KEYED_HASH_BYTES];
  assert_int_equal(keyed_hash_create(&hash), JP_OK);
  hash_of(hash, "one", first);
  hash_of(hash, "two", other);
  hash_of(hash, "one", again);
  assert_memory_equal(first, again, KEYED_HASH_BYTES);
  assert_memory_not_equal(first, other, KEYED_HASH_BYTES);
  hash_of(hash, "", other);
  assert_memory_not_equal(first, other, KEYED_HASH_BYTES);
  keyed_hash_destroy(hash);
}

UNIT_TEST(two_keys_give_different_hashes)
{
  struct keyed_hash *hashes[2];
  uint8_t results[2][KEYED_HASH_BYTES];
  for (int i = 0; i < 2; i++) {
    assert_int_equal(keyed_hash_create(&hashes[i]), JP_OK);
    hash_of(hashes[i], "one", results[i]);
  }
  assert_memory_not_equal(results[0], results[1], KEYED_HASH_BYTES);
  for (int i = 0; i < 2; i++)
    keyed_hash_destroy(hashes[i]);
  keyed_hash_destroy(NULL);
}

UNIT_MAIN

#include "rpc/meta/document_cache.h"

#include "tests/unit/unit.h"

static bool holds_document(struct document_cache *cache, const char *key)
{
  struct kept_document *found = document_cache_find(cache, text_of(key));
  kept_document_drop(found);
  return found != NULL;
}

UNIT_TEST(test_find_what_was_stored)
{
  struct document_cache *cache = document_cache_create();
  assert_false(holds_document(cache, ""));
  document_cache_store(cache, TEXT("a\0key"), TEXT("answer"));
  document_cache_store(cache, TEXT(""), TEXT(""));
  assert_false(holds_document(cache, "a"));
  struct kept_document *found = document_cache_find(cache, TEXT("a\0key"));
  assert_text(kept_document_text(found), "answer");
  kept_document_drop(found);
  assert_true(holds_document(cache, ""));
  document_cache_destroy(cache);
}

UNIT_TEST(test_the_least_recently_used_is_dropped)
{
  struct document_cache *cache = document_cache_create();
  document_cache_store(cache, TEXT("1"), TEXT("one"));
  document_cache_store(cache, TEXT("2"), TEXT("two"));
  assert_true(holds_document(cache, "1"));
  document_cache_store(cache, TEXT("3"), TEXT("three"));
  assert_true(holds_document(cache, "1"));
  assert_false(holds_document(cache, "2"));
  assert_true(holds_document(cache, "3"));
  document_cache_destroy(cache);
}

/* An answer that is being read outlives its place in the cache, and the cache. */
UNIT_TEST(test_in_use)
{
  struct document_cache *cache = document_cache_create();
  document_cache_store(cache, TEXT("1"), TEXT("one"));
  struct kept_document *found = document_cache_find(cache, TEXT("1"));
  document_cache_store(cache, TEXT("2"), TEXT("two"));
  document_cache_store(cache, TEXT("3"), TEXT("three"));
  assert_false(holds_document(cache, "1"));
  document_cache_destroy(cache);
  assert_text(kept_document_text(found), "one");
  kept_document_drop(found);
  kept_document_drop(NULL);
}

/* A client chooses the content of a key. */
UNIT_TEST(test_a_long_key_is_not_kept)
{
  struct document_cache *cache = document_cache_create();
  char *key = test_calloc(1, DOCUMENT_CACHE_KEY_MAX + 1);
  const struct text longest = {key, DOCUMENT_CACHE_KEY_MAX};
  const struct text too_long = {key, DOCUMENT_CACHE_KEY_MAX + 1};
  document_cache_store(cache, longest, TEXT("answer"));
  document_cache_store(cache, too_long, TEXT("answer"));
  struct kept_document *found = document_cache_find(cache, longest);
  assert_non_null(found);
  assert_null(document_cache_find(cache, too_long));
  kept_document_drop(found);
  document_cache_destroy(cache);
  test_free(key);
}

UNIT_MAIN

#include "base/keyed_hash.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_BYTES = 32, DIGEST_BYTES = 32 };

struct keyed_hash {
  pthread_mutex_t lock;
  EVP_MAC_CTX *mac; /* holds the key; each hash begins with a copy of this state */
};

static EVP_MAC_CTX *make_mac(void)
{
  uint8_t key[KEY_BYTES];
  char digest[] = "SHA256";
  const OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                               OSSL_PARAM_construct_end()};
  EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
  EVP_MAC_CTX *mac = hmac == NULL ? NULL : EVP_MAC_CTX_new(hmac);
  EVP_MAC_free(hmac);
  if (mac != NULL && RAND_bytes(key, sizeof key) == 1 && EVP_MAC_init(mac, key, sizeof key, params) == 1)
    return mac;
  EVP_MAC_CTX_free(mac);
  return NULL;
}

enum jp_status keyed_hash_create(struct keyed_hash **hash)
{
  struct keyed_hash *made = calloc(1, sizeof *made);
  if (made == NULL)
    return JP_NO_MEMORY;
  made->mac = make_mac();
  if (made->mac == NULL || pthread_mutex_init(&made->lock, NULL) != 0) {
    EVP_MAC_CTX_free(made->mac);
    free(made);
    return JP_INTERNAL;
  }
  *hash = made;
  return JP_OK;
}

void keyed_hash_destroy(struct keyed_hash *hash)
{
  if (hash == NULL)
    return;
  EVP_MAC_CTX_free(hash->mac);
  pthread_mutex_destroy(&hash->lock);
  free(hash);
}

enum jp_status keyed_hash_compute(struct keyed_hash *hash, const void *bytes, size_t length,
                                  uint8_t out[KEYED_HASH_BYTES])
{
  uint8_t digest[DIGEST_BYTES];
  size_t written = 0;
  pthread_mutex_lock(&hash->lock);
  bool good = EVP_MAC_init(hash->mac, NULL, 0, NULL) == 1 && EVP_MAC_update(hash->mac, bytes, length) == 1 &&
              EVP_MAC_final(hash->mac, digest, &written, sizeof digest) == 1;
  pthread_mutex_unlock(&hash->lock);
  if (!good || written != sizeof digest)
    return JP_INTERNAL;
  memcpy(out, digest, KEYED_HASH_BYTES);
  return JP_OK;
}

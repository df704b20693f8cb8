#include "net/zeromq/zeromq_keys.h"

#include <errno.h>
#include <string.h>
#include <zmq.h>

static enum jp_status check_libzmq(struct jp_error *error)
{
  return zmq_has("curve") == 1 ? JP_OK : jp_fail(error, JP_INVALID, "this libzmq was built without CURVE");
}

enum jp_status zeromq_keys_make(struct curve_keys *keys, struct jp_error *error)
{
  enum jp_status status = check_libzmq(error);
  if (status == JP_OK && zmq_curve_keypair(keys->public_key, keys->secret_key) != 0)
    status = jp_fail(error, JP_INTERNAL, "libzmq has made no keys: %s", zmq_strerror(errno));
  return status;
}

enum jp_status zeromq_keys_read(const char *path, struct curve_keys *keys, struct jp_error *error)
{
  char derived[CURVE_KEY_SIZE];
  enum jp_status status = check_libzmq(error);
  if (status == JP_OK)
    status = curve_keys_read(path, keys, error);
  if (status != JP_OK)
    return status;
  if (zmq_curve_public(derived, keys->secret_key) == 0 && strcmp(derived, keys->public_key) == 0)
    return JP_OK;
  explicit_bzero(keys, sizeof *keys);
  return jp_fail(error, JP_INVALID, "%s: the public key is not the one of the secret key", path);
}

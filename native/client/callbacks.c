/* Objects of the caller's that Java can call. No peer offers them, so that none can be made:
 * what is asked of one never happens. */
#include "client/messages/client_error.h"

#include "jpeer/client.h"

enum jp_client_status jp_callback_create(struct jp_client *client, const struct jp_callback_config *config,
                                         struct jp_callback **callback, struct jp_client_error *error)
{
  (void)client;
  (void)config;
  *callback = NULL;
  return client_fail(error, JP_CLIENT_UNSUPPORTED, "the peer has no callbacks");
}

void jp_callback_release(struct jp_callback *callback)
{
  (void)callback;
}

const char *jp_callback_interface(const struct jp_callback_call *call)
{
  (void)call;
  return NULL;
}

const char *jp_callback_method(const struct jp_callback_call *call)
{
  (void)call;
  return NULL;
}

size_t jp_callback_argument_count(const struct jp_callback_call *call)
{
  (void)call;
  return 0;
}

const struct jp_answer *jp_callback_argument_at(const struct jp_callback_call *call, size_t index)
{
  (void)call;
  (void)index;
  return NULL;
}

const char *jp_callback_id(const struct jp_callback_call *call)
{
  (void)call;
  return NULL;
}

enum jp_client_status jp_callback_return(struct jp_callback_call *call, const struct jp_argument *value)
{
  (void)call;
  (void)value;
  return JP_CLIENT_UNSUPPORTED;
}

enum jp_client_status jp_callback_throw(struct jp_callback_call *call, const char *throwable_type,
                                        const char *message)
{
  (void)call;
  (void)throwable_type;
  (void)message;
  return JP_CLIENT_UNSUPPORTED;
}

/* The binary messages as a codec: its functions, and its state for each worker. */
#include "rpc/colfer/codec_state.h"

#include <stdlib.h>

extern const struct rpc_codec rpc_codec_colfer;

static void *create_worker(void)
{
  struct rpc_colfer_worker *own = calloc(1, sizeof *own);
  if (own == NULL)
    return NULL;
  buffer_init(&own->scratch);
  rpc_colfer_ids_init(&own->ids);
  return own;
}

static void destroy_worker(void *state)
{
  struct rpc_colfer_worker *own = state;
  buffer_fini(&own->scratch);
  free(own->known);
  free(own);
}

/* Hexadecimal digits of an id that count. */
enum { COUNTING = 12 };

void rpc_colfer_ids_init(struct rpc_colfer_ids *ids)
{
  struct uuid random;
  uuid_random(&random);
  uuid_format(&random, ids->text);
  memset(ids->text + UUID_TEXT_LENGTH - COUNTING, '0', COUNTING);
}

static char next_digit(char digit)
{
  if (digit == '9')
    return 'a';
  return digit == 'f' ? '0' : (char)(digit + 1);
}

struct text rpc_colfer_ids_next(struct rpc_colfer_ids *ids)
{
  char *digit = ids->text + UUID_TEXT_LENGTH - 1;
  const char *first = ids->text + UUID_TEXT_LENGTH - COUNTING;
  while ((*digit = next_digit(*digit)) == '0' && digit > first)
    digit--;
  return (struct text){ids->text, UUID_TEXT_LENGTH};
}

struct rpc_colfer_rules rpc_colfer_rules(const struct rpc_peer *peer)
{
  return (struct rpc_colfer_rules){.json = {.max_depth = peer->config.limits.max_depth},
                                   .digits_max = peer->config.limits.java.number_digits_max,
                                   .values_max = peer->config.limits.values_max,
                                   .compat_pal = peer->config.compat_pal};
}

/* A message begins with the index of its first field, or with its end. An empty one is answered in this form, too: a
 * client of JSON-RPC never sends it. */
static bool recognizes(struct text message)
{
  enum { LAST_FIELD = 8, END = 0x7f };
  return message.len == 0 || (unsigned char)message.data[0] <= LAST_FIELD || message.data[0] == END;
}

const struct rpc_codec rpc_codec_colfer = {.name = "binary",
                                           .worker_create = create_worker,
                                           .worker_destroy = destroy_worker,
                                           .recognizes = recognizes,
                                           .serve = rpc_colfer_serve,
                                           .serve_without_worker = rpc_colfer_serve_without_worker,
                                           .lane = rpc_colfer_lane,
                                           .refuse = rpc_colfer_refuse,
                                           .reject = rpc_colfer_reject};

#include "lent_worker.h"

#include "tests/unit/unit.h"

static void lend(void *argument, struct rpc_worker *worker)
{
  struct lent_worker *lent = argument;
  lent->worker = worker;
  pthread_barrier_wait(&lent->ready);
  pthread_barrier_wait(&lent->done);
  if (lent->ends != NULL)
    rpc_peer_destroy(lent->ends);
}

void lent_worker_take(struct lent_worker *lent, const struct rpc_service *service)
{
  struct jp_error error;
  pthread_barrier_init(&lent->ready, NULL, 2);
  pthread_barrier_init(&lent->done, NULL, 2);
  assert_int_equal(service->spawn(service->context, "member", lend, lent, &error), JP_OK);
  pthread_barrier_wait(&lent->ready);
}

void lent_worker_return(struct lent_worker *lent)
{
  pthread_barrier_wait(&lent->done);
}

void lent_worker_fini(struct lent_worker *lent)
{
  pthread_barrier_destroy(&lent->ready);
  pthread_barrier_destroy(&lent->done);
}

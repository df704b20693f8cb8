/* What is known by the calling thread alone. */
#include "rpc/callbacks/callbacks_state.h"

static _Thread_local struct callback_thread *thread_now;
static _Thread_local struct rpc_worker *worker_now;

struct callback_thread *callback_thread_now(void)
{
  return thread_now;
}

struct callback_thread *callback_thread_set(struct callback_thread *thread)
{
  struct callback_thread *before = thread_now;
  thread_now = thread;
  return before;
}

struct rpc_worker *callback_thread_worker(void)
{
  return worker_now;
}

void callback_thread_set_worker(struct rpc_worker *worker)
{
  worker_now = worker;
}

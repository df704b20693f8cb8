/*
 * Messages of a client look as though they ran in their order. Answers are read by the threads that have
 * called, while other threads serve what came behind them. A delete_object among that takes away refs, which
 * an answer may name. So it waits until the answers that came before it were read.
 *
 * Who waits for whom: the thread that serves a delete_object waits for threads that have an answer in hand.
 * These serve what was nested in their calls before it, and convert it. Both may run Java, which may call the
 * client. The thread that waits holds no lock of ours, and its connection is read as in any call.
 *
 * - A thread never waits for itself: an outer call of its own may have an answer already, which it reads when
 *   the nested request has come to its end.
 * - Two threads do not wait for each other, each with a nested delete_object before its own answer: a nested
 *   request waits for answers that came before it alone, and one of the two came first. A request that is not
 *   nested is served by a thread for whose answers nobody waits.
 * - What is left is Java that waits for Java, as a conversion does for a monitor that the waiting thread has;
 *   threads of two connections, whose answers have no common order; and a client that answers an inner call
 *   only after the delete_object. So an answer is waited for at most WAITED_MAX_MS after it came, whatever
 *   number of delete_object come behind it. Its ref may be gone then.
 */
#include "base/clock.h"
#include "rpc/callbacks/callbacks_state.h"

enum { WAITED_MAX_MS = 2000 };

/* Under the lock: until when the answers up to this number are waited for; 0: they were read. */
static int64_t find_deadline(const struct rpc_callbacks *callbacks, uint64_t answers,
                             const struct callback_thread *own)
{
  int64_t last_ms = 0;
  for (const struct rpc_callback_call *call = callbacks->calls; call != NULL; call = call->next) {
    bool is_awaited = call->has_answer && call->answer_number <= answers && call->thread != own;
    if (is_awaited && call->answered_ms + WAITED_MAX_MS > last_ms)
      last_ms = call->answered_ms + WAITED_MAX_MS;
  }
  return last_ms;
}

/* Under the lock, which is open meanwhile. */
static void wait_until(struct rpc_callbacks *callbacks, int64_t deadline_ms)
{
  const struct timespec deadline = {.tv_sec = deadline_ms / 1000, .tv_nsec = deadline_ms % 1000 * 1000000};
  callbacks->waiting++;
  pthread_cond_timedwait(&callbacks->was_read, &callbacks->lock, &deadline);
  callbacks->waiting--;
}

void rpc_callbacks_await_answers(struct rpc_callbacks *callbacks)
{
  const struct callback_thread *own = callback_thread_now();
  int64_t deadline_ms;
  pthread_mutex_lock(&callbacks->lock);
  uint64_t answers = own != NULL && own->served != NULL ? own->served->answers : callbacks->answers;
  while ((deadline_ms = find_deadline(callbacks, answers, own)) > clock_now_ms())
    wait_until(callbacks, deadline_ms);
  pthread_mutex_unlock(&callbacks->lock);
}

#include "zeromq_fixture.h"

enum { LATE_TURNS = 2000 };

static void *take_late_turns(void *argument)
{
  struct zeromq_identity *identity = argument;
  struct crew_member member = {0};
  for (int i = 0; i < LATE_TURNS; i++)
    identity->source.turn(&identity->source, &member);
  return NULL;
}

/* TSan is what can fail here: a turn of an identity that has nothing any more looks at it before the lock. */
ZEROMQ_TEST(a_late_turn_may_meet_an_identity_that_is_used_again, open_fixture)
{
  pthread_mutex_lock(&f->zeromq->lock);
  struct zeromq_identity *identity = zeromq_identity_get(f->zeromq, "first", 5);
  zeromq_identity_release(identity);
  pthread_mutex_unlock(&f->zeromq->lock);

  pthread_t late;
  assert_int_equal(pthread_create(&late, NULL, take_late_turns, identity), 0);
  for (int i = 0; i < LATE_TURNS; i++) {
    pthread_mutex_lock(&f->zeromq->lock);
    assert_ptr_equal(zeromq_identity_get(f->zeromq, &i, sizeof i), identity);
    zeromq_identity_release(identity);
    pthread_mutex_unlock(&f->zeromq->lock);
  }
  pthread_join(late, NULL);
}

UNIT_MAIN

#include "client/client_members.h"

#include "tests/unit/unit.h"

#include <sys/wait.h>
#include <unistd.h>

enum { PEERS = 4 };

/* Four peers that the test may choose among. */
static void fill_candidates(struct member_candidate candidates[PEERS])
{
  static const char *const urls[PEERS] = {"ws://a:1", "ws://b:1", "ws://c:1", "ws://d:1"};
  static const char *const uuids[PEERS] = {"A", "B", "C", "D"};
  for (size_t i = 0; i < PEERS; i++)
    candidates[i] = (struct member_candidate){text_of(uuids[i]), text_of(urls[i]), false};
}

static struct member_session *enter_session(void)
{
  struct uuid session;
  uuid_random(&session);
  struct member_session *entered = member_session_enter(&session, TEXT("dir://a:1/service/math"));
  assert_non_null(entered);
  return entered;
}

static size_t take_place(struct member_place *place, struct member_session *session,
                         struct member_candidate *candidates)
{
  size_t index;
  assert_int_equal(member_place_choose(place, session, candidates, PEERS, &index), MEMBER_CHOSEN);
  assert_true(candidates[index].was_tried);
  assert_true(text_equal(member_place_url(place), candidates[index].url));
  assert_true(text_equal(member_place_uuid(place), candidates[index].uuid));
  return index;
}

UNIT_TEST(test_connections_are_spread_over_the_peers)
{
  enum { CONNECTIONS = 64, FEWEST = 12, MOST = 20 };
  struct member_session *sessions[CONNECTIONS];
  struct member_place places[CONNECTIONS];
  size_t counts[PEERS] = {0};
  for (size_t i = 0; i < CONNECTIONS; i++) {
    struct member_candidate candidates[PEERS];
    fill_candidates(candidates);
    sessions[i] = enter_session();
    counts[take_place(&places[i], sessions[i], candidates)]++;
    member_place_confirm(&places[i]);
  }
  for (size_t i = 0; i < PEERS; i++)
    assert_in_range(counts[i], FEWEST, MOST);
  for (size_t i = 0; i < CONNECTIONS; i++) {
    member_place_leave(&places[i], MEMBER_LEFT);
    member_session_leave(sessions[i]);
  }
}

UNIT_TEST(test_a_peer_that_has_failed_is_tried_last)
{
  enum { ROUNDS = 50 };
  struct member_session *session = enter_session();
  struct member_place place = {0};
  struct member_candidate candidates[PEERS];
  size_t index;
  fill_candidates(candidates);
  const size_t failed = take_place(&place, session, candidates);
  member_place_leave(&place, MEMBER_FAILED);
  for (int i = 0; i < ROUNDS; i++) {
    fill_candidates(candidates);
    for (size_t tried = 0; tried < PEERS; tried++) {
      assert_int_equal(take_place(&place, session, candidates) == failed, tried == PEERS - 1);
      member_place_leave(&place, MEMBER_LEFT);
    }
    assert_int_equal(member_place_choose(&place, session, candidates, PEERS, &index), MEMBER_NONE_LEFT);
  }
  fill_candidates(candidates);
  for (size_t i = 0; i < PEERS; i++)
    candidates[i].was_tried = i != failed;
  take_place(&place, session, candidates);
  member_place_confirm(&place); /* it serves again */
  member_place_leave(&place, MEMBER_LEFT);
  size_t chosen = 0;
  for (int i = 0; i < ROUNDS; i++) {
    fill_candidates(candidates);
    chosen += take_place(&place, session, candidates) == failed;
    member_place_leave(&place, MEMBER_LEFT);
  }
  assert_true(chosen > 0);
  member_session_leave(session);
}

UNIT_TEST(test_clients_of_a_session_are_at_one_peer)
{
  enum { ROUNDS = 50 };
  for (int i = 0; i < ROUNDS; i++) {
    struct member_session *session = enter_session();
    struct member_place first = {0};
    struct member_place second = {0};
    struct member_place third = {0};
    struct member_candidate candidates[PEERS];
    assert_false(member_place_take_shared(&first, session)); /* no client is connected */
    fill_candidates(candidates);
    const size_t home = take_place(&first, session, candidates);
    assert_true(member_place_take_shared(&second, session));
    assert_true(text_equal(member_place_url(&second), candidates[home].url));
    /* the peer ends: the first client to notice moves the session, and the others follow it */
    member_place_leave(&first, MEMBER_LEFT);
    fill_candidates(candidates);
    assert_int_equal(take_place(&first, session, candidates), home);
    member_place_leave(&first, MEMBER_FAILED);
    const size_t moved = take_place(&first, session, candidates);
    assert_int_not_equal(moved, home);
    member_place_leave(&second, MEMBER_LEFT);
    fill_candidates(candidates);
    assert_int_equal(take_place(&second, session, candidates), moved);
    assert_true(member_place_take_shared(&third, session));
    assert_true(text_equal(member_place_uuid(&third), candidates[moved].uuid));
    member_place_leave(&first, MEMBER_LEFT);
    member_place_leave(&second, MEMBER_LEFT);
    member_place_leave(&third, MEMBER_LEFT);
    assert_false(member_place_take_shared(&third, session));
    member_session_leave(session);
  }
}

UNIT_TEST(test_a_child_of_fork_begins_with_no_connections)
{
  struct uuid uuid;
  struct member_candidate candidates[PEERS];
  struct member_place place = {0};
  uuid_random(&uuid);
  struct member_session *session = member_session_enter(&uuid, TEXT("dir://a:1/calc"));
  fill_candidates(candidates);
  take_place(&place, session, candidates);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    struct member_place own;
    struct member_session *of_child = member_session_enter(&uuid, TEXT("dir://a:1/calc"));
    _exit(of_child == session || member_place_take_shared(&own, of_child));
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  member_place_leave(&place, MEMBER_LEFT);
  member_session_leave(session);
}

UNIT_MAIN

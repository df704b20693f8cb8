/* When refusals are delayed. */
#include "net/admission/wrong_evidence.h"

#include "tests/unit/unit.h"

static struct wrong_evidence wrong;

static int64_t count(uint32_t user, bool is_wrong, int64_t now_ms)
{
  const struct rpc_address address = rpc_address_of_user(user);
  return wrong_evidence_count(&wrong, &address, is_wrong, now_ms);
}

UNIT_TEST(more_than_ten_wrong_ones_in_a_second_are_delayed)
{
  wrong_evidence_init(&wrong);
  for (int i = 0; i < WRONG_EVIDENCE_MAX; i++)
    assert_int_equal(count(1, true, 1000 + i), 0);
  assert_int_equal(count(1, true, 1500), WRONG_EVIDENCE_DELAY_MS);
  assert_int_equal(count(1, false, 1500), WRONG_EVIDENCE_DELAY_MS); /* all refusals to the address */
  assert_int_equal(count(2, true, 1500), 0);
  assert_int_equal(count(1, true, 2100), 0);
  wrong_evidence_fini(&wrong);
}

UNIT_TEST(refusals_without_wrong_evidence_do_not_count)
{
  wrong_evidence_init(&wrong);
  for (int i = 0; i < 100; i++)
    assert_int_equal(count(1, false, 1000), 0);
  wrong_evidence_fini(&wrong);
}

UNIT_TEST(many_addresses_replace_each_other)
{
  wrong_evidence_init(&wrong);
  for (uint32_t user = 0; user < 100000; user++)
    assert_int_equal(count(user, true, 1000 + user / 100), 0);
  wrong_evidence_fini(&wrong);
}

UNIT_MAIN

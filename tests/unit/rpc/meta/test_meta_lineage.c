#include "rpc/meta/meta_lineage.h"

#include "tests/unit/unit.h"

/*
 * class C extends B implements I, J, an interface that is not in the catalog; class B extends A implements L;
 * interfaces I and J extend K; X and Y extend one another, as do the interfaces P and Q.
 */
enum { A, B, C, I, J, K, L, X, Y, P, Q, CLASSES };

#define SUPER(index) .superclass = {1, (index)}

static const struct catalog_class classes[CLASSES] = {
    [A] = {SUPER(CATALOG_NONE)},
    [B] = {SUPER(A), .first_interface = 0, .interface_count = 1},
    [C] = {SUPER(B), .first_interface = 1, .interface_count = 3},
    [I] = {SUPER(CATALOG_NONE), .first_interface = 4, .interface_count = 1},
    [J] = {SUPER(CATALOG_NONE), .first_interface = 5, .interface_count = 1},
    [K] = {SUPER(CATALOG_NONE)},
    [L] = {SUPER(CATALOG_NONE)},
    [X] = {SUPER(Y)},
    [Y] = {SUPER(X)},
    [P] = {SUPER(CATALOG_NONE), .first_interface = 6, .interface_count = 1},
    [Q] = {SUPER(CATALOG_NONE), .first_interface = 7, .interface_count = 1},
};
static const struct catalog_link links[] = {{1, L}, {1, I}, {1, CATALOG_NONE}, {1, J}, {1, K}, {1, K},
                                            {1, Q}, {1, P}};
static const struct catalog_tables tables = {.classes = classes, .class_count = CLASSES, .links = links};

static const struct {
  uint32_t class;
  size_t chain_length;
  size_t count;
  uint32_t lineage[8];
} cases[] = {
    {A, 1, 1, {A}},    {B, 2, 3, {B, A, L}}, {C, 3, 7, {C, B, A, I, J, K, L}},
    {I, 1, 2, {I, K}}, {X, 2, 2, {X, Y}},    {P, 1, 2, {P, Q}},
};

static void test_lineages(void **state)
{
  (void)state;
  struct meta_members members;
  meta_members_init(&members);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    assert_int_equal(meta_lineage_walk(&members, &tables, cases[i].class), JP_OK);
    assert_int_equal(members.chain_length, cases[i].chain_length);
    assert_int_equal(members.lineage.count, cases[i].count);
    assert_memory_equal(members.lineage.items, cases[i].lineage, cases[i].count * sizeof(uint32_t));
  }
  meta_members_fini(&members);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_lineages)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "client/completions.h"

#include "tests/unit/unit.h"

static char marks[1000];

static void push(struct completion_queue *queue, size_t number)
{
  completion_queue_push(queue, &(struct completion){.context = &marks[number]});
}

static void assert_pops(struct completion_queue *queue, size_t number)
{
  struct completion completion;
  assert_true(completion_queue_pop(queue, &completion));
  assert_ptr_equal(completion.context, &marks[number]);
}

UNIT_TEST(test_order_over_growth)
{
  struct completion_queue queue = {0};
  struct completion none;
  assert_false(completion_queue_pop(&queue, &none));
  assert_true(completion_queue_reserve(&queue, 1));
  size_t capacity = queue.capacity;
  for (size_t i = 0; i < capacity; i++)
    push(&queue, i);
  for (size_t i = 0; i < capacity / 2; i++)
    assert_pops(&queue, i);
  for (size_t i = 0; i < capacity / 2; i++) /* around the ring's end */
    push(&queue, (capacity + i));
  assert_true(completion_queue_reserve(&queue, 3 * capacity));
  assert_true(queue.capacity >= 3 * capacity);
  for (size_t i = capacity / 2; i < capacity + capacity / 2; i++)
    assert_pops(&queue, i);
  assert_false(completion_queue_pop(&queue, &none));
  completion_queue_fini(&queue);
}

UNIT_MAIN

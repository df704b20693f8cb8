#include "tests/unit/await.h"
#include "zeromq_fixture.h"

#include <stdio.h>
#include <unistd.h>

static void answers_in_the_envelope_that_came(void **state)
{
  struct zeromq_fixture *f = *state;
  void *dealer = connect_client(f, ZMQ_DEALER);
  send_text(dealer, "bare", 0);
  expect_text(dealer, "bare");
  send_text(dealer, "", ZMQ_SNDMORE);
  send_text(dealer, "delimited", 0);
  char empty[1];
  assert_int_equal(zmq_recv(dealer, empty, 1, 0), 0);
  expect_text(dealer, "delimited");
  close_client(f, dealer);

  void *req = connect_client(f, ZMQ_REQ);
  send_text(req, "asked", 0);
  expect_text(req, "asked");
  close_client(f, req);
}

static void every_request_of_a_req_client_is_answered(void **state)
{
  struct zeromq_fixture *f = *state;
  void *req = connect_client(f, ZMQ_REQ);
  send_text(req, "note", 0);
  expect_text(req, "");
  send_text(req, "", 0);
  expect_text(req, "unreadable: The message is empty");
  send_text(req, "one", ZMQ_SNDMORE);
  send_text(req, "two", 0);
  expect_text(req, "invalid: The payload has more than one frame: a message is one");
  send_text(req, "!one", ZMQ_SNDMORE);
  send_text(req, "two", ZMQ_SNDMORE);
  send_text(req, "", 0);
  expect_text(req, "other invalid: The payload has more than one frame: a message is one");
  send_text(req, "", ZMQ_SNDMORE);
  send_text(req, "!two", 0);
  expect_text(req, "invalid: The payload has more than one frame: a message is one");
  char large[MESSAGE_MAX + 2];
  memset(large, 'x', sizeof large);
  large[sizeof large - 1] = '\0';
  send_text(req, large, 0);
  expect_text(req, "invalid: The message passes the limit message-max of 1000 bytes");
  send_text(req, "ping", 0);
  expect_text(req, "ping");
  close_client(f, req);
}

static void a_bare_notification_is_not_answered(void **state)
{
  struct zeromq_fixture *f = *state;
  void *dealer = connect_client(f, ZMQ_DEALER);
  send_text(dealer, "note", 0);
  send_text(dealer, "after", 0);
  expect_text(dealer, "after");
  send_text(dealer, "", 0);
  expect_text(dealer, "unreadable: The message is empty");
  close_client(f, dealer);
}

static void keeps_the_order_of_each_client(void **state)
{
  enum { CLIENTS = 8, ROUNDS = 100, IN_FLIGHT = 20 };
  struct zeromq_fixture *f = *state;
  void *clients[CLIENTS];
  for (int c = 0; c < CLIENTS; c++)
    clients[c] = connect_client(f, ZMQ_DEALER);
  char text[32];
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < IN_FLIGHT; i++) {
      for (int c = 0; c < CLIENTS; c++) {
        snprintf(text, sizeof text, "%d/%d/%d", c, round, i);
        send_text(clients[c], text, 0);
      }
    }
    for (int c = 0; c < CLIENTS; c++) {
      for (int i = 0; i < IN_FLIGHT; i++) {
        snprintf(text, sizeof text, "%d/%d/%d", c, round, i);
        expect_text(clients[c], text);
      }
    }
  }
  for (int c = 0; c < CLIENTS; c++)
    close_client(f, clients[c]);
}

static void a_blocked_call_delays_its_own_client_only(void **state)
{
  struct zeromq_fixture *f = *state;
  void *slow = connect_client(f, ZMQ_DEALER);
  void *quick = connect_client(f, ZMQ_DEALER);
  send_text(slow, "block", 0);
  send_text(slow, "behind", 0);
  stub_wait_inside(&f->stub, 1);
  for (int i = 0; i < 100; i++) {
    send_text(quick, "quick", 0);
    expect_text(quick, "quick");
  }
  stub_let_go(&f->stub);
  expect_text(slow, "block");
  expect_text(slow, "behind");
  close_client(f, slow);
  close_client(f, quick);
}

static void too_many_waiting_requests_are_refused(void **state)
{
  struct zeromq_fixture *f = *state;
  void *client = connect_client(f, ZMQ_DEALER);
  send_text(client, "block", 0);
  stub_wait_inside(&f->stub, 1);
  for (int i = 0; i < PENDING_MAX; i++)
    send_text(client, "waiting", 0);
  expect_text(client, "too many requests are waiting for this client (zmq-pending-max is 50)");
  stub_let_go(&f->stub);
  expect_text(client, "block");
  for (int i = 1; i < PENDING_MAX; i++)
    expect_text(client, "waiting");
  send_text(client, "again", 0);
  expect_text(client, "again");
  close_client(f, client);
}

/* A request that came counts until it is answered; one that does not fit beside what others have collected is
 * refused, and a small one is not. */
static void a_request_that_passes_the_bound_on_input_is_refused(void **state)
{
  struct zeromq_fixture *f = *state;
  enum { LARGE = 20000, SMALL = 100 };
  char text[LARGE + 1];
  memset(text, 'x', LARGE);
  text[LARGE] = '\0';
  void *client = connect_client(f, ZMQ_DEALER);
  atomic_store(&f->input.total, INPUT_MAX_TOTAL - LARGE + 1);
  send_text(client, text, 0);
  expect_text(client, "too much input is under way (input-max-total is 16777216 bytes): try again later");
  send_text(client, text + LARGE - SMALL, 0);
  expect_text(client, text + LARGE - SMALL);

  atomic_store(&f->input.total, INPUT_MAX_TOTAL - LARGE);
  send_text(client, text, 0);
  expect_text(client, text);
  send_text(client, "block", 0); /* behind the large one, which is through then */
  stub_wait_inside(&f->stub, 1);
  assert_int_equal(f->input.total, INPUT_MAX_TOTAL - LARGE);
  send_text(client, text, 0);
  AWAIT(atomic_load(&f->input.total) == INPUT_MAX_TOTAL);
  stub_let_go(&f->stub);
  expect_text(client, "block");
  expect_text(client, text);
  close_client(f, client);
}

static void what_is_running_at_the_end_gets_an_error(void **state)
{
  struct zeromq_fixture *f = *state;
  void *client = connect_client(f, ZMQ_REQ);
  send_text(client, "block", 0);
  stub_wait_inside(&f->stub, 1);
  zeromq_refuse_rest(f->zeromq, "shutting down");
  expect_text(client, "shutting down");
  assert_int_equal(atomic_load(&f->stub.taken_back), 0);
  stub_let_go(&f->stub);
  /* What it gives later is dropped, and so are the objects that it told of. */
  AWAIT(atomic_load(&f->stub.taken_back) != 0);
  close_client(f, client);
}

static void a_port_in_use_is_an_error_that_names_it(void **state)
{
  struct zeromq_fixture *f = *state;
  unsigned port;
  assert_int_equal(sscanf(f->address, "tcp://127.0.0.1:%u", &port), 1);
  struct zeromq_config config = {.message_max = MESSAGE_MAX};
  char address[ZEROMQ_ADDRESS_MAX];
  struct zeromq *second;
  struct jp_error error;
  assert_int_equal(zeromq_create(&config, &second, &error), JP_OK);
  assert_int_equal(zeromq_listen(second, NULL, (uint16_t)port, address, &error), JP_IO);
  zeromq_destroy(second);
  assert_non_null(strstr(error.text, f->address));
  assert_non_null(strstr(error.text, "in use"));
}

int main(void)
{
#define CASE_WITH(open, test) cmocka_unit_test_setup_teardown(test, open, close_fixture)
#define CASE(test)            CASE_WITH(open_fixture, test)
  const struct CMUnitTest tests[] = {
      CASE(answers_in_the_envelope_that_came),
      CASE(every_request_of_a_req_client_is_answered),
      CASE(a_bare_notification_is_not_answered),
      CASE(keeps_the_order_of_each_client),
      CASE(a_blocked_call_delays_its_own_client_only),
      CASE(too_many_waiting_requests_are_refused),
      CASE_WITH(open_wide_fixture, a_request_that_passes_the_bound_on_input_is_refused),
      CASE(what_is_running_at_the_end_gets_an_error),
      CASE(a_port_in_use_is_an_error_that_names_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

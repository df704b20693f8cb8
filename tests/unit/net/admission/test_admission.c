/* Tests who may use a Unix socket, the refusal of all others, the addresses of clients, and the bound on all
 * input. */
#include "net/admission/admission.h"
#include "net/admission/client_address.h"
#include "net/admission/input_budget.h"
#include "net/admission/refusals.h"
#include "tests/unit/unit.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- users and groups --- */

/* Both ends of a connection are this process. */
static bool admits_own(const struct admission *admission, struct admission_client *client)
{
  int ends[2];
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  bool is_admitted = admission_admits(admission, ends[0], client);
  close(ends[0]);
  close(ends[1]);
  return is_admitted;
}

UNIT_TEST(the_own_user_is_admitted_without_a_list)
{
  static const struct admission none, others = {.user_count = 1, .users = {4000000000u}};
  struct admission_client client;
  assert_true(admits_own(&none, &client));
  assert_int_equal(client.user, geteuid());
  assert_int_equal(client.group, getegid());
  assert_true(admits_own(&others, &client));
  assert_false(admission_has_others(&none));
  assert_true(admission_has_others(&others));
}

UNIT_TEST(only_a_socket_has_a_known_user)
{
  static const struct admission all = {
      .user_count = 1, .users = {(uid_t)-1}, .group_count = 1, .groups = {(gid_t)-1}};
  struct admission_client client;
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  assert_false(admission_admits(&all, ends[0], &client));
  assert_int_equal(client.user, (uid_t)-1);
  close(ends[0]);
  close(ends[1]);
}

/* --- refusals --- */

/* True if the refused end of the connection is still open. */
static bool is_kept(int client)
{
  return send(client, "late", 4, MSG_NOSIGNAL) == 4;
}

UNIT_TEST(refused_connections_are_told_and_bounded)
{
  enum { CONNECTIONS = REFUSALS_MAX + 3 };
  struct refusals refusals = {0};
  int ends[CONNECTIONS][2];
  char answer[8];
  for (int i = 0; i < CONNECTIONS; i++) {
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends[i]), 0);
    refusals_add(&refusals, ends[i][0], TEXT("no"), 1000 + i);
    assert_int_equal(read(ends[i][1], answer, sizeof answer), 2);
    assert_int_equal(read(ends[i][1], answer, sizeof answer), 0); /* the end of the input */
    assert_true(is_kept(ends[i][1]));
  }
  for (int i = 0; i < CONNECTIONS; i++)
    assert_int_equal(is_kept(ends[i][1]), i >= CONNECTIONS - REFUSALS_MAX);
  assert_true(refusals_tick(&refusals, 1000 + REFUSAL_KEPT_MS + 3));
  assert_false(is_kept(ends[3][1]));
  assert_true(is_kept(ends[4][1]));
  assert_false(refusals_tick(&refusals, 2000 + REFUSAL_KEPT_MS));
  refusals_close(&refusals);
  for (int i = 0; i < CONNECTIONS; i++) {
    assert_false(is_kept(ends[i][1]));
    close(ends[i][1]);
  }
}

/* --- addresses --- */

static bool is_same(struct rpc_address a, struct rpc_address b)
{
  return a.length == b.length && memcmp(a.bytes, b.bytes, a.length) == 0;
}

static struct rpc_address of_socket(const char *number)
{
  struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
  struct addrinfo *found;
  struct sockaddr_storage socket = {0};
  assert_int_equal(getaddrinfo(number, "4711", &hints, &found), 0);
  memcpy(&socket, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return client_address_of_socket(&socket);
}

UNIT_TEST(texts_and_sockets_are_the_same_address)
{
  static const char *const numbers[] = {"127.0.0.1", "192.0.2.255", "::1", "2001:db8:1:2:3:4:5:6",
                                        "::ffff:192.0.2.1"};
  for (size_t i = 0; i < COUNT_OF(numbers); i++) {
    struct rpc_address address = of_socket(numbers[i]);
    assert_true(address.length > 0);
    assert_true(is_same(address, client_address_of_text(numbers[i])));
    for (size_t j = 0; j < i; j++)
      assert_false(is_same(address, of_socket(numbers[j])));
  }
}

UNIT_TEST(one_client_counts_once)
{
  static const struct {
    const char *one, *other;
    bool is_same;
  } cases[] = {{"192.0.2.1", "192.0.2.2", false},
               {"192.0.2.1", "::ffff:192.0.2.1", true},
               {"2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", true},
               {"2001:db8:1:2::1", "2001:db8:1:3::1", false},
               {"fe80::1%eth0", "fe80::2", true}};
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    assert_int_equal(is_same(client_address_of_text(cases[i].one), client_address_of_text(cases[i].other)),
                     cases[i].is_same);
}

UNIT_TEST(a_client_of_a_unix_socket_is_its_user)
{
  static const struct {
    const char *text;
    uint32_t user;
  } cases[] = {{"localhost:0:0:1", 0},
               {":1001:100:4711", 1001},
               {"/run/a b:4294967294:4294967294:4194304", 4294967294u},
               {"2001:db8:/x:7:8:9", 7}};
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct rpc_address address = client_address_of_text(cases[i].text);
    uint32_t user = 4711;
    assert_true(rpc_address_user(&address, &user));
    assert_int_equal(user, cases[i].user);
    assert_true(is_same(address, rpc_address_of_user(cases[i].user)));
    assert_false(rpc_address_is_loopback(&address));
  }
  uint32_t user;
  struct rpc_address v6 = client_address_of_text("2001:db8::1:2:3");
  assert_false(rpc_address_user(&v6, &user));
}

UNIT_TEST(loopback_addresses_are_known)
{
  static const struct {
    const char *text;
    bool is_loopback;
  } cases[] = {{"127.0.0.1", true},  {"127.255.0.9", true}, {"::1", true},      {"::ffff:127.0.0.1", true},
               {"126.0.0.1", false}, {"192.0.2.1", false},  {"fe80::1", false}, {"", false}};
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct rpc_address address = client_address_of_text(cases[i].text);
    assert_int_equal(rpc_address_is_loopback(&address), cases[i].is_loopback);
  }
}

UNIT_TEST(unknown_addresses_have_no_bytes)
{
  static const char *const texts[] = {NULL,
                                      "",
                                      "%",
                                      "localhost",
                                      "192.0.2",
                                      "192.0.2.1:4711",
                                      "a path of a socket",
                                      ":1:2",
                                      "localhost:1:2:3x",
                                      "localhost:1::3",
                                      "2001:0db8:0001:0002:0003:0004:0005:0006:0007:0008:0009:000a"};
  for (size_t i = 0; i < COUNT_OF(texts); i++)
    assert_int_equal(client_address_of_text(texts[i]).length, 0);
  struct sockaddr_storage path = {.ss_family = AF_UNIX};
  assert_int_equal(client_address_of_socket(&path).length, 0);
}

/* --- input --- */

UNIT_TEST(counts_the_bytes_of_every_owner)
{
  struct input_budget budget = {.max = 1000};
  _Atomic size_t first = 0;
  _Atomic size_t second = 0;
  input_budget_count(&budget, &first, 500);
  input_budget_count(&budget, &second, 250);
  assert_false(input_budget_is_short(&budget));
  input_budget_count(&budget, &second, 251);
  assert_true(input_budget_is_short(&budget));
  assert_false(input_budget_is_full(&budget));
  assert_int_equal(input_budget_room(&budget), 249);
  input_budget_count(&budget, &second, 600);
  assert_true(input_budget_is_full(&budget));
  assert_int_equal(input_budget_room(&budget), 0);
  input_budget_count(&budget, &first, 0);
  assert_int_equal(budget.total, 600);
  input_budget_count(&budget, &second, 0);
  assert_int_equal(budget.total, 0);
}

static void assert_licensed(const struct input_claim *claims, size_t count, const size_t *held,
                            size_t held_count)
{
  size_t licensed = 0;
  for (size_t i = 0; i < count; i++) {
    if (claims[i].is_licensed) {
      assert_true(licensed < held_count);
      assert_int_equal(claims[i].held, held[licensed++]);
    }
  }
  assert_int_equal(licensed, held_count);
}

UNIT_TEST(the_smallest_get_licences_while_all_of_them_fit)
{
  struct input_claim claims[] = {{.held = 900, .left = 100},
                                 {.held = 200, .left = 800},
                                 {.held = 300, .left = 700},
                                 {.held = 100, .left = 50}};
  input_budget_choose(claims, 4, 849);
  assert_licensed(claims, 4, (size_t[]){100, 300}, 2); /* 50 + 800 exceeds the room, 50 + 700 does not */
  input_budget_choose(claims, 4, 850);
  assert_licensed(claims, 4, (size_t[]){100, 200}, 2);
  input_budget_choose(claims, 4, SIZE_MAX);
  assert_licensed(claims, 4, (size_t[]){100, 200, 300, 900}, 4);
}

UNIT_TEST(at_least_one_claim_gets_a_licence)
{
  struct input_claim claims[] = {{.held = 900, .left = 100}, {.held = 200, .left = 800}};
  input_budget_choose(claims, 2, 0);
  assert_licensed(claims, 2, (size_t[]){200}, 1);
  input_budget_choose(claims, 0, 0);
}

/* If small messages always came first, each connection would be the smallest in turn: all connections would
 * grow together, and reach the bound together. */
UNIT_TEST(a_quick_connection_keeps_its_licence)
{
  struct input_claim claims[] = {
      {.held = 100, .left = 900}, {.held = 700, .left = 300, .goes_on = true}, {.held = 600, .left = 400}};
  input_budget_choose(claims, 3, 1000);
  assert_licensed(claims, 3, (size_t[]){700, 600}, 2);
}

UNIT_TEST(promises_do_not_wrap_around)
{
  struct input_claim claims[] = {
      {.held = 1, .left = SIZE_MAX}, {.held = 2, .left = SIZE_MAX}, {.held = 3, .left = 2}};
  input_budget_choose(claims, 3, 10);
  assert_licensed(claims, 3, (size_t[]){1}, 1);
}

UNIT_TEST(the_largest_are_cut_first)
{
  struct input_claim claims[] = {{.held = 2}, {.held = 9}, {.held = 5}};
  input_budget_sort_largest(claims, 3);
  assert_int_equal(claims[0].held, 9);
  assert_int_equal(claims[2].held, 2);
}

UNIT_MAIN

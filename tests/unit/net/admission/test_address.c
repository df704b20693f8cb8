/* Whose clients count together. */
#include "net/admission/address.h"
#include "tests/unit/unit.h"

#include <netdb.h>
#include <sys/socket.h>

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
  return address_of_socket(&socket);
}

UNIT_TEST(texts_and_sockets_are_the_same_address)
{
  static const char *const numbers[] = {"127.0.0.1", "192.0.2.255", "::1", "2001:db8:1:2:3:4:5:6",
                                        "::ffff:192.0.2.1"};
  for (size_t i = 0; i < COUNT_OF(numbers); i++) {
    struct rpc_address address = of_socket(numbers[i]);
    assert_true(address.length > 0);
    assert_true(is_same(address, address_of_text(numbers[i])));
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
    assert_int_equal(is_same(address_of_text(cases[i].one), address_of_text(cases[i].other)),
                     cases[i].is_same);
}

UNIT_TEST(what_is_not_known_has_no_bytes)
{
  static const char *const texts[] = {NULL,
                                      "",
                                      "%",
                                      "localhost",
                                      "192.0.2",
                                      "192.0.2.1:4711",
                                      "a path of a socket",
                                      "2001:0db8:0001:0002:0003:0004:0005:0006:0007:0008:0009:000a"};
  for (size_t i = 0; i < COUNT_OF(texts); i++)
    assert_int_equal(address_of_text(texts[i]).length, 0);
  struct sockaddr_storage path = {.ss_family = AF_UNIX};
  assert_int_equal(address_of_socket(&path).length, 0);
}

UNIT_MAIN

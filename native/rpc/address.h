#ifndef JPEER_RPC_ADDRESS_H
#define JPEER_RPC_ADDRESS_H
/*
 * The address of a client, for the limits per address, and for identifying the client in logs. Plain data,
 * filled in by the transport.
 *
 * An IPv4 address is four bytes, even if it was received as an IPv4-mapped IPv6 address. An IPv6 address is
 * its first eight bytes, because a client usually has a network of that size. The address of a client of a
 * Unix socket is its user: a byte 0 and the number. No bytes: the client has no address. All clients without
 * an address share one limit. What is compared is bytes, up to length; the rest is for the audit alone.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
  RPC_ADDRESS_MAX = 8,
  RPC_ADDRESS_IPV4 = 4,
  RPC_ADDRESS_USER = 5,
  RPC_ADDRESS_IPV6 = 8,
  RPC_ADDRESS_HOST = 8
};

struct rpc_address {
  uint8_t length;
  uint8_t bytes[RPC_ADDRESS_MAX];
  uint8_t host[RPC_ADDRESS_HOST]; /* of an IPv6 address: the bytes after its network */
  uint32_t process;               /* of a client of a Unix socket; 0: not known */
};

static inline struct rpc_address rpc_address_of_user(uint32_t user)
{
  struct rpc_address address = {.length = RPC_ADDRESS_USER};
  memcpy(address.bytes + 1, &user, sizeof user);
  return address;
}

/* False: the address does not name a user. */
static inline bool rpc_address_user(const struct rpc_address *address, uint32_t *user)
{
  if (address->length != RPC_ADDRESS_USER)
    return false;
  memcpy(user, address->bytes + 1, sizeof *user);
  return true;
}

/* True for 127.0.0.0/8, and for ::1, of which the first eight bytes are 0. */
static inline bool rpc_address_is_loopback(const struct rpc_address *address)
{
  static const uint8_t zeros[RPC_ADDRESS_IPV6];
  if (address->length == RPC_ADDRESS_IPV4)
    return address->bytes[0] == 127;
  return address->length == RPC_ADDRESS_IPV6 && memcmp(address->bytes, zeros, sizeof zeros) == 0;
}

#endif

#ifndef JPEER_RPC_ADDRESS_H
#define JPEER_RPC_ADDRESS_H
/*
 * Where a client comes from, for what is bounded for each address: plain data, made by the transport.
 *
 * An IPv4 address is its four bytes, also where it came as an IPv4-mapped IPv6 address. An IPv6 address is
 * its first eight: a network of that size is one client's. No bytes: a client whose address is not known (a
 * Unix socket, a transport without addresses); all of those count as one address, so that being unknown is no
 * way around a bound.
 */
#include <stdint.h>

enum { RPC_ADDRESS_MAX = 8 };

struct rpc_address {
  uint8_t length;
  uint8_t bytes[RPC_ADDRESS_MAX];
};

#endif

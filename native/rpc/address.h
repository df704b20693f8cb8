#ifndef JPEER_RPC_ADDRESS_H
#define JPEER_RPC_ADDRESS_H
/*
 * The address of a client, for the limits per address. Plain data, filled in by the transport.
 *
 * An IPv4 address is four bytes, also when received as an IPv4-mapped IPv6 address. Of an IPv6 address only
 * the first eight bytes count, because a client usually has a network of that size. No bytes: the client has
 * no address (on a Unix socket, all clients belong to one user). All clients without an address share one
 * limit.
 */
#include <stdint.h>

enum { RPC_ADDRESS_MAX = 8 };

struct rpc_address {
  uint8_t length;
  uint8_t bytes[RPC_ADDRESS_MAX];
};

#endif

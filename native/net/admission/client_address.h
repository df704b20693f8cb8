#ifndef JPEER_NET_ADMISSION_CLIENT_ADDRESS_H
#define JPEER_NET_ADMISSION_CLIENT_ADDRESS_H
/* Makes the addresses of clients for the service (rpc/address.h). An unknown family gives an address without bytes. Any
 * thread. */
#include "rpc/address.h"

struct sockaddr_storage;

enum { CLIENT_ADDRESS_TEXT = 64 }; /* bytes of an address as text */

struct rpc_address client_address_of_socket(const struct sockaddr_storage *socket);
/* text: a numeric address as getnameinfo writes it ("192.0.2.7", "fe80::1%eth0"), or libzmq's user, group and process of a
 * client of a Unix socket ("localhost:1000:1000:4711"); NULL: no address. */
struct rpc_address client_address_of_text(const char *text);
/* Writes the address for people: "192.0.2.7", "2001:db8::/64", "user 1000". Returns text. */
const char *client_address_write(const struct rpc_address *address, char text[CLIENT_ADDRESS_TEXT]);

#endif

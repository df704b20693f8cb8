#ifndef JPEER_NET_ADMISSION_CLIENT_ADDRESS_H
#define JPEER_NET_ADMISSION_CLIENT_ADDRESS_H
/* The addresses of clients as the service wants them (rpc/address.h): no bytes if the family is unknown. Any
 * thread. */
#include "rpc/address.h"

struct sockaddr_storage;

struct rpc_address client_address_of_socket(const struct sockaddr_storage *socket);
/* A number as getnameinfo writes it ("192.0.2.7", "fe80::1%eth0"); NULL: no address. */
struct rpc_address client_address_of_text(const char *text);

#endif

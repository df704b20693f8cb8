#include "net/admission/client_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { MAPPED_PREFIX = 12, NETWORK_BYTES = 8 };

static struct rpc_address make_address(const void *bytes, uint8_t length)
{
  struct rpc_address address = {.length = length};
  memcpy(address.bytes, bytes, length);
  return address;
}

static struct rpc_address make_v6_address(const struct in6_addr *v6)
{
  if (IN6_IS_ADDR_V4MAPPED(v6))
    return make_address(v6->s6_addr + MAPPED_PREFIX, sizeof(struct in_addr));
  struct rpc_address address = make_address(v6->s6_addr, NETWORK_BYTES);
  memcpy(address.host, v6->s6_addr + NETWORK_BYTES, sizeof address.host);
  return address;
}

struct rpc_address client_address_of_socket(const struct sockaddr_storage *socket)
{
  struct sockaddr_in v4;
  struct sockaddr_in6 v6;
  switch (socket->ss_family) {
  case AF_INET:
    memcpy(&v4, socket, sizeof v4);
    return make_address(&v4.sin_addr, sizeof v4.sin_addr);
  case AF_INET6:
    memcpy(&v6, socket, sizeof v6);
    return make_v6_address(&v6.sin6_addr);
  default:
    return (struct rpc_address){0};
  }
}

/* libzmq writes "localhost:USER:GROUP:PROCESS", where the first word is what getnameinfo returns for a Unix
 * socket. sscanf is not used, because it would be too slow: the address is read in each turn of a client. */
static struct rpc_address read_unix_client(const char *text)
{
  enum { NUMBERS = 3, DIGITS_MAX = 10 };
  const char *at = text + strlen(text);
  const char *process = NULL;
  for (int i = 0; i < NUMBERS; i++) {
    const char *end = at;
    while (at > text && at[-1] >= '0' && at[-1] <= '9')
      at--;
    if (at == end || end - at > DIGITS_MAX || at == text || at[-1] != ':')
      return (struct rpc_address){0};
    if (i == 0)
      process = at;
    at--;
  }
  struct rpc_address address = rpc_address_of_user((uint32_t)strtoul(at + 1, NULL, 10));
  address.process = (uint32_t)strtoul(process, NULL, 10);
  return address;
}

struct rpc_address client_address_of_text(const char *text)
{
  char number[INET6_ADDRSTRLEN];
  struct in_addr v4;
  struct in6_addr v6;
  size_t length = text == NULL ? 0 : strcspn(text, "%"); /* the name of an interface follows the '%' */
  if (length == 0)
    return (struct rpc_address){0};
  if (length >= sizeof number)
    return read_unix_client(text);
  snprintf(number, sizeof number, "%.*s", (int)length, text);
  if (inet_pton(AF_INET, number, &v4) == 1)
    return make_address(&v4, sizeof v4);
  if (inet_pton(AF_INET6, number, &v6) == 1)
    return make_v6_address(&v6);
  return read_unix_client(text);
}

const char *client_address_write(const struct rpc_address *address, char text[CLIENT_ADDRESS_TEXT])
{
  char number[INET6_ADDRSTRLEN] = "?";
  struct in6_addr v6 = {0};
  uint32_t user;
  if (rpc_address_user(address, &user)) {
    snprintf(text, CLIENT_ADDRESS_TEXT, "user %u", user);
    return text;
  }
  bool is_v6 = address->length == RPC_ADDRESS_IPV6;
  memcpy(v6.s6_addr, address->bytes, address->length);
  if (address->length > 0)
    inet_ntop(is_v6 ? AF_INET6 : AF_INET, &v6, number, sizeof number);
  snprintf(text, CLIENT_ADDRESS_TEXT, "%s%s", number, is_v6 ? "/64" : "");
  return text;
}

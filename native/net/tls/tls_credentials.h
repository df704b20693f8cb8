#ifndef JPEER_NET_TLS_TLS_CREDENTIALS_H
#define JPEER_NET_TLS_TLS_CREDENTIALS_H
/*
 * The files of the peer for TLS (docs/security.md): the peer's certificate with its key, and the authorities
 * and revocation lists by which the peer judges the certificates of clients.
 *
 * The peer uses TLS 1.3, or 1.2 with ECDHE and AEAD, without renegotiation, compression and early data. If
 * the peer asks clients for certificates, no session is resumed, because a resumed session would not be
 * judged by new authorities or revocation lists.
 *
 * The files are watched (base/file_watch.h). New connections use the new files. If the new files do not fit
 * together, the log says so in one line, and the old files remain in use. Any thread.
 */
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ssl_st;
struct tls_credentials;

/* Whether clients are asked for a certificate. */
enum tls_client_auth {
  TLS_CLIENT_AUTH_NONE,
  TLS_CLIENT_AUTH_OPTIONAL, /* a client may have no certificate; a wrong certificate is refused */
  TLS_CLIENT_AUTH_REQUIRE,
  TLS_CLIENT_AUTH_UNSET /* REQUIRE with client_ca, else NONE */
};

/* PEM files. */
struct tls_files {
  const char *certificate; /* the file of the certificate and the rest of its chain; NULL: no TLS */
  const char *key;         /* mode 0600 or less; or 0640 or less, if root owns it */
  const char *client_ca;   /* the authorities of clients; NULL: certificates of clients need no authority, but
                            * must be valid now */
  const char *client_crl;  /* the revocation lists of all authorities of the chain; NULL: none */
  enum tls_client_auth client_auth;
  int64_t watch_ms; /* between two checks of the files; 0: never */
};

static inline bool tls_is_configured(const struct tls_files *files)
{
  return files->certificate != NULL;
}
static inline enum tls_client_auth tls_client_auth(const struct tls_files *files)
{
  if (files->client_auth != TLS_CLIENT_AUTH_UNSET)
    return files->client_auth;
  return files->client_ca != NULL ? TLS_CLIENT_AUTH_REQUIRE : TLS_CLIENT_AUTH_NONE;
}

/* Reads the files, and watches them. Their paths are borrowed. JP_IO, JP_NOT_FOUND, JP_INVALID: the error's text names
 * the file. Caller frees with tls_credentials_destroy. */
enum jp_status tls_credentials_create(const struct tls_files *files, struct tls_credentials **credentials,
                                      struct jp_error *error) JP_MUST_CHECK;
/* Streams stay valid. NULL is fine. */
void tls_credentials_destroy(struct tls_credentials *credentials);
/* Lets the files be read again at once, even if they have not changed. */
void tls_credentials_reload(struct tls_credentials *credentials, void (*done)(void));

/* For net/tls/tls_stream.c: a new session of the server's side. NULL: no memory. */
struct ssl_st *tls_credentials_open(struct tls_credentials *credentials);

#endif

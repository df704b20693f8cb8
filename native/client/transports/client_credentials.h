#ifndef JPEER_CLIENT_TRANSPORTS_CLIENT_CREDENTIALS_H
#define JPEER_CLIENT_TRANSPORTS_CLIENT_CREDENTIALS_H
/*
 * The credentials of a client: a token, a certificate, further header fields, and the authorities by which it
 * verifies the peer's certificate. Constant after client_credentials_init, so any thread may use them.
 *
 * No function here, and no error, writes a token to anything but the head of a request.
 */
#include "base/buffer.h"
#include "jpeer/client.h"

struct client_credentials {
  char *ca_file; /* absolute paths; NULL: none */
  char *cert_file;
  char *key_file;   /* the private key of cert_file or, if server_key is not NULL, the client's pair of CURVE
                     * keys */
  char *server_key; /* of CURVE, valid */
  char *token_file;
  char *token; /* checked; NULL: none */
  jp_token_function *token_function;
  void *token_context;
  struct buffer fields; /* the program's header fields, as lines of a head */
};

/* Copies from the configuration. JP_CLIENT_INVALID: an invalid field or token, or members that exclude each other;
 * JP_CLIENT_NO_MEMORY. Call client_credentials_fini even on failure. */
enum jp_client_status client_credentials_init(struct client_credentials *credentials,
                                              const struct jp_client_config *config,
                                              struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
void client_credentials_fini(struct client_credentials *credentials);

static inline bool client_credentials_have_token(const struct client_credentials *credentials)
{
  return credentials->token != NULL || credentials->token_file != NULL || credentials->token_function != NULL;
}

/* True if the token must be read again for each use, from a file or by a function. */
static inline bool client_credentials_ask_for_token(const struct client_credentials *credentials)
{
  return credentials->token_file != NULL || credentials->token_function != NULL;
}

/* True if there are files that only a connection over TLS uses. */
static inline bool client_credentials_need_tls(const struct client_credentials *credentials)
{
  return credentials->ca_file != NULL || credentials->cert_file != NULL;
}

/* True if this thread is inside the token function of these credentials. */
bool client_credentials_are_asked(const struct client_credentials *credentials);
/*
 * Writes the token, which is a constant, the content of a file or the result of a function. The token is ""
 * if the credentials have none. Call it without a lock. The caller clears the copy with explicit_bzero.
 * JP_CLIENT_NO_TOKEN: the error says why, without any part of the token.
 */
enum jp_client_status client_credentials_read_token(const struct client_credentials *credentials,
                                                    char token[JP_TOKEN_SIZE],
                                                    struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Appends the field Authorization, unless the token is "", and the program's fields. */
void client_credentials_write_fields(const struct client_credentials *credentials, const char *token,
                                     struct buffer *out);
/* Replaces the token in the error's text, where a peer or a proxy may have quoted the request. token "": none. */
void client_credentials_hide_token(const char *token, struct jp_client_error *error);

#endif

#include "client/transports/client_tls.h"

#include "base/transitions.h"
#include "client/messages/client_error.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * The state of the connection decides which calls are allowed. Only the owner uses it.
 *
 * | state           | meaning                        | what ends it                                         |
 * | TLS_HANDSHAKING | the peer is not verified yet   | client_tls_shake_hands: it is complete, or has       |
 * |                 |                                | failed                                               |
 * | TLS_OPEN        | the peer was verified          | a read: the peer ends it; a read or write that fails |
 * | TLS_ENDED       | the peer has announced its end | nothing                                              |
 * | TLS_BROKEN      | OpenSSL allows no further call | nothing                                              |
 */
enum tls_state {
  TLS_HANDSHAKING, /* the handshake is not complete */
  TLS_OPEN,        /* the peer was verified */
  TLS_ENDED,       /* the peer has announced its end */
  TLS_BROKEN       /* a call has failed for good */
};

enum { RECEIVED_A_CALL = 32 * 1024 /* more than the longest record */ };

struct client_tls {
  SSL *ssl;
  int fd;
  enum tls_state state;
  size_t budget;    /* bytes that the current call may still receive */
  bool has_eof;     /* the socket has ended */
  int system_error; /* errno of the socket's failure; 0: none */
  char host[NAME_MAX + 1];
};

static const uint16_t tls_transitions[] = {
    [TLS_HANDSHAKING] = TO(TLS_OPEN) | TO(TLS_BROKEN),
    [TLS_OPEN] = TO(TLS_ENDED) | TO(TLS_BROKEN),
    [TLS_ENDED] = 0,
    [TLS_BROKEN] = 0,
};

static void set_tls_state(struct client_tls *tls, enum tls_state to)
{
  ASSERT_TRANSITION(tls_transitions, tls->state, to);
  tls->state = to;
}

/* ---- the socket ---- */

/* OpenSSL's own BIO is not used, because it writes by write(2), which raises SIGPIPE. */
static int write_socket(BIO *bio, const char *bytes, int size)
{
  struct client_tls *tls = BIO_get_data(bio);
  ssize_t count;
  do {
    count = send(tls->fd, bytes, (size_t)size, MSG_NOSIGNAL);
  } while (count < 0 && errno == EINTR);
  BIO_clear_retry_flags(bio);
  if (count < 0 && errno == EAGAIN)
    BIO_set_retry_write(bio);
  else if (count < 0)
    tls->system_error = errno;
  return (int)count;
}

/* A peer may send empty records as fast as OpenSSL reads them, and OpenSSL would never return. For this
 * reason each call may read only a limited number of bytes. After these, this function reports that no input
 * is left, and the socket still shows the rest. */
static int read_socket(BIO *bio, char *bytes, int size)
{
  struct client_tls *tls = BIO_get_data(bio);
  ssize_t count;
  BIO_clear_retry_flags(bio);
  if (tls->budget == 0) {
    BIO_set_retry_read(bio);
    return -1;
  }
  do {
    count = recv(tls->fd, bytes, (size_t)size, 0);
  } while (count < 0 && errno == EINTR);
  if (count < 0 && errno == EAGAIN)
    BIO_set_retry_read(bio);
  else if (count < 0)
    tls->system_error = errno;
  else
    tls->budget -= (size_t)count < tls->budget ? (size_t)count : tls->budget;
  tls->has_eof |= count == 0;
  return (int)count;
}

static long control_socket(BIO *bio, int command, long number, void *pointer)
{
  (void)number, (void)pointer;
  const struct client_tls *tls = BIO_get_data(bio);
  switch (command) {
  case BIO_CTRL_FLUSH:
    return 1;
  case BIO_CTRL_EOF:
    return tls->has_eof;
  default: /* no kernel TLS, no datagrams */
    return 0;
  }
}

static BIO_METHOD *socket_method;

static void make_socket_method(void)
{
  BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "jpeer socket");
  if (method == NULL)
    return;
  BIO_meth_set_write(method, write_socket);
  BIO_meth_set_read(method, read_socket);
  BIO_meth_set_ctrl(method, control_socket);
  socket_method = method;
}

/* NULL: no memory. */
static BIO *create_socket_bio(struct client_tls *tls)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_socket_method);
  BIO *bio = socket_method == NULL ? NULL : BIO_new(socket_method);
  if (bio == NULL)
    return NULL;
  BIO_set_data(bio, tls);
  BIO_set_init(bio, 1);
  return bio;
}

/* ---- errors ---- */

/* Returns the text of the first error in OpenSSL's queue, and empties the queue. */
static const char *take_reason(void)
{
  unsigned long code = ERR_peek_error();
  const char *reason = code == 0 ? NULL : ERR_reason_error_string(code);
  if (reason == NULL && ERR_SYSTEM_ERROR(code))
    reason = strerror(ERR_GET_REASON(code));
  ERR_clear_error();
  return reason == NULL ? "an unknown error of OpenSSL" : reason;
}

static enum jp_client_status fail_no_memory(struct jp_client_error *error)
{
  ERR_clear_error();
  return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for TLS");
}

static enum jp_client_status fail_certificate(const struct client_tls *tls, long result,
                                              struct jp_client_error *error)
{
  ERR_clear_error();
  if (result == X509_V_ERR_HOSTNAME_MISMATCH || result == X509_V_ERR_IP_ADDRESS_MISMATCH)
    return client_fail(error, JP_CLIENT_REFUSED, "the peer's certificate is not for %s", tls->host);
  return client_fail(error, JP_CLIENT_REFUSED, "the peer's certificate cannot be verified: %s",
                     X509_verify_cert_error_string(result));
}

/* Returns the status for a call that has failed finally, and sets the error. */
static enum jp_client_status fail_for_good(struct client_tls *tls, struct jp_client_error *error)
{
  bool is_new = tls->state == TLS_HANDSHAKING;
  unsigned long code = ERR_peek_error();
  long result = SSL_get_verify_result(tls->ssl);
  set_tls_state(tls, TLS_BROKEN);
  if (is_new && result != X509_V_OK)
    return fail_certificate(tls, result, error);
  if (tls->has_eof || tls->system_error != 0) {
    ERR_clear_error();
    const char *why = tls->has_eof ? "the peer ended it" : strerror(tls->system_error);
    return is_new ? client_fail(error, JP_CLIENT_REFUSED, "the connection ended during the TLS handshake: %s",
                                why)
                  : client_fail(error, JP_CLIENT_CLOSED, "the connection was cut: %s without the end of TLS",
                                why);
  }
  bool is_alert = ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) >= SSL_AD_REASON_OFFSET;
  bool is_plain = is_new && (ERR_GET_REASON(code) == SSL_R_WRONG_VERSION_NUMBER ||
                             ERR_GET_REASON(code) == SSL_R_PACKET_LENGTH_TOO_LONG);
  const char *reason = take_reason();
  if (is_alert)
    return client_fail(error, JP_CLIENT_REFUSED, "the peer refuses the TLS connection: %s", reason);
  if (is_plain)
    return client_fail(error, JP_CLIENT_REFUSED, "the peer does not speak TLS (%s)", reason);
  return is_new ? client_fail(error, JP_CLIENT_REFUSED, "no TLS connection: %s", reason)
                : client_fail(error, JP_CLIENT_PROTOCOL, "the peer broke the rules of TLS: %s", reason);
}

/* Returns the status for a call of OpenSSL with this result, which is not positive. JP_CLIENT_OK: the call
 * has to wait for the socket. */
static enum jp_client_status judge_failure(struct client_tls *tls, int result, enum tls_wait *wait,
                                           struct jp_client_error *error)
{
  switch (SSL_get_error(tls->ssl, result)) {
  case SSL_ERROR_WANT_READ:
    *wait = TLS_NEEDS_INPUT;
    return JP_CLIENT_OK;
  case SSL_ERROR_WANT_WRITE:
    *wait = TLS_NEEDS_ROOM;
    return JP_CLIENT_OK;
  case SSL_ERROR_ZERO_RETURN:
    if (tls->state == TLS_OPEN)
      set_tls_state(tls, TLS_ENDED);
    ERR_clear_error();
    return client_fail(error, JP_CLIENT_CLOSED, "the peer has closed the connection");
  default:
    return fail_for_good(tls, error);
  }
}

/* ---- the certificates ---- */

/* True for a folder of authorities: its certificates have the names by which OpenSSL finds them
 * ("002c0b4f.0"). A folder with only a few certificates does not count, because it may only supplement a
 * file. */
static bool is_hashed_folder(const char *path)
{
  enum { HASH_DIGITS = 8, FEWEST = 40 };
  DIR *folder = opendir(path);
  unsigned count = 0;
  for (const struct dirent *entry; folder != NULL && count < FEWEST && (entry = readdir(folder)) != NULL;) {
    const char *name = entry->d_name;
    count += strspn(name, "0123456789abcdef") == HASH_DIGITS && strcmp(name + HASH_DIGITS, ".0") == 0;
  }
  if (folder != NULL)
    closedir(folder);
  return count == FEWEST;
}

/*
 * Distributions have the system's certificates in different places, and a package of this library may contain
 * an OpenSSL that was built for another distribution. For this reason all usual places are tried. A folder is
 * preferred to a file, because OpenSSL reads only the needed certificates of a folder; reading all
 * certificates of a file takes 20 ms for each connection.
 */
static bool add_system_authorities(SSL_CTX *context)
{
  static const char *const files[] = {
      "/etc/ssl/certs/ca-certificates.crt",                /* Debian, Alpine, Arch */
      "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* Fedora, RHEL */
      "/etc/pki/tls/certs/ca-bundle.crt",                  /* RHEL 6 */
      "/etc/ssl/ca-bundle.pem",                            /* SUSE */
  };
  const char *file = getenv(X509_get_default_cert_file_env());
  const char *folder = getenv(X509_get_default_cert_dir_env());
  if (file != NULL || folder != NULL)
    return SSL_CTX_set_default_verify_paths(context) == 1;
  if (is_hashed_folder(X509_get_default_cert_dir()))
    return SSL_CTX_set_default_verify_dir(context) == 1;
  if (is_hashed_folder("/etc/ssl/certs"))
    return SSL_CTX_load_verify_dir(context, "/etc/ssl/certs") == 1;
  if (access(X509_get_default_cert_file(), R_OK) == 0)
    return SSL_CTX_set_default_verify_paths(context) == 1;
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    if (access(files[i], R_OK) == 0)
      return SSL_CTX_load_verify_file(context, files[i]) == 1;
  }
  return SSL_CTX_set_default_verify_paths(context) == 1; /* the folder alone */
}

/* A key with a passphrase is refused: OpenSSL would ask for it on the terminal. */
static int refuse_passphrase(char *bytes, int size, int is_encrypting, void *context)
{
  (void)bytes, (void)size, (void)is_encrypting;
  *(bool *)context = true;
  return -1;
}

static enum jp_client_status fail_file(const char *name, const char *path, struct jp_client_error *error)
{
  if (access(path, R_OK) != 0) {
    ERR_clear_error();
    return client_fail(error, JP_CLIENT_INVALID, "%s %s: %s", name, path, strerror(errno));
  }
  return client_fail(error, JP_CLIENT_INVALID, "%s %s: not usable as PEM: %s", name, path, take_reason());
}

static enum jp_client_status use_own_certificate(SSL_CTX *context,
                                                 const struct client_credentials *credentials,
                                                 struct jp_client_error *error)
{
  bool has_passphrase = false;
  if (SSL_CTX_use_certificate_chain_file(context, credentials->cert_file) != 1)
    return fail_file("cert_file", credentials->cert_file, error);
  SSL_CTX_set_default_passwd_cb(context, refuse_passphrase);
  SSL_CTX_set_default_passwd_cb_userdata(context, &has_passphrase);
  int is_used = SSL_CTX_use_PrivateKey_file(context, credentials->key_file, SSL_FILETYPE_PEM);
  SSL_CTX_set_default_passwd_cb_userdata(context, NULL);
  SSL_CTX_set_default_passwd_cb(context, NULL);
  if (is_used != 1 && has_passphrase) {
    ERR_clear_error();
    return client_fail(error, JP_CLIENT_INVALID, "key_file %s: the key has a passphrase",
                       credentials->key_file);
  }
  return is_used == 1 ? JP_CLIENT_OK : fail_file("key_file", credentials->key_file, error);
}

/* ---- creating ---- */

static enum jp_client_status configure(SSL_CTX *context, const struct client_credentials *credentials,
                                       struct jp_client_error *error)
{
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_clear_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF); /* the system's configuration may set it */
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_read_ahead(context, 1); /* otherwise a record costs two system calls */
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
  if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1 ||
      SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") != 1)
    return client_fail(error, JP_CLIENT_UNSUPPORTED, "no TLS 1.2 or later: %s", take_reason());
  if (credentials->ca_file != NULL) {
    if (SSL_CTX_load_verify_file(context, credentials->ca_file) != 1)
      return fail_file("ca_file", credentials->ca_file, error);
  } else if (!add_system_authorities(context)) {
    return client_fail(error, JP_CLIENT_INVALID, "the system's certificates cannot be read: %s",
                       take_reason());
  }
  return credentials->cert_file == NULL ? JP_CLIENT_OK : use_own_certificate(context, credentials, error);
}

/* Demands that the certificate is for the host. Only the names in subjectAltName count. A certificate that is
 * itself in ca_file is trusted without an issuer. */
static bool demand_host(struct client_tls *tls)
{
  struct in6_addr address;
  X509_VERIFY_PARAM *param = SSL_get0_param(tls->ssl);
  X509_VERIFY_PARAM_set_hostflags(param,
                                  X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  if (X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_PARTIAL_CHAIN) != 1)
    return false;
  if (inet_pton(AF_INET, tls->host, &address) == 1 || inet_pton(AF_INET6, tls->host, &address) == 1)
    return X509_VERIFY_PARAM_set1_ip_asc(param, tls->host) == 1;
  return X509_VERIFY_PARAM_set1_host(param, tls->host, 0) == 1 &&
         SSL_set_tlsext_host_name(tls->ssl, tls->host) == 1;
}

/* Copies the host without the zone of an address and without the dot at the end of a name, because
 * certificates have neither. False: there is no host. */
static bool copy_host(struct client_tls *tls, struct text host)
{
  const char *zone = memchr(host.data, ':', host.len) == NULL ? NULL : memchr(host.data, '%', host.len);
  if (zone != NULL)
    host.len = (size_t)(zone - host.data);
  if (host.len > 0 && host.data[host.len - 1] == '.')
    host.len--;
  if (host.len == 0 || host.len >= sizeof tls->host)
    return false;
  memcpy(tls->host, host.data, host.len);
  tls->host[host.len] = '\0';
  return true;
}

enum jp_client_status client_tls_create(int fd, const struct client_url *url,
                                        const struct client_credentials *credentials, struct client_tls **tls,
                                        struct jp_client_error *error)
{
  *tls = NULL;
  ERR_clear_error();
  struct client_tls *made = calloc(1, sizeof *made);
  SSL_CTX *context = made == NULL ? NULL : SSL_CTX_new(TLS_client_method());
  if (context == NULL) {
    free(made);
    return fail_no_memory(error);
  }
  made->fd = fd;
  enum jp_client_status status = configure(context, credentials, error);
  if (status == JP_CLIENT_OK && !copy_host(made, url->host))
    status = client_fail(error, JP_CLIENT_INVALID, "the name of the host is empty or too long");
  if (status == JP_CLIENT_OK) {
    made->ssl = SSL_new(context);
    BIO *bio = made->ssl == NULL ? NULL : create_socket_bio(made);
    if (bio == NULL) {
      status = fail_no_memory(error);
    } else {
      SSL_set_bio(made->ssl, bio, bio); /* takes it */
      SSL_set_connect_state(made->ssl);
      if (!demand_host(made))
        status = client_fail(error, JP_CLIENT_INVALID, "%s: not a host that a certificate can name: %s",
                             made->host, take_reason());
    }
  }
  SSL_CTX_free(context); /* the connection holds it */
  if (status == JP_CLIENT_OK) {
    *tls = made;
    return JP_CLIENT_OK;
  }
  SSL_free(made->ssl);
  free(made);
  return status;
}

void client_tls_destroy(struct client_tls *tls)
{
  if (tls == NULL)
    return;
  if (tls->state == TLS_OPEN || tls->state == TLS_ENDED) {
    (void)SSL_shutdown(tls->ssl);
    ERR_clear_error();
  }
  SSL_free(tls->ssl);
  free(tls);
}

/* ---- the handshake, reading and writing ---- */

enum jp_client_status client_tls_shake_hands(struct client_tls *tls, enum tls_wait *wait,
                                             struct jp_client_error *error)
{
  *wait = TLS_NEEDS_NOTHING;
  tls->budget = RECEIVED_A_CALL;
  ERR_clear_error();
  int result = SSL_do_handshake(tls->ssl);
  if (result != 1) {
    enum jp_client_status status = judge_failure(tls, result, wait, error);
    if (status == JP_CLIENT_CLOSED) /* close_notify in the middle of the handshake */
      status =
          client_fail(error, JP_CLIENT_REFUSED, "the peer closed the connection during the TLS handshake");
    return status;
  }
  long verified = SSL_get_verify_result(tls->ssl);
  if (verified != X509_V_OK || SSL_get0_peer_certificate(tls->ssl) == NULL) {
    set_tls_state(tls, TLS_BROKEN);
    return fail_certificate(tls, verified == X509_V_OK ? X509_V_ERR_UNSPECIFIED : verified, error);
  }
  set_tls_state(tls, TLS_OPEN);
  return JP_CLIENT_OK;
}

static enum jp_client_status fail_not_open(struct jp_client_error *error)
{
  return client_fail(error, JP_CLIENT_CLOSED, "the connection has ended");
}

enum jp_client_status client_tls_write(struct client_tls *tls, const char *bytes, size_t size, size_t *count,
                                       enum tls_wait *wait, struct jp_client_error *error)
{
  *count = 0;
  *wait = TLS_NEEDS_NOTHING;
  if (tls->state != TLS_OPEN)
    return fail_not_open(error);
  tls->budget = RECEIVED_A_CALL;
  ERR_clear_error();
  int result = SSL_write_ex(tls->ssl, bytes, size, count);
  return result == 1 ? JP_CLIENT_OK : judge_failure(tls, result, wait, error);
}

enum jp_client_status client_tls_read(struct client_tls *tls, char *bytes, size_t size, size_t *count,
                                      enum tls_wait *wait, struct jp_client_error *error)
{
  *count = 0;
  *wait = TLS_NEEDS_NOTHING;
  if (tls->state != TLS_OPEN)
    return fail_not_open(error);
  tls->budget = RECEIVED_A_CALL;
  ERR_clear_error();
  int result = SSL_read_ex(tls->ssl, bytes, size, count);
  return result == 1 ? JP_CLIENT_OK : judge_failure(tls, result, wait, error);
}

bool client_tls_has_input(const struct client_tls *tls)
{
  return tls->state == TLS_OPEN && SSL_has_pending(tls->ssl) == 1;
}

bool client_tls_is_cut(const struct client_tls *tls)
{
  return tls->state == TLS_BROKEN;
}

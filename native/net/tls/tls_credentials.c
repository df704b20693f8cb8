#include "net/tls/tls_credentials.h"

#include "audit/audit.h"
#include "base/buffer.h"
#include "base/file_watch.h"
#include "base/log.h"
#include "base/small_file.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
  FILE_MAX = 64 * 1024 * 1024,  /* bytes; revocation lists can be long */
  CLIENT_CHAIN_MAX = 32 * 1024, /* bytes of a client's certificates */
  FILES_MAX = 4
};

struct tls_credentials {
  struct tls_files files;
  const char *watched[FILES_MAX + 1]; /* NULL-terminated */
  struct file_watch *watch;
  pthread_mutex_t lock; /* guards context */
  SSL_CTX *context;
};

/* --- reading files --- */

/* Returns the text of the first error in OpenSSL's queue, and empties the queue. */
static const char *take_reason(void)
{
  const char *reason = ERR_reason_error_string(ERR_peek_error());
  ERR_clear_error();
  return reason != NULL ? reason : "unknown reason";
}

/* Refuses a key with a passphrase: the peer has no terminal on which it could ask, and no option for a
 * passphrase. */
static int refuse_passphrase(char *into, int size, int is_written, void *context)
{
  (void)into, (void)size, (void)is_written, (void)context;
  return -1;
}

struct pem {
  const char *option;
  const char *path;
  struct buffer content;
  BIO *bio;
};

/* The content may be a key: close_pem cleanses it. */
static enum jp_status open_pem(struct pem *pem, const char *option, const char *path, bool is_key,
                               struct jp_error *error)
{
  *pem = (struct pem){.option = option, .path = path};
  buffer_init(&pem->content);
  enum jp_status status = small_file_read(path, is_key ? SMALL_FILE_SECRET : SMALL_FILE_PLAIN, FILE_MAX,
                                          &pem->content, NULL, error);
  if (status != JP_OK) {
    jp_error_prefix(error, "%s", option);
    return status;
  }
  pem->bio = BIO_new_mem_buf(pem->content.data, (int)pem->content.len);
  return pem->bio != NULL ? JP_OK : jp_fail_memory(error, NULL);
}

static void close_pem(struct pem *pem)
{
  BIO_free(pem->bio);
  if (pem->content.data != NULL)
    OPENSSL_cleanse(pem->content.data, pem->content.len);
  buffer_fini(&pem->content);
}

static enum jp_status fail_pem(const struct pem *pem, const char *what, struct jp_error *error)
{
  return jp_fail(error, JP_INVALID, "%s: %s: %s: %s", pem->option, pem->path, what, take_reason());
}

/* True if the last object was not read because the file has ended; OpenSSL's queue is then emptied. False: an
 * object could not be read. */
static bool is_at_end(void)
{
  const unsigned long reason = ERR_peek_last_error();
  const bool is_end = ERR_GET_LIB(reason) == ERR_LIB_PEM && ERR_GET_REASON(reason) == PEM_R_NO_START_LINE;
  if (is_end)
    ERR_clear_error();
  return is_end;
}

/* --- the certificate and its key --- */

static enum jp_status read_key(const char *path, EVP_PKEY **key, struct jp_error *error)
{
  struct pem pem;
  enum jp_status status = open_pem(&pem, "--tls-key", path, true, error);
  if (status == JP_OK) {
    *key = PEM_read_bio_PrivateKey(pem.bio, NULL, refuse_passphrase, NULL);
    if (*key == NULL)
      status = fail_pem(&pem, "has no private key in PEM without a passphrase", error);
  }
  close_pem(&pem);
  return status;
}

/* The first certificate is the peer's own. */
static enum jp_status read_certificates(const char *option, const char *path, STACK_OF(X509) * certificates,
                                        struct jp_error *error)
{
  struct pem pem;
  enum jp_status status = open_pem(&pem, option, path, false, error);
  while (status == JP_OK) {
    X509 *read = PEM_read_bio_X509(pem.bio, NULL, refuse_passphrase, NULL);
    if (read == NULL) {
      if (!is_at_end() || sk_X509_num(certificates) == 0)
        status = fail_pem(&pem, "has no certificate in PEM", error);
      break;
    }
    if (sk_X509_push(certificates, read) == 0) {
      X509_free(read);
      status = jp_fail_memory(error, NULL);
    }
  }
  close_pem(&pem);
  return status;
}

static void warn_of_dates(const char *path, const X509 *certificate)
{
  if (X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0)
    log_warn("--tls-cert: the certificate in %s has expired: clients will refuse it", path);
  else if (X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0)
    log_warn("--tls-cert: the certificate in %s is not valid yet: clients will refuse it", path);
}

static enum jp_status use_pair(SSL_CTX *context, const struct tls_files *files, struct jp_error *error)
{
  EVP_PKEY *key = NULL;
  X509 *own = NULL;
  STACK_OF(X509) *chain = sk_X509_new_null();
  enum jp_status status = chain == NULL ? jp_fail_memory(error, NULL) : JP_OK;
  if (status == JP_OK)
    status = read_certificates("--tls-cert", files->certificate, chain, error);
  if (status == JP_OK)
    status = read_key(files->key, &key, error);
  if (status == JP_OK) {
    own = sk_X509_shift(chain);
    if (X509_check_private_key(own, key) != 1)
      status = jp_fail(error, JP_INVALID, "--tls-key: %s is not the key of the certificate in %s", files->key,
                       files->certificate);
    else if (SSL_CTX_use_cert_and_key(context, own, key, chain, 1) != 1)
      status =
          jp_fail(error, JP_INVALID, "--tls-cert: %s cannot be used: %s", files->certificate, take_reason());
    else
      warn_of_dates(files->certificate, own);
  }
  ERR_clear_error();
  X509_free(own);
  sk_X509_pop_free(chain, X509_free);
  EVP_PKEY_free(key);
  return status;
}

/* --- certificates of clients --- */

static enum jp_status trust_authorities(SSL_CTX *context, const char *path, struct jp_error *error)
{
  STACK_OF(X509) *authorities = sk_X509_new_null();
  enum jp_status status = authorities == NULL
                              ? jp_fail_memory(error, NULL)
                              : read_certificates("--tls-client-ca", path, authorities, error);
  X509_STORE *store = SSL_CTX_get_cert_store(context);
  for (int i = 0; status == JP_OK && i < sk_X509_num(authorities); i++) {
    X509 *authority = sk_X509_value(authorities, i);
    if (X509_STORE_add_cert(store, authority) != 1 || SSL_CTX_add_client_CA(context, authority) != 1)
      status = jp_fail(error, JP_INVALID, "--tls-client-ca: %s: %s", path, take_reason());
  }
  sk_X509_pop_free(authorities, X509_free);
  return status;
}

static enum jp_status add_revocations(SSL_CTX *context, const char *path, struct jp_error *error)
{
  struct pem pem;
  X509_STORE *store = SSL_CTX_get_cert_store(context);
  enum jp_status status = open_pem(&pem, "--tls-client-crl", path, false, error);
  for (int count = 0; status == JP_OK; count++) {
    X509_CRL *list = PEM_read_bio_X509_CRL(pem.bio, NULL, refuse_passphrase, NULL);
    if (list == NULL) {
      if (!is_at_end() || count == 0)
        status = fail_pem(&pem, "has no revocation list in PEM", error);
      break;
    }
    if (X509_cmp_current_time(X509_CRL_get0_nextUpdate(list)) < 0)
      log_warn("--tls-client-crl: a list in %s has expired: all clients of its authority will be refused",
               path);
    if (X509_STORE_add_crl(store, list) != 1)
      status = fail_pem(&pem, "cannot be used", error);
    X509_CRL_free(list);
  }
  close_pem(&pem);
  if (status == JP_OK)
    X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
  return status;
}

/* Accepts a certificate without a known authority, because without authorities a certificate is identified by
 * its digest (net/tls/tls_stream.h). All other checks remain: dates, use, signatures inside the chain. */
static int accept_unknown_authority(int is_good, X509_STORE_CTX *chain)
{
  switch (X509_STORE_CTX_get_error(chain)) {
  case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
  case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
  case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
  case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
  case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    return 1;
  default:
    return is_good;
  }
}

static enum jp_status ask_clients(SSL_CTX *context, const struct tls_files *files, struct jp_error *error)
{
  static const unsigned char session_context[] = "jpeer";
  const enum tls_client_auth auth = tls_client_auth(files);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF); /* tickets need no memory */
  SSL_CTX_set_session_id_context(context, session_context, sizeof session_context - 1);
  if (auth == TLS_CLIENT_AUTH_NONE) {
    SSL_CTX_set_num_tickets(context, 1);
    return JP_OK;
  }
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_max_cert_list(context, CLIENT_CHAIN_MAX);
  SSL_CTX_set_verify(
      context, SSL_VERIFY_PEER | (auth == TLS_CLIENT_AUTH_REQUIRE ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
      files->client_ca == NULL ? accept_unknown_authority : NULL);
  enum jp_status status = JP_OK;
  if (files->client_ca != NULL)
    status = trust_authorities(context, files->client_ca, error);
  if (status == JP_OK && files->client_crl != NULL)
    status = add_revocations(context, files->client_crl, error);
  return status;
}

/* --- a context --- */

/* Refuses a client that offers only protocols of other servers (RFC 7301, 3.2): it was sent here by mistake,
 * or by an attacker. */
static int choose_protocol(SSL *ssl, const unsigned char **chosen, unsigned char *length,
                           const unsigned char *offered, unsigned offered_length, void *context)
{
  static const unsigned char own[] = "\x08http/1.1\x08http/1.0";
  unsigned char *found;
  (void)ssl, (void)context;
  if (SSL_select_next_proto(&found, length, own, sizeof own - 1, offered, offered_length) !=
      OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

/* Sets the rules for all connections. The system's configuration of OpenSSL may forbid more, but cannot allow
 * more. */
static bool set_rules(SSL_CTX *context)
{
  SSL_CTX_set_options(context,
                      SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_clear_options(context,
                        SSL_OP_ALLOW_UNSAFE_LEGACY_RENEGOTIATION | SSL_OP_ALLOW_CLIENT_RENEGOTIATION);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS | SSL_MODE_NO_AUTO_CHAIN);
  SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY); /* so that a flood of records without data ends a read */
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_max_early_data(context, 0);
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
  return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
         SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1 &&
         SSL_CTX_set_ciphersuites(
             context, "TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256") == 1;
}

static enum jp_status make_context(const struct tls_files *files, SSL_CTX **context, struct jp_error *error)
{
  ERR_clear_error();
  SSL_CTX *made = SSL_CTX_new(TLS_server_method());
  enum jp_status status = JP_OK;
  if (made == NULL)
    return jp_fail_memory(error, NULL);
  if (!set_rules(made))
    status = jp_fail(error, JP_INTERNAL, "OpenSSL has no ciphers for TLS: %s", take_reason());
  if (status == JP_OK)
    status = use_pair(made, files, error);
  if (status == JP_OK)
    status = ask_clients(made, files, error);
  ERR_clear_error();
  if (status == JP_OK)
    *context = made;
  else
    SSL_CTX_free(made);
  return status;
}

/* --- credentials --- */

static void load_again(void *state)
{
  struct tls_credentials *credentials = state;
  struct jp_error error = {0};
  SSL_CTX *made = NULL;
  if (make_context(&credentials->files, &made, &error) != JP_OK) {
    log_error("Failed to reload the TLS files, and the old ones stay: %s", error.text);
    audit_reload("tls", credentials->files.certificate, &error);
    return;
  }
  pthread_mutex_lock(&credentials->lock);
  SSL_CTX *old = credentials->context;
  credentials->context = made;
  pthread_mutex_unlock(&credentials->lock);
  SSL_CTX_free(old);
  log_info("TLS files reloaded: %s", credentials->files.certificate);
  audit_reload("tls", credentials->files.certificate, NULL);
}

static const char *const *list_files(void *state)
{
  return ((struct tls_credentials *)state)->watched;
}

static enum jp_status watch_files(struct tls_credentials *credentials, struct jp_error *error)
{
  const struct tls_files *files = &credentials->files;
  const char *const paths[FILES_MAX] = {files->certificate, files->key, files->client_ca, files->client_crl};
  size_t count = 0;
  for (size_t i = 0; i < FILES_MAX; i++) {
    if (paths[i] != NULL)
      credentials->watched[count++] = paths[i];
  }
  const struct file_watch_config config = {.interval_ms = files->watch_ms,
                                           .thread_name = "tls-watch",
                                           .what = "the TLS files",
                                           .files = list_files,
                                           .reload = load_again,
                                           .context = credentials};
  return file_watch_start(&config, &credentials->watch, error);
}

enum jp_status tls_credentials_create(const struct tls_files *files, struct tls_credentials **credentials,
                                      struct jp_error *error)
{
  /* OpenSSL must not free its data at exit, because threads that return late from Java may still write while
   * the process exits. */
  OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL);
  struct tls_credentials *made = calloc(1, sizeof *made);
  if (made == NULL)
    return jp_fail_memory(error, NULL);
  made->files = *files;
  pthread_mutex_init(&made->lock, NULL);
  /* The watch is started before the files are loaded, so that no change is lost. The watch may load the files
   * before this thread does. */
  SSL_CTX *context = NULL;
  enum jp_status status = watch_files(made, error);
  if (status == JP_OK)
    status = make_context(files, &context, error);
  if (status != JP_OK) {
    tls_credentials_destroy(made);
    return status;
  }
  pthread_mutex_lock(&made->lock);
  if (made->context == NULL)
    made->context = context;
  else
    SSL_CTX_free(context);
  pthread_mutex_unlock(&made->lock);
  *credentials = made;
  return JP_OK;
}

void tls_credentials_destroy(struct tls_credentials *credentials)
{
  if (credentials == NULL)
    return;
  file_watch_stop(credentials->watch);
  SSL_CTX_free(credentials->context);
  pthread_mutex_destroy(&credentials->lock);
  free(credentials);
}

void tls_credentials_reload(struct tls_credentials *credentials, void (*done)(void))
{
  file_watch_reload(credentials->watch, done);
}

struct ssl_st *tls_credentials_open(struct tls_credentials *credentials)
{
  pthread_mutex_lock(&credentials->lock);
  SSL *made = SSL_new(credentials->context);
  pthread_mutex_unlock(&credentials->lock);
  ERR_clear_error();
  return made;
}

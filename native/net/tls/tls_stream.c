#include "net/tls/tls_stream.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum {
  RECORD_HEAD = 5, /* type, version, length (RFC 8446, 5.1) */
  GREETING = 9,    /* the head of the first record, and of the message in it: type and length (RFC 8446, 4) */
  HELLO_MAX =
      16 * 1024, /* the longest first message of a client; OpenSSL reserves memory for the message before it
                  * receives the message */
  RECORDS_A_READ = 64,
  QUIET_READS_MAX = 32, /* the stream fails after more consecutive reads (of at most 17 KiB each) that find
                         * only records without data */
  TYPE_HANDSHAKE = 22,
  TYPE_CLIENT_HELLO = 1
};

struct tls_stream {
  SSL *ssl;
  enum tls_stream_state state;
  bool is_of_authority; /* as in struct tls_certificate */
  bool is_drained; /* the last recv has emptied the socket; OpenSSL may still have received bytes that it has
                    * not decrypted */
  bool is_dry;     /* the last recv has found nothing */
  bool is_held;
  bool is_at_end; /* the socket's input has ended */
  int fd;         /* during a call */
  int failure;    /* errno of the last recv or send that has failed */
  unsigned quiet_reads;
  struct tls_certificate *certificate; /* the client's, once it was asked for */
  unsigned char greeting[GREETING];
  uint8_t greeting_length;
  uint8_t greeting_used; /* bytes that OpenSSL has received */
};

static void set_state(struct tls_stream *stream, enum tls_stream_state to)
{
  ASSERT_TRANSITION(tls_stream_transitions, stream->state, to);
  stream->state = to;
}

/* --- the socket, for OpenSSL --- */

/* The same as recv(2), and notes whether the socket is empty, has ended or has failed. */
static ssize_t receive(struct tls_stream *stream, void *into, size_t size)
{
  ssize_t count;
  do
    count = recv(stream->fd, into, size, MSG_DONTWAIT);
  while (count < 0 && errno == EINTR);
  stream->is_drained = count < (ssize_t)size;
  stream->is_dry = count < 0;
  if (count == 0)
    stream->is_at_end = true;
  else if (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
    stream->failure = errno;
  return count;
}

static int read_socket(BIO *bio, char *into, int size)
{
  struct tls_stream *stream = BIO_get_data(bio);
  BIO_clear_retry_flags(bio);
  const int left = stream->greeting_length - stream->greeting_used;
  if (left > 0) {
    const int count = size < left ? size : left;
    memcpy(into, stream->greeting + stream->greeting_used, (size_t)count);
    stream->greeting_used += (uint8_t)count;
    return count;
  }
  const ssize_t count = receive(stream, into, (size_t)size);
  if (count < 0 && stream->failure == 0)
    BIO_set_retry_read(bio);
  return (int)count;
}

static int write_socket(BIO *bio, const char *bytes, int size)
{
  struct tls_stream *stream = BIO_get_data(bio);
  BIO_clear_retry_flags(bio);
  ssize_t count;
  do
    count = send(stream->fd, bytes, (size_t)size, MSG_NOSIGNAL | MSG_DONTWAIT);
  while (count < 0 && errno == EINTR);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
    BIO_set_retry_write(bio);
  else if (count < 0)
    stream->failure = errno;
  return (int)count;
}

static long control_socket(BIO *bio, int command, long number, void *pointer)
{
  const struct tls_stream *stream = BIO_get_data(bio);
  (void)number, (void)pointer;
  if (command == BIO_CTRL_EOF)
    return stream->is_at_end;
  return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *socket_method; /* lives as long as the process */

static void make_method(void)
{
  BIO_METHOD *made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "jpeer socket");
  if (made == NULL)
    return;
  if (BIO_meth_set_read(made, read_socket) == 1 && BIO_meth_set_write(made, write_socket) == 1 &&
      BIO_meth_set_ctrl(made, control_socket) == 1)
    socket_method = made;
  else
    BIO_meth_free(made);
}

static BIO *make_bio(struct tls_stream *stream)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_method);
  BIO *made = socket_method == NULL ? NULL : BIO_new(socket_method);
  if (made == NULL)
    return NULL;
  BIO_set_data(made, stream);
  BIO_set_init(made, 1);
  return made;
}

/* --- streams --- */

struct tls_stream *tls_stream_create(struct tls_credentials *credentials)
{
  struct tls_stream *made = calloc(1, sizeof *made);
  if (made == NULL)
    return NULL;
  made->fd = -1;
  made->ssl = tls_credentials_open(credentials);
  BIO *bio = made->ssl == NULL ? NULL : make_bio(made);
  if (bio == NULL) {
    ERR_clear_error();
    tls_stream_destroy(made);
    return NULL;
  }
  X509_STORE *authorities = SSL_CTX_get_cert_store(SSL_get_SSL_CTX(made->ssl));
  made->is_of_authority = sk_X509_OBJECT_num(X509_STORE_get0_objects(authorities)) > 0;
  SSL_set_bio(made->ssl, bio, bio);
  SSL_set_accept_state(made->ssl);
  return made;
}

void tls_stream_destroy(struct tls_stream *stream)
{
  if (stream == NULL)
    return;
  SSL_free(stream->ssl);
  free(stream->certificate);
  free(stream);
}

bool tls_stream_is_shaking(const struct tls_stream *stream)
{
  return stream->state == TLS_STREAM_GREETS || stream->state == TLS_STREAM_SHAKES;
}

bool tls_stream_has_failed(const struct tls_stream *stream)
{
  return stream->state == TLS_STREAM_FAILED;
}

static void begin_call(struct tls_stream *stream, int fd)
{
  stream->fd = fd;
  stream->failure = 0;
  ERR_clear_error(); /* SSL_get_error reads the queue */
}

/* --- failures --- */

static enum tls_read fail_read(struct tls_stream *stream, struct jp_error *error)
{
  const unsigned long code = ERR_peek_error();
  const long verdict = SSL_get_verify_result(stream->ssl);
  const char *reason = ERR_reason_error_string(code);
  set_state(stream, TLS_STREAM_FAILED);
  if (code == 0 && stream->failure != 0)
    jp_fail(error, JP_CLOSED, "%s", strerror(stream->failure));
  else if (ERR_GET_REASON(code) == SSL_R_CERTIFICATE_VERIFY_FAILED && verdict != X509_V_OK)
    jp_fail(error, JP_DENIED, "the client's certificate is refused: %s",
            X509_verify_cert_error_string(verdict));
  else
    jp_fail(error, JP_INVALID, "%s", reason != NULL ? reason : "the client has broken the protocol");
  ERR_clear_error();
  return TLS_READ_FAILED;
}

static enum tls_read fail_greeting(struct tls_stream *stream, struct jp_error *error, const char *reason)
{
  set_state(stream, TLS_STREAM_FAILED);
  jp_fail(error, JP_INVALID, "%s", reason);
  return TLS_READ_FAILED;
}

/* --- reading --- */

static bool begins_as_http(const struct tls_stream *stream)
{
  for (size_t i = 0; i < 3 && i < stream->greeting_length; i++) {
    if (stream->greeting[i] < 'A' || stream->greeting[i] > 'Z')
      return false;
  }
  return true;
}

static size_t find_hello_length(const struct tls_stream *stream)
{
  const unsigned char *length = stream->greeting + RECORD_HEAD + 1;
  return (size_t)length[0] << 16 | (size_t)length[1] << 8 | length[2];
}

/* Receives the first bytes, and checks them before OpenSSL reads them. MORE: the handshake may begin. */
static enum tls_read read_greeting(struct tls_stream *stream, struct jp_error *error)
{
  const ssize_t count = receive(stream, stream->greeting + stream->greeting_length,
                                (size_t)(GREETING - stream->greeting_length));
  if (count > 0)
    stream->greeting_length += (uint8_t)count;
  else if (count == 0)
    return TLS_READ_ENDED;
  else if (stream->failure != 0)
    return fail_read(stream, error);
  if (stream->greeting_length > 0 && stream->greeting[0] != TYPE_HANDSHAKE)
    return fail_greeting(stream, error,
                         begins_as_http(stream) ? "it speaks plain HTTP to a port with TLS"
                                                : "it does not speak TLS");
  if (stream->greeting_length < GREETING)
    return TLS_READ_EMPTIED;
  const bool is_cut =
      stream->greeting[RECORD_HEAD - 2] == 0 && stream->greeting[RECORD_HEAD - 1] < GREETING - RECORD_HEAD;
  if (stream->greeting[RECORD_HEAD] != TYPE_CLIENT_HELLO || is_cut)
    return fail_greeting(stream, error, "it does not begin a handshake");
  if (find_hello_length(stream) > HELLO_MAX)
    return fail_greeting(stream, error, "its first message is too long");
  set_state(stream, TLS_STREAM_SHAKES);
  return TLS_READ_MORE;
}

static void note_handshake(struct tls_stream *stream)
{
  if (stream->state == TLS_STREAM_SHAKES && SSL_is_init_finished(stream->ssl))
    set_state(stream, TLS_STREAM_OPEN);
}

/* Decides what follows a read that has found no data. MORE: the next read may find data. */
static enum tls_read judge_read(struct tls_stream *stream, int result, struct jp_error *error)
{
  switch (SSL_get_error(stream->ssl, result)) {
  case SSL_ERROR_WANT_READ:
    if (stream->is_dry)
      return TLS_READ_EMPTIED;
    if (++stream->quiet_reads > QUIET_READS_MAX)
      return fail_greeting(stream, error, "it sends too many records without data");
    return TLS_READ_MORE;
  case SSL_ERROR_WANT_WRITE:
    stream->is_held = true;
    return TLS_READ_EMPTIED;
  case SSL_ERROR_ZERO_RETURN:
    return TLS_READ_ENDED;
  default:
    return fail_read(stream, error);
  }
}

static enum tls_read read_records(struct tls_stream *stream, char *into, size_t room, size_t *count,
                                  struct jp_error *error)
{
  for (int records = 0; records < RECORDS_A_READ && *count < room; records++) {
    size_t got = 0;
    const int result = SSL_read_ex(stream->ssl, into + *count, room - *count, &got);
    note_handshake(stream);
    if (result == 1) {
      stream->quiet_reads = 0;
      *count += got;
      if (stream->is_drained && SSL_has_pending(stream->ssl) == 0)
        return TLS_READ_EMPTIED;
      continue;
    }
    const enum tls_read judged = judge_read(stream, result, error);
    if (judged == TLS_READ_EMPTIED || (judged != TLS_READ_MORE && *count == 0))
      return judged;
    if (judged != TLS_READ_MORE)
      return TLS_READ_MORE; /* the next read finds the end */
  }
  return TLS_READ_MORE;
}

enum tls_read tls_stream_read(struct tls_stream *stream, int fd, char *into, size_t room, size_t *count,
                              struct jp_error *error)
{
  begin_call(stream, fd);
  *count = 0;
  stream->is_held = stream->is_drained = stream->is_dry = false;
  if (stream->state == TLS_STREAM_FAILED) {
    jp_fail(error, JP_CLOSED, "the stream has failed");
    return TLS_READ_FAILED;
  }
  if (stream->state == TLS_STREAM_GREETS) {
    const enum tls_read greeted = read_greeting(stream, error);
    if (greeted != TLS_READ_MORE)
      return greeted;
  }
  return read_records(stream, into, room, count, error);
}

size_t tls_stream_peek(struct tls_stream *stream, int fd, char *into, size_t room)
{
  size_t count = 0;
  if (stream->state != TLS_STREAM_OPEN && stream->state != TLS_STREAM_CLOSED)
    return 0;
  begin_call(stream, fd);
  const int result = SSL_peek_ex(stream->ssl, into, room, &count);
  if (result != 1 && SSL_get_error(stream->ssl, result) == SSL_ERROR_WANT_WRITE)
    stream->is_held = true;
  ERR_clear_error();
  return result == 1 ? count : 0;
}

bool tls_stream_has_pending(const struct tls_stream *stream)
{
  return stream->state != TLS_STREAM_FAILED && SSL_has_pending(stream->ssl) == 1;
}

/* --- writing --- */

bool tls_stream_write(struct tls_stream *stream, int fd, const char *bytes, size_t length, size_t *count)
{
  *count = 0;
  if (stream->state != TLS_STREAM_OPEN)
    return false;
  begin_call(stream, fd);
  while (*count < length) {
    size_t sent = 0;
    const int result = SSL_write_ex(stream->ssl, bytes + *count, length - *count, &sent);
    if (result == 1) {
      stream->is_held = false;
      *count += sent;
      continue;
    }
    if (SSL_get_error(stream->ssl, result) == SSL_ERROR_WANT_WRITE)
      return true;
    set_state(stream, TLS_STREAM_FAILED);
    ERR_clear_error();
    return false;
  }
  return true;
}

bool tls_stream_is_held(const struct tls_stream *stream)
{
  return stream->is_held;
}

void tls_stream_flush(struct tls_stream *stream, int fd)
{
  if (!stream->is_held || stream->state == TLS_STREAM_FAILED || stream->state == TLS_STREAM_CLOSED)
    return;
  begin_call(stream, fd);
  const int result = SSL_do_handshake(stream->ssl);
  stream->is_held = result != 1 && SSL_get_error(stream->ssl, result) == SSL_ERROR_WANT_WRITE;
  note_handshake(stream);
  ERR_clear_error(); /* the next read finds a failure */
}

void tls_stream_close(struct tls_stream *stream, int fd)
{
  if (stream->state != TLS_STREAM_OPEN)
    return;
  begin_call(stream, fd);
  const int result = SSL_shutdown(stream->ssl);
  stream->is_held = result < 0 && SSL_get_error(stream->ssl, result) == SSL_ERROR_WANT_WRITE;
  if (!stream->is_held)
    set_state(stream, result < 0 ? TLS_STREAM_FAILED : TLS_STREAM_CLOSED);
  ERR_clear_error();
}

/* --- the client's certificate --- */

/* Copies the certificate's name, if it has exactly one. A name with a zero byte is left out, because a reader
 * could take it for a shorter name. */
static void copy_common_name(const X509 *certificate, char *into)
{
  X509_NAME *subject = X509_get_subject_name(certificate);
  const int first = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  unsigned char *name = NULL;
  into[0] = '\0';
  if (first < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, first) >= 0)
    return;
  const int length =
      ASN1_STRING_to_UTF8(&name, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, first)));
  if (length > 0 && length <= TLS_COMMON_NAME_MAX && memchr(name, '\0', (size_t)length) == NULL) {
    memcpy(into, name, (size_t)length);
    into[length] = '\0';
  }
  OPENSSL_free(name);
}

static bool describe_certificate(const struct tls_stream *stream, struct tls_certificate *certificate)
{
  unsigned length = 0;
  struct tm end;
  const X509 *found = SSL_get0_peer_certificate(stream->ssl);
  certificate->is_of_authority = stream->is_of_authority;
  copy_common_name(found, certificate->common_name);
  if (ASN1_TIME_to_tm(X509_get0_notAfter(found), &end) != 1)
    return false;
  certificate->not_after = timegm(&end);
  return X509_digest(found, EVP_sha256(), certificate->digest, &length) == 1 && length == TLS_DIGEST;
}

const struct tls_certificate *tls_stream_certificate(struct tls_stream *stream)
{
  if (stream->certificate != NULL || tls_stream_is_shaking(stream) ||
      SSL_get0_peer_certificate(stream->ssl) == NULL)
    return stream->certificate;
  struct tls_certificate *made = malloc(sizeof *made);
  if (made != NULL && describe_certificate(stream, made))
    stream->certificate = made;
  else
    free(made);
  ERR_clear_error();
  return stream->certificate;
}

/* A stream beside a client of OpenSSL, over a pair of sockets. Versions, files and clients' certificates are tested from
 * outside (tests/integration/net/test_tls.py, tests/integration/test_tls.py). */
#include "net/tls/tls_stream.h"
#include "tests/unit/temporary_file.h"

#include <fcntl.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

enum { ROOM = 64 * 1024, PATIENCE = 10000 };

struct pair {
  struct tls_credentials *credentials;
  struct tls_stream *stream;
  SSL *client;
  int fds[2]; /* the stream's, the client's */
  struct jp_error error;
  char bytes[ROOM];
};

/* --- OpenSSL's memory --- */

static bool is_failing;       /* the stream works, and the test counts */
static long allocations_left; /* until the one that fails, which happens once */

static bool must_fail(void)
{
  return is_failing && --allocations_left == 0;
}

static void *allocate(size_t size, const char *file, int line)
{
  (void)file, (void)line;
  return must_fail() ? NULL : malloc(size);
}

static void *reallocate(void *old, size_t size, const char *file, int line)
{
  (void)file, (void)line;
  if (size == 0) {
    free(old);
    return NULL;
  }
  return must_fail() ? NULL : realloc(old, size);
}

static void release(void *old, const char *file, int line)
{
  (void)file, (void)line;
  free(old);
}

/* --- the files --- */

static char cert_path[] = TEMPORARY_FILE;
static char key_path[] = TEMPORARY_FILE;
static EVP_PKEY *key;
static X509 *certificate;

static void set_name(const char *const *names, size_t count)
{
  X509_NAME *subject = X509_NAME_new();
  for (size_t i = 0; i < count; i++)
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)names[i], -1, -1, 0);
  X509_set_subject_name(certificate, subject);
  X509_set_issuer_name(certificate, subject);
  X509_sign(certificate, key, EVP_sha256());
  X509_NAME_free(subject);
}

static int make_files(void **state)
{
  static const char *const name[] = {"reporting"};
  (void)state;
  assert_int_equal(CRYPTO_set_mem_functions(allocate, reallocate, release), 1);
  temporary_file_write(cert_path, "", 0);
  temporary_file_write(key_path, "", 0);
  key = EVP_EC_gen("P-256");
  certificate = X509_new();
  X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  set_name(name, 1);
  FILE *file = fopen(cert_path, "w");
  PEM_write_X509(file, certificate);
  fclose(file);
  file = fopen(key_path, "w");
  PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL);
  fclose(file);
  return 0;
}

static int remove_files(void **state)
{
  (void)state;
  unlink(cert_path);
  unlink(key_path);
  EVP_PKEY_free(key);
  X509_free(certificate);
  return 0;
}

static int open_pair(void **state)
{
  struct pair *pair = calloc(1, sizeof *pair);
  const struct tls_files files = {
      .certificate = cert_path, .key = key_path, .client_auth = TLS_CLIENT_AUTH_OPTIONAL};
  SSL_CTX *context = SSL_CTX_new(TLS_client_method());
  assert_int_equal(tls_credentials_create(&files, &pair->credentials, &pair->error), JP_OK);
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair->fds), 0);
  pair->stream = tls_stream_create(pair->credentials);
  assert_non_null(pair->stream);
  pair->client = SSL_new(context);
  SSL_CTX_free(context);
  SSL_set_mode(pair->client, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_set_fd(pair->client, pair->fds[1]);
  SSL_set_connect_state(pair->client);
  *state = pair;
  return 0;
}

static int close_pair(void **state)
{
  struct pair *pair = *state;
  tls_stream_destroy(pair->stream);
  tls_credentials_destroy(pair->credentials);
  SSL_free(pair->client);
  close(pair->fds[0]);
  close(pair->fds[1]);
  free(pair);
  return 0;
}

static enum tls_read read_some(struct pair *pair, size_t room, size_t *count)
{
  return tls_stream_read(pair->stream, pair->fds[0], pair->bytes, room, count, &pair->error);
}

/* Lets both sides work until the handshake is over. */
static void shake_hands(struct pair *pair)
{
  size_t count;
  for (int i = 0;
       i < PATIENCE && (tls_stream_is_shaking(pair->stream) || !SSL_is_init_finished(pair->client)); i++) {
    (void)SSL_do_handshake(pair->client);
    assert_int_not_equal(read_some(pair, ROOM, &count), TLS_READ_FAILED);
    assert_int_equal(count, 0);
  }
  assert_false(tls_stream_is_shaking(pair->stream));
}

static void send_from_client(struct pair *pair, const char *text)
{
  assert_int_equal(SSL_write(pair->client, text, (int)strlen(text)), strlen(text));
}

UNIT_TEST_OF(records_that_were_received_together_are_read_as_there_is_room, struct pair *pair, open_pair,
             close_pair)
{
  size_t count;
  shake_hands(pair);
  for (int i = 0; i < 20; i++)
    send_from_client(pair, "0123456789");
  assert_int_equal(read_some(pair, 25, &count), TLS_READ_MORE);
  assert_int_equal(count, 25);
  assert_true(tls_stream_has_pending(pair->stream));
  assert_int_equal(read_some(pair, ROOM, &count), TLS_READ_EMPTIED);
  assert_int_equal(count, 175);
  assert_false(tls_stream_has_pending(pair->stream));
  assert_int_equal(read_some(pair, ROOM, &count), TLS_READ_EMPTIED);
  assert_int_equal(count, 0);
}

UNIT_TEST_OF(bytes_before_the_end_are_read_before_it, struct pair *pair, open_pair, close_pair)
{
  size_t count;
  shake_hands(pair);
  send_from_client(pair, "last");
  SSL_shutdown(pair->client);
  assert_int_equal(read_some(pair, ROOM, &count), TLS_READ_MORE);
  assert_int_equal(count, 4);
  assert_int_equal(read_some(pair, ROOM, &count), TLS_READ_ENDED);
  assert_true(tls_stream_write(pair->stream, pair->fds[0], "answer", 6, &count));
  assert_int_equal(SSL_read(pair->client, pair->bytes, ROOM), 6);
}

UNIT_TEST_OF(a_peek_leaves_its_bytes, struct pair *pair, open_pair, close_pair)
{
  char peeked[10];
  size_t count;
  shake_hands(pair);
  assert_int_equal(tls_stream_peek(pair->stream, pair->fds[0], peeked, sizeof peeked), 0);
  send_from_client(pair, "hello");
  assert_int_equal(tls_stream_peek(pair->stream, pair->fds[0], peeked, sizeof peeked), 5);
  assert_true(tls_stream_has_pending(pair->stream));
  (void)read_some(pair, ROOM, &count);
  assert_int_equal(count, 5);
  SSL_shutdown(pair->client);
  assert_int_equal(tls_stream_peek(pair->stream, pair->fds[0], peeked, sizeof peeked), 0);
  assert_int_equal(read_some(pair, ROOM, &count), TLS_READ_ENDED);
}

/* Fills the socket. Returns how many bytes of `bytes` the stream has accepted. */
static size_t fill(struct pair *pair, char *bytes, size_t length)
{
  size_t count;
  for (size_t i = 0; i < length; i++)
    bytes[i] = (char)('a' + i % 26);
  assert_true(tls_stream_write(pair->stream, pair->fds[0], bytes, length, &count));
  assert_true(count < length);
  return count;
}

/* The client reads all, while the stream sends the rest. */
static void drain(struct pair *pair, const char *bytes, size_t sent, size_t length)
{
  size_t received = 0;
  for (int i = 0; i < PATIENCE && received < length; i++) {
    size_t count;
    tls_stream_flush(pair->stream, pair->fds[0]);
    assert_true(tls_stream_write(pair->stream, pair->fds[0], bytes + sent, length - sent, &count));
    sent += count;
    const int got = SSL_read(pair->client, pair->bytes, ROOM);
    if (got <= 0) {
      assert_int_equal(SSL_get_error(pair->client, got), SSL_ERROR_WANT_READ);
      continue;
    }
    assert_memory_equal(pair->bytes, bytes + received, (size_t)got);
    received += (size_t)got;
  }
  assert_int_equal(received, length);
}

UNIT_TEST_OF(new_keys_wait_for_a_record_that_waits_for_room, struct pair *pair, open_pair, close_pair)
{
  enum { LENGTH = 4 << 20 };
  char *bytes = malloc(LENGTH);
  size_t count;
  shake_hands(pair);
  const size_t sent = fill(pair, bytes, LENGTH);
  assert_int_equal(SSL_key_update(pair->client, SSL_KEY_UPDATE_REQUESTED), 1);
  send_from_client(pair, "more");
  for (int i = 0; i < 3; i++)
    assert_int_not_equal(read_some(pair, ROOM, &count), TLS_READ_FAILED);
  drain(pair, bytes, sent, LENGTH);
  send_from_client(pair, "after");
  for (int i = 0; i < PATIENCE && (read_some(pair, ROOM, &count) == TLS_READ_MORE || count == 0); i++)
    ;
  assert_true(count >= 5);
  assert_memory_equal(pair->bytes + count - 5, "after", 5);
  free(bytes);
}

UNIT_TEST_OF(the_final_alert_waits_for_room, struct pair *pair, open_pair, close_pair)
{
  shake_hands(pair);
  while (recv(pair->fds[1], pair->bytes, ROOM, MSG_DONTWAIT) > 0)
    ;
  while (send(pair->fds[0], pair->bytes, 1, MSG_DONTWAIT) == 1)
    ;
  tls_stream_close(pair->stream, pair->fds[0]);
  assert_true(tls_stream_is_held(pair->stream));
  while (recv(pair->fds[1], pair->bytes, ROOM, MSG_DONTWAIT) > 0)
    ;
  tls_stream_flush(pair->stream, pair->fds[0]);
  tls_stream_close(pair->stream, pair->fds[0]);
  assert_false(tls_stream_is_held(pair->stream));
  assert_int_equal(recv(pair->fds[1], pair->bytes, ROOM, MSG_DONTWAIT), 24);
}

UNIT_TEST_OF(data_behind_new_keys_is_read_without_an_event, struct pair *pair, open_pair, close_pair)
{
  size_t count;
  shake_hands(pair);
  for (int i = 0; i < 5; i++)
    assert_true(SSL_key_update(pair->client, SSL_KEY_UPDATE_NOT_REQUESTED) == 1 &&
                SSL_do_handshake(pair->client) == 1);
  send_from_client(pair, "data");
  assert_int_equal(read_some(pair, ROOM, &count), TLS_READ_EMPTIED);
  assert_int_equal(count, 4);
}

UNIT_TEST_OF(a_flood_of_records_without_data_ends_the_stream, struct pair *pair, open_pair, close_pair)
{
  size_t count;
  shake_hands(pair);
  enum tls_read read = TLS_READ_EMPTIED;
  for (int i = 0; i < 100 && read == TLS_READ_EMPTIED; i++) {
    assert_int_equal(SSL_key_update(pair->client, SSL_KEY_UPDATE_NOT_REQUESTED), 1);
    assert_int_equal(SSL_do_handshake(pair->client), 1);
    read = read_some(pair, ROOM, &count);
  }
  assert_int_equal(read, TLS_READ_FAILED);
  assert_int_equal(pair->error.status, JP_INVALID);
  assert_true(tls_stream_has_failed(pair->stream));
  assert_false(tls_stream_write(pair->stream, pair->fds[0], "x", 1, &count));
}

static void present(struct pair *pair)
{
  assert_int_equal(SSL_use_certificate(pair->client, certificate), 1);
  assert_int_equal(SSL_use_PrivateKey(pair->client, key), 1);
  shake_hands(pair);
}

UNIT_TEST_OF(a_certificate_is_told_by_digest_and_name, struct pair *pair, open_pair, close_pair)
{
  unsigned char digest[32];
  assert_null(tls_stream_certificate(pair->stream));
  present(pair);
  const struct tls_certificate *found = tls_stream_certificate(pair->stream);
  assert_non_null(found);
  assert_false(found->is_of_authority);
  assert_string_equal(found->common_name, "reporting");
  X509_digest(certificate, EVP_sha256(), digest, NULL);
  assert_memory_equal(found->digest, digest, sizeof digest);
  assert_ptr_equal(tls_stream_certificate(pair->stream), found);
}

UNIT_TEST_OF(a_client_without_a_certificate_has_none, struct pair *pair, open_pair, close_pair)
{
  shake_hands(pair);
  assert_null(tls_stream_certificate(pair->stream));
}

UNIT_TEST_OF(two_names_are_none, struct pair *pair, open_pair, close_pair)
{
  static const char *const names[] = {"reporting", "ops"};
  set_name(names, 2);
  present(pair);
  assert_string_equal(tls_stream_certificate(pair->stream)->common_name, "");
  set_name(names, 1);
}

/* Without an authority, too. */
UNIT_TEST_OF(an_expired_certificate_is_refused, struct pair *pair, open_pair, close_pair)
{
  static const char *const names[] = {"reporting"};
  size_t count;
  enum tls_read read = TLS_READ_EMPTIED;
  X509_gmtime_adj(X509_getm_notBefore(certificate), -7200);
  X509_gmtime_adj(X509_getm_notAfter(certificate), -3600);
  set_name(names, 1);
  assert_int_equal(SSL_use_certificate(pair->client, certificate), 1);
  assert_int_equal(SSL_use_PrivateKey(pair->client, key), 1);
  for (int i = 0; i < PATIENCE && read != TLS_READ_FAILED; i++) {
    (void)SSL_do_handshake(pair->client);
    read = read_some(pair, ROOM, &count);
  }
  assert_int_equal(read, TLS_READ_FAILED);
  assert_non_null(strstr(pair->error.text, "certificate has expired"));
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  set_name(names, 1);
}

/* A handshake, an exchange and the end, whose allocation with this number fails. False: the stream has failed. */
static bool live(struct pair *pair)
{
  size_t count = 0;
  bool has_failed = false;
  for (int i = 0; i < 20 && !has_failed && count == 0; i++) {
    if (SSL_do_handshake(pair->client) == 1)
      (void)SSL_write(pair->client, "hello", 5);
    is_failing = true;
    has_failed = read_some(pair, ROOM, &count) == TLS_READ_FAILED;
    is_failing = false;
  }
  is_failing = true;
  has_failed = has_failed || !tls_stream_write(pair->stream, pair->fds[0], "answer", 6, &count);
  tls_stream_close(pair->stream, pair->fds[0]);
  is_failing = false;
  if (has_failed)
    return false;
  return SSL_read(pair->client, pair->bytes, ROOM) == 6;
}

UNIT_TEST(missing_memory_ends_a_stream_alone)
{
  size_t failed = 0;
  for (long number = 1;; number += 1 + number / 50) {
    struct pair *pair;
    open_pair((void **)&pair);
    tls_stream_destroy(pair->stream);
    allocations_left = number;
    is_failing = true;
    pair->stream = tls_stream_create(pair->credentials);
    is_failing = false;
    failed += pair->stream == NULL || !live(pair);
    const bool is_over = allocations_left > 0;
    close_pair((void **)&pair);
    if (is_over)
      break;
  }
  assert_true(failed > 10);
}

UNIT_MAIN_WITH(make_files, remove_files)

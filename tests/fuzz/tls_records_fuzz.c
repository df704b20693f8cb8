/*
 * Any bytes as TLS records of a client: in place of a handshake, in the middle of one, and after one. The stream gives none
 * of them to its reader, because no key has protected them, and does not block. The first byte of the input is how many
 * bytes of a real client's first flight come before it; 255: the whole handshake does.
 */
#include "net/tls/tls_stream.h"

#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROOM = 32 * 1024, WHOLE_HANDSHAKE = 255, TURNS_MAX = 100, STEP = 8 };

static struct tls_credentials *credentials;
static SSL_CTX *context;

static void write_pem(char *path, EVP_PKEY *key, X509 *certificate)
{
  FILE *file = fdopen(mkstemp(path), "w"); /* with the mode 0600 */
  require(file != NULL &&
          (certificate != NULL ? PEM_write_X509(file, certificate)
                               : PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL)) == 1);
  fclose(file);
}

/* Once for all inputs. */
static void start(void)
{
  char cert_path[] = "/tmp/jpeer-fuzz-XXXXXX";
  char key_path[] = "/tmp/jpeer-fuzz-XXXXXX";
  EVP_PKEY *key = EVP_EC_gen("P-256");
  X509 *certificate = X509_new();
  X509_NAME *name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const unsigned char *)"peer", -1, -1, 0);
  X509_set_issuer_name(certificate, name);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_sign(certificate, key, EVP_sha256());
  write_pem(cert_path, NULL, certificate);
  write_pem(key_path, key, NULL);
  const struct tls_files files = {
      .certificate = cert_path, .key = key_path, .client_auth = TLS_CLIENT_AUTH_OPTIONAL};
  require(tls_credentials_create(&files, &credentials, NULL) == JP_OK);
  unlink(cert_path);
  unlink(key_path);
  X509_free(certificate);
  EVP_PKEY_free(key);
  context = SSL_CTX_new(TLS_client_method());
  require(context != NULL);
}

/* Reads as often as there may be input. Returns false if the stream has ended. */
static bool read_all(struct tls_stream *stream, int fd)
{
  char bytes[ROOM];
  for (int i = 0; i < TURNS_MAX; i++) {
    size_t count = 0;
    struct jp_error error = {0};
    enum tls_read read = tls_stream_read(stream, fd, bytes, sizeof bytes, &count, &error);
    require(count == 0);
    require(read != TLS_READ_FAILED || (error.status != JP_OK && error.text[0] != '\0'));
    if (read != TLS_READ_MORE)
      return read == TLS_READ_EMPTIED;
  }
  return true;
}

static SSL *create_client(int fd)
{
  SSL *client = SSL_new(context);
  require(client != NULL);
  SSL_set_fd(client, fd);
  SSL_set_connect_state(client);
  return client;
}

static void shake_hands(struct tls_stream *stream, const int fds[2])
{
  SSL *client = create_client(fds[1]);
  for (int i = 0; i < TURNS_MAX && (SSL_do_handshake(client) != 1 || tls_stream_is_shaking(stream)); i++)
    require(read_all(stream, fds[0]));
  require(!tls_stream_is_shaking(stream));
  SSL_free(client);
}

/* The beginning of a first flight. */
static void begin_handshake(size_t length, int fd)
{
  char flight[4096];
  SSL *client = SSL_new(context);
  BIO *out = BIO_new(BIO_s_mem());
  SSL_set_bio(client, BIO_new(BIO_s_mem()), out);
  SSL_set_connect_state(client);
  require(SSL_do_handshake(client) != 1);
  int made = BIO_read(out, flight, sizeof flight);
  require(made > 0);
  if (length > (size_t)made)
    length = (size_t)made;
  require(write(fd, flight, length) == (ssize_t)length);
  SSL_free(client);
}

FUZZ_TARGET(input)
{
  int fds[2];
  if (input.len < 2 || input.len > ROOM)
    return;
  if (credentials == NULL)
    start();
  require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0);
  struct tls_stream *stream = tls_stream_create(credentials);
  require(stream != NULL);
  size_t before = (uint8_t)input.data[0];
  if (before == WHOLE_HANDSHAKE)
    shake_hands(stream, fds);
  else if (before > 0)
    begin_handshake(before * STEP, fds[1]);
  input = text_slice(input, 1, input.len);
  size_t half = input.len / 2;
  bool is_open = write(fds[1], input.data, half) == (ssize_t)half && read_all(stream, fds[0]);
  if (is_open && write(fds[1], input.data + half, input.len - half) == (ssize_t)(input.len - half))
    is_open = read_all(stream, fds[0]);
  shutdown(fds[1], SHUT_WR);
  if (is_open)
    (void)read_all(stream, fds[0]);
  tls_stream_close(stream, fds[0]);
  tls_stream_destroy(stream);
  close(fds[0]);
  close(fds[1]);
}

#ifndef JPEER_NET_TLS_TLS_STREAM_H
#define JPEER_NET_TLS_TLS_STREAM_H
/*
 * TLS between a connection and its socket, on the server's side. The handshake is a part of reading: each
 * read continues the handshake, and no read returns bytes before the handshake has ended.
 *
 * No function waits. One thread at a time uses a stream: the connection's owner, or the thread that holds the
 * connection's lock (net/connection/connection_duplex.h). The socket is passed to each call, because a
 * connection may close it while the stream still exists.
 *
 * A stream may have input that no event of the socket shows: a read receives all bytes that the socket has,
 * up to 17 KiB, and decrypts only as many as its caller has room for. tls_stream_has_pending says whether
 * bytes are left. A stream may also have output that its caller has not written: messages of the handshake,
 * new keys (RFC 8446, 4.6.3) and the final alert. tls_stream_is_held says whether such bytes found no room in
 * the socket; tls_stream_flush sends them.
 *
 * Memory: docs/limits.md. OpenSSL's buffers exist only while they have content.
 */
#include "base/status.h"
#include "base/transitions.h"
#include "net/tls/tls_credentials.h"

#include <time.h>

struct tls_stream;

/*
 *   | state  | meaning                                            | what ends it                              |
 *   | GREETS | the client's first bytes are not all here          | a read that has them                      |
 *   | SHAKES | the handshake has begun, and continues             | a read that ends it                       |
 *   | OPEN   | bytes are read and written                         | tls_stream_close                          |
 *   | CLOSED | the final alert was written; input may still be    | a failure                                 |
 *   |        | read                                               |                                           |
 *   | FAILED | nothing more is read or written; an alert may have | nothing                                   |
 *   |        | been sent                                          |                                           |
 */
enum tls_stream_state {
  TLS_STREAM_GREETS, /* the beginning of the handshake was not received yet */
  TLS_STREAM_SHAKES, /* the handshake goes on */
  TLS_STREAM_OPEN,   /* bytes are read and written */
  TLS_STREAM_CLOSED, /* the peer's side has ended */
  TLS_STREAM_FAILED  /* the stream is broken */
};

static const uint16_t tls_stream_transitions[] = {
    [TLS_STREAM_GREETS] = TO(TLS_STREAM_SHAKES) | TO(TLS_STREAM_FAILED),
    [TLS_STREAM_SHAKES] = TO(TLS_STREAM_OPEN) | TO(TLS_STREAM_FAILED),
    [TLS_STREAM_OPEN] = TO(TLS_STREAM_CLOSED) | TO(TLS_STREAM_FAILED),
    [TLS_STREAM_CLOSED] = TO(TLS_STREAM_FAILED),
    [TLS_STREAM_FAILED] = 0,
};

/* What a read leaves. */
enum tls_read {
  TLS_READ_MORE,    /* there may be more input */
  TLS_READ_EMPTIED, /* all input was read; an event of the socket will show further input */
  TLS_READ_ENDED,   /* the client sends no more */
  TLS_READ_FAILED
};

enum { TLS_RECORD_MAX = 16 * 1024 }; /* bytes of data in one record */

/* NULL: no memory. Caller frees with tls_stream_destroy. */
struct tls_stream *tls_stream_create(struct tls_credentials *credentials);
/* NULL is fine. */
void tls_stream_destroy(struct tls_stream *stream);

/* Before the end of the handshake, nothing can be written. */
bool tls_stream_is_shaking(const struct tls_stream *stream);
bool tls_stream_has_failed(const struct tls_stream *stream);

/* Receives and decrypts. *count may be 0 with any result. FAILED: *error has the reason. Its status is
 * JP_CLOSED if the socket has failed, JP_DENIED if the client's certificate is refused, and JP_INVALID if the
 * client does not obey the protocol. */
enum tls_read tls_stream_read(struct tls_stream *stream, int fd, char *into, size_t room, size_t *count,
                              struct jp_error *error);
/* Decrypts unread input, which the next read receives again. Returns its length, up to `room`. */
size_t tls_stream_peek(struct tls_stream *stream, int fd, char *into, size_t room);
/* True if the stream has received bytes from the socket that no read has returned yet. */
bool tls_stream_has_pending(const struct tls_stream *stream);

/* Encrypts and sends as many bytes as the socket has room for; *count: how many. If there was no room for all, the next
 * write begins with the same bytes. False: the stream has failed. */
bool tls_stream_write(struct tls_stream *stream, int fd, const char *bytes, size_t length, size_t *count);
/* True if bytes of the protocol itself wait for room in the socket. */
bool tls_stream_is_held(const struct tls_stream *stream);
void tls_stream_flush(struct tls_stream *stream, int fd);
/* Ends the peer's side with an alert, after all output was written. If tls_stream_is_held is true afterwards, the caller
 * calls this function again when there is room. */
void tls_stream_close(struct tls_stream *stream, int fd);

/* --- who the client is --- */

enum { TLS_DIGEST = 32, TLS_COMMON_NAME_MAX = 256 };

/* The certificate of a client. The client has proved that it has the key, and the certificate was valid
 * during the handshake. */
struct tls_certificate {
  /* True if an authority in tls_files.client_ca has issued the certificate and has not revoked it. The name
   * counts only in this case. */
  bool is_of_authority;
  time_t not_after;                          /* its last second */
  uint8_t digest[TLS_DIGEST];                /* SHA-256 of its DER */
  char common_name[TLS_COMMON_NAME_MAX + 1]; /* UTF-8; empty: none, several, or too long */
};

/* Returns the client's certificate, valid as long as the stream. NULL: the client has none, the handshake is
 * not over, or memory is short; in the last case the next call tries again. */
const struct tls_certificate *tls_stream_certificate(struct tls_stream *stream);

#endif

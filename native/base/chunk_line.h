#ifndef JPEER_BASE_CHUNK_LINE_H
#define JPEER_BASE_CHUNK_LINE_H
/*
 * The extensions of a chunk (RFC 9112, 7.1.1), which llhttp reads neither with white space nor with an escape in a quoted
 * value. Pure, any thread.
 */

/* Who reads the next byte of a body in chunks. llhttp knows neither white space around ";" and "=" nor an escape in a
 * quoted value, so that extensions (RFC 9112, 7.1.1) are read and dropped before it. */
enum chunk_line {
  CHUNK_LLHTTP,    /* llhttp: the end of a line, and the data */
  CHUNK_SIZE,      /* llhttp, the digits of the size; what follows them decides */
  CHUNK_BLANK,     /* white space after the size or a value: only another extension may follow */
  CHUNK_SEMICOLON, /* before a name */
  CHUNK_NAME,
  CHUNK_NAME_BLANK,
  CHUNK_EQUALS, /* before a value */
  CHUNK_TOKEN,
  CHUNK_QUOTED,
  CHUNK_ESCAPE, /* after a backslash */
  CHUNK_VALUE_END,
  CHUNK_WRONG
};

/* The place after one more byte of the extensions; CHUNK_LLHTTP: they end before the byte. */
enum chunk_line chunk_line_step(enum chunk_line at, unsigned char c);

#endif

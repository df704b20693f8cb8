#ifndef JPEER_PRINCIPAL_PRINCIPAL_TOKEN_H
#define JPEER_PRINCIPAL_PRINCIPAL_TOKEN_H
/* Makes tokens, and adds their hashes to principals files (docs/security.md, "Tokens"). One thread. */
#include "base/buffer.h"
#include "principal/principal_file.h"

enum { PRINCIPAL_TOKEN_LENGTH = 3 + 43, PRINCIPAL_HASH_LENGTH = 7 + 2 * PRINCIPAL_DIGEST };

/* Writes a new token ("jp_" and 256 random bits in base64url) and its hash as files list it ("sha256:..."). JP_INTERNAL:
 * OpenSSL has no randomness. The caller cleanses the token. */
enum jp_status principal_token_make(char token[PRINCIPAL_TOKEN_LENGTH + 1],
                                    char hash[PRINCIPAL_HASH_LENGTH + 1],
                                    struct jp_error *error) JP_MUST_CHECK;

/*
 * Appends to `out` the text of a principals file with the hash added to the tokens of the entry of this name; the rest of the
 * text, its comments included, is as before. yaml is valid by principal_file_parse_draft. JP_NOT_FOUND: there is no such entry.
 * JP_INVALID: the place cannot be found, because of aliases or an unusual form; the error's text says what to do.
 */
enum jp_status principal_token_insert(struct text yaml, const char *file, const char *name, const char *hash,
                                      struct buffer *out, struct jp_error *error) JP_MUST_CHECK;

/* The same with a file, which is replaced as a whole, with its mode and owner. Waits while another process adds a hash to the
 * file. JP_IO: the system's reason. */
enum jp_status principal_token_add(const char *file, const char *name, const char *hash,
                                   struct jp_error *error) JP_MUST_CHECK;

#endif

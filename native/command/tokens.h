#ifndef JPEER_COMMAND_TOKENS_H
#define JPEER_COMMAND_TOKENS_H
/* Tokens of the language: names, literals and signs. For the parser; one thread. */
#include "command/language.h"

#include <stdbool.h>

enum token_kind { TOKEN_END, TOKEN_NAME, TOKEN_LITERAL, TOKEN_SIGN, TOKEN_COMMAND };

struct token {
  enum token_kind kind;
  size_t at;
  size_t end;
  bool after_newline; /* the first token of its line */
  struct text span;   /* of a NAME or SIGN; of a COMMAND the rest of the line after the backslash */
  enum literal_kind literal;
  bool is_least; /* 2147483648 or 9223372036854775808L, which only "-" may precede */
  int64_t integer;
  double number;
  struct text text;
};

/* Reads the token that begins at `at` or after blanks and comments. JP_INVALID: *error says where and why. */
enum jp_status token_read(struct text source, size_t at, struct arena *arena, struct token *token,
                          struct language_error *error) JP_MUST_CHECK;

/* Sets *error and returns JP_INVALID. */
enum jp_status language_fail(struct language_error *error, size_t at, bool is_incomplete, const char *format,
                             ...) JP_PRINTF(4, 5);

#endif

/* Names as identifiers: the input is an identifier that a client may send, and a name that a document may list. An
 * accepted identifier is written in the same way again, and every name is read back. */
#include "rpc/methods/identifiers.h"

#include "tests/fuzz/fuzz.h"

static void write_again(struct text name, struct text identifier)
{
  struct buffer out;
  buffer_init(&out);
  identifier_write(name, &out);
  require(!out.failed && text_equal(buffer_text(&out), identifier));
  buffer_fini(&out);
}

static void read_back(struct text name, struct arena *arena)
{
  struct buffer out;
  buffer_init(&out);
  identifier_write(name, &out);
  require(!out.failed && text_is_ascii(buffer_text(&out)));
  require(text_equal(identifier_read(buffer_text(&out), arena), name));
  buffer_fini(&out);
}

FUZZ_TARGET(input)
{
  struct arena arena;
  arena_init(&arena);
  struct text name = identifier_read(input, &arena);
  if (name.data != NULL)
    write_again(name, input);
  if (text_valid_utf8(input) == input.len)
    read_back(input, &arena);
  arena_fini(&arena);
}

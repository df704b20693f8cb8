/* Any bytes as a class file: parsed, and the types of its members written as a query would. */
#include "classfile/class_file.h"
#include "classfile/signature.h"

#include "tests/fuzz/fuzz.h"

static void read_types(struct text rest, bool (*read)(struct text *, struct buffer *))
{
  struct buffer out;
  buffer_init(&out);
  while (rest.len > 0 && read(&rest, &out))
    ;
  buffer_fini(&out);
}

static void read_member(const struct class_member *member, bool is_method)
{
  struct text signature = member->signature;
  require(!is_method || descriptor_parameters(member->descriptor).len <= member->descriptor.len);
  if (is_method && signature_count_parameters(signature) >= 0)
    (void)signature_enter_method(&signature);
  read_types(signature, signature_read_type);
  if (!is_method)
    read_types(member->descriptor, descriptor_read_type);
}

FUZZ_TARGET(input)
{
  enum { MEMBERS = 16 }; /* the first entries are enough */
  struct arena arena;
  struct class_file file;
  struct jp_error error = {.text = ""};
  arena_init(&arena);
  enum jp_status status = class_file_parse((const uint8_t *)input.data, input.len, &arena, &file, &error);
  require(status != JP_INVALID || error.text[0] != '\0'); /* a refusal has a reason */
  if (status == JP_OK) {
    for (size_t i = 0; i < file.method_count && i < MEMBERS; i++)
      read_member(&file.methods[i], true);
    for (size_t i = 0; i < file.field_count && i < MEMBERS; i++)
      read_member(&file.fields[i], false);
  }
  arena_fini(&arena);
}

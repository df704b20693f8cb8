#include "rpc/methods/java_type_arguments.h"

#include "classfile/signature.h"

struct java_type_arguments java_type_arguments_read(struct text written)
{
  struct java_type_arguments arguments = {.first = TEXT_ABSENT, .last = TEXT_ABSENT};
  struct text rest = text_slice(written, 1, written.len);
  while (rest.len > 0 && rest.data[0] != '>') {
    struct text from = rest;
    bool is_any = rest.data[0] == '*';
    if (is_any || rest.data[0] == '+' || rest.data[0] == '-')
      rest = text_slice(rest, 1, rest.len);
    if (!is_any && !signature_read_type(&rest, NULL))
      break;
    arguments.last = text_slice(from, 0, from.len - rest.len);
    if (arguments.count == 0)
      arguments.first = arguments.last;
    arguments.count++;
  }
  return arguments;
}

struct text java_type_argument_type(struct text argument)
{
  if (argument.len > 1 && argument.data[0] == '+')
    return text_slice(argument, 1, argument.len);
  bool is_unknown = argument.len == 0 || argument.data[0] == '*' || argument.data[0] == '-';
  return is_unknown ? TEXT_ABSENT : argument;
}

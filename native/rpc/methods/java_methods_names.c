#include "rpc/methods/java_methods_names.h"

#include "classfile/signature.h"

static bool is_reserved(struct text name)
{
  static const struct text prefixes[] = {TEXT("rpc."), TEXT("system."), TEXT("jpeer.")};
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
    if (text_starts_with(name, prefixes[i]))
      return true;
  }
  return false;
}

bool java_method_name_parse(struct text written, struct java_method_name *name)
{
  struct text plain = written;
  const char *dash = written.len == 0 ? NULL : memchr(written.data, '-', written.len);
  *name = (struct java_method_name){.suffix = TEXT_ABSENT};
  if (dash != NULL) {
    plain = text_slice(written, 0, (size_t)(dash - written.data));
    name->suffix = text_slice(written, plain.len + 1, written.len);
  }
  size_t dot = text_find_last(plain, '.');
  if (dot == SIZE_MAX || dot == 0 || dot + 1 == plain.len || is_reserved(written))
    return false;
  name->class_name = text_slice(plain, 0, dot);
  name->member = text_slice(plain, dot + 1, plain.len);
  return true;
}

/* Turns "int[][]", from `from` to the end of the buffer, into "int.array.array". */
static void rewrite_array(struct buffer *out, size_t from)
{
  unsigned dimensions = 0;
  while (!out->failed && out->len >= from + 2 && out->data[out->len - 1] == ']') {
    buffer_truncate(out, out->len - 2);
    dimensions++;
  }
  for (; dimensions > 0; dimensions--)
    BUFFER_LITERAL(out, ".array");
}

void java_method_suffix_write(struct text descriptor, struct buffer *out)
{
  struct text rest = text_slice(descriptor, 1, descriptor.len);
  if (rest.len > 0 && rest.data[0] == ')')
    BUFFER_LITERAL(out, "void");
  for (bool first = true; rest.len > 0 && rest.data[0] != ')'; first = false) {
    if (!first)
      buffer_append_char(out, '-');
    size_t from = out->len;
    if (!descriptor_read_type(&rest, out)) {
      out->failed = true; /* descriptors are valid: memory is short */
      return;
    }
    rewrite_array(out, from);
  }
}

static bool is_key_char(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_';
}

/* Reads a character of well-formed WTF-8 and moves past it. */
static unsigned read_code_point(struct text t, size_t *at)
{
  unsigned char first = (unsigned char)t.data[(*at)++];
  if (first < 0x80)
    return first;
  unsigned more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
  unsigned point = first & (0x3Fu >> more);
  for (; more > 0 && *at < t.len; more--)
    point = point << 6 | ((unsigned char)t.data[(*at)++] & 0x3Fu);
  return point;
}

void java_component_key_write(struct text class_name, struct buffer *out)
{
  for (size_t i = 0; i < class_name.len;) {
    char c = class_name.data[i];
    if (!is_key_char(c) && c != '$') {
      buffer_printf(out, "..%04X.", read_code_point(class_name, &i));
      continue;
    }
    buffer_append_char(out, c == '$' ? '-' : c);
    i++;
  }
}

bool java_class_matches(struct text pattern, struct text class_name)
{
  /* The latest star of each kind and the end of its match. Only the latest has to be tried again; where a
   * single star meets a dot, which it does not match, the double star before it goes on. */
  size_t star = SIZE_MAX;
  size_t star_end = 0;
  size_t wide = SIZE_MAX;
  size_t wide_end = 0;
  size_t p = 0;
  size_t n = 0;
  for (;;) {
    if (p < pattern.len && pattern.data[p] == '*') {
      bool is_wide = p + 1 < pattern.len && pattern.data[p + 1] == '*';
      p += is_wide ? 2 : 1;
      if (is_wide) {
        wide = p;
        wide_end = n;
        star = SIZE_MAX;
      } else {
        star = p;
        star_end = n;
      }
      continue;
    }
    if (n == class_name.len && p == pattern.len)
      return true;
    if (n < class_name.len && p < pattern.len && pattern.data[p] == class_name.data[n]) {
      p++;
      n++;
      continue;
    }
    if (star != SIZE_MAX && star_end < class_name.len && class_name.data[star_end] != '.') {
      p = star;
      n = ++star_end;
    } else if (wide != SIZE_MAX && wide_end < class_name.len) {
      star = SIZE_MAX;
      p = wide;
      n = ++wide_end;
    } else {
      return false;
    }
  }
}

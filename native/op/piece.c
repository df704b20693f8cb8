#include "op/piece.h"

/* Reads an optional '-' and digits from the beginning of rest. False: there are no digits, and rest is
 * unchanged. */
static bool read_index(struct text *rest, int64_t *index)
{
  bool is_negative = rest->len > 0 && rest->data[0] == '-';
  size_t start = is_negative ? 1 : 0;
  size_t at = start;
  int64_t value = 0;
  for (; at < rest->len && rest->data[at] >= '0' && rest->data[at] <= '9'; at++) {
    int digit = rest->data[at] - '0';
    value = value > (INT64_MAX - digit) / 10 ? INT64_MAX : value * 10 + digit;
  }
  if (at == start)
    return false;
  *rest = text_slice(*rest, at, rest->len);
  *index = is_negative ? -value : value;
  return true;
}

static bool take_char(struct text *rest, char wanted)
{
  if (rest->len == 0 || rest->data[0] != wanted)
    return false;
  *rest = text_slice(*rest, 1, rest->len);
  return true;
}

bool op_piece_parse(struct text written, struct op_piece *piece)
{
  struct text rest = written;
  *piece = (struct op_piece){.kind = OP_PIECE_ELEMENT, .written = written};
  if (!take_char(&rest, '['))
    return false;
  bool has_index = read_index(&rest, &piece->from);
  if (take_char(&rest, ':')) {
    piece->kind = OP_PIECE_RANGE;
    piece->is_open = !read_index(&rest, &piece->to);
  } else if (!has_index) {
    return false;
  }
  return take_char(&rest, ']') && rest.len == 0;
}

static int64_t count_from_start(int64_t index, int32_t length)
{
  return index < 0 ? index + length : index;
}

bool op_piece_locate(const struct op_piece *piece, int32_t length, int32_t *from, int32_t *count)
{
  bool is_range = piece->kind == OP_PIECE_RANGE;
  int64_t first = count_from_start(piece->from, length);
  if (first < 0 || first > length)
    return false;
  int64_t end = first + 1;
  if (is_range)
    end = piece->is_open ? length : count_from_start(piece->to, length);
  if (end < 0 || end > length)
    return false;
  *from = (int32_t)first;
  *count = end > first ? (int32_t)(end - first) : 0;
  return true;
}

/* Elements and ranges of arrays: their text, and which elements they are. */
#include "op/piece.h"
#include "tests/unit/unit.h"

UNIT_TEST(reads_pieces)
{
  static const struct {
    const char *written;
    enum op_piece_kind kind;
    int64_t from;
    int64_t to;
    bool is_open;
  } cases[] = {
      {"[0]", OP_PIECE_ELEMENT, 0, 0, false},
      {"[3]", OP_PIECE_ELEMENT, 3, 0, false},
      {"[-1]", OP_PIECE_ELEMENT, -1, 0, false},
      {"[007]", OP_PIECE_ELEMENT, 7, 0, false},
      {"[10:20]", OP_PIECE_RANGE, 10, 20, false},
      {"[:20]", OP_PIECE_RANGE, 0, 20, false},
      {"[-3:]", OP_PIECE_RANGE, -3, 0, true},
      {"[:]", OP_PIECE_RANGE, 0, 0, true},
      {"[9223372036854775807]", OP_PIECE_ELEMENT, INT64_MAX, 0, false},
      {"[9223372036854775808]", OP_PIECE_ELEMENT, INT64_MAX, 0, false},
      {"[-99999999999999999999999]", OP_PIECE_ELEMENT, -INT64_MAX, 0, false},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct op_piece piece;
    assert_true(op_piece_parse(text_of(cases[i].written), &piece));
    assert_int_equal(piece.kind, cases[i].kind);
    assert_int_equal(piece.from, cases[i].from);
    assert_int_equal(piece.is_open, cases[i].is_open);
    if (piece.kind == OP_PIECE_RANGE && !piece.is_open)
      assert_int_equal(piece.to, cases[i].to);
    assert_string_equal(piece.written.data, cases[i].written);
  }
}

UNIT_TEST(refuses_text_that_is_no_piece)
{
  static const char *const wrong[] = {"",       "[",       "[]",         "3",     "[3",    "3]",
                                      "[-]",    "[+3]",    "[ 3]",       "[3 ]",  "[3]]",  "[[3]]",
                                      "[3][4]", "[1:2:3]", "[a]",        "[1:b]", "[1.5]", "[0x1]",
                                      "[--1]",  "[1-2]",   "[\xD9\xA1]", "[-:]",  "[:-]",  "[,]"};
  for (size_t i = 0; i < COUNT_OF(wrong); i++) {
    struct op_piece piece;
    assert_false(op_piece_parse(text_of(wrong[i]), &piece));
  }
  struct op_piece piece;
  assert_false(op_piece_parse((struct text){"[3\0]", 4}, &piece));
}

UNIT_TEST(locates_elements)
{
  enum { OUT = -1 };
  static const struct {
    const char *written;
    int32_t length;
    int32_t from; /* OUT: out of range */
    int32_t count;
  } cases[] = {
      {"[0]", 3, 0, 1},
      {"[2]", 3, 2, 1},
      {"[3]", 3, OUT, 0},
      {"[-1]", 3, 2, 1},
      {"[-3]", 3, 0, 1},
      {"[-4]", 3, OUT, 0},
      {"[0]", 0, OUT, 0},
      {"[-1]", 0, OUT, 0},
      {"[:]", 0, 0, 0},
      {"[0:0]", 0, 0, 0},
      {"[:]", 3, 0, 3},
      {"[1:]", 3, 1, 2},
      {"[:2]", 3, 0, 2},
      {"[3:]", 3, 3, 0},
      {"[3:3]", 3, 3, 0},
      {"[1:2]", 3, 1, 1},
      {"[2:1]", 3, 2, 0},
      {"[-2:]", 3, 1, 2},
      {"[:-1]", 3, 0, 2},
      {"[-3:-1]", 3, 0, 2},
      {"[-4:]", 3, OUT, 0},
      {"[:4]", 3, OUT, 0},
      {"[4:4]", 3, OUT, 0},
      {"[:-4]", 3, OUT, 0},
      {"[2147483646]", INT32_MAX, 2147483646, 1},
      {"[:]", INT32_MAX, 0, INT32_MAX},
      {"[2147483647:]", INT32_MAX, INT32_MAX, 0},
      {"[-2147483648]", INT32_MAX, OUT, 0},
      {"[9223372036854775808]", INT32_MAX, OUT, 0},
      {"[:9223372036854775808]", INT32_MAX, OUT, 0},
      {"[-9223372036854775808:]", INT32_MAX, OUT, 0},
      {"[9223372036854775808:-9223372036854775808]", 3, OUT, 0},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct op_piece piece;
    int32_t from = 0;
    int32_t count = 0;
    assert_true(op_piece_parse(text_of(cases[i].written), &piece));
    bool found = op_piece_locate(&piece, cases[i].length, &from, &count);
    assert_int_equal(found, cases[i].from != OUT);
    if (found) {
      assert_int_equal(from, cases[i].from);
      assert_int_equal(count, cases[i].count);
    }
  }
}

UNIT_MAIN

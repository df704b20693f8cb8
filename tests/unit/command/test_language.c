#include "command/language.h"

#include "tests/unit/unit.h"

/* "x" and "y" are variables. */
static bool is_variable(const struct language_names *names, struct text name)
{
  (void)names;
  return text_equal(name, TEXT("x")) || text_equal(name, TEXT("y"));
}

static const struct language_names names = {is_variable};

/* The tree of a program's statements, or "LINE:COLUMN: message", with " ..." if more text could make it right. */
static void assert_parsed(const char *source, const char *wanted)
{
  struct language_error error;
  struct node *program;
  struct arena arena;
  struct buffer out;
  arena_init(&arena);
  buffer_init(&out);
  if (language_parse(text_of(source), &names, &arena, &program, &error) == JP_OK) {
    for (const struct node *statement = program->items; statement != NULL; statement = statement->next) {
      language_write(&out, statement);
      buffer_printf(&out, "%s", statement->next == NULL ? "" : " ; ");
    }
  } else {
    size_t line;
    size_t column;
    language_locate(text_of(source), error.at, &line, &column);
    buffer_printf(&out, "%zu:%zu: %s%s", line, column, error.error.text, error.is_incomplete ? " ..." : "");
  }
  buffer_append_char(&out, '\0');
  assert_string_equal(out.data, wanted);
  buffer_fini(&out);
  arena_fini(&arena);
}

struct sample {
  const char *source;
  const char *tree;
};

static void assert_samples(const struct sample *samples, size_t count)
{
  for (size_t i = 0; i < count; i++)
    assert_parsed(samples[i].source, samples[i].tree);
}

UNIT_TEST(literals_are_those_of_java)
{
  static const struct sample samples[] = {
      {"5", "(int 5)"},
      {"5l", "(long 5)"},
      {"1_000", "(int 1000)"},
      {"0x1F", "(int 31)"},
      {"0xFFFFFFFF", "(int -1)"},
      {"0b101L", "(long 5)"},
      {"2.5", "(double 2.5)"},
      {".5", "(double 0.5)"},
      {"1e3", "(double 1000)"},
      {"2.5f", "(float 2.5)"},
      {"3f", "(float 3)"},
      {"3d", "(double 3)"},
      {"-2147483648", "(int -2147483648)"},
      {"- 9223372036854775808L", "(long -9223372036854775808)"},
      {"'c'", "(char 99)"},
      {"'\\u00e9'", "(char 233)"},
      {"'\\''", "(char 39)"},
      {"\"a\\tb\\\"\\101\\s\"", "(text \"a\\x09b\\\"A \")"},
      {"\"\\ud83d\\ude00\"", "(text \"\xF0\x9F\x98\x80\")"},
      {"true", "(boolean 1)"},
      {"null", "(null)"},
      {"\"\"\"\n    a\n      b \\\n    c\n    \"\"\"", "(text \"a\\x0a  b c\\x0a\")"},
      {"\"\"\"\n  x\"\"\"", "(text \"x\")"},
      {"2147483648", "1:1: the number is out of range for int; 2147483648L is a long"},
      {"2147483649", "1:1: the number is out of range for int; 5000000000L is a long"},
      {"0x1FFFFFFFF", "1:1: the number is out of range for int; 5000000000L is a long"},
      {"010", "1:1: numbers with a 0 before them are octal in Java: leave it out"},
      {"1e999", "1:1: the number is out of range for double"},
      {"5x", "1:2: \"x\" cannot follow a number"},
      {"'ab'", "1:1: '...' is one character of 16 bits; a text is written \"...\""},
      {"\"a", "1:1: the text has no end: \" is missing"},
      {"\"\\q\"",
       "1:2: unknown escape: Java has \\b \\t \\n \\f \\r \\s \\\" \\' \\\\, \\0 to \\377 and \\uXXXX"},
      {"\"\"\"\na", "1:1: the text block has no end: \"\"\" is missing ..."},
  };
  assert_samples(samples, COUNT_OF(samples));
}

UNIT_TEST(operators_bind_as_in_java)
{
  static const struct sample samples[] = {
      {"1 + 2 * 3", "(+ (int 1) (* (int 2) (int 3)))"},
      {"1 - 2 - 3", "(- (- (int 1) (int 2)) (int 3))"},
      {"(1 - 2) * -x", "(* (- (int 1) (int 2)) (- x))"},
      {"a || b && c == d < e", "(|| a (&& b (== c (< d e))))"},
      {"a ? b : c ? d : e", "(? a b (? c d e))"},
      {"!x.b()", "(! (call b x))"},
      {"-x.b", "(- (member b x))"},
      {"x instanceof List<String> == true", "(== (instanceof <List> x) (boolean 1))"},
      {"xs[1][2:]", "(slice (index xs (int 1)) (int 2))"},
      {"xs[:-1]", "(slice xs () (- (int 1)))"},
  };
  assert_samples(samples, COUNT_OF(samples));
}

UNIT_TEST(calls_lambdas_and_casts_are_told_apart)
{
  static const struct sample samples[] = {
      {"a.b.C.d(1, \"x\").e()", "(call e (call d (member C (member b a)) (int 1) (text \"x\")))"},
      {"new java.util.ArrayList<String>(5).size()", "(call size (new <java.util.ArrayList> (int 5)))"},
      {"new int[3]", "(new-array <int> (int 3))"},
      {"new int[5][2][].length", "(member length (new-array <int[]> (int 5) (int 2)))"},
      {"new int[][] {{1}, x}", "(new-elements <int[][]> (new-elements <int[]> (int 1)) x)"},
      {"new int[] {1, 2}", "(new-elements <int[]> (int 1) (int 2))"},
      {"List.<String>of()", "(call of List)"},
      {"String::valueOf", "(reference valueOf <String>)"},
      {"int[]::new", "(reference new <int[]>)"},
      {"a -> a.b", "(lambda (member b a) a)"},
      {"() -> 5", "(lambda (int 5))"},
      {"(a, b) -> b.compareTo(a)", "(lambda (call compareTo b a) a b)"},
      {"(String a, final int b) -> { return a; }", "(lambda (block (return a)) a b)"},
      {"(a) -> { x = 1; a }", "(lambda (block (= x (int 1)) a) a)"},
      {"(long) 5", "(cast <long> (int 5))"},
      {"(int) -x", "(cast <int> (- x))"},
      {"(List<String>) x.y()", "(cast <List> (call y x))"},
      {"(Object) [1]", "(cast <Object> (list (int 1)))"},
      {"(x) [1]", "(index x (int 1))"},
      {"(x) - 1", "(- x (int 1))"},
      {"y = (z); (z) [0]", "(= y z) ; (cast <z> (list (int 0)))"},
      {"z = 1; (z) [0]", "(= z (int 1)) ; (index z (int 0))"},
      {"[1, [2], {a: 1, \"b\": 2, 3: x}]",
       "(list (int 1) (list (int 2)) (map (text \"a\") (int 1) (text \"b\") (int 2) (int 3) x))"},
      {"{}", "(map)"},
      {"f(3)", "(call f (int 3))"},
  };
  assert_samples(samples, COUNT_OF(samples));
}

UNIT_TEST(statements_end_with_their_line)
{
  static const struct sample samples[] = {
      {"a\nb", "a ; b"},
      {"a\n.b()\n.c()", "(call c (call b a))"},
      {"a +\nb", "(+ a b)"},
      {"a\n- b", "a ; (- b)"},
      {"a\n[1]", "a ; (list (int 1))"},
      {"f(a\n, b\n)", "(call f a b)"},
      {"a; b;; c", "a ; b ; c"},
      {"#!/usr/bin/jpeer\na // b\n/* c\n */ d", "a ; d"},
      {"import java.util.concurrent.*\nimport a.B", "(import java.util.concurrent.*) ; (import a.B)"},
      {"List<String> xs = ys", "(= xs ys)"},
      {"byte b = 5", "(= b (cast <byte> (int 5)))"},
      {"int[] b = {1}", "(= b (new-elements <int[]> (int 1)))"},
      {"var a = 1", "(= a (int 1))"},
      {"a.b[0] = 1", "(= (index (member b a) (int 0)) (int 1))"},
      {"for (var e : m) {\n a\n b }", "(for e m (block a b))"},
      {"for (Map.Entry<K, V> e : m) a", "(for e m a)"},
      {"for (int e : m) a", "(for e <int> m a)"},
      {"if (a) b; else c", "(if a b c)"},
      {"if (a) { b }\nelse if (c) d", "(if a (block b) (if c d))"},
      {"while (a) { break; continue }", "(while a (block (break) (continue)))"},
      {"try { a } catch (IOException e) { b }", "(try () (block a) (catch e <IOException> (block b)))"},
      {"try (r = a) { b }", "(try r a (block b))"},
      {"throw new E()", "(throw (new <E>))"},
      {"return", "(return)"},
      {"\\set json\na", "(command set json) ; a"},
      {"xs.forEach(e -> {\n a\n b\n})", "(call forEach xs (lambda (block a b) e))"},
  };
  assert_samples(samples, COUNT_OF(samples));
}

UNIT_TEST(errors_have_a_place)
{
  static const struct sample samples[] = {
      {"a b", "1:3: expected the end of the statement before \"b\""},
      {"a.b(1,)", "1:7: expected an expression before \")\""},
      {"\xC3\xA9.b(\n 1 + )", "2:6: expected an expression before \")\""},
      {"f(1", "1:4: expected \")\", but the text ends here ..."},
      {"if (a) {", "1:9: expected \"}\", but the text ends here ..."},
      {"a }", "1:3: there is no \"{\" for this \"}\""},
      {"1 = 2", "1:3: only a variable, a field or an element can be assigned to; == compares"},
      {"a # b", "1:3: \"#\" is no part of the language"},
      {"--a", "1:1: -- is no part of the language: write x = x - 1"},
      {"a++", "1:2: ++ is no part of the language: write x = x + 1"},
      {"a += 2", "1:3: += is no part of the language: write x = x + ..."},
      {"a - -b", "(- a (- b))"},
      {"if (a) break", "1:8: there is no loop around break"},
      {"while (a) b(() -> { continue })", "1:21: there is no loop around continue"},
      {"a /* b", "1:3: the comment has no end: \"*/\" is missing ..."},
      {"for", "1:4: expected \"(\", but the text ends here ..."},
      {"x.for.if", "(member if (member for x))"},
      {"try { a }", "1:10: expected catch, but the text ends here ..."},
      {"\xFF", "1:1: the text is not UTF-8"},
  };
  assert_samples(samples, COUNT_OF(samples));
}

UNIT_TEST(a_fault_is_shown_with_its_line_and_a_caret)
{
  struct buffer out;
  buffer_init(&out);
  language_write_fault(&out, "a.jp", TEXT("first\n\t\xC3\xA9 + )\nlast"), 11, "wrong");
  buffer_append_char(&out, '\0');
  assert_string_equal(out.data, "a.jp:2:5: wrong\n   \xC3\xA9 + )\n      ^\n");
  buffer_fini(&out);
}

/* Whatever is nested: the parser refuses it before its stack ends. */
UNIT_TEST(depth_is_bounded)
{
  static const char *const pieces[] = {
      "(",      "[",    "-",    "!",      "a.b(",    "{a:",    "if (a) ", "x -> ",
      "(int) ", "a ? ", "1 + ", "a.b(1)", "() -> {", "new A(", "[1]",     "while (a) {"};
  for (size_t i = 0; i < COUNT_OF(pieces); i++) {
    struct language_error error;
    struct node *program;
    struct arena arena;
    struct buffer source;
    arena_init(&arena);
    buffer_init(&source);
    for (size_t count = 0; count < 3000; count++)
      buffer_printf(&source, "%s%s", pieces[i], i == 11 ? "." : "");
    buffer_append_char(&source, 'x');
    assert_int_equal(language_parse(buffer_text(&source), NULL, &arena, &program, &error), JP_INVALID);
    buffer_fini(&source);
    arena_fini(&arena);
  }
}

UNIT_MAIN

#include "classfile/signature.h"

#include "tests/unit/unit.h"

static const struct {
  struct text signature;
  const char *source; /* NULL: malformed */
} types[] = {
    {TEXT("I"), "int"},
    {TEXT("V"), "void"},
    {TEXT("[[J"), "long[][]"},
    {TEXT("Ljava/lang/String;"), "java.lang.String"},
    {TEXT("[Ljava/lang/String;"), "java.lang.String[]"},
    {TEXT("TT;"), "T"},
    {TEXT("[TElement;"), "Element[]"},
    {TEXT("Ljava/util/List<Ljava/lang/String;>;"), "java.util.List<java.lang.String>"},
    {TEXT("Ljava/util/Map<TK;[I>;"), "java.util.Map<K, int[]>"},
    {TEXT("Ljava/util/List<*>;"), "java.util.List<?>"},
    {TEXT("Ljava/util/List<+TT;>;"), "java.util.List<? extends T>"},
    {TEXT("Ljava/util/List<-Ljava/lang/Integer;>;"), "java.util.List<? super java.lang.Integer>"},
    {TEXT("La/Outer<TT;>.Inner<TU;>.Last;"), "a.Outer<T>$Inner<U>$Last"},
    {TEXT("La/Outer$Nested;"), "a.Outer$Nested"},
    {TEXT("LTop;"), "Top"},
    {TEXT(""), NULL},
    {TEXT("X"), NULL},
    {TEXT("[V"), NULL},
    {TEXT("["), NULL},
    {TEXT("L;"), NULL},
    {TEXT("La/;"), NULL},
    {TEXT("L/a;"), NULL},
    {TEXT("La//b;"), NULL},
    {TEXT("Ljava/lang/String"), NULL},
    {TEXT("T;"), NULL},
    {TEXT("Ta/b;"), NULL},
    {TEXT("La<>;"), NULL},
    {TEXT("La<TT;"), NULL},
    {TEXT("La<TT;>"), NULL},
    {TEXT("La<TT;>.;"), NULL},
    {TEXT("La<TT;>.b/c;"), NULL},
    {TEXT("La<+*>;"), NULL},
};

UNIT_TEST(test_types)
{
  for (size_t i = 0; i < COUNT_OF(types); i++) {
    char *exact = unit_exact_copy(types[i].signature.data, types[i].signature.len);
    struct text rest = {exact, types[i].signature.len};
    struct buffer out;
    buffer_init(&out);
    bool read = signature_read_type(&rest, &out);
    if (read != (types[i].source != NULL) || (read && rest.len > 0))
      fail_msg("%s", types[i].signature.data);
    if (read)
      unit_assert_text(buffer_text(&out), text_of(types[i].source), __FILE__, __LINE__);
    buffer_fini(&out);
    test_free(exact);
  }
}

UNIT_TEST(test_only_one_type_is_read)
{
  struct text rest = TEXT("ITT;)V");
  assert_true(signature_read_type(&rest, NULL));
  assert_text(rest, "TT;)V");
}

UNIT_TEST(test_depth_is_bounded)
{
  enum { DEEP = 100000 };
  struct buffer deep;
  buffer_init(&deep);
  for (int i = 0; i < DEEP; i++)
    buffer_append(&deep, "La<", 3);
  struct text rest = buffer_text(&deep);
  assert_false(signature_read_type(&rest, NULL));
  buffer_clear(&deep);
  for (int i = 0; i < 256; i++)
    buffer_append_char(&deep, '[');
  buffer_append_char(&deep, 'I');
  assert_false(descriptor_check_field(buffer_text(&deep)));
  assert_true(descriptor_check_field(text_slice(buffer_text(&deep), 1, deep.len)));
  buffer_fini(&deep);
}

static const struct {
  struct text descriptor;
  int parameters; /* -1: malformed */
} methods[] = {
    {TEXT("()V"), 0},
    {TEXT("(I)V"), 1},
    {TEXT("(IJ[[Ljava/lang/String;Z)Ljava/util/Map$Entry;"), 4},
    /* '<' may be in a class's name (JVMS 4.2.2); it does not begin type arguments here */
    {TEXT("(La<b>;)V"), 1},
    {TEXT("(La)b;)V"), 1},
    {TEXT(""), -1},
    {TEXT("I"), -1},
    {TEXT("("), -1},
    {TEXT("()"), -1},
    {TEXT("(V)V"), -1},
    {TEXT("()VV"), -1},
    {TEXT("()[V"), -1},
    {TEXT("(La.b;)V"), -1},
    {TEXT("(TT;)V"), -1},
};

UNIT_TEST(test_method_descriptors)
{
  for (size_t i = 0; i < COUNT_OF(methods); i++) {
    char *exact = unit_exact_copy(methods[i].descriptor.data, methods[i].descriptor.len);
    uint8_t count = 0;
    bool valid = descriptor_check_method((struct text){exact, methods[i].descriptor.len}, &count);
    if (valid != (methods[i].parameters >= 0) || (valid && count != methods[i].parameters))
      fail_msg("%s", methods[i].descriptor.data);
    test_free(exact);
  }
  assert_text(descriptor_parameters(TEXT("(La)b;I)Lc)d;")), "(La)b;I)");
}

UNIT_TEST(test_at_most_255_parameters)
{
  char descriptor[300] = "(";
  uint8_t count;
  memset(descriptor + 1, 'I', 255);
  strcpy(descriptor + 256, ")V");
  assert_true(descriptor_check_method(text_of(descriptor), &count));
  assert_int_equal(count, 255);
  strcpy(descriptor + 256, "I)V");
  assert_false(descriptor_check_method(text_of(descriptor), &count));
}

UNIT_TEST(test_method_signatures)
{
  assert_int_equal(signature_count_parameters(TEXT("()V")), 0);
  assert_int_equal(signature_count_parameters(TEXT("(TT;I)V")), 2);
  assert_int_equal(signature_count_parameters(TEXT("<T:Ljava/lang/Object;>(TT;)TT;")), 1);
  assert_int_equal(signature_count_parameters(TEXT("<T::La/I;:La/J<TT;>;U:>([TT;TU;)V^TX;")), 2);
  assert_int_equal(signature_count_parameters(TEXT("<T>()V")), -1);
  assert_int_equal(signature_count_parameters(TEXT("<>")), -1);
  assert_int_equal(signature_count_parameters(TEXT("(V)V")), -1);
  assert_int_equal(signature_count_parameters(TEXT("(I")), -1);
  assert_int_equal(signature_count_parameters(TEXT("")), -1);
}

/* Parameters in source form between blanks, then the rest of the signature, "-" if it is not used. */
static const struct {
  const char *descriptor;
  const char *signature;
  unsigned count;
  bool is_constructor;
  const char *parameters;
  const char *rest;
} typed_methods[] = {
    {"()V", "", 0, false, "", "-"},
    {"(I[J)V", "", 2, false, "int long[]", "-"},
    {"(Ljava/util/List;I)V", "(Ljava/util/List<TT;>;I)V", 2, false, "java.util.List<T> int", ")V"},
    {"(Ljava/util/List;)Ljava/util/List;", "<T:Ljava/lang/Object;>(Ljava/util/List<TT;>;)TT;", 1, false,
     "java.util.List<T>", ")TT;"},
    /* the outer object and an enum's name and number are the compiler's own */
    {"(La/Outer;Ljava/util/List;)V", "(Ljava/util/List<TT;>;)V", 2, true, "a.Outer java.util.List<T>", ")V"},
    {"(Ljava/lang/String;I)V", "()V", 2, true, "java.lang.String int", ")V"},
    /* only constructors leave parameters out */
    {"(La/Outer;Ljava/util/List;)V", "(Ljava/util/List<TT;>;)V", 2, false, "a.Outer java.util.List", "-"},
    {"(I)V", "(II)V", 1, true, "int", "-"},
    {"(I)V", "(broken", 1, false, "int", "-"},
    {"(I)V", "I", 1, false, "int", "-"},
};

UNIT_TEST(test_types_of_methods)
{
  struct buffer out;
  buffer_init(&out);
  for (size_t i = 0; i < COUNT_OF(typed_methods); i++) {
    struct method_types types;
    struct text read;
    buffer_clear(&out);
    method_types_open(&types, text_of(typed_methods[i].descriptor), text_of(typed_methods[i].signature),
                      typed_methods[i].count, typed_methods[i].is_constructor);
    for (unsigned at = 0; at < typed_methods[i].count; at++) {
      buffer_append_text(&out, at > 0 ? TEXT(" ") : TEXT(""));
      read = method_types_next(&types, &out);
      assert_non_null(read.data);
    }
    unit_assert_text(buffer_text(&out), text_of(typed_methods[i].parameters), __FILE__, __LINE__);
    assert_int_equal(types.descriptor.data[0], ')');
    assert_int_equal(types.has_signature, strcmp(typed_methods[i].rest, "-") != 0);
    if (types.has_signature)
      unit_assert_text(types.signature, text_of(typed_methods[i].rest), __FILE__, __LINE__);
    read = method_types_next(&types, NULL);
    assert_null(read.data);
  }
  buffer_fini(&out);
}

UNIT_TEST(test_types_as_written)
{
  struct method_types types;
  method_types_open(&types, TEXT("(La/Outer;Ljava/util/List;[I)V"), TEXT("(Ljava/util/List<TT;>;[I)V"), 3,
                    true);
  assert_text(method_types_next(&types, NULL), "La/Outer;");
  assert_text(method_types_next(&types, NULL), "Ljava/util/List<TT;>;");
  assert_text(method_types_next(&types, NULL), "[I");
}

UNIT_MAIN

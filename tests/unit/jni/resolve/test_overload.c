#include "tests/unit/unit.h"

#include "jni/resolve/overload.h"

#include <stdio.h>

/*
 * A hierarchy for the tests. Types are written as words; a signature is "int String", "int..." repeats. A
 * bare argument is written with '~' before its inferred type; "null" is the null type.
 */
static struct {
  const char *name;
  char kind;
  char unboxed;
  const char *supers; /* all supertypes */
} types[] = {
    {"boolean", 'Z', 0, ""},
    {"byte", 'B', 0, ""},
    {"char", 'C', 0, ""},
    {"short", 'S', 0, ""},
    {"int", 'I', 0, ""},
    {"long", 'J', 0, ""},
    {"float", 'F', 0, ""},
    {"double", 'D', 0, ""},
    {"null", 'N', 0, ""},
    {"Object", 'L', 0, ""},
    {"Number", 'L', 0, " Object "},
    {"Integer", 'L', 'I', " Object Number Comparable "},
    {"Long", 'L', 'J', " Object Number Comparable "},
    {"Character", 'L', 'C', " Object Comparable "},
    {"Comparable", 'L', 0, " Object "},
    {"String", 'L', 0, " Object Comparable CharSequence "},
    {"CharSequence", 'L', 0, " Object "},
    {"Left", 'L', 0, " Object "},
    {"Right", 'L', 0, " Object "},
    {"Both", 'L', 0, " Object Left Right "},
    {"int[]", 'L', 0, " Object "},
    {"Object[]", 'L', 0, " Object "},
    {"Runner", 'L', 0, " Object "},
    {"Maker", 'L', 0, " Object "},
    {"SubMaker", 'L', 0, " Object Maker "},
    {"Mapper", 'L', 0, " Object "},
    {"fn0", OVERLOAD_FUNCTION, 0,
     " Runner Maker SubMaker "}, /* the types that a callback without parameters may become */
    {"fn1", OVERLOAD_FUNCTION, 0, " Mapper "},
};

static struct overload_type type_named(const char *name, size_t len)
{
  for (size_t i = 0; i < COUNT_OF(types); i++)
    if (strlen(types[i].name) == len && memcmp(types[i].name, name, len) == 0)
      return (struct overload_type){types[i].kind, types[i].unboxed, &types[i]};
  fail_msg("no type %.*s", (int)len, name);
  return (struct overload_type){0};
}

static const char *name_of(const struct overload_type *type)
{
  return *(const char *const *)type->handle;
}

static bool is_subtype(void *context, const struct overload_type *sub, const struct overload_type *super)
{
  (void)context;
  if (strcmp(name_of(sub), name_of(super)) == 0)
    return true;
  char word[32];
  snprintf(word, sizeof word, " %s ", name_of(super));
  for (size_t i = 0; i < COUNT_OF(types); i++)
    if (strcmp(types[i].name, name_of(sub)) == 0)
      return strstr(types[i].supers, word) != NULL;
  return false;
}

static struct overload_type boxed(void *context, char primitive)
{
  (void)context;
  return primitive == 'I'   ? type_named("Integer", 7)
         : primitive == 'J' ? type_named("Long", 4)
                            : type_named("Character", 9);
}

/* The function of Runner is the only function that returns nothing. */
static bool is_preferred(void *context, size_t argument, const struct overload_type *one,
                         const struct overload_type *other)
{
  (void)context, (void)argument;
  return strstr(name_of(one), "Maker") != NULL && strcmp(name_of(other), "Runner") == 0;
}

/* For a bare int: short 3, byte 4, String 9; byte does not fit if the context says so. */
static unsigned cost(void *context, size_t argument, const struct overload_type *type)
{
  (void)argument;
  const bool *byte_fits = context;
  if (type->kind == 'S')
    return 3;
  if (type->kind == 'B')
    return *byte_fits ? 4 : 4 + ARGUMENT_COST_MISFIT;
  return type->kind == 'L' && strcmp(name_of(type), "String") == 0 ? 9 : ARGUMENT_COST_NEVER;
}

enum { PARAMS = 4, CANDIDATES = 6 };

struct parsed {
  struct overload_type params[PARAMS];
  struct overload_candidate candidate;
};

static void parse(const char *signature, struct parsed *out)
{
  *out = (struct parsed){0};
  out->candidate.params = out->params;
  while (*signature != '\0') {
    size_t len = strcspn(signature, " ");
    if (len > 3 && memcmp(signature + len - 3, "...", 3) == 0) {
      out->candidate.varargs = true;
      out->candidate.element = type_named(signature, len - 3);
      out->params[out->candidate.count++] =
          out->candidate.element.kind == 'I' ? type_named("int[]", 5) : type_named("Object[]", 8);
    } else {
      out->params[out->candidate.count++] = type_named(signature, len);
    }
    signature += len + (signature[len] == ' ');
  }
}

static size_t parse_arguments(const char *words, struct overload_argument *out)
{
  size_t count = 0;
  while (*words != '\0') {
    bool bare = *words == '~';
    words += bare;
    size_t len = strcspn(words, " ");
    out[count++] = (struct overload_argument){type_named(words, len), bare};
    words += len + (words[len] == ' ');
  }
  return count;
}

enum { NONE = -1, AMBIGUOUS = -2 };

struct overload_case {
  const char *arguments;
  const char *candidates[CANDIDATES];
  int wanted;
  bool variable;
  bool byte_does_not_fit;
};

static void run(const struct overload_case *one)
{
  struct parsed parsed[CANDIDATES];
  struct overload_candidate candidates[CANDIDATES];
  size_t count = 0;
  for (; count < CANDIDATES && one->candidates[count] != NULL; count++) {
    parse(one->candidates[count], &parsed[count]);
    candidates[count] = parsed[count].candidate;
  }
  struct overload_argument arguments[PARAMS];
  size_t argument_count = parse_arguments(one->arguments, arguments);
  bool byte_fits = !one->byte_does_not_fit;
  const struct overload_hooks hooks = {.context = &byte_fits,
                                       .is_subtype = is_subtype,
                                       .boxed = boxed,
                                       .is_preferred = is_preferred,
                                       .cost = cost};
  struct arena arena;
  arena_init(&arena);
  struct overload_choice choice;
  enum overload_result result =
      overload_choose(&hooks, arguments, argument_count, candidates, count, &arena, &choice);
  int got = result == OVERLOAD_FOUND ? (int)choice.index : result == OVERLOAD_NONE ? NONE : AMBIGUOUS;
  if (got != one->wanted || (got >= 0 && choice.variable != one->variable))
    fail_msg("(%s) of %s, %s: %d, not %d", one->arguments, one->candidates[0], one->candidates[1], got,
             one->wanted);
  arena_fini(&arena);
}

UNIT_TEST(overloads_are_chosen_by_the_rules_of_java)
{
  static const struct overload_case cases[] = {
      {"", {NULL}, NONE, false, false},
      {"", {""}, 0, false, false},
      {"int", {""}, NONE, false, false},
      {"", {"int"}, NONE, false, false},
      {"int", {"int"}, 0, false, false},
      {"int", {"boolean"}, NONE, false, false},
      {"boolean", {"int"}, NONE, false, false},
      {"long", {"int"}, NONE, false, false},
      {"long", {"float"}, 0, false, false},
      {"float", {"long"}, NONE, false, false},
      {"char", {"short", "int"}, 1, false, false},
      {"byte", {"char", "short"}, 1, false, false},
      {"short", {"long", "int", "double"}, 1, false, false},
      /* 15.12.2.2 before 15.12.2.3 before 15.12.2.4 */
      {"int", {"Integer", "long", "Object"}, 1, false, false},
      {"int", {"Integer", "int..."}, 0, false, false},
      {"int", {"Object", "int..."}, 0, false, false},
      {"int", {"int..."}, 0, true, false},
      {"Integer", {"int", "Object"}, 1, false, false},
      {"Integer", {"int", "Long"}, 0, false, false},
      {"Integer", {"long"}, 0, false, false},
      {"int", {"Long"}, NONE, false, false},
      {"Long", {"int"}, NONE, false, false},
      /* 15.12.2.5 */
      {"String", {"Object", "String", "CharSequence"}, 1, false, false},
      {"String", {"Object", "Comparable", "CharSequence"}, AMBIGUOUS, false, false},
      {"Both", {"Left", "Right"}, AMBIGUOUS, false, false},
      {"Both", {"Left", "Right", "Both"}, 2, false, false},
      {"null", {"Object", "String"}, 1, false, false},
      {"null", {"String", "Integer"}, AMBIGUOUS, false, false},
      {"null", {"int"}, NONE, false, false},
      {"null", {"int", "String"}, 1, false, false},
      {"int int", {"int long", "long int"}, AMBIGUOUS, false, false},
      {"int int", {"int long", "long int", "int int"}, 2, false, false},
      {"Integer Integer", {"Object Integer", "Integer Object"}, AMBIGUOUS, false, false},
      /* variable arity */
      {"", {"int...", "Object..."}, AMBIGUOUS, false, false},
      {"String", {"Object..."}, 0, true, false},
      {"String int", {"String int...", "String Object..."}, AMBIGUOUS, false, false},
      {"String", {"String int..."}, 0, true, false},
      {"", {"String int..."}, NONE, false, false},
      {"int[]", {"int..."}, 0, false, false},
      {"int[]", {"Object..."}, 0, true, false},
      {"Object[]", {"Object..."}, 0, false, false},
      {"null", {"Object..."}, 0, false, false},
      {"String String", {"Object...", "String Object..."}, 1, true, false},
      {"long", {"int..."}, NONE, false, false},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    run(&cases[i]);
}

UNIT_TEST(bare_values_choose_by_cost_last)
{
  static const struct overload_case cases[] = {
      {"int", {"short", "byte"}, NONE, false, false}, /* declared: no choice by cost */
      {"~int", {"short", "byte", "String"}, 0, false, false},
      {"~int", {"String", "byte"}, 1, false, false},
      {"~int", {"String", "byte"}, 0, false, true},
      {"~int", {"byte"}, 0, false, true}, /* the conversion reports the error */
      {"~int", {"byte", "byte"}, NONE, false, true},
      {"~int", {"boolean"}, NONE, false, false},
      {"~int", {"Object", "short"}, 0, false, false}, /* Java's rules come first */
      {"~int ~int", {"short byte", "byte byte"}, 0, false, false},
      {"~int ~int", {"short byte", "byte short"}, AMBIGUOUS, false, false},
      {"~int String", {"short String", "byte Object"}, 0, false, false},
      {"~int String", {"short Integer"}, NONE, false, false},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    run(&cases[i]);
}

UNIT_TEST(a_function_becomes_a_functional_interface)
{
  static const struct overload_case cases[] = {
      {"~fn0", {"Runner"}, 0, false, false},
      {"~fn0", {"int", "String", "Object", "Runner"}, 3, false, false},
      {"~fn0", {"Runner", "Maker"}, 1, false, false},
      {"~fn0", {"Maker", "Runner"}, 0, false, false},
      {"~fn0", {"Maker", "SubMaker", "Runner"}, 1, false, false},
      {"~fn0", {"Mapper"}, NONE, false, false},
      {"~fn1", {"Runner", "Mapper", "Maker"}, 1, false, false},
      {"~fn0 int", {"Runner int", "Maker long"}, AMBIGUOUS, false, false},
      {"~fn0 int", {"Runner long", "Maker int"}, 1, false, false},
      {"~fn0 ~int", {"Runner short", "Maker byte"}, 0, false, false},
      {"~fn0", {"int"}, NONE, false, false},
      {"Maker", {"Runner", "Object"}, 1, false, false},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    run(&cases[i]);
}

UNIT_MAIN

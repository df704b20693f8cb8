#include "rpc/methods/parameter_names.h"

#include <stdlib.h>
#include <string.h>

enum { LENGTH_MAX = 64, PARAMETERS_MAX = 256 };

/* A name in lower case and without underscores. */
struct folded_name {
  char text[LENGTH_MAX + 1];
};

/* Words that are no names of parameters in TypeScript or Python, folded; in order. */
static const char *const words[] = {
    "and",      "any",     "arguments", "as",         "assert",    "async",       "await",      "boolean",
    "break",    "case",    "catch",     "class",      "const",     "constructor", "continue",   "debugger",
    "def",      "default", "del",       "delete",     "do",        "elif",        "else",       "enum",
    "eval",     "except",  "export",    "extends",    "false",     "finally",     "for",        "from",
    "function", "global",  "if",        "implements", "import",    "in",          "instanceof", "interface",
    "is",       "lambda",  "let",       "new",        "none",      "nonlocal",    "not",        "null",
    "or",       "package", "pass",      "private",    "protected", "public",      "raise",      "return",
    "self",     "static",  "super",     "switch",     "this",      "throw",       "true",       "try",
    "typeof",   "var",     "void",      "while",      "with",      "yield",
};

static int compare_words(const void *name, const void *word)
{
  return strcmp(name, *(const char *const *)word);
}

static bool is_letter(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool fold_name(struct text name, struct folded_name *folded)
{
  size_t length = 0;
  if (name.len == 0 || name.len > LENGTH_MAX || !is_letter(name.data[0]) || name.data[name.len - 1] == '_')
    return false;
  for (size_t i = 0; i < name.len; i++) {
    char c = name.data[i];
    if (is_letter(c))
      folded->text[length++] = (char)(c | 0x20);
    else if (c >= '0' && c <= '9')
      folded->text[length++] = c;
    else if (c != '_')
      return false;
  }
  folded->text[length] = '\0';
  return bsearch(folded->text, words, sizeof words / sizeof words[0], sizeof words[0], compare_words) == NULL;
}

bool parameter_names_are_identifiers(const struct java_method *method)
{
  struct folded_name names[PARAMETERS_MAX];
  unsigned count = 0;
  if (method->has_receiver && !fold_name(TEXT("instance"), &names[count++]))
    return false;
  for (unsigned i = 0; i < method->parameter_count; i++) {
    if (!fold_name(method->parameters[i].name, &names[count]))
      return false;
    for (unsigned before = 0; before < count; before++) {
      if (strcmp(names[before].text, names[count].text) == 0)
        return false;
    }
    count++;
  }
  return true;
}

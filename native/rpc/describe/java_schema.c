#include "rpc/describe/java_schema.h"

#include "base/primitives.h"
#include "classfile/class_file.h"
#include "classfile/signature.h"
#include "op/value_classes.h"
#include "json/writer.h"

#include <stdlib.h>
#include <string.h>

/* ---- names of classes ---- */

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
  /* The latest star of each kind, and the end of the text that it matches so far. If a comparison fails, it
   * is enough to let the latest star match one more character. A single star does not match a dot. If it
   * would have to match a dot, the latest double star before it has to match more. */
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

/* ---- names of parameters ---- */

enum { LENGTH_MAX = 64, PARAMETERS_MAX = 256 };

/* A name in lower case and without underscores. */
struct folded_name {
  char text[LENGTH_MAX + 1];
};

/* Words that cannot be names of parameters in TypeScript or Python, folded; sorted. */
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

/* ---- schemas ---- */

enum { DEPTH_MAX = 32, LINEAGE_MAX = 64 };

#define BYTE_RANGE  ",\"minimum\":-128,\"maximum\":127"
#define SHORT_RANGE ",\"minimum\":-32768,\"maximum\":32767"
#define INT_RANGE   ",\"minimum\":-2147483648,\"maximum\":2147483647"
#define ONE_UNIT    ",\"minLength\":1,\"maxLength\":1"

/* The JSON forms of values. */
static const struct schema_form {
  const char *type; /* NULL: any JSON */
  const char *bounds;
} schema_forms[CLASS_SCHEMA_FORMS] = {
    [CLASS_SCHEMA_ANY] = {NULL, NULL},
    [CLASS_SCHEMA_NULL] = {"null", ""},
    [CLASS_SCHEMA_STRING] = {"string", ""},
    [CLASS_SCHEMA_CHARACTER] = {"string", ONE_UNIT},
    [CLASS_SCHEMA_BOOLEAN] = {"boolean", ""},
    [CLASS_SCHEMA_BYTE] = {"integer", BYTE_RANGE},
    [CLASS_SCHEMA_SHORT] = {"integer", SHORT_RANGE},
    [CLASS_SCHEMA_INT] = {"integer", INT_RANGE},
    [CLASS_SCHEMA_INTEGER] = {"integer", ""},
    [CLASS_SCHEMA_NUMBER] = {"number", ""},
};

static const struct {
  char letter;
  const char *type;
  const char *bounds;
} primitive_rows[] = {
    {'Z', "boolean", ""},          {'B', "integer", BYTE_RANGE}, {'C', "string", ONE_UNIT},
    {'S', "integer", SHORT_RANGE}, {'I', "integer", INT_RANGE},  {'J', "integer", ""},
    {'F', "number", ""},           {'D', "number", ""},          {'V', "null", ""},
};

/* A result that is too large to travel by value. Values inside a result do not have this alternative. */
#define LARGE_RESULT "{\"$ref\":\"#/components/schemas/LargeResult\"}"
#define OBJECT_REF   "{\"$ref\":\"#/components/schemas/ObjectRef\"}"

enum jp_status java_schemas_init(struct java_schemas *schemas, const struct catalog_tables *tables,
                                 bool for_generators)
{
  *schemas = (struct java_schemas){.tables = tables, .for_generators = for_generators};
  array_init(&schemas->enums, sizeof(uint32_t));
  schemas->enum_seen = calloc(tables->class_count / 8 + 1, 1);
  return schemas->enum_seen == NULL ? JP_NO_MEMORY : JP_OK;
}

void java_schemas_fini(struct java_schemas *schemas)
{
  array_fini(&schemas->enums);
  free(schemas->enum_seen);
  schemas->enum_seen = NULL;
}

static void append_json(struct buffer *out, const char *json)
{
  buffer_append_text(out, text_of(json));
}

/* Begins the schema of a type or null. The caller then writes the type's schema, and calls end_nullable. */
static void begin_nullable(const struct java_schemas *schemas, const char *type, struct buffer *out)
{
  if (schemas->for_generators)
    buffer_printf(out, "{\"anyOf\":[{\"type\":\"%s\"", type);
  else
    buffer_printf(out, "{\"type\":[\"%s\",\"null\"]", type);
}

static void end_nullable(const struct java_schemas *schemas, struct buffer *out)
{
  append_json(out, schemas->for_generators ? "},{\"type\":\"null\"}]}" : "}");
}

static void write_form(const struct java_schemas *schemas, const struct schema_form *form, struct buffer *out)
{
  if (form->type == NULL) {
    append_json(out, "{}");
  } else if (strcmp(form->type, "null") == 0) {
    append_json(out, "{\"type\":\"null\"}");
  } else {
    begin_nullable(schemas, form->type, out);
    append_json(out, form->bounds);
    end_nullable(schemas, out);
  }
}

static bool note_enum(struct java_schemas *schemas, uint32_t class_index)
{
  uint8_t bit = (uint8_t)(1u << class_index % 8);
  if ((schemas->enum_seen[class_index / 8] & bit) != 0)
    return true;
  uint32_t *added = array_add(&schemas->enums, 1);
  if (added == NULL)
    return false;
  *added = class_index;
  schemas->enum_seen[class_index / 8] |= bit;
  return true;
}

/* ---- classes ---- */

enum container { CONTAINER_NONE, CONTAINER_COLLECTION, CONTAINER_MAP };

static enum container container_named(struct text name)
{
  if (text_equal(name, TEXT("java.util.Collection")))
    return CONTAINER_COLLECTION;
  return text_equal(name, TEXT("java.util.Map")) ? CONTAINER_MAP : CONTAINER_NONE;
}

/* Finds whether a class is a Collection or a Map, if the catalog has its ancestors. levels limits the search:
 * class files can inherit in a circle. */
static enum container container_of(const struct catalog_tables *tables, struct catalog_link link,
                                   unsigned levels)
{
  enum container found = container_named(catalog_text(tables, link.name));
  if (found != CONTAINER_NONE || link.class_index == CATALOG_NONE || levels == 0)
    return found;
  const struct catalog_class *class = &tables->classes[link.class_index];
  if (class->superclass.name != 0)
    found = container_of(tables, class->superclass, levels - 1);
  for (unsigned i = 0; found == CONTAINER_NONE && i < class->interface_count; i++)
    found = container_of(tables, tables->links[class->first_interface + i], levels - 1);
  return found;
}

static enum class_schema schema_of(struct text name)
{
  const struct value_class *row = value_class_find(name);
  return row == NULL ? CLASS_SCHEMA_NONE : row->schema;
}

static bool is_text(enum class_schema schema)
{
  return schema == CLASS_SCHEMA_TEXT || schema == CLASS_SCHEMA_TEXT_OR_REF;
}

static bool is_from_text(struct text name)
{
  enum class_schema schema = schema_of(name);
  return is_text(schema) || schema == CLASS_SCHEMA_CLASS;
}

static void write_enum(struct java_schemas *schemas, uint32_t class_index, struct buffer *out)
{
  if (schemas->for_generators) {
    java_schema_write_enum(schemas->tables, class_index, out);
    return;
  }
  if (!note_enum(schemas, class_index)) {
    out->failed = true;
    return;
  }
  append_json(out, "{\"$ref\":\"#/components/schemas/");
  java_component_key_write(catalog_text(schemas->tables, schemas->tables->classes[class_index].name), out);
  append_json(out, "\"}");
}

static void write_description(struct text name, struct buffer *out)
{
  append_json(out, ",\"description\":");
  json_write_string(out, name);
  buffer_append_char(out, '}');
}

static void write_class_argument(const struct java_schemas *schemas, struct text name, struct buffer *out)
{
  append_json(out, "{\"anyOf\":[" OBJECT_REF ",{\"type\":");
  if (!is_from_text(name))
    append_json(out, "\"null\"");
  else
    append_json(out, schemas->for_generators ? "\"string\"},{\"type\":\"null\"" : "[\"string\",\"null\"]");
  append_json(out, "}]");
  write_description(name, out);
}

/* Writes the result of an object that has no text. With --compat pal no object has a text. */
static void write_ref_result(struct text name, struct buffer *out)
{
  append_json(out, "{\"anyOf\":[" OBJECT_REF ",{\"type\":\"null\"}]");
  write_description(name, out);
}

static void write_class_result(const struct java_schemas *schemas, struct text name, struct buffer *out)
{
  enum class_schema schema = schema_of(name);
  append_json(out, "{\"anyOf\":[");
  if (schema != CLASS_SCHEMA_TEXT)
    append_json(out, schema == CLASS_SCHEMA_CLASS ? "{\"$ref\":\"#/components/schemas/ClassRef\"},"
                                                  : OBJECT_REF ",");
  if (!is_text(schema))
    append_json(out, "{\"type\":\"null\"}]");
  else
    append_json(out, schemas->for_generators ? "{\"type\":\"string\"},{\"type\":\"null\"}]"
                                             : "{\"type\":[\"string\",\"null\"]}]");
  write_description(name, out);
}

/* The names of an enum's constants, separated by commas. False: the enum has none. */
static bool write_constants(const struct catalog_tables *tables, uint32_t class_index, struct buffer *out)
{
  const struct catalog_class *class = &tables->classes[class_index];
  bool any = false;
  for (uint32_t i = class->first_field; i < class->first_field + class->field_count; i++) {
    if ((tables->fields[i].access & ACCESS_ENUM) == 0)
      continue;
    if (any)
      buffer_append_char(out, ',');
    any = true;
    json_write_string(out, catalog_text(tables, tables->fields[i].name));
  }
  return any;
}

static void write_enum_result(const struct java_schemas *schemas, uint32_t class_index, struct buffer *out)
{
  append_json(out, schemas->for_generators ? "{\"anyOf\":[{\"type\":\"string\",\"enum\":["
                                           : "{\"type\":[\"string\",\"null\"],\"enum\":[");
  bool any = write_constants(schemas->tables, class_index, out);
  if (schemas->for_generators)
    append_json(out, "]},{\"type\":\"null\"}]");
  else
    append_json(out, any ? ",null]" : "null]");
  write_description(catalog_text(schemas->tables, schemas->tables->classes[class_index].name), out);
}

/* ---- types ---- */

static void write_type(struct java_schemas *schemas, struct text type, bool is_result, unsigned depth,
                       struct buffer *out);

static void write_element(struct java_schemas *schemas, struct text type, bool is_result, unsigned depth,
                          struct buffer *out)
{
  if (type.data == NULL)
    append_json(out, "{}");
  else
    write_type(schemas, type, is_result, depth + 1, out);
}

static bool is_wrapper(struct text type)
{
#define SIGNATURE(letter, member, keyword, type, word, box, wrapper, ...) TEXT("Ljava/lang/" #wrapper ";"),
  static const struct text wrappers[] = {PRIMITIVES(SIGNATURE)};
#undef SIGNATURE
  for (size_t i = 0; i < sizeof wrappers / sizeof wrappers[0]; i++) {
    if (text_equal(type, wrappers[i]))
      return true;
  }
  return false;
}

/* False if a key may be an object, or may be the text "ref". In that case the result is a ref to the map. */
static bool has_plain_keys(const struct java_schemas *schemas, struct signature_arguments arguments)
{
  if (arguments.count != 2)
    return false;
  return is_wrapper(arguments.first) ||
         (schemas->compat_pal && text_equal(arguments.first, TEXT("Ljava/lang/String;")));
}

static bool may_be_large_result(const struct java_schemas *schemas, bool is_result, unsigned depth)
{
  return is_result && depth == 0 && !schemas->compat_pal;
}

static void write_container(struct java_schemas *schemas, enum container container,
                            struct signature_arguments arguments, bool is_result, unsigned depth,
                            struct buffer *out)
{
  bool is_map = container == CONTAINER_MAP;
  bool has_arguments = arguments.count == (is_map ? 2 : 1);
  bool may_be_ref = is_map && is_result && !has_plain_keys(schemas, arguments);
  bool may_be_large = may_be_large_result(schemas, is_result, depth);
  if (may_be_ref || may_be_large)
    append_json(out, may_be_ref ? "{\"anyOf\":[" OBJECT_REF "," : "{\"anyOf\":[");
  begin_nullable(schemas, is_map ? "object" : "array", out);
  append_json(out, is_map ? ",\"additionalProperties\":" : ",\"items\":");
  write_element(schemas, has_arguments ? signature_argument_type(arguments.last) : TEXT_ABSENT, is_result,
                depth, out);
  end_nullable(schemas, out);
  if (may_be_ref || may_be_large)
    append_json(out, may_be_large ? "," LARGE_RESULT "]}" : "]}");
}

/* Writes the schema of an Optional's content, of null for an empty Optional, or of the Optional itself. */
static void write_optional_result(struct java_schemas *schemas, struct signature_arguments arguments,
                                  unsigned depth, struct buffer *out)
{
  append_json(out, "{\"anyOf\":[" OBJECT_REF ",{\"type\":\"null\"},");
  write_element(schemas, arguments.count == 1 ? signature_argument_type(arguments.last) : TEXT_ABSENT, true,
                depth, out);
  append_json(out, "]}");
}

/* The JSON form of a class's values; NULL: they have no form of their own. */
static const struct schema_form *find_form(struct text name)
{
  enum class_schema schema = schema_of(name);
  return schema == CLASS_SCHEMA_NONE || schema >= CLASS_SCHEMA_FORMS ? NULL : &schema_forms[schema];
}

/* The binary name of a class type and the type arguments of its innermost class. */
static struct text read_class(struct text type, struct buffer *name, struct signature_arguments *arguments)
{
  *arguments = (struct signature_arguments){.first = TEXT_ABSENT, .last = TEXT_ABSENT};
  unsigned depth = 0;
  for (size_t i = 1; i < type.len; i++) {
    char c = type.data[i];
    if (c == '<' && depth++ == 0)
      *arguments = signature_read_arguments(text_slice(type, i, type.len));
    else if (c == '>')
      depth--;
    else if (depth == 0 && c == '.')
      *arguments = (struct signature_arguments){.first = TEXT_ABSENT, .last = TEXT_ABSENT};
    if (depth == 0 && c != '>' && c != ';')
      buffer_append_char(name, c == '/' ? '.' : c == '.' ? '$' : c);
  }
  return buffer_text(name);
}

static void write_class(struct java_schemas *schemas, struct text type, bool is_result, unsigned depth,
                        struct buffer *out)
{
  struct buffer memory;
  struct signature_arguments arguments;
  buffer_init(&memory);
  struct text name = read_class(type, &memory, &arguments);
  if (name.data == NULL) { /* no memory, or a type without a name */
    out->failed = out->failed || memory.failed;
    append_json(out, "{}");
    return;
  }
  const struct schema_form *form = find_form(name);
  uint32_t class_index = catalog_find(schemas->tables, name);
  enum container container = container_named(name);
  bool is_enum = false;
  if (class_index != CATALOG_NONE) {
    const struct catalog_class *class = &schemas->tables->classes[class_index];
    const struct catalog_link link = {class->name, class_index};
    container = container_of(schemas->tables, link, LINEAGE_MAX);
    is_enum = (class->access & ACCESS_ENUM) != 0;
  }
  if (memory.failed)
    out->failed = true;
  else if (form != NULL)
    write_form(schemas, form, out);
  else if (container != CONTAINER_NONE)
    write_container(schemas, container, arguments, is_result, depth, out);
  else if (is_result && schemas->compat_pal)
    write_ref_result(name, out);
  else if (is_enum && is_result)
    write_enum_result(schemas, class_index, out);
  else if (is_enum)
    write_enum(schemas, class_index, out);
  else if (is_result && schema_of(name) == CLASS_SCHEMA_OPTIONAL)
    write_optional_result(schemas, arguments, depth, out);
  else if (is_result)
    write_class_result(schemas, name, out);
  else
    write_class_argument(schemas, name, out);
  buffer_fini(&memory);
}

static void write_type(struct java_schemas *schemas, struct text type, bool is_result, unsigned depth,
                       struct buffer *out)
{
  if (type.len == 0 || type.data[0] == 'T' || depth > DEPTH_MAX) {
    append_json(out, "{}");
  } else if (type.data[0] == 'L') {
    write_class(schemas, type, is_result, depth, out);
  } else if (type.data[0] == '[') {
    bool may_be_large = may_be_large_result(schemas, is_result, depth);
    append_json(out, may_be_large ? "{\"anyOf\":[" : "");
    begin_nullable(schemas, "array", out);
    append_json(out, ",\"items\":");
    write_type(schemas, text_slice(type, 1, type.len), is_result, depth + 1, out);
    end_nullable(schemas, out);
    append_json(out, may_be_large ? "," LARGE_RESULT "]}" : "");
  } else {
    for (size_t i = 0; i < sizeof primitive_rows / sizeof primitive_rows[0]; i++) {
      if (primitive_rows[i].letter == type.data[0])
        buffer_printf(out, "{\"type\":\"%s\"%s}", primitive_rows[i].type, primitive_rows[i].bounds);
    }
  }
}

void java_schema_write(struct java_schemas *schemas, struct text type, bool is_result, struct buffer *out)
{
  write_type(schemas, type, is_result, 0, out);
}

void java_schema_write_new(const struct java_schemas *schemas, struct text class_name, struct buffer *out)
{
  const struct schema_form *form = find_form(class_name);
  if (form != NULL && form->type != NULL)
    write_form(schemas, form, out);
  else
    append_json(out, OBJECT_REF);
}

bool java_schema_has_text(const struct catalog_tables *tables, struct text class_name)
{
  const struct schema_form *form = find_form(class_name);
  if (form != NULL)
    return form->type != NULL;
  uint32_t class_index = catalog_find(tables, class_name);
  return is_from_text(class_name) ||
         (class_index != CATALOG_NONE && (tables->classes[class_index].access & ACCESS_ENUM) != 0);
}

void java_schema_write_enum(const struct catalog_tables *tables, uint32_t class_index, struct buffer *out)
{
  struct buffer names;
  buffer_init(&names);
  append_json(out, "{\"title\":");
  json_write_string(out, catalog_text(tables, tables->classes[class_index].name));
  append_json(out, ",\"anyOf\":[");
  if (write_constants(tables, class_index, &names)) {
    append_json(out, "{\"type\":\"string\",\"enum\":[");
    buffer_append_text(out, buffer_text(&names));
    append_json(out, "]},");
  }
  append_json(out, OBJECT_REF ",{\"type\":\"null\"}]}");
  out->failed |= names.failed;
  buffer_fini(&names);
}

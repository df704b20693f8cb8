#include "command/table.h"

#include "base/array.h"
#include "command/element_pages.h"

#include <stdlib.h>

enum { COLUMNS_MAX = 200, ROWS_STANDARD = 1000, STEPS_MAX = 500, CELL_MAX = 80 };

struct table {
  struct arena arena;
  struct text columns[COLUMNS_MAX];
  size_t column_count;
  struct text **rows; /* each has column_count cells; data NULL: null */
  size_t row_count;
  size_t row_capacity;
  bool has_more;
  bool is_numeric[COLUMNS_MAX];
};

static size_t find_column(const struct table *table, struct text name)
{
  size_t i = 0;
  while (i < table->column_count && !text_equal(table->columns[i], name))
    i++;
  return i;
}

/* NULL: no memory. */
static struct text *add_row(struct table *table)
{
  struct text **rows = array_grow(table->rows, table->row_count, &table->row_capacity, sizeof(struct text *));
  if (rows == NULL)
    return NULL;
  table->rows = rows;
  struct text *cells = arena_calloc(&table->arena, table->column_count + 1, sizeof *cells);
  if (cells != NULL)
    rows[table->row_count++] = cells;
  return cells;
}

static struct text read_cell(struct table *table, struct jp_json json)
{
  switch (json.kind) {
  case JP_JSON_NULL:
  case JP_JSON_ABSENT:
    return TEXT_ABSENT;
  case JP_JSON_STRING:
    return value_read_text(&table->arena, json);
  case JP_JSON_OBJECT:
    if (jp_json_member(json, "ref").kind == JP_JSON_NUMBER)
      return arena_printf(&table->arena, "<%.*s>",
                          TEXT_ARGS(value_read_text(&table->arena, jp_json_member(json, "type"))));
    break;
  default:
    break;
  }
  return arena_text(&table->arena, (struct text){json.text.data, json.text.len});
}

/* ---- where rows come from ---- */

static bool fetch_rows(struct command *command, struct table *table, struct fetch *fetch)
{
  const struct failure *failure;
  bool is_good =
      fetch_page(fetch, command->options.elements == 0 ? ROWS_STANDARD : command->options.elements, &failure);
  table->has_more = is_good && !fetch->is_done;
  return is_good;
}

static bool is_reference(struct jp_json json)
{
  return json.kind == JP_JSON_OBJECT && jp_json_member(json, "ref").kind == JP_JSON_NUMBER;
}

static bool fill_from_map(struct table *table, struct jp_json elements)
{
  struct jp_json item;
  table->columns[0] = TEXT("key");
  table->columns[1] = TEXT("value");
  table->column_count = 2;
  for (struct jp_json_cursor cursor = jp_json_enter(elements); jp_json_next(&cursor, NULL, &item);) {
    struct text *cells = add_row(table);
    if (cells == NULL)
      return false;
    cells[0] = read_cell(table, jp_json_at(item, 0));
    cells[1] = read_cell(table, jp_json_at(item, 1));
  }
  return true;
}

static bool fill_from_maps(struct table *table, struct jp_json elements)
{
  struct jp_json item;
  struct jp_json key;
  struct jp_json value;
  for (struct jp_json_cursor cursor = jp_json_enter(elements); jp_json_next(&cursor, NULL, &item);) {
    if (item.kind != JP_JSON_OBJECT || is_reference(item))
      return false;
    for (struct jp_json_cursor members = jp_json_enter(item); jp_json_next(&members, &key, &value);) {
      struct text name = value_read_text(&table->arena, key);
      if (find_column(table, name) == table->column_count && table->column_count < COLUMNS_MAX)
        table->columns[table->column_count++] = name;
    }
  }
  for (struct jp_json_cursor cursor = jp_json_enter(elements); jp_json_next(&cursor, NULL, &item);) {
    struct text *cells = add_row(table);
    if (cells == NULL)
      return false;
    for (struct jp_json_cursor members = jp_json_enter(item); jp_json_next(&members, &key, &value);) {
      size_t column = find_column(table, value_read_text(&table->arena, key));
      if (column < table->column_count)
        cells[column] = read_cell(table, value);
    }
  }
  return table->column_count > 0;
}

/* What is called for a column: "getName" for "name". */
struct accessor {
  struct text column;
  const char *method;
};

/* "name" for "getName"; absent: the name has no such form. */
static struct text property_of(struct table *table, struct text method, struct text prefix)
{
  if (!text_starts_with(method, prefix) || method.len == prefix.len ||
      (method.data[prefix.len] >= 'a' && method.data[prefix.len] <= 'z'))
    return TEXT_ABSENT;
  struct text name =
      arena_printf(&table->arena, "%.*s", TEXT_ARGS(text_slice(method, prefix.len, method.len)));
  if (name.data != NULL && name.data[0] >= 'A' && name.data[0] <= 'Z')
    *(char *)name.data = (char)(name.data[0] | 0x20);
  return name;
}

static bool has_name(struct table *table, struct jp_json list, struct text name)
{
  struct jp_json item;
  for (struct jp_json_cursor cursor = jp_json_enter(list); jp_json_next(&cursor, NULL, &item);) {
    if (text_equal(value_read_text(&table->arena, jp_json_member(item, "name")), name))
      return true;
  }
  return false;
}

/* Whether the described class has a field or a constructor's parameter of the name, or a method that sets it. */
static bool has_property(struct table *table, struct jp_json description, struct text property)
{
  struct jp_json member;
  if (has_name(table, jp_json_member(description, "fields"), property))
    return true;
  for (struct jp_json_cursor cursor = jp_json_enter(jp_json_member(description, "constructors"));
       jp_json_next(&cursor, NULL, &member);) {
    if (has_name(table, jp_json_member(member, "parameters"), property))
      return true;
  }
  for (struct jp_json_cursor cursor = jp_json_enter(jp_json_member(description, "methods"));
       jp_json_next(&cursor, NULL, &member);) {
    struct text name = value_read_text(&table->arena, jp_json_member(member, "name"));
    if (jp_json_count(jp_json_member(member, "parameters")) == 1 &&
        text_equal(property_of(table, name, TEXT("set")), property))
      return true;
  }
  return false;
}

/* The column that the method without parameters is for; absent: for none, because it may do more than to read. */
static struct text column_of(struct table *table, struct jp_json description, struct jp_json method,
                             struct text name, bool is_record)
{
  if (is_record)
    return jp_json_member(method, "inheritedFrom").kind != JP_JSON_STRING &&
                   has_property(table, description, name)
               ? name
               : TEXT_ABSENT;
  struct text returned = value_read_text(&table->arena, jp_json_member(method, "returnType"));
  if (text_equal(returned, TEXT("boolean"))) {
    struct text question = property_of(table, name, TEXT("is"));
    if (question.data != NULL)
      return question;
  }
  struct text property = property_of(table, name, TEXT("get"));
  return property.data != NULL && !text_starts_with(name, TEXT("getAnd")) &&
                 has_property(table, description, property)
             ? property
             : TEXT_ABSENT;
}

static size_t find_accessors(struct command *command, struct table *table, const char *type,
                             struct accessor accessors[COLUMNS_MAX])
{
  static const char *const others[] = {"toString", "hashCode",  "getClass", "clone",
                                       "notify",   "notifyAll", "wait"};
  struct jp_request request = jp_build_describe_type(type);
  struct jp_answer *answer;
  const struct failure *failure;
  struct jp_json method;
  size_t count = 0;
  request.members_only = true;
  if (!evaluator_request(command->evaluator, &request, &answer, &failure))
    return 0;
  struct jp_json description = jp_answer_json(answer);
  bool is_record =
      text_equal(value_read_text(&table->arena, jp_json_at(jp_json_member(description, "superclasses"), 0)),
                 TEXT("java.lang.Record"));
  for (struct jp_json_cursor cursor = jp_json_enter(jp_json_member(description, "methods"));
       count < COLUMNS_MAX && jp_json_next(&cursor, NULL, &method);) {
    bool is_static = false;
    (void)jp_json_boolean(jp_json_member(method, "isStatic"), &is_static);
    struct text name = value_read_text(&table->arena, jp_json_member(method, "name"));
    struct text returned = value_read_text(&table->arena, jp_json_member(method, "returnType"));
    bool is_other = is_static || jp_json_count(jp_json_member(method, "parameters")) > 0 ||
                    text_equal(returned, TEXT("void"));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
      is_other |= text_equal(name, text_of(others[i]));
    struct text column = is_other ? TEXT_ABSENT : column_of(table, description, method, name, is_record);
    if (column.data != NULL)
      accessors[count++] = (struct accessor){column, name.data};
  }
  jp_answer_free(answer);
  return count;
}

/* Sends a request for each cell, in messages of at most STEPS_MAX. */
static bool fill_from_objects(struct command *command, struct table *table, struct fetch *fetch,
                              const struct accessor *accessors)
{
  struct value_pool pool = {0};
  struct jp_json item;
  const size_t columns = table->column_count;
  const size_t rows_at_once = columns > STEPS_MAX ? 1 : STEPS_MAX / columns;
  struct jp_request *requests = calloc(rows_at_once * columns, sizeof *requests);
  struct value **cells = calloc(rows_at_once * columns, sizeof(struct value *));
  bool is_good = requests != NULL && cells != NULL;
  struct jp_json_cursor cursor = jp_json_enter(fetch->elements);
  bool has_item = is_good && jp_json_next(&cursor, NULL, &item);
  while (is_good && has_item) {
    size_t count = 0;
    for (; has_item && count < rows_at_once * columns; has_item = jp_json_next(&cursor, NULL, &item)) {
      struct value *object = fetch_value(fetch, &pool, item);
      for (size_t i = 0; object != NULL && i < columns; i++) {
        cells[count] = value_create(&pool, VALUE_VOID);
        is_good &= cells[count] != NULL;
        requests[count] =
            jp_build_instance_method_call(NULL, accessors[i].method, jp_object(object->ref), JP_NO_ARGUMENTS);
        requests[count++].options = evaluator_options(command->evaluator);
      }
      is_good &= object != NULL;
      if (!is_good)
        break;
    }
    is_good = is_good && evaluator_ask_values(command->evaluator, requests, count, cells) &&
              command_learn_texts(command, cells, count);
    for (size_t i = 0; is_good && i < count; i += columns) {
      struct text *row = add_row(table);
      is_good = row != NULL;
      for (size_t k = 0; is_good && k < columns; k++) {
        struct buffer text;
        buffer_init(&text);
        if (cells[i + k]->kind != VALUE_NULL)
          command_append_plain(cells[i + k], &text);
        row[k] = cells[i + k]->kind == VALUE_NULL
                     ? TEXT_ABSENT
                     : arena_text(&table->arena, text.len == 0 ? TEXT("") : buffer_text(&text));
        buffer_fini(&text);
      }
    }
    value_pool_drain(&pool, 0);
  }
  free(requests);
  free(cells);
  value_pool_fini(&pool);
  return is_good;
}

static bool fill_from_beans(struct command *command, struct table *table, const struct value *object)
{
  struct fetch fetch;
  struct accessor accessors[COLUMNS_MAX];
  struct jp_json item;
  struct text type = TEXT_ABSENT;
  fetch_begin(&fetch, command->evaluator, object, FETCH_TYPED, FETCH_TO_SHOW);
  bool is_one = fetch_rows(command, table, &fetch);
  for (struct jp_json_cursor cursor = jp_json_enter(fetch.elements); jp_json_next(&cursor, NULL, &item);) {
    struct text other =
        is_reference(item) ? value_read_text(&table->arena, jp_json_member(item, "type")) : TEXT("");
    is_one &= other.len > 0 && (type.data == NULL || text_equal(type, other));
    type = other;
  }
  is_one = is_one && type.data != NULL && (command->options.table || !text_starts_with(type, TEXT("java.")));
  if (is_one)
    table->column_count = find_accessors(command, table, type.data, accessors);
  for (size_t i = 0; i < table->column_count; i++)
    table->columns[i] = accessors[i].column;
  bool is_filled = is_one && table->column_count > 0 && fill_from_objects(command, table, &fetch, accessors);
  fetch_end(&fetch);
  return is_filled;
}

static bool fill_from_result_set(struct command *command, struct table *table, const struct value *set)
{
  struct value_pool pool = {0};
  const struct failure *failure;
  struct jp_answer *meta = NULL;
  struct jp_answer *answer = NULL;
  struct jp_request request = jp_build_instance_method_call("java.sql.ResultSet", "getMetaData",
                                                            jp_object(set->ref), JP_NO_ARGUMENTS);
  struct jp_request requests[STEPS_MAX];
  struct jp_argument numbers[COLUMNS_MAX];
  struct value *cells[STEPS_MAX];
  int64_t columns = 0;
  const size_t most = command->options.elements == 0 ? ROWS_STANDARD : command->options.elements;
  bool is_good = evaluator_request(command->evaluator, &request, &meta, &failure);
  if (is_good) {
    request = jp_build_instance_method_call("java.sql.ResultSetMetaData", "getColumnCount",
                                            jp_object(jp_answer_ref(meta)), JP_NO_ARGUMENTS);
    is_good = evaluator_request(command->evaluator, &request, &answer, &failure) &&
              jp_answer_integer(answer, &columns) && columns > 0;
    jp_answer_free(answer);
  }
  columns = columns > COLUMNS_MAX ? COLUMNS_MAX : columns;
  for (int64_t i = 0; is_good && i < columns; i++) {
    numbers[i] = jp_int((int32_t)i + 1);
    requests[i] = jp_build_instance_method_call("java.sql.ResultSetMetaData", "getColumnLabel",
                                                jp_object(jp_answer_ref(meta)), &numbers[i], 1);
    cells[i] = value_create(&pool, VALUE_VOID);
    is_good = cells[i] != NULL;
  }
  is_good = is_good && evaluator_ask_values(command->evaluator, requests, (size_t)columns, cells);
  for (int64_t i = 0; is_good && i < columns; i++)
    table->columns[i] = arena_text(&table->arena, cells[i]->kind == VALUE_TEXT ? cells[i]->text : TEXT(""));
  table->column_count = (size_t)columns;
  jp_answer_free(meta);
  value_pool_drain(&pool, 0);
  bool is_at_end = false;
  while (is_good && !is_at_end) {
    const size_t width = (size_t)columns + 1;
    size_t count = 0;
    for (size_t row = table->row_count; count + width <= STEPS_MAX && row <= most; row++) {
      for (size_t i = 0; i < width; i++) {
        requests[count] = i == 0 ? jp_build_instance_method_call("java.sql.ResultSet", "next",
                                                                 jp_object(set->ref), JP_NO_ARGUMENTS)
                                 : jp_build_instance_method_call("java.sql.ResultSet", "getString",
                                                                 jp_object(set->ref), &numbers[i - 1], 1);
        requests[count].options = evaluator_options(command->evaluator); /* next moves the set's cursor */
        cells[count] = value_create(&pool, VALUE_VOID);
        is_good &= cells[count++] != NULL;
      }
    }
    is_good = is_good && evaluator_ask_values(command->evaluator, requests, count, cells);
    for (size_t at = 0; is_good && !is_at_end && at < count; at += width) {
      is_good = cells[at]->kind == VALUE_BOOLEAN; /* else next() has thrown */
      is_at_end = !is_good || cells[at]->integer == 0;
      if (is_at_end)
        break;
      if (table->row_count == most) {
        table->has_more = true;
        is_at_end = true;
        break;
      }
      struct text *row = add_row(table);
      is_good = row != NULL;
      for (size_t i = 1; is_good && i < width; i++)
        row[i - 1] =
            cells[at + i]->kind == VALUE_TEXT ? arena_text(&table->arena, cells[at + i]->text) : TEXT_ABSENT;
    }
    value_pool_drain(&pool, 0);
  }
  value_pool_fini(&pool);
  return is_good;
}

/* ---- printing ---- */

static bool is_number(struct text t)
{
  bool has_digit = false;
  for (size_t i = 0; i < t.len; i++) {
    char c = t.data[i];
    has_digit |= c >= '0' && c <= '9';
    if (!(c >= '0' && c <= '9') && c != '.' && !(c == '-' && i == 0) &&
        !(has_digit && (c == 'E' || c == 'e')))
      return false;
  }
  return has_digit;
}

/* In characters: of two columns on a terminal if they are of East Asia, of none if they combine. */
static size_t measure(struct text t)
{
  size_t width = 0;
  for (size_t i = 0; i < t.len;) {
    unsigned char c = (unsigned char)t.data[i];
    size_t length = c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
    uint32_t point = length == 1 ? c : c & (0xFFu >> (length + 1));
    for (size_t k = 1; k < length && i + k < t.len; k++)
      point = point << 6 | ((unsigned char)t.data[i + k] & 0x3F);
    bool is_wide = (point >= 0x1100 && point <= 0x115F) || (point >= 0x2E80 && point <= 0xA4CF) ||
                   (point >= 0xAC00 && point <= 0xD7A3) || (point >= 0xF900 && point <= 0xFAFF) ||
                   (point >= 0xFE30 && point <= 0xFE6F) || (point >= 0xFF00 && point <= 0xFF60) ||
                   (point >= 0x1F300 && point <= 0x1FAFF) || (point >= 0x20000 && point <= 0x3FFFD);
    width += is_wide ? 2 : (point >= 0x0300 && point <= 0x036F) || point == 0x200D ? 0 : 1;
    i += length;
  }
  return width;
}

/* On one line, and without control characters. */
static struct text prepare_cell(struct table *table, struct text cell)
{
  if (cell.data == NULL)
    return TEXT("null");
  struct text cut = text_cut(cell, CELL_MAX);
  char *shown = arena_alloc(&table->arena, cut.len * 6 + 4);
  if (shown == NULL)
    return TEXT("");
  text_escape(cut, "", "\n\t", shown, cut.len * 6 + 1);
  if (cut.len < cell.len)
    memcpy(shown + strlen(shown), "...", sizeof "...");
  return text_of(shown);
}

static void append_padded(struct buffer *out, struct text cell, size_t width, bool is_right)
{
  size_t own = measure(cell);
  size_t blanks = width > own ? width - own : 0;
  buffer_printf(out, "%*s", is_right ? (int)blanks : 0, "");
  buffer_append_text(out, cell);
  buffer_printf(out, "%*s", is_right ? 0 : (int)blanks, "");
}

static void append_rows(struct table *table, struct buffer *out)
{
  size_t widths[COLUMNS_MAX];
  for (size_t i = 0; i < table->column_count; i++) {
    widths[i] = measure(table->columns[i]);
    table->is_numeric[i] = table->row_count > 0;
    for (size_t row = 0; row < table->row_count; row++) {
      struct text *cell = &table->rows[row][i];
      table->is_numeric[i] &= cell->data == NULL || is_number(*cell);
      *cell = prepare_cell(table, *cell);
      size_t width = measure(*cell);
      widths[i] = width > widths[i] ? width : widths[i];
    }
  }
  for (size_t i = 0; i < table->column_count; i++) {
    buffer_printf(out, i == 0 ? " " : " | ");
    append_padded(out, table->columns[i], i + 1 == table->column_count ? 0 : widths[i], false);
  }
  buffer_append_char(out, '\n');
  for (size_t i = 0; i < table->column_count; i++) {
    buffer_printf(out, i == 0 ? "-" : "-+-");
    for (size_t k = 0; k < widths[i]; k++)
      buffer_append_char(out, '-');
  }
  BUFFER_LITERAL(out, "-\n");
  for (size_t row = 0; row < table->row_count; row++) {
    for (size_t i = 0; i < table->column_count; i++) {
      bool is_last = i + 1 == table->column_count && !table->is_numeric[i];
      buffer_printf(out, i == 0 ? " " : " | ");
      append_padded(out, table->rows[row][i], is_last ? 0 : widths[i], table->is_numeric[i]);
    }
    buffer_append_char(out, '\n');
  }
}

/* A column a line. */
static void append_wide(struct table *table, struct buffer *out)
{
  size_t width = 0;
  for (size_t i = 0; i < table->column_count; i++)
    width = measure(table->columns[i]) > width ? measure(table->columns[i]) : width;
  for (size_t row = 0; row < table->row_count; row++) {
    buffer_printf(out, "-[ %zu ]-\n", row + 1);
    for (size_t i = 0; i < table->column_count; i++) {
      append_padded(out, table->columns[i], width, false);
      BUFFER_LITERAL(out, " | ");
      buffer_append_text(out, prepare_cell(table, table->rows[row][i]));
      buffer_append_char(out, '\n');
    }
  }
}

static bool fill_table(struct command *command, struct table *table, const struct value *object,
                       bool *is_table)
{
  struct fetch fetch;
  static const char *const types[] = {"java.util.Collection", "java.util.Map", "java.sql.ResultSet"};
  struct jp_argument argument = jp_object(object->ref);
  struct jp_request requests[3];
  bool truths[3] = {value_is_array(object)};
  for (size_t i = 0; i < 3; i++)
    requests[i] = jp_build_instance_method_call(NULL, "isInstance",
                                                jp_text_of_type("java.lang.Class", types[i]), &argument, 1);
  *is_table = false;
  if (!truths[0] && !evaluator_ask(command->evaluator, requests, 3, truths))
    return false;
  if (truths[2])
    return (*is_table = fill_from_result_set(command, table, object));
  if (!truths[0] && !(truths[1] && command->options.table))
    return true;
  fetch_begin(&fetch, command->evaluator, object, FETCH_PLAIN, FETCH_TO_SHOW);
  bool is_good = fetch_rows(command, table, &fetch);
  const struct jp_json first =
      is_good ? jp_json_at(fetch.elements, 0) : (struct jp_json){.kind = JP_JSON_ABSENT};
  if (is_good && truths[1])
    *is_table = fill_from_map(table, fetch.elements);
  else if (first.kind == JP_JSON_OBJECT)
    *is_table =
        is_reference(first) ? fill_from_beans(command, table, object) : fill_from_maps(table, fetch.elements);
  fetch_end(&fetch);
  return is_good;
}

int command_print_table(struct command *command, const struct value *object, bool *is_table)
{
  struct table *table = calloc(1, sizeof *table);
  struct buffer out;
  *is_table = false;
  if (table == NULL)
    return COMMAND_FAILED;
  arena_init(&table->arena);
  buffer_init(&out);
  bool is_filled = fill_table(command, table, object, is_table);
  int code = command_report_lost(command);
  if (code == COMMAND_GOOD && !is_filled &&
      table->column_count > 0) /* a ResultSet, whose rows can be read once */
    code = command_report(command, evaluator_failure(command->evaluator), TEXT_ABSENT);
  if (code == COMMAND_GOOD && *is_table) {
    if (command->options.wide)
      append_wide(table, &out);
    else
      append_rows(table, &out);
    buffer_printf(&out, "(%zu row%s%s)\n", table->row_count, table->row_count == 1 ? "" : "s",
                  table->has_more ? ", and more" : "");
    command_write_text(command, buffer_text(&out));
  }
  buffer_fini(&out);
  free(table->rows);
  arena_fini(&table->arena);
  free(table);
  return code;
}

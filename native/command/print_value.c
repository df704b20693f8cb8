/* Prints results: a value as its text, an object as its class, size and first elements, or as JSON. */
#include "command/command.h"
#include "command/element_pages.h"
#include "command/table.h"

#include "json/writer.h"

#include <math.h>
#include <stdlib.h>

enum { SHOWN_STANDARD = 10, JSON_PAGE = 10000 };

void command_write_text(const struct command *command, struct text text)
{
  if (!command->is_terminal) {
    fwrite(text.data, 1, text.len, command->out);
    return;
  }
  size_t size = text.len * 6 + 1;
  char *shown = malloc(size);
  if (shown == NULL)
    return;
  size_t length = text_escape(text, "\n\t", "", shown, size);
  fwrite(shown, 1, length < size ? length : size - 1, command->out);
  free(shown);
}

/* ---- objects ---- */

enum shape { SHAPE_OTHER, SHAPE_ARRAY, SHAPE_COLLECTION, SHAPE_MAP };

/* By the names of java.util: without a round trip, and also if the policy denies the question. */
static enum shape guess_shape(const struct value *object)
{
  static const char *const ends[] = {"List", "Set", "Deque", "Queue", "Vector", "Stack"};
  struct text type = text_of(object->type == NULL ? "" : object->type);
  if (!text_starts_with(type, TEXT("java.util.")))
    return SHAPE_OTHER;
  for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
    if (text_ends_with(type, text_of(ends[i])))
      return SHAPE_COLLECTION;
  }
  return text_ends_with(type, TEXT("Map")) ? SHAPE_MAP : SHAPE_OTHER;
}

/* Streams and iterators are not read: their elements could be read once only. False: no answer arrived. */
static bool find_shape(struct command *command, const struct value *object, enum shape *shape)
{
  static const struct {
    const char *type;
    enum shape shape;
  } shapes[] = {{"java.util.Collection", SHAPE_COLLECTION}, {"java.util.Map", SHAPE_MAP}};
  *shape = guess_shape(object);
  if (value_is_array(object)) {
    *shape = SHAPE_ARRAY;
    return true;
  }
  struct jp_argument argument = jp_object(object->ref);
  struct jp_request requests[2];
  bool truths[2];
  if (*shape != SHAPE_OTHER)
    return true;
  for (size_t i = 0; i < 2; i++)
    requests[i] = jp_build_instance_method_call(
        NULL, "isInstance", jp_text_of_type("java.lang.Class", shapes[i].type), &argument, 1);
  /* If the policy denies the question, the object is shown without elements. */
  bool is_sent = evaluator_ask(command->evaluator, requests, 2, truths);
  for (size_t i = 0; i < 2; i++)
    *shape = truths[i] ? shapes[i].shape : *shape;
  return is_sent;
}

/* The size; -1: unknown. */
static int64_t find_size(struct command *command, const struct value *object, enum shape shape)
{
  struct jp_request request =
      shape == SHAPE_ARRAY
          ? jp_build_instance_field_get(NULL, jp_object(object->ref), "length")
          : jp_build_instance_method_call(NULL, "size", jp_object(object->ref), JP_NO_ARGUMENTS);
  struct jp_answer *answer;
  const struct failure *failure;
  int64_t size = -1;
  if (evaluator_request(command->evaluator, &request, &answer, &failure)) {
    (void)jp_answer_integer(answer, &size);
    jp_answer_free(answer);
  }
  return size;
}

/* The first elements, as Java's toString shows them. */
static bool append_elements(struct command *command, const struct value *object, enum shape shape,
                            struct buffer *out)
{
  const size_t most = command->options.elements == 0 ? SHOWN_STANDARD : command->options.elements;
  struct fetch fetch;
  const struct failure *failure;
  struct value_pool pool = {0};
  struct jp_json item;
  fetch_begin(&fetch, command->evaluator, object, FETCH_TYPED, FETCH_TO_SHOW);
  bool is_good = fetch_page(&fetch, most, &failure);
  struct value *list = is_good ? value_create(&pool, shape == SHAPE_MAP ? VALUE_MAP : VALUE_LIST) : NULL;
  is_good = list != NULL;
  for (struct jp_json_cursor cursor = jp_json_enter(fetch.elements);
       is_good && jp_json_next(&cursor, NULL, &item);) {
    struct value *element = fetch_value(&fetch, &pool, item);
    is_good = element != NULL && value_append(list, element);
  }
  is_good = is_good && command_learn_texts(command, &list, 1);
  if (is_good) {
    buffer_append_char(out, shape == SHAPE_MAP ? '{' : '[');
    for (size_t i = 0; i < list->item_count; i++) {
      buffer_printf(out, i == 0 ? "" : ", ");
      command_append_plain(list->items[i], out);
    }
    if (!fetch.is_done)
      buffer_printf(out, list->item_count > 0 ? ", ..." : "...");
    buffer_append_char(out, shape == SHAPE_MAP ? '}' : ']');
  }
  fetch_end(&fetch);
  value_pool_fini(&pool);
  return is_good;
}

/* The text of an object without elements, by its toString. */
static bool append_text(struct command *command, const struct value *object, struct buffer *out)
{
  struct jp_argument argument = jp_as_type("java.lang.Object", jp_object(object->ref));
  struct jp_request request = jp_build_class_method_call("java.lang.String", "valueOf", &argument, 1);
  struct jp_answer *answer;
  const struct failure *failure;
  if (object->text.data != NULL) {
    buffer_append_text(out, object->text);
    return true;
  }
  struct jp_request own =
      jp_build_instance_method_call(NULL, "toString", jp_object(object->ref), JP_NO_ARGUMENTS);
  if (!evaluator_request(command->evaluator, &request, &answer, &failure) &&
      !evaluator_request(command->evaluator, &own, &answer, &failure)) /* the policy may deny String */
    return false;
  struct jp_text text = jp_answer_text(answer);
  struct text cut = text_cut((struct text){text.data == NULL ? "" : text.data, text.len}, 1000);
  buffer_append_text(out, cut);
  if (cut.len < text.len)
    BUFFER_LITERAL(out, "...");
  jp_answer_free(answer);
  return true;
}

/* What follows the class of an object. What Java throws, or the policy denies, is left out. */
static int describe_object(struct command *command, const struct value *object, struct buffer *out)
{
  enum shape shape;
  if (!find_shape(command, object, &shape))
    return command_report_lost(command);
  if (shape != SHAPE_OTHER) {
    int64_t size = find_size(command, object, shape);
    int code = size >= 0 ? COMMAND_GOOD : command_report_lost(command);
    if (code != COMMAND_GOOD)
      return code;
    if (size >= 0)
      buffer_printf(out, " (%lld)", (long long)size);
  }
  buffer_append_char(out, ' ');
  const size_t before = out->len;
  if (shape != SHAPE_OTHER) {
    if (append_elements(command, object, shape, out))
      return COMMAND_GOOD;
    buffer_truncate(out, before);
    int code = command_report_lost(command);
    if (code != COMMAND_GOOD)
      return code;
  }
  return append_text(command, object, out) ? COMMAND_GOOD : command_report_lost(command);
}

static int print_object(struct command *command, struct value *object)
{
  struct buffer out;
  size_t number = evaluator_number_result(command->evaluator, object);
  buffer_init(&out);
  int code = describe_object(command, object, &out);
  if (code != COMMAND_GOOD) {
    buffer_fini(&out);
    return code;
  }
  fprintf(command->out, "$%zu %s%s%s", number, command->has_colour ? "\033[36m" : "",
          object->type == NULL ? "" : object->type, command->has_colour ? "\033[0m" : "");
  command_write_text(command, out.len > 1 ? buffer_text(&out) : TEXT(""));
  fputc('\n', command->out);
  buffer_fini(&out);
  return COMMAND_GOOD;
}

/* ---- JSON ---- */

static void append_json_key(struct buffer *out, struct jp_json key)
{
  if (key.kind == JP_JSON_STRING) {
    buffer_append(out, key.text.data, key.text.len);
    return;
  }
  json_write_string(out, (struct text){key.text.data, key.text.len});
}

static void append_json_page(struct buffer *out, struct jp_json elements, enum shape shape, size_t *count)
{
  struct jp_json item;
  for (struct jp_json_cursor cursor = jp_json_enter(elements); jp_json_next(&cursor, NULL, &item);) {
    if (++*count > 1)
      buffer_append_char(out, ',');
    if (shape == SHAPE_MAP) {
      append_json_key(out, jp_json_at(item, 0));
      buffer_append_char(out, ':');
      item = jp_json_at(item, 1);
    }
    buffer_append(out, item.text.data, item.text.len);
  }
}

/* All elements, in pages. */
static bool append_json_elements(struct command *command, const struct value *object, enum shape shape,
                                 struct buffer *out, const struct failure **failure)
{
  struct fetch fetch;
  struct progress progress = {0};
  size_t count = 0;
  bool is_good = true;
  fetch_begin(&fetch, command->evaluator, object, FETCH_PLAIN, FETCH_TO_SHOW);
  buffer_append_char(out, shape == SHAPE_MAP ? '{' : '[');
  while (is_good && !fetch.is_done) {
    command_show_progress(&progress, fetch.count);
    is_good = fetch_page(&fetch, JSON_PAGE, failure);
    if (is_good)
      append_json_page(out, fetch.elements, shape, &count);
  }
  buffer_append_char(out, shape == SHAPE_MAP ? '}' : ']');
  command_end_progress(&progress);
  fetch_end(&fetch);
  return is_good;
}

static bool append_json(struct command *command, const struct value *value, struct buffer *out,
                        const struct failure **failure)
{
  struct buffer text;
  enum shape shape = SHAPE_OTHER;
  bool is_good = true;
  buffer_init(&text);
  bool has_text = value_write_text(value, &text);
  struct text shown = text.len == 0 ? TEXT("") : buffer_text(&text);
  if (value->kind == VALUE_OBJECT) {
    if (!find_shape(command, value, &shape)) {
      *failure = evaluator_failure(command->evaluator);
      is_good = false;
    } else if (shape != SHAPE_OTHER) {
      is_good = append_json_elements(command, value, shape, out, failure);
    } else {
      BUFFER_LITERAL(out, "{\"type\":");
      json_write_string(out, text_of(value->type == NULL ? "" : value->type));
      buffer_clear(&text);
      if (append_text(command, value, &text)) {
        BUFFER_LITERAL(out, ",\"text\":");
        json_write_string(out, text.len == 0 ? TEXT("") : buffer_text(&text));
      } else {
        *failure = evaluator_failure(command->evaluator);
        is_good = (*failure)->kind == FAILURE_THROWN || (*failure)->kind == FAILURE_DENIED;
      }
      buffer_append_char(out, '}');
    }
  } else if (value->kind == VALUE_LIST || value->kind == VALUE_ENTRY) {
    buffer_append_char(out, '[');
    for (size_t i = 0; is_good && i < value->item_count; i++) {
      buffer_printf(out, i == 0 ? "" : ",");
      is_good = append_json(command, value->items[i], out, failure);
    }
    buffer_append_char(out, ']');
  } else if (value->kind == VALUE_MAP) {
    buffer_append_char(out, '{');
    for (size_t i = 0; is_good && i + 1 < value->item_count; i += 2) {
      buffer_printf(out, i == 0 ? "" : ",");
      buffer_clear(&text);
      (void)value_write_text(value->items[i], &text);
      json_write_string(out, text.len == 0 ? TEXT("") : buffer_text(&text));
      buffer_append_char(out, ':');
      is_good = append_json(command, value->items[i + 1], out, failure);
    }
    buffer_append_char(out, '}');
  } else if (!has_text) {
    BUFFER_LITERAL(out, "null");
  } else if (value->kind == VALUE_TEXT || value->kind == VALUE_CHAR ||
             (value->kind == VALUE_NUMBER && !isfinite(value->number))) {
    json_write_string(out, shown);
  } else {
    buffer_append_text(out, shown);
  }
  buffer_fini(&text);
  return is_good;
}

static int print_json(struct command *command, struct value *value)
{
  struct buffer out;
  const struct failure *failure = NULL;
  buffer_init(&out);
  bool is_good = append_json(command, value, &out, &failure);
  if (is_good && !out.failed)
    fprintf(command->out, "%.*s\n", (int)out.len, out.data);
  int code = is_good ? COMMAND_GOOD : command_report(command, failure, TEXT_ABSENT);
  buffer_fini(&out);
  return code;
}

static int print_lines(struct command *command, const struct value *const *values, size_t count)
{
  struct buffer out;
  const struct failure *failure = NULL;
  bool is_good = true;
  buffer_init(&out);
  for (size_t i = 0; is_good && i < count; i++) {
    buffer_clear(&out);
    is_good = append_json(command, values[i], &out, &failure);
    if (is_good)
      fprintf(command->out, "%.*s\n", (int)out.len, out.data);
  }
  buffer_fini(&out);
  return is_good ? COMMAND_GOOD : command_report(command, failure, TEXT_ABSENT);
}

/* The elements of what has elements, else the value. */
static int print_ndjson(struct command *command, struct value *value)
{
  enum shape shape = SHAPE_OTHER;
  const struct value *values[1] = {value};
  if (value->kind == VALUE_OBJECT && !find_shape(command, value, &shape))
    return command_report_lost(command);
  if (shape != SHAPE_OTHER)
    return command_print_elements(command, value);
  if (value->kind == VALUE_LIST)
    return print_lines(command, (const struct value *const *)value->items, value->item_count);
  return print_lines(command, values, 1);
}

/* ---- any value ---- */

/* The objects without a text among values and their items; with asked NULL only counts them. */
static size_t find_objects(struct value *const *values, size_t count, struct value **asked)
{
  size_t found = 0;
  for (size_t i = 0; i < count; i++) {
    struct value **rest = asked == NULL ? NULL : asked + found;
    if (values[i]->kind != VALUE_OBJECT)
      found += find_objects(values[i]->items, values[i]->item_count, rest);
    else if (values[i]->text.data == NULL && ++found > 0 && rest != NULL)
      *rest = values[i];
  }
  return found;
}

bool command_learn_texts(struct command *command, struct value *const *values, size_t count)
{
  const size_t used = find_objects(values, count, NULL);
  struct jp_request *requests = calloc(used + 1, sizeof *requests);
  struct jp_argument *arguments = calloc(used + 1, sizeof *arguments);
  struct value **asked = calloc(used + 1, sizeof(struct value *));
  bool is_good = requests != NULL && arguments != NULL && asked != NULL;
  if (is_good)
    find_objects(values, count, asked);
  for (size_t i = 0; is_good && i < used; i++) {
    arguments[i] = jp_as_type("java.lang.Object", jp_object(asked[i]->ref));
    requests[i] = jp_build_class_method_call("java.lang.String", "valueOf", &arguments[i], 1);
  }
  is_good = is_good && (used == 0 || evaluator_ask_texts(command->evaluator, requests, used, asked));
  free(requests);
  free(arguments);
  free(asked);
  return is_good;
}

void command_append_plain(const struct value *value, struct buffer *out)
{
  bool is_map = value->kind == VALUE_MAP;
  bool is_entry = value->kind == VALUE_ENTRY && value->item_count == 2;
  /* The text of an array: "[I@1b2c3d". */
  if (value->kind == VALUE_OBJECT && value_is_array(value) && text_starts_with(value->text, TEXT("["))) {
    const size_t at = text_find_last(value->text, '@');
    buffer_printf(out, "%s%.*s", value->type, at == SIZE_MAX ? 0 : (int)(value->text.len - at),
                  value->text.data + at);
    return;
  }
  if (value_write_text(value, out))
    return;
  if (value->kind == VALUE_OBJECT) {
    buffer_printf(out, "<%s>", value->type == NULL ? "" : value->type);
    return;
  }
  if (value->kind == VALUE_LAMBDA) {
    BUFFER_LITERAL(out, "a lambda");
    return;
  }
  if (!is_entry)
    buffer_append_char(out, is_map ? '{' : '[');
  for (size_t i = 0; i < value->item_count; i++) {
    buffer_printf(out, i == 0 ? "" : (is_map || is_entry) && i % 2 == 1 ? "=" : ", ");
    command_append_plain(value->items[i], out);
  }
  if (!is_entry)
    buffer_append_char(out, is_map ? '}' : ']');
}

int command_print_value(struct command *command, struct value *value)
{
  struct buffer out;
  if (value->kind == VALUE_VOID)
    return COMMAND_GOOD;
  if (command->options.ndjson)
    return print_ndjson(command, value);
  if (command->options.json)
    return print_json(command, value);
  bool may_be_table = command->options.table || (command->is_terminal && !command->options.plain);
  if (value->kind == VALUE_LIST && value->item_count > 0 && value->items[0]->kind == VALUE_MAP &&
      may_be_table && !evaluator_make_object(command->evaluator, &value))
    return command_report(command, evaluator_failure(command->evaluator), TEXT_ABSENT);
  if (value->kind == VALUE_OBJECT && !command->options.raw) {
    bool is_table = false;
    int code = COMMAND_GOOD;
    if (may_be_table)
      code = command_print_table(command, value, &is_table);
    return is_table || code != COMMAND_GOOD ? code : print_object(command, value);
  }
  buffer_init(&out);
  if (value->kind == VALUE_OBJECT && !append_text(command, value, &out)) {
    buffer_fini(&out); /* --raw: the text is all that is asked for */
    return command_report(command, evaluator_failure(command->evaluator), TEXT_ABSENT);
  }
  if (value->kind != VALUE_OBJECT && !command_learn_texts(command, &value, 1)) {
    buffer_fini(&out);
    return command_report(command, evaluator_failure(command->evaluator), TEXT_ABSENT);
  }
  if (value->kind != VALUE_OBJECT)
    command_append_plain(value, &out);
  if (command->options.raw)
    fwrite(out.data, 1, out.len, command->out);
  else
    command_write_text(command, out.len == 0 ? TEXT("") : buffer_text(&out));
  if (!command->options.raw)
    fputc('\n', command->out);
  buffer_fini(&out);
  return COMMAND_GOOD;
}

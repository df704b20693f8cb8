/* From the names that a program uses to the full names of classes. */
#include "command/evaluator_state.h"

#include "base/near_name.h"

/* ---- names of classes ---- */

static const char *const default_packages[] = {
    "java.lang", "java.lang.management", "java.util", "java.util.stream", "java.time",
    "java.io",   "java.nio.file",        "java.math"};
enum { DEFAULT_PACKAGES = sizeof default_packages / sizeof default_packages[0] };

/* Classes that every Java has: their names need no look-up. */
static const struct {
  const char *package;
  const char *classes;
} usual_classes[] = {
    {"java.lang",
     " Object String Integer Long Short Byte Character Boolean Double Float Number Math System Thread "
     "Runtime Class StringBuilder Iterable Comparable Runnable CharSequence Throwable Exception Error "
     "RuntimeException IllegalArgumentException IllegalStateException NullPointerException "
     "NumberFormatException ArithmeticException ClassLoader Enum "},
    {"java.util",
     " List ArrayList LinkedList Map HashMap LinkedHashMap TreeMap Set HashSet TreeSet Arrays Collections "
     "Collection Iterator Objects Optional Comparator UUID Random Date Locale Properties "},
};

struct class_name *class_name_find(struct class_name *list, struct text simple)
{
  while (list != NULL && !text_equal(list->simple, simple))
    list = list->next;
  return list;
}

bool evaluator_note_class(struct evaluator *ev, struct class_name **list, struct text simple,
                          struct text full)
{
  struct class_name *known = arena_calloc(&ev->names, 1, sizeof *known);
  if (known == NULL)
    return false;
  *known = (struct class_name){.next = *list,
                               .simple = arena_text(&ev->names, simple),
                               .full = arena_printf(&ev->names, "%.*s", TEXT_ARGS(full))};
  if (known->simple.data == NULL || known->full.data == NULL)
    return false;
  *list = known;
  return true;
}

static struct text find_usual(struct evaluator *ev, struct text simple)
{
  char word[64];
  if (simple.len + 3 > sizeof word)
    return TEXT_ABSENT;
  text_format(word, sizeof word, " %.*s ", TEXT_ARGS(simple));
  for (size_t i = 0; i < sizeof usual_classes / sizeof usual_classes[0]; i++) {
    if (strstr(usual_classes[i].classes, word) != NULL)
      return arena_printf(&ev->names, "%s.%.*s", usual_classes[i].package, TEXT_ARGS(simple));
  }
  return TEXT_ABSENT;
}

/* Whether the answer of list_names has the class; *other gets, if not NULL, the first class of that simple name. */
static bool lists_class(const struct jp_answer *answer, struct text full, struct text simple, char *other,
                        size_t size)
{
  struct jp_text text = jp_answer_text(answer);
  struct jp_json list;
  struct jp_json item;
  char name[1000];
  if (text.data == NULL || jp_json_parse(text, 8, &list, NULL) != JP_JSONRPC_OK)
    return false;
  for (struct jp_json_cursor cursor = jp_json_enter(jp_json_member(list, "classes"));
       jp_json_next(&cursor, NULL, &item);) {
    size_t length = jp_json_string(item, name, sizeof name);
    if (length == SIZE_MAX || length >= sizeof name)
      continue;
    if (text_equal(text_of(name), full))
      return true;
    struct text last = text_slice(text_of(name), text_find_last(text_of(name), '.') + 1, length);
    if (other != NULL && other[0] == '\0' && text_equal(last, simple))
      text_format(other, size, "%s", name);
  }
  return false;
}

/* Asks for names, one list_names for each prefix, in one round trip. NULL: it has failed. A prefix without data means that
 * memory is short. */
static struct jp_chain *ask_names(struct evaluator *ev, const struct text *prefixes, size_t count, int max)
{
  struct jp_client_error error;
  char name[24];
  for (size_t i = 0; i < count; i++) {
    if (prefixes[i].data == NULL)
      return evaluator_fail_memory(ev), NULL;
  }
  struct jp_chain *chain = jp_chain_create(ev->config.client);
  for (size_t i = 0; i < count; i++) {
    struct jp_request request = jp_build_list_names(prefixes[i].data, max);
    jp_chain_request(chain, chain_name_step(i, name), &request);
  }
  ev->round_trips++;
  enum jp_client_status status = jp_chain_send(chain, ev->config.timeout_ms, &error);
  if (status == JP_CLIENT_OK)
    return chain;
  evaluator_take_failure(ev, 0, false, status, &error, jp_chain_failure(chain));
  jp_chain_destroy(chain);
  return NULL;
}

/* The same, for the error of a name that stands at this place. */
static struct jp_chain *ask_names_at(struct evaluator *ev, size_t at, const struct text *prefixes,
                                     size_t count, int max)
{
  struct jp_chain *chain = ask_names(ev, prefixes, count, max);
  if (chain == NULL) {
    ev->failure.at = at;
    ev->failure.has_place = true;
  }
  return chain;
}

/* Offers the simple names of the answer's classes; *best gets the full name of a class that is nearer than all before. */
static void offer_classes(const struct jp_answer *answer, struct near_name *search, char *best, size_t size)
{
  struct jp_text text = jp_answer_text(answer);
  struct jp_json list;
  struct jp_json item;
  char name[1000];
  if (text.data == NULL || jp_json_parse(text, 8, &list, NULL) != JP_JSONRPC_OK)
    return;
  for (struct jp_json_cursor cursor = jp_json_enter(jp_json_member(list, "classes"));
       jp_json_next(&cursor, NULL, &item);) {
    const unsigned before = search->distance;
    if (jp_json_string(item, name, sizeof name) >= sizeof name)
      continue;
    near_name_offer(search, text_of(name + text_find_last(text_of(name), '.') + 1));
    if (search->distance < before)
      text_format(best, size, "%s", name);
  }
}

enum { PREFIXES_MAX = 64, LISTED_MAX = 200, OFFERED_MAX = 2000 };

/* For the error: finds the class that is nearest to an unknown name, in the imported packages and, if the first half of the
 * name is right, in all others. False: no answer arrived. */
static bool find_near_class(struct evaluator *ev, size_t at, struct text simple, char *best, size_t size)
{
  struct text prefixes[PREFIXES_MAX];
  struct near_name search;
  char step[24];
  size_t count = 0;
  for (const struct class_name *package = ev->packages;
       package != NULL && count < PREFIXES_MAX - DEFAULT_PACKAGES - 1; package = package->next)
    prefixes[count++] = arena_printf(&ev->names, "%.*s.", TEXT_ARGS(package->full));
  for (size_t i = 0; i < DEFAULT_PACKAGES; i++)
    prefixes[count++] = arena_printf(&ev->names, "%s.", default_packages[i]);
  if (simple.len >= 4 && simple.data[0] >= 'A' && simple.data[0] <= 'Z')
    prefixes[count++] = arena_printf(&ev->names, "%.*s", (int)(simple.len / 2), simple.data);
  struct jp_chain *chain = ask_names_at(ev, at, prefixes, count, OFFERED_MAX);
  if (chain == NULL)
    return false;
  near_name_init(&search, simple);
  for (size_t i = 0; i < count; i++)
    offer_classes(jp_chain_answer(chain, chain_name_step(i, step)), &search, best, size);
  jp_chain_destroy(chain);
  return true;
}

/* Looks a simple name up in the imported packages, in the package without a name, and, for the error, in all others. */
static struct text look_up_class(struct evaluator *ev, size_t at, struct text simple)
{
  struct text prefixes[PREFIXES_MAX];
  char other[1000] = "";
  char step[24];
  size_t count = 0;
  for (const struct class_name *package = ev->packages;
       package != NULL && count < PREFIXES_MAX - DEFAULT_PACKAGES - 1; package = package->next)
    prefixes[count++] = arena_printf(&ev->names, "%.*s.%.*s", TEXT_ARGS(package->full), TEXT_ARGS(simple));
  for (size_t i = 0; i < DEFAULT_PACKAGES; i++)
    prefixes[count++] = arena_printf(&ev->names, "%s.%.*s", default_packages[i], TEXT_ARGS(simple));
  prefixes[count++] = arena_printf(&ev->names, "%.*s", TEXT_ARGS(simple));
  struct jp_chain *chain = ask_names_at(ev, at, prefixes, count, LISTED_MAX);
  if (chain == NULL)
    return TEXT_ABSENT;
  struct text found = TEXT_ABSENT;
  for (size_t i = 0; i < count && found.data == NULL; i++) {
    if (lists_class(jp_chain_answer(chain, chain_name_step(i, step)), prefixes[i], simple,
                    i + 1 == count ? other : NULL, sizeof other))
      found = prefixes[i];
  }
  jp_chain_destroy(chain);
  if (found.data != NULL)
    return found;
  if (other[0] != '\0') {
    evaluator_fail(ev, at, "", "%.*s is neither a variable nor an imported class: did you mean %s?",
                   TEXT_ARGS(simple), other);
  } else if (find_near_class(ev, at, simple, other, sizeof other)) {
    struct text variable = evaluator_near_variable(ev, simple);
    const bool is_near = variable.data != NULL || other[0] != '\0';
    evaluator_fail(ev, at, "", "%.*s is neither a variable nor a class that this client may use%s%.*s%s",
                   TEXT_ARGS(simple), is_near ? ": did you mean " : "",
                   TEXT_ARGS(variable.data != NULL ? variable : text_of(other)), is_near ? "?" : "");
  }
  return TEXT_ABSENT;
}

/* The full name of a class; data NULL: failed. */
struct text evaluator_resolve_simple(struct evaluator *ev, size_t at, struct text simple)
{
  struct class_name *known = class_name_find(ev->classes, simple);
  if (known != NULL)
    return known->full;
  struct text full = ev->packages == NULL ? find_usual(ev, simple) : TEXT_ABSENT;
  if (full.data == NULL)
    full = look_up_class(ev, at, simple);
  if (full.data != NULL && !evaluator_note_class(ev, &ev->classes, simple, full))
    return evaluator_fail_memory(ev), TEXT_ABSENT;
  return full;
}

/* Whether the class has a nested class of that name; `Outer.Inner` may also be a field. */
bool evaluator_find_nested(struct evaluator *ev, struct text outer, struct text name, struct text *nested)
{
  bool has_lower = false;
  for (size_t i = 0; i < name.len; i++)
    has_lower |= name.data[i] >= 'a' && name.data[i] <= 'z';
  *nested = TEXT("");
  if (name.len == 0 || name.data[0] < 'A' || name.data[0] > 'Z' || !has_lower)
    return true; /* by convention a constant: SECONDS */
  struct text full = arena_printf(&ev->names, "%.*s$%.*s", TEXT_ARGS(outer), TEXT_ARGS(name));
  if (full.data == NULL)
    return evaluator_fail_memory(ev) != NULL;
  struct class_name *known = class_name_find(ev->classes, full);
  if (known == NULL) {
    struct jp_chain *chain = ask_names(ev, &full, 1, LISTED_MAX);
    if (chain == NULL)
      return false;
    bool is_there = lists_class(jp_chain_answer(chain, "s0"), full, name, NULL, 0);
    jp_chain_destroy(chain);
    if (!evaluator_note_class(ev, &ev->classes, full, is_there ? full : TEXT("")))
      return evaluator_fail_memory(ev) != NULL;
    known = ev->classes;
  }
  *nested = known->full;
  return true;
}

struct text evaluator_find_class(struct evaluator *ev, struct text name)
{
  failure_clear(&ev->failure);
  return evaluator_resolve_type(ev, 0, name);
}

const char *evaluator_imported_package(const struct evaluator *ev, size_t index)
{
  if (index < DEFAULT_PACKAGES)
    return default_packages[index];
  const struct class_name *package = ev->packages;
  for (index -= DEFAULT_PACKAGES; package != NULL && index > 0; index--)
    package = package->next;
  return package == NULL ? NULL : package->full.data;
}

/* A type as the program writes it: "List", "java.util.List", "int[]". data NULL: failed. */
struct text evaluator_resolve_type(struct evaluator *ev, size_t at, struct text type)
{
  size_t end = type.len;
  while (end > 2 && type.data[end - 1] == ']')
    end -= 2;
  struct text element = text_slice(type, 0, end);
  size_t dot = text_find_last(element, '.');
  if (dot == SIZE_MAX && primitive_find_keyword(element) == NULL) {
    element = evaluator_resolve_simple(ev, at, element);
  } else if (dot != SIZE_MAX) {
    /* Of "Map.Entry" and "java.util.Map.Entry" the first capital begins the class; what follows is nested. */
    struct text outer = TEXT_ABSENT;
    for (size_t from = 0; from < element.len;) {
      size_t to = from;
      while (to < element.len && element.data[to] != '.')
        to++;
      struct text part = text_slice(element, from, to);
      bool is_class = part.len > 0 && part.data[0] >= 'A' && part.data[0] <= 'Z';
      if (outer.data != NULL)
        outer = arena_printf(&ev->names, "%.*s$%.*s", TEXT_ARGS(outer), TEXT_ARGS(part));
      else if (is_class)
        outer = from == 0 ? evaluator_resolve_simple(ev, at, part) : text_slice(element, 0, to);
      if (is_class && outer.data == NULL)
        return TEXT_ABSENT;
      from = to + 1;
    }
    element = outer.data != NULL ? outer : element;
  }
  if (element.data == NULL)
    return TEXT_ABSENT;
  struct text full =
      arena_printf(&ev->names, "%.*s%.*s", TEXT_ARGS(element), (int)(type.len - end), type.data + end);
  if (full.data == NULL)
    (void)evaluator_fail_memory(ev);
  return full;
}

#include "principal/principal_file.h"

#include "base/array.h"
#include "base/buffer.h"
#include "base/curve_keys.h"
#include "base/small_file.h"
#include "base/unix_account.h"
#include "policy/tree.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ADVICE_MAX = 400, LIST_MAX = 1000, JOINED_MAX = 4 * POLICY_TREE_BYTES };

struct reader {
  bool is_draft; /* entries may have no evidence yet */
  const char *name;
  struct arena *arena;
  struct array entries;   /* of struct principal_entry */
  struct array listed;    /* of struct principal_listed */
  size_t joined;          /* bytes of all joined words: an alias can repeat a long list in each entry */
  struct jp_error *error; /* never NULL */
};

typedef enum jp_status read_evidence(struct reader *reader, const struct policy_node *node,
                                     struct principal_listed *listed);

/* A key of a map, and how its value is read into the entry. */
struct key_reader {
  const char *key;
  enum jp_status (*read)(struct reader *reader, const struct key_reader *key, const struct policy_node *value,
                         struct principal_entry *entry);
  read_evidence *evidence;    /* of read_list: reads an item */
  enum principal_limit limit; /* of read_limit */
  size_t offset;              /* of read_boolean: of the entry's member */
};

/* ---- errors ---- */

static enum jp_status fail_at(struct reader *reader, int line, int column, const char *format, ...)
    JP_PRINTF(4, 5);

static enum jp_status fail_at(struct reader *reader, int line, int column, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  jp_fail_va(reader->error, JP_INVALID, format, args);
  va_end(args);
  jp_error_prefix(reader->error, "%s:%d:%d", reader->name, line, column);
  return JP_INVALID;
}

static enum jp_status want_kind(struct reader *reader, const struct policy_node *node,
                                enum policy_node_kind kind, const char *what)
{
  static const char *const names[] = {
      [POLICY_SCALAR] = "a word", [POLICY_LIST] = "a list", [POLICY_MAP] = "a map"};
  if (node->kind == kind && !node->null)
    return JP_OK;
  return fail_at(reader, node->line, node->column, "%s has to be %s, not %s", what, names[kind],
                 node->null ? "empty" : names[node->kind]);
}

static enum jp_status read_map(struct reader *reader, const struct policy_node *node, const char *what,
                               const struct key_reader *readers, size_t count, struct principal_entry *entry)
{
  uint32_t seen = 0;
  enum jp_status status = want_kind(reader, node, POLICY_MAP, what);
  for (const struct policy_item *item = node->first; status == JP_OK && item != NULL; item = item->next) {
    size_t i = 0;
    while (i < count && !text_equal(item->key, text_of(readers[i].key)))
      i++;
    if (i == count) {
      char known[ADVICE_MAX] = "";
      struct text shown = policy_shortened(item->key);
      for (size_t at = 0, used = 0; at < count; at++, used = strlen(known))
        snprintf(known + used, sizeof known - used, "%s%s", used == 0 ? "" : ", ", readers[at].key);
      return fail_at(reader, item->key_line, item->key_column, "unknown key '%.*s': known are %s",
                     TEXT_ARGS(shown), known);
    }
    if ((seen & 1u << i) != 0)
      return fail_at(reader, item->key_line, item->key_column, "key '%s' is given twice", readers[i].key);
    seen |= 1u << i;
    status = readers[i].read(reader, &readers[i], item->value, entry);
  }
  return status;
}

/* A word as a string of C. NULL: no memory, or the word has a NUL. */
static const char *copy_word(struct reader *reader, const struct policy_node *node)
{
  if (memchr(node->text.data, '\0', node->text.len) != NULL) {
    fail_at(reader, node->line, node->column, "a word has no NUL");
    return NULL;
  }
  struct text copy = arena_printf(reader->arena, "%.*s", TEXT_ARGS(node->text));
  if (copy.data == NULL)
    jp_fail_memory(reader->error, NULL);
  return copy.data;
}

/* ---- evidence ---- */

static int digit_of(char c)
{
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool principal_read_digest(struct text written, uint8_t digest[PRINCIPAL_DIGEST])
{
  const struct text mark = TEXT("sha256:");
  if (!text_starts_with(written, mark) || written.len != mark.len + (size_t)(2 * PRINCIPAL_DIGEST))
    return false;
  for (size_t i = 0; i < PRINCIPAL_DIGEST; i++) {
    int high = digit_of(written.data[mark.len + 2 * i]);
    int low = digit_of(written.data[mark.len + 2 * i + 1]);
    if (high < 0 || low < 0)
      return false;
    digest[i] = (uint8_t)(high << 4 | low);
  }
  return true;
}

static bool is_same_evidence(const struct principal_listed *a, const struct principal_listed *b)
{
  if (a->kind != b->kind)
    return false;
  switch (a->kind) {
  case PRINCIPAL_BY_TOKEN:
  case PRINCIPAL_BY_CERTIFICATE:
    return memcmp(a->digest, b->digest, PRINCIPAL_DIGEST) == 0;
  case PRINCIPAL_BY_USER:
  case PRINCIPAL_BY_GROUP:
    return a->id == b->id;
  default:
    return text_equal(a->name, b->name);
  }
}

static enum jp_status add_listed(struct reader *reader, const struct policy_node *node,
                                 struct principal_listed *listed)
{
  listed->entry = reader->entries.count - 1;
  listed->line = node->line;
  listed->column = node->column;
  if (reader->listed.count == PRINCIPAL_EVIDENCE_MAX)
    return fail_at(reader, node->line, node->column, "more than %d pieces of evidence in one file",
                   PRINCIPAL_EVIDENCE_MAX);
  struct principal_listed *added = array_add(&reader->listed, 1);
  if (added == NULL)
    return jp_fail_memory(reader->error, NULL);
  *added = *listed;
  return JP_OK;
}

static enum jp_status read_list(struct reader *reader, const struct key_reader *key,
                                const struct policy_node *node, struct principal_entry *entry)
{
  (void)entry;
  enum jp_status status = want_kind(reader, node, POLICY_LIST, key->key);
  for (const struct policy_item *item = node->first; status == JP_OK && item != NULL; item = item->next) {
    struct principal_listed listed = {.name = TEXT_ABSENT};
    status = want_kind(reader, item->value, POLICY_SCALAR, key->key);
    if (status == JP_OK)
      status = key->evidence(reader, item->value, &listed);
    if (status == JP_OK)
      status = add_listed(reader, item->value, &listed);
  }
  return status;
}

static enum jp_status read_token(struct reader *reader, const struct policy_node *node,
                                 struct principal_listed *listed)
{
  listed->kind = PRINCIPAL_BY_TOKEN;
  if (principal_read_digest(node->text, listed->digest))
    return JP_OK;
  /* The word may be a token itself, so the message does not quote it. */
  return fail_at(reader, node->line, node->column,
                 "a token is listed as its hash: sha256: and 64 hexadecimal digits, as 'jpeer token new' "
                 "prints it");
}

static enum jp_status read_certificate(struct reader *reader, const struct policy_node *node,
                                       struct principal_listed *listed)
{
  const struct text mark = TEXT("CN=");
  struct text shown = policy_shortened(node->text);
  listed->kind = PRINCIPAL_BY_CERTIFICATE;
  if (principal_read_digest(node->text, listed->digest))
    return JP_OK;
  listed->kind = PRINCIPAL_BY_COMMON_NAME;
  listed->name =
      text_starts_with(node->text, mark) ? text_slice(node->text, mark.len, node->text.len) : TEXT("");
  listed->name = arena_text(reader->arena, listed->name);
  if (listed->name.data == NULL)
    return jp_fail_memory(reader->error, NULL);
  if (listed->name.len > 0)
    return JP_OK;
  return fail_at(
      reader, node->line, node->column,
      "a certificate is sha256: and 64 hexadecimal digits of the digest of its DER, or CN=NAME, not "
      "'%.*s'",
      TEXT_ARGS(shown));
}

static enum jp_status read_curve_key(struct reader *reader, const struct policy_node *node,
                                     struct principal_listed *listed)
{
  listed->kind = PRINCIPAL_BY_CURVE_KEY;
  if (!curve_key_is_valid(node->text))
    return fail_at(reader, node->line, node->column, "a CURVE key is %d characters of Z85",
                   (int)CURVE_KEY_LENGTH);
  listed->name = arena_text(reader->arena, node->text);
  return listed->name.data == NULL ? jp_fail_memory(reader->error, NULL) : JP_OK;
}

/* A user or group. One that the system reports for all those that the user namespace lacks would be all of them. */
static enum jp_status read_account(struct reader *reader, const struct policy_node *node,
                                   enum unix_account_kind kind, struct principal_listed *listed)
{
  const char *name = copy_word(reader, node);
  const struct text shown = policy_shortened(node->text);
  struct jp_error reason;
  if (name == NULL)
    return reader->error->status;
  if (unix_account_find(kind, name, &listed->id, &reason) != JP_OK)
    return fail_at(reader, node->line, node->column, "'%.*s': %s", TEXT_ARGS(shown), reason.text);
  if (unix_account_is_shared(kind, listed->id))
    return fail_at(
        reader, node->line, node->column,
        "%u would mean everyone of the machine whom this user namespace (container) lacks: the system "
        "reports them as this one",
        (unsigned)listed->id);
  return JP_OK;
}

static enum jp_status read_user(struct reader *reader, const struct policy_node *node,
                                struct principal_listed *listed)
{
  listed->kind = PRINCIPAL_BY_USER;
  return read_account(reader, node, UNIX_USER, listed);
}

static enum jp_status read_group(struct reader *reader, const struct policy_node *node,
                                 struct principal_listed *listed)
{
  listed->kind = PRINCIPAL_BY_GROUP;
  return read_account(reader, node, UNIX_GROUP, listed);
}

/* ---- rights ---- */

/* Reads a list of words, joined by commas: as the options of the command line. NULL: *reader->error. */
static const char *join_words(struct reader *reader, const struct policy_node *node, const char *what)
{
  if (want_kind(reader, node, POLICY_LIST, what) != JP_OK)
    return NULL;
  if (node->count == 0 || node->count > LIST_MAX) {
    fail_at(reader, node->line, node->column, "%s is a list of 1 to %d words", what, LIST_MAX);
    return NULL;
  }
  struct buffer words;
  buffer_init(&words);
  const struct policy_item *item = node->first;
  for (; item != NULL; item = item->next) {
    struct text word = item->value->text;
    if (want_kind(reader, item->value, POLICY_SCALAR, what) != JP_OK)
      break;
    if (word.len == 0 || memchr(word.data, ',', word.len) != NULL ||
        memchr(word.data, '\0', word.len) != NULL) {
      fail_at(reader, item->value->line, item->value->column, "a word of %s is not empty and has no comma",
              what);
      break;
    }
    buffer_append_text(&words, words.len == 0 ? TEXT("") : TEXT(","));
    buffer_append_text(&words, word);
  }
  struct text joined =
      words.failed ? TEXT_ABSENT : arena_printf(reader->arena, "%.*s", TEXT_ARGS(buffer_text(&words)));
  buffer_fini(&words);
  if (item != NULL)
    return NULL;
  if (joined.data == NULL) {
    jp_fail_memory(reader->error, NULL);
    return NULL;
  }
  reader->joined += joined.len;
  if (reader->joined <= JOINED_MAX)
    return joined.data;
  fail_at(reader, node->line, node->column, "the lists of all entries are longer than %d bytes", JOINED_MAX);
  return NULL;
}

static enum jp_status read_allow(struct reader *reader, const struct key_reader *key,
                                 const struct policy_node *value, struct principal_entry *entry)
{
  entry->allow = join_words(reader, value, key->key);
  entry->allow_line = value->line;
  entry->allow_column = value->column;
  return entry->allow == NULL ? reader->error->status : JP_OK;
}

static enum jp_status read_preset(struct reader *reader, const struct key_reader *key,
                                  const struct policy_node *value, struct principal_entry *entry)
{
  entry->presets = join_words(reader, value, key->key);
  return entry->presets == NULL ? reader->error->status : JP_OK;
}

static enum jp_status read_policy(struct reader *reader, const struct key_reader *key,
                                  const struct policy_node *value, struct principal_entry *entry)
{
  enum jp_status status = want_kind(reader, value, POLICY_SCALAR, key->key);
  const char *path = status == JP_OK ? copy_word(reader, value) : NULL;
  if (path == NULL)
    return reader->error->status;
  const char *slash = strrchr(reader->name, '/');
  if (path[0] != '/' && slash != NULL) {
    struct text joined =
        arena_printf(reader->arena, "%.*s/%s", (int)(slash - reader->name), reader->name, path);
    if (joined.data == NULL)
      return jp_fail_memory(reader->error, NULL);
    path = joined.data;
  }
  entry->policy = path;
  return JP_OK;
}

static enum jp_status read_boolean(struct reader *reader, const struct key_reader *key,
                                   const struct policy_node *value, struct principal_entry *entry)
{
  bool *is_true = (bool *)((char *)entry + key->offset);
  enum jp_status status = want_kind(reader, value, POLICY_SCALAR, key->key);
  *is_true = text_equal(value->text, TEXT("true"));
  if (status == JP_OK && !*is_true && !text_equal(value->text, TEXT("false")))
    return fail_at(reader, value->line, value->column, "%s is true or false", key->key);
  return status;
}

static bool read_count(struct text text, uint32_t *count)
{
  uint64_t number = 0;
  for (size_t i = 0; i < text.len; i++) {
    if (i == 10 || text.data[i] < '0' || text.data[i] > '9')
      return false;
    number = number * 10 + (uint64_t)(text.data[i] - '0');
  }
  *count = (uint32_t)number;
  return number > 0 && number < UINT32_MAX;
}

static enum jp_status read_limit(struct reader *reader, const struct key_reader *key,
                                 const struct policy_node *value, struct principal_entry *entry)
{
  uint32_t number = 0;
  enum jp_status status = want_kind(reader, value, POLICY_SCALAR, key->key);
  if (status == JP_OK && !read_count(value->text, &number))
    return fail_at(reader, value->line, value->column, "%s is a number from 1 to 4294967294", key->key);
  entry->limits[key->limit] = number;
  return status;
}

static enum jp_status read_limits(struct reader *reader, const struct key_reader *key,
                                  const struct policy_node *value, struct principal_entry *entry)
{
  static const struct key_reader readers[] = {
      {.key = "connections", .read = read_limit, .limit = PRINCIPAL_CONNECTIONS},
      {.key = "sessions", .read = read_limit, .limit = PRINCIPAL_SESSIONS},
      {.key = "objects", .read = read_limit, .limit = PRINCIPAL_OBJECTS},
      {.key = "calls", .read = read_limit, .limit = PRINCIPAL_CALLS},
  };
  return read_map(reader, value, key->key, readers, sizeof readers / sizeof readers[0], entry);
}

/* The log and `control whoami` show the name. */
static bool is_name(struct text name)
{
  for (size_t i = 0; i < name.len; i++) {
    if ((unsigned char)name.data[i] <= ' ' || name.data[i] == '"' || name.data[i] == '\\' ||
        name.data[i] == 0x7f)
      return false;
  }
  return name.len > 0 && name.len <= PRINCIPAL_NAME_MAX;
}

static enum jp_status read_name(struct reader *reader, const struct key_reader *key,
                                const struct policy_node *value, struct principal_entry *entry)
{
  enum jp_status status = want_kind(reader, value, POLICY_SCALAR, key->key);
  if (status != JP_OK)
    return status;
  if (!is_name(value->text))
    return fail_at(reader, value->line, value->column,
                   "a name has 1 to %d bytes, without blanks, quotes and backslashes", PRINCIPAL_NAME_MAX);
  char shown[PRINCIPAL_NAME_MAX + 1];
  snprintf(shown, sizeof shown, "%.*s", TEXT_ARGS(value->text));
  text_hide_tokens(shown);
  if (!text_equal(value->text, text_of(shown)))
    return fail_at(reader, value->line, value->column, "a name is shown to others, and this one is a token");
  if (text_equal(value->text, TEXT("owner")))
    return fail_at(reader, value->line, value->column, "owner is the principal of a peer without this file");
  const struct principal_entry *entries = reader->entries.items;
  for (size_t i = 0; i + 1 < reader->entries.count; i++) {
    if (text_equal(value->text, text_of(entries[i].name)))
      return fail_at(reader, value->line, value->column, "the entry of line %d has the name %s already",
                     entries[i].line, entries[i].name);
  }
  entry->name = copy_word(reader, value);
  return entry->name == NULL ? reader->error->status : JP_OK;
}

/* ---- entries ---- */

static enum jp_status check_entry(struct reader *reader, const struct principal_entry *entry)
{
  const struct principal_listed *listed = reader->listed.items;
  bool has_evidence =
      reader->listed.count > 0 && listed[reader->listed.count - 1].entry == reader->entries.count - 1;
  if (entry->name == NULL)
    return fail_at(reader, entry->line, entry->column, "the entry has no 'name'");
  if (entry->allow != NULL && entry->policy != NULL)
    return fail_at(reader, entry->line, entry->column, "%s has both 'allow' and 'policy'", entry->name);
  if (entry->is_anonymous && entry->is_admin)
    return fail_at(reader, entry->line, entry->column,
                   "%s is anonymous and has admin: everyone could see and end what others have", entry->name);
  if (!entry->is_anonymous && !has_evidence && !reader->is_draft)
    return fail_at(
        reader, entry->line, entry->column,
        "nobody can be %s: list tokens, certificates, curve-keys, unix-users or unix-groups, or set "
        "anonymous",
        entry->name);
  return JP_OK;
}

static enum jp_status read_entry(struct reader *reader, const struct policy_node *node)
{
  static const struct key_reader readers[] = {
      {.key = "name", .read = read_name},
      {.key = "tokens", .read = read_list, .evidence = read_token},
      {.key = "unix-users", .read = read_list, .evidence = read_user},
      {.key = "unix-groups", .read = read_list, .evidence = read_group},
      {.key = "certificates", .read = read_list, .evidence = read_certificate},
      {.key = "curve-keys", .read = read_list, .evidence = read_curve_key},
      {.key = "allow", .read = read_allow},
      {.key = "policy", .read = read_policy},
      {.key = "preset", .read = read_preset},
      {.key = "limits", .read = read_limits},
      {.key = "admin", .read = read_boolean, .offset = offsetof(struct principal_entry, is_admin)},
      {.key = "metrics", .read = read_boolean, .offset = offsetof(struct principal_entry, sees_metrics)},
      {.key = "anonymous", .read = read_boolean, .offset = offsetof(struct principal_entry, is_anonymous)},
  };
  if (reader->entries.count == PRINCIPALS_MAX)
    return fail_at(reader, node->line, node->column, "more than %d principals", PRINCIPALS_MAX);
  struct principal_entry *added = array_add(&reader->entries, 1);
  if (added == NULL)
    return jp_fail_memory(reader->error, NULL);
  *added = (struct principal_entry){.line = node->line, .column = node->column};
  for (size_t i = 0; i < PRINCIPAL_LIMITS; i++)
    added->limits[i] = SIZE_MAX;
  enum jp_status status =
      read_map(reader, node, "an entry of principals", readers, sizeof readers / sizeof readers[0], added);
  return status == JP_OK ? check_entry(reader, added) : status;
}

static enum jp_status read_principals(struct reader *reader, const struct key_reader *key,
                                      const struct policy_node *value, struct principal_entry *entry)
{
  (void)entry;
  enum jp_status status = want_kind(reader, value, POLICY_LIST, key->key);
  if (status == JP_OK && value->count == 0)
    return fail_at(reader, value->line, value->column, "principals is an empty list: nobody could come in");
  for (const struct policy_item *item = value->first; status == JP_OK && item != NULL; item = item->next)
    status = read_entry(reader, item->value);
  return status;
}

static int compare_listed(const void *left, const void *right)
{
  const struct principal_listed *a = left;
  const struct principal_listed *b = right;
  if (a->kind != b->kind)
    return a->kind < b->kind ? -1 : 1;
  if (a->kind == PRINCIPAL_BY_USER || a->kind == PRINCIPAL_BY_GROUP)
    return a->id != b->id ? (a->id < b->id ? -1 : 1) : 0;
  if (a->kind == PRINCIPAL_BY_TOKEN || a->kind == PRINCIPAL_BY_CERTIFICATE)
    return memcmp(a->digest, b->digest, PRINCIPAL_DIGEST);
  return text_order(a->name, b->name);
}

/* Evidence must not be listed twice, and only one entry is for those without any. */
static enum jp_status check_document(struct reader *reader)
{
  const struct principal_entry *entries = reader->entries.items;
  const struct principal_entry *anonymous = NULL;
  for (size_t i = 0; i < reader->entries.count; i++) {
    if (entries[i].is_anonymous && anonymous != NULL)
      return fail_at(reader, entries[i].line, entries[i].column, "%s and %s are both anonymous",
                     anonymous->name, entries[i].name);
    if (entries[i].is_anonymous)
      anonymous = &entries[i];
  }
  size_t count = reader->listed.count;
  if (count == 0)
    return JP_OK;
  struct principal_listed *sorted = arena_calloc(reader->arena, count, sizeof *sorted);
  if (sorted == NULL)
    return jp_fail_memory(reader->error, NULL);
  memcpy(sorted, reader->listed.items, count * sizeof *sorted);
  qsort(sorted, count, sizeof *sorted, compare_listed);
  for (size_t i = 1; i < count; i++) {
    if (!is_same_evidence(&sorted[i - 1], &sorted[i]))
      continue;
    const struct principal_listed *first = sorted[i - 1].line <= sorted[i].line ? &sorted[i - 1] : &sorted[i];
    const struct principal_listed *second = first == &sorted[i] ? &sorted[i - 1] : &sorted[i];
    return fail_at(reader, second->line, second->column, "this evidence is listed in line %d already, of %s",
                   first->line, entries[first->entry].name);
  }
  return JP_OK;
}

/* ---- the file ---- */

static enum jp_status parse(struct text yaml, const char *name, bool is_draft, struct arena *arena,
                            struct principal_document *document, struct jp_error *error)
{
  static const struct key_reader readers[] = {{.key = "principals", .read = read_principals}};
  struct jp_error own = {0};
  struct reader reader = {
      .name = name, .is_draft = is_draft, .arena = arena, .error = error == NULL ? &own : error};
  array_init(&reader.entries, sizeof(struct principal_entry));
  array_init(&reader.listed, sizeof(struct principal_listed));
  const struct policy_node *root = NULL;
  *document = (struct principal_document){0};
  enum jp_status status = policy_tree_parse(yaml, name, POLICY_LINES_AND_COLUMNS, arena, &root, reader.error);
  if (status == JP_OK && (root == NULL || root->null))
    status = fail_at(&reader, 1, 1, "the file lists no principals");
  else if (status == JP_OK)
    status = read_map(&reader, root, "a principals file", readers, 1, NULL);
  if (status == JP_OK && reader.entries.count == 0)
    status = fail_at(&reader, 1, 1, "the file lists no principals");
  if (status == JP_OK)
    status = check_document(&reader);
  if (status == JP_OK) {
    document->entry_count = reader.entries.count;
    document->entries = arena_calloc(arena, reader.entries.count, sizeof *document->entries);
    document->listed_count = reader.listed.count;
    document->listed = arena_calloc(arena, reader.listed.count + 1, sizeof *document->listed);
    if (document->entries == NULL || document->listed == NULL)
      status = jp_fail_memory(reader.error, NULL);
  }
  if (status == JP_OK) {
    memcpy(document->entries, reader.entries.items, reader.entries.count * sizeof *document->entries);
    if (reader.listed.count > 0)
      memcpy(document->listed, reader.listed.items, reader.listed.count * sizeof *document->listed);
  }
  array_fini(&reader.entries);
  array_fini(&reader.listed);
  if (status != JP_OK)
    text_hide_tokens(reader.error->text);
  return status;
}

enum jp_status principal_file_parse(struct text yaml, const char *name, struct arena *arena,
                                    struct principal_document *document, struct jp_error *error)
{
  return parse(yaml, name, false, arena, document, error);
}

enum jp_status principal_file_parse_draft(struct text yaml, const char *name, struct arena *arena,
                                          struct principal_document *document, struct jp_error *error)
{
  return parse(yaml, name, true, arena, document, error);
}

enum jp_status principal_file_load(const char *path, struct arena *arena, struct principal_document *document,
                                   struct jp_error *error)
{
  struct buffer bytes;
  buffer_init(&bytes);
  enum jp_status status = small_file_read(path, SMALL_FILE_TRUSTED, POLICY_TREE_BYTES, &bytes, NULL, error);
  if (status == JP_OK)
    status = principal_file_parse(buffer_text(&bytes), path, arena, document, error);
  buffer_fini(&bytes);
  return status;
}

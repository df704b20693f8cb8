#include "principal/principals.h"

#include "audit/audit.h"
#include "base/c_library.h"
#include "base/log.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What one load has made. Constant. */
struct table {
  struct arena arena; /* owns what the document points to */
  struct principal_document document;
  struct principal **principals;           /* of the entries, held */
  const struct principal_entry *anonymous; /* NULL: none */
  bool has_groups;
  const char **files;        /* all that were read: NULL-terminated */
  struct file_stamp *stamps; /* of the files, in their order, from before they were read */
};

struct principals {
  struct principals_config config;
  pthread_rwlock_t lock; /* guards table */
  struct table *table;
  _Atomic uint64_t generation;
  struct file_watch *watch; /* NULL: not started */
};

/* ---- loading ---- */

static void destroy_table(struct table *table)
{
  if (table == NULL)
    return;
  for (size_t i = 0; table->principals != NULL && i < table->document.entry_count; i++)
    principal_release(table->principals[i]);
  arena_fini(&table->arena);
  free(table);
}

static bool has_denial(enum policy_action action)
{
  return action == POLICY_DENY || action == POLICY_LOG_AND_DENY;
}

/* The command line's default action widens nothing that an entry names: it counts where it denies. */
static struct policy_config choose_config(const struct principals *principals,
                                          const struct principal_entry *entry)
{
  struct policy_config config = principals->config.policy;
  config.more_presets = entry->presets;
  if (entry->allow == NULL && entry->policy == NULL)
    return config;
  config.file = entry->policy;
  config.allow = entry->allow;
  config.allow_name = "allow";
  /* presets of the command line hold for all, and must not make ALLOW the default */
  if (!has_denial(config.default_action))
    config.default_action = POLICY_UNSET;
  return config;
}

/* What a reload has made, before any of it is in force. */
struct load {
  struct table *table;
  struct policy *base; /* of the command line */
  struct file_stamp base_stamp;
  struct policy **policies; /* one for each entry */
  struct policy *nothing;   /* denies everything */
};

/* The thread that loads the principals must not wait for the writer of a pipe. */
static enum jp_status check_policy_file(const char *path, struct jp_error *error)
{
  struct stat facts;
  /* policy_create reports what is absent */
  if (path == NULL || stat(path, &facts) != 0 || S_ISREG(facts.st_mode))
    return JP_OK;
  return jp_fail(error, JP_INVALID, "%s: no regular file", path);
}

static bool is_same_word(const char *a, const char *b)
{
  return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* The policy of an earlier entry that has the same policy by its words; NULL: none. Such a file is then read once, and all of
 * these entries have the same content of it. */
static struct policy *find_policy(const struct load *load, const struct principal_entry *entry)
{
  const struct principal_entry *entries = load->table->document.entries;
  for (const struct principal_entry *other = entries; other < entry; other++) {
    if (is_same_word(other->policy, entry->policy) && is_same_word(other->allow, entry->allow) &&
        is_same_word(other->presets, entry->presets))
      return load->policies[other - entries];
  }
  return NULL;
}

/* Errors about a policy file name its place by themselves. To errors about the lists `allow` and `preset` the place in the
 * principals file is added here. */
static enum jp_status make_policy(const struct principals *principals, const struct load *load,
                                  const struct principal_entry *entry, struct policy **policy,
                                  struct jp_error *error)
{
  const struct principals_config *config = &principals->config;
  struct policy *found = find_policy(load, entry);
  if (found != NULL) {
    *policy = policy_retain(found);
    return JP_OK;
  }
  if (entry->allow == NULL && entry->policy == NULL && entry->presets == NULL) {
    *policy = policy_retain(load->base);
    return JP_OK;
  }
  const struct policy_config chosen = choose_config(principals, entry);
  enum jp_status status = check_policy_file(entry->policy, error);
  if (status == JP_OK)
    status = policy_create(&chosen, policy, error);
  if (status == JP_OK && entry->allow != NULL && config->check_allow != NULL) {
    status = config->check_allow(config->context, entry->allow, "allow", error);
    if (status != JP_OK)
      policy_destroy(*policy);
  }
  if (status == JP_INVALID && entry->allow != NULL)
    jp_error_prefix(error, "%s:%d:%d", config->file, entry->allow_line, entry->allow_column);
  else if (status == JP_INVALID && entry->policy == NULL)
    jp_error_prefix(error, "%s:%d:%d", config->file, entry->line, entry->column);
  return status;
}

static struct principal *find_named(const struct table *table, const char *name)
{
  for (size_t i = 0; table != NULL && i < table->document.entry_count; i++) {
    if (strcmp(table->document.entries[i].name, name) == 0)
      return table->principals[i];
  }
  return NULL;
}

/* stamp: of the principals file. */
static enum jp_status list_files(const struct principals *principals, const struct load *load,
                                 const struct file_stamp *stamp, struct jp_error *error)
{
  struct table *table = load->table;
  size_t count = 0;
  table->files = arena_calloc(&table->arena, table->document.entry_count + 3, sizeof *table->files);
  table->stamps = arena_calloc(&table->arena, table->document.entry_count + 3, sizeof *table->stamps);
  if (table->files == NULL || table->stamps == NULL)
    return jp_fail_memory(error, NULL);
  table->stamps[count] = *stamp;
  table->files[count++] = principals->config.file;
  if (principals->config.policy.file != NULL) {
    table->stamps[count] = load->base_stamp;
    table->files[count++] = principals->config.policy.file;
  }
  for (size_t i = 0; i < table->document.entry_count; i++) {
    const char *file = table->document.entries[i].policy;
    bool is_listed = file == NULL;
    for (size_t j = 0; j < count && !is_listed; j++)
      is_listed = strcmp(table->files[j], file) == 0;
    if (is_listed)
      continue;
    table->stamps[count] = file_stamp_read(file);
    table->files[count++] = file;
  }
  return JP_OK;
}

/* The command line's policy is read again with the principals: the first time it is the one that is in force. */
static enum jp_status load_base(const struct principals *principals, struct load *load,
                                struct jp_error *error)
{
  const struct principals_config *config = &principals->config;
  if (principals->table == NULL || config->policy.file == NULL) {
    load->base = policy_source_take(config->base);
    load->base_stamp = policy_source_stamp(config->base);
    return JP_OK;
  }
  load->base_stamp = file_stamp_read(config->policy.file);
  return policy_create(&config->policy, &load->base, error);
}

/* Loads the file and the policies of its entries into load->table and load->policies. */
static enum jp_status load_table(const struct principals *principals, struct load *load,
                                 struct jp_error *error)
{
  struct table *made = load->table = calloc(1, sizeof *made);
  if (made == NULL)
    return jp_fail_memory(error, NULL);
  arena_init(&made->arena);
  const struct file_stamp stamp = file_stamp_read(principals->config.file);
  enum jp_status status = principal_file_load(principals->config.file, &made->arena, &made->document, error);
  size_t count = made->document.entry_count;
  if (status == JP_OK)
    status = list_files(principals, load, &stamp, error);
  if (status == JP_OK) {
    made->principals = arena_calloc(&made->arena, count, sizeof(struct principal *));
    load->policies = calloc(count, sizeof(struct policy *));
    if (made->principals == NULL || load->policies == NULL)
      status = jp_fail_memory(error, NULL);
  }
  for (size_t i = 0; status == JP_OK && i < count; i++) {
    const struct principal_entry *entry = &made->document.entries[i];
    status = make_policy(principals, load, entry, &load->policies[i], error);
    if (status != JP_OK)
      load->policies[i] = NULL;
    if (entry->is_anonymous)
      made->anonymous = entry;
  }
  /* Those that the table in force does not have are made here, so that its replacement cannot fail. */
  for (size_t i = 0; status == JP_OK && i < count; i++) {
    const char *name = made->document.entries[i].name;
    made->principals[i] = principal_retain(find_named(principals->table, name));
    if (made->principals[i] == NULL)
      status = principal_create(name, policy_retain(load->policies[i]), &made->principals[i], error);
  }
  for (size_t i = 0; i < made->document.listed_count; i++)
    made->has_groups |= made->document.listed[i].kind == PRINCIPAL_BY_GROUP;
  return status;
}

/* Gives the principals of a table what their entries say. Takes the policies. */
static void give_rights(const struct table *table, struct policy **policies)
{
  for (size_t i = 0; i < table->document.entry_count; i++) {
    struct principal *principal = table->principals[i];
    const struct principal_entry *entry = &table->document.entries[i];
    policy_source_replace(principal->policies, policies[i]);
    policies[i] = NULL;
    atomic_store(&principal->is_admin, entry->is_admin);
    atomic_store(&principal->sees_metrics, entry->sees_metrics);
    for (size_t j = 0; j < PRINCIPAL_LIMITS; j++)
      atomic_store(&principal->quotas[j].max, entry->limits[j]);
  }
}

/* Clients of a principal that is gone are denied everything until their connections are closed. */
static void end_gone(const struct table *before, const struct table *table, struct policy *nothing)
{
  for (size_t i = 0; before != NULL && i < before->document.entry_count; i++) {
    struct principal *principal = before->principals[i];
    if (find_named(table, principal->name) == principal)
      continue;
    atomic_store(&principal->is_admin, false);
    atomic_store(&principal->sees_metrics, false);
    atomic_store(&principal->is_gone, true);
    policy_source_replace(principal->policies, policy_retain(nothing));
  }
}

/* Puts what was loaded in force. load->table is the table before; NULL: there was none. */
static void replace_table(struct principals *principals, struct load *load)
{
  struct table *table = load->table;
  /* Whoever is found before has the old rights, and whoever is found after has those of the new file. */
  pthread_rwlock_wrlock(&principals->lock);
  load->table = principals->table;
  principals->table = table;
  end_gone(load->table, table, load->nothing);
  if (load->table != NULL && principals->config.policy.file != NULL)
    policy_source_replace(principals->config.base, policy_retain(load->base));
  give_rights(table, load->policies);
  atomic_fetch_add(&principals->generation, 1);
  pthread_rwlock_unlock(&principals->lock);
}

enum jp_status principals_reload(struct principals *principals, struct jp_error *error)
{
  const struct policy_config denies = {.default_action = POLICY_DENY,
                                       .withheld = principals->config.policy.withheld};
  struct load load = {0};
  bool is_first = principals->table == NULL;
  enum jp_status status = policy_create(&denies, &load.nothing, error);
  if (status == JP_OK)
    status = load_base(principals, &load, error);
  if (status == JP_OK)
    status = load_table(principals, &load, error);
  const size_t count = load.table == NULL ? 0 : load.table->document.entry_count;
  if (status == JP_OK) {
    replace_table(principals, &load);
    /* at once: a connection of evidence that was listed until now has the rights of its entry until it is closed */
    if (!is_first && principals->config.changed != NULL)
      principals->config.changed(principals->config.context);
  }
  for (size_t i = 0; load.policies != NULL && i < count; i++)
    policy_destroy(load.policies[i]);
  free(load.policies);
  destroy_table(load.table);
  policy_destroy(load.base);
  policy_destroy(load.nothing);
  if (status != JP_OK && error != NULL)
    text_hide_tokens(error->text);
  return status;
}

enum jp_status principals_create(const struct principals_config *config, struct principals **principals,
                                 struct jp_error *error)
{
  struct principals *made = calloc(1, sizeof *made);
  if (made == NULL)
    return jp_fail_memory(error, NULL);
  made->config = *config;
  /* A flood of wrong tokens must not keep a reload waiting. */
  c_library_init_writers_lock(&made->lock);
  enum jp_status status = principals_reload(made, error);
  if (status == JP_OK)
    *principals = made;
  else
    principals_destroy(made);
  return status;
}

void principals_destroy(struct principals *principals)
{
  if (principals == NULL)
    return;
  principals_watch_stop(principals);
  destroy_table(principals->table);
  pthread_rwlock_destroy(&principals->lock);
  free(principals);
}

/* ---- the watch ---- */

/* Only the watch's thread replaces the table, after which the watch asks again. */
static const char *const *watched_files(void *context)
{
  return ((const struct principals *)context)->table->files;
}

static const struct file_stamp *watched_stamps(void *context)
{
  return ((const struct principals *)context)->table->stamps;
}

static void reload_and_log(void *context)
{
  struct principals *principals = context;
  struct jp_error error = {0};
  if (principals_reload(principals, &error) != JP_OK) {
    log_error("Failed to reload the principals: %s", error.text);
    audit_reload("principals", principals->config.file, &error);
    return;
  }
  if (principals->config.policy.file != NULL)
    policy_source_log_reload(principals->config.base);
  log_info("principals reloaded: %s", principals->config.file);
  audit_reload("principals", principals->config.file, NULL);
}

enum jp_status principals_watch_start(struct principals *principals, int64_t interval_ms,
                                      struct jp_error *error)
{
  const struct file_watch_config config = {.interval_ms = interval_ms,
                                           .thread_name = "principals",
                                           .what = "the principals",
                                           .files = watched_files,
                                           .stamps = watched_stamps,
                                           .reload = reload_and_log,
                                           .context = principals};
  return file_watch_start(&config, &principals->watch, error);
}

void principals_watch_reload(struct principals *principals, void (*done)(void))
{
  file_watch_reload(principals->watch, done);
}

void principals_watch_stop(struct principals *principals)
{
  if (principals == NULL)
    return;
  file_watch_stop(principals->watch);
  principals->watch = NULL;
}

/* ---- asking ---- */

uint64_t principals_generation(const struct principals *principals)
{
  return atomic_load_explicit(&principals->generation, memory_order_acquire);
}

bool principals_have_anonymous(struct principals *principals)
{
  pthread_rwlock_rdlock(&principals->lock);
  bool has = principals->table->anonymous != NULL;
  pthread_rwlock_unlock(&principals->lock);
  return has;
}

bool principals_list_groups(struct principals *principals)
{
  pthread_rwlock_rdlock(&principals->lock);
  bool has = principals->table->has_groups;
  pthread_rwlock_unlock(&principals->lock);
  return has;
}

void principal_hash_token(struct text token, uint8_t digest[PRINCIPAL_DIGEST])
{
  SHA256((const unsigned char *)token.data, token.len, digest);
}

/* All hashes are compared, each in constant time. */
static const struct principal_listed *find_token(const struct table *table, const uint8_t *token)
{
  const struct principal_document *document = &table->document;
  size_t found = document->listed_count;
  for (size_t i = 0; i < document->listed_count; i++) {
    const struct principal_listed *listed = &document->listed[i];
    if (listed->kind == PRINCIPAL_BY_TOKEN && CRYPTO_memcmp(listed->digest, token, PRINCIPAL_DIGEST) == 0)
      found = i;
  }
  return found == document->listed_count ? NULL : &document->listed[found];
}

static bool is_of_certificate(const struct principal_listed *listed,
                              const struct principal_evidence *evidence)
{
  if (listed->kind == PRINCIPAL_BY_CERTIFICATE)
    return evidence->certificate_digest != NULL &&
           memcmp(listed->digest, evidence->certificate_digest, PRINCIPAL_DIGEST) == 0;
  return listed->kind == PRINCIPAL_BY_COMMON_NAME && evidence->certificate == PRINCIPAL_TRUSTED_CERTIFICATE &&
         evidence->common_name.data != NULL && text_equal(listed->name, evidence->common_name);
}

static bool is_of_key(const struct principal_listed *listed, const struct principal_evidence *evidence)
{
  return listed->kind == PRINCIPAL_BY_CURVE_KEY && text_equal(listed->name, evidence->curve_key);
}

static bool is_of_user(const struct principal_listed *listed, const struct principal_evidence *evidence)
{
  return listed->kind == PRINCIPAL_BY_USER && listed->id == evidence->user;
}

static bool is_of_group(const struct principal_listed *listed, const struct principal_evidence *evidence)
{
  for (size_t i = 0; listed->kind == PRINCIPAL_BY_GROUP && i < evidence->group_count; i++) {
    if (listed->id == evidence->groups[i])
      return true;
  }
  return false;
}

typedef bool is_listed_of(const struct principal_listed *listed, const struct principal_evidence *evidence);

/* The first in the file's order. */
static const struct principal_listed *
find_listed(const struct table *table, const struct principal_evidence *evidence, is_listed_of *is_of)
{
  for (size_t i = 0; i < table->document.listed_count; i++) {
    if (is_of(&table->document.listed[i], evidence))
      return &table->document.listed[i];
  }
  return NULL;
}

static struct principal_proof prove(const struct principal_listed *listed)
{
  struct principal_proof proof = {.kind = listed->kind, .number = listed->id};
  if (listed->kind == PRINCIPAL_BY_TOKEN || listed->kind == PRINCIPAL_BY_CERTIFICATE)
    proof.number = (uint32_t)listed->digest[0] << 24 | (uint32_t)listed->digest[1] << 16 |
                   (uint32_t)listed->digest[2] << 8 | listed->digest[3];
  return proof;
}

static enum principal_refusal find_in(const struct table *table, const struct principal_evidence *evidence,
                                      struct principal_match *match)
{
  const struct principal_listed *token = NULL;
  const struct principal_listed *key = NULL;
  if (evidence->token != NULL && (token = find_token(table, evidence->token)) == NULL)
    return PRINCIPAL_WRONG_TOKEN;
  if (evidence->certificate == PRINCIPAL_BAD_CERTIFICATE)
    return PRINCIPAL_WRONG_CERTIFICATE;
  if (evidence->curve_key.data != NULL && (key = find_listed(table, evidence, is_of_key)) == NULL)
    return PRINCIPAL_WRONG_CURVE_KEY;
  const struct principal_listed *found = token;
  if (found == NULL && evidence->certificate != PRINCIPAL_NO_CERTIFICATE)
    found = find_listed(table, evidence, is_of_certificate);
  if (found == NULL)
    found = key;
  if (found == NULL && evidence->has_user)
    found = find_listed(table, evidence, is_of_user);
  if (found == NULL && evidence->has_user)
    found = find_listed(table, evidence, is_of_group);
  if (found != NULL) {
    *match = (struct principal_match){.principal = principal_retain(table->principals[found->entry]),
                                      .proof = prove(found)};
    return PRINCIPAL_ADMITTED;
  }
  if (table->anonymous == NULL)
    return PRINCIPAL_NOT_KNOWN;
  size_t entry = (size_t)(table->anonymous - table->document.entries);
  *match = (struct principal_match){.principal = principal_retain(table->principals[entry])};
  return PRINCIPAL_ADMITTED;
}

enum principal_refusal principals_find(struct principals *principals,
                                       const struct principal_evidence *evidence,
                                       struct principal_match *match)
{
  pthread_rwlock_rdlock(&principals->lock);
  enum principal_refusal refusal = find_in(principals->table, evidence, match);
  pthread_rwlock_unlock(&principals->lock);
  return refusal;
}

const char *principal_refusal_reason(enum principal_refusal refusal)
{
  static const char *const reasons[] = {
      [PRINCIPAL_ADMITTED] = "",
      [PRINCIPAL_NOT_KNOWN] =
          "this peer serves its principals only: show a token, or other evidence of its file",
      [PRINCIPAL_WRONG_TOKEN] = "the token is not known",
      [PRINCIPAL_WRONG_CERTIFICATE] = "the client's certificate is expired, revoked or not of the CA",
      [PRINCIPAL_WRONG_CURVE_KEY] = "the CURVE key is not known",
      [PRINCIPAL_AT_LIMIT] = "the principal has as many connections as it may have"};
  return reasons[refusal];
}

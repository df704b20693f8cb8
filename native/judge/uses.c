#include "judge/uses.h"

#include "base/log.h"
#include "policy/vocabulary.h"

#include <pthread.h>
#include <stdlib.h>

enum { BUCKETS = 4096, NAME_SHOWN = 512 };

struct use {
  struct use *next;
  uint64_t hash;
  enum policy_channel channel;
  enum policy_category category;
  enum policy_visibility visibility;
  bool observed;
  size_t class_length;
  size_t member_length;
  char text[]; /* class, then member */
};

static struct {
  pthread_mutex_t lock; /* guards all */
  struct use *buckets[BUCKETS];
  size_t count;
  size_t bytes; /* of their names */
  bool is_full;
} uses = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct text class_of(const struct use *use)
{
  return (struct text){use->text, use->class_length};
}

static struct text member_of(const struct use *use)
{
  return (struct text){use->text + use->class_length, use->member_length};
}

static const char *word_of(const struct policy_vocabulary *vocabulary, unsigned value)
{
  for (size_t i = 0; i < vocabulary->count; i++) {
    if (vocabulary->words[i].value == value)
      return vocabulary->words[i].word;
  }
  return "?";
}

static bool is_same(const struct use *use, uint64_t hash, const struct policy_query *query, bool observed)
{
  return use->hash == hash && use->channel == query->channel && use->category == query->category &&
         use->visibility == query->visibility && use->observed == observed &&
         text_equal(class_of(use), query->class_name) && text_equal(member_of(use), query->member_name);
}

static void write_full(void)
{
  struct buffer line;
  audit_line_begin(&line, "unnoted");
  audit_line_number(&line, "count", (int64_t)uses.count);
  (void)audit_line_end(&line);
}

/* Under the lock. */
static void note_full(void)
{
  if (uses.is_full)
    return;
  uses.is_full = true;
  log_warn("the members that clients use are no longer noted for jpeer policy suggest: there are %zu",
           uses.count);
  if (audit_is_on())
    write_full();
}

/* Under the lock. NULL: it is noted already, or cannot be. */
static struct use *add_use(const struct policy_query *query, bool observed)
{
  const uint64_t hash = text_hash(query->class_name) * 31 + text_hash(query->member_name);
  struct use **bucket = &uses.buckets[hash % BUCKETS];
  for (const struct use *use = *bucket; use != NULL; use = use->next) {
    if (is_same(use, hash, query, observed))
      return NULL;
  }
  const size_t class_length = query->class_name.len;
  const size_t member_length = query->member_name.len;
  const size_t length = class_length + member_length;
  struct use *made =
      uses.count == USES_MAX || uses.bytes + length > USES_BYTES_MAX ? NULL : malloc(sizeof *made + length);
  if (made == NULL) {
    note_full();
    return NULL;
  }
  *made = (struct use){.next = *bucket,
                       .hash = hash,
                       .channel = query->channel,
                       .category = query->category,
                       .visibility = query->visibility,
                       .observed = observed,
                       .class_length = class_length,
                       .member_length = member_length};
  memcpy(made->text, query->class_name.data, class_length);
  memcpy(made->text + class_length, query->member_name.data, member_length);
  *bucket = made;
  uses.count++;
  uses.bytes += length;
  return made;
}

static void write_line(const struct use *use)
{
  struct buffer line;
  audit_line_begin(&line, "used");
  audit_line_text(&line, "channel", text_of(policy_channel_name(use->channel)));
  audit_line_text(&line, "kind", text_of(word_of(&policy_category_words, 1u << use->category)));
  audit_line_text(&line, "visibility", text_of(word_of(&policy_visibility_words, 1u << use->visibility)));
  audit_line_text(&line, "class", class_of(use));
  audit_line_text(&line, "member", member_of(use));
  audit_line_text(&line, "verdict", use->observed ? TEXT("OBSERVED") : TEXT("ALLOW"));
  (void)audit_line_end(&line);
}

static void log_observed(const struct policy *policy, const struct policy_query *query,
                         struct policy_verdict verdict)
{
  char shown_class[NAME_SHOWN];
  char shown_member[NAME_SHOWN];
  text_escape(query->class_name, "", "\"\\", shown_class, sizeof shown_class);
  text_escape(query->member_name, "", "\"\\", shown_member, sizeof shown_member);
  log_info("policy would deny channel=%s kind=%s class=\"%s\" member=\"%s\" rule=\"%s\"",
           policy_channel_name(query->channel), word_of(&policy_category_words, 1u << query->category),
           shown_class, shown_member, policy_reason(policy, verdict.reason));
}

void uses_note(const struct policy *policy, const struct policy_query *query, struct policy_verdict verdict)
{
  if (!verdict.allow)
    return;
  if (query->class_name.len > AUDIT_TEXT_MAX || query->member_name.len > AUDIT_TEXT_MAX) {
    log_warn_rarely("a member whose name has more than %d bytes is not noted for jpeer policy suggest",
                    AUDIT_TEXT_MAX);
    return;
  }
  pthread_mutex_lock(&uses.lock);
  const struct use *use = add_use(query, verdict.observed);
  if (use != NULL && audit_is_on())
    write_line(use);
  pthread_mutex_unlock(&uses.lock);
  if (use != NULL && verdict.observed)
    log_observed(policy, query, verdict);
}

void uses_write_again(void)
{
  pthread_mutex_lock(&uses.lock);
  for (size_t i = 0; i < BUCKETS; i++) {
    for (const struct use *use = uses.buckets[i]; use != NULL; use = use->next)
      write_line(use);
  }
  if (uses.is_full)
    write_full();
  pthread_mutex_unlock(&uses.lock);
}

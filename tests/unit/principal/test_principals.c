/* Whose evidence is it, and what a reload changes. */
#include "principal/principals.h"

#include "base/clock.h"
#include "tests/unit/temporary_file.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

enum { SPIN_MS = 60000 };

static char path[] = "/tmp/jpeer-principals-XXXXXX";
static struct policy_source *base;
static struct principals *principals;

#define DIGEST(digit) "sha256:" digit digit digit digit digit digit digit digit
#define A8            "aaaaaaaa"
#define C8            "cccccccc"

static const char file[] =
    "principals:\n"
    "  - {name: reader, tokens: [\"" DIGEST(A8) "\"], unix-users: [1001]}\n"
                                                "  - {name: tls, certificates: [\"" DIGEST(
                                                    C8) "\", CN=reporting]}\n"
                                                        "  - {name: staff, unix-groups: [50]}\n"
                                                        "  - {name: staff2, unix-groups: [51]}\n";

static uint8_t token[PRINCIPAL_DIGEST];
static uint8_t certificate[PRINCIPAL_DIGEST];

static void load(const char *text)
{
  temporary_file_set(path, text);
  assert_int_equal(chmod(path, 0600), 0);
}

static void set_up_with(const struct policy_config *policy)
{
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  memset(token, 0xaa, sizeof token);
  memset(certificate, 0xcc, sizeof certificate);
  assert_int_equal(policy_source_create(policy, &base, NULL), JP_OK);
  load(file);
  const struct principals_config config = {.file = path, .policy = *policy, .base = base};
  struct jp_error error = {0};
  if (principals_create(&config, &principals, &error) != JP_OK)
    fail_msg("%s", error.text);
}

static int set_up(void **state)
{
  (void)state;
  const struct policy_config policy = {.presets = "deny-unsafe"};
  set_up_with(&policy);
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  principals_destroy(principals);
  policy_source_destroy(base);
  unlink(path);
  strcpy(path, "/tmp/jpeer-principals-XXXXXX");
  return 0;
}

/* NULL: refused as expected. */
static void check(const struct principal_evidence *evidence, enum principal_refusal refusal, const char *name)
{
  struct principal_match match = {.principal = NULL};
  assert_int_equal(principals_find(principals, evidence, &match), refusal);
  if (refusal == PRINCIPAL_ADMITTED)
    assert_string_equal(match.principal->name, name);
  principal_release(match.principal);
}

#define EVIDENCE(...)                                                                                        \
  &(const struct principal_evidence)                                                                         \
  {                                                                                                          \
    __VA_ARGS__                                                                                              \
  }

UNIT_TEST_WITH(evidence_counts_in_order_and_wrong_evidence_never, set_up, tear_down)
{
  static const gid_t groups[] = {7, 51, 50};
  uint8_t wrong[PRINCIPAL_DIGEST];
  memset(wrong, 0xab, sizeof wrong);
  check(EVIDENCE(.token = NULL), PRINCIPAL_NOT_KNOWN, NULL);
  check(EVIDENCE(.token = token), PRINCIPAL_ADMITTED, "reader");
  check(EVIDENCE(.token = wrong, .has_user = true, .user = 1001), PRINCIPAL_WRONG_TOKEN, NULL);
  check(EVIDENCE(.has_user = true, .user = 1001), PRINCIPAL_ADMITTED, "reader");
  check(EVIDENCE(.has_user = true, .user = 1002), PRINCIPAL_NOT_KNOWN, NULL);
  check(EVIDENCE(.user = 1001), PRINCIPAL_NOT_KNOWN, NULL);
  check(EVIDENCE(.has_user = true, .user = 1002, .groups = groups, .group_count = 3), PRINCIPAL_ADMITTED,
        "staff");
  check(EVIDENCE(.has_user = true, .user = 1001, .groups = groups, .group_count = 3), PRINCIPAL_ADMITTED,
        "reader");
  check(EVIDENCE(.curve_key = TEXT("x"), .token = token), PRINCIPAL_WRONG_CURVE_KEY, NULL);
}

UNIT_TEST_WITH(a_certificate_is_known_by_its_digest_and_by_its_name_if_the_ca_is_ours, set_up, tear_down)
{
  uint8_t other[PRINCIPAL_DIGEST] = {1};
  struct text name = TEXT("reporting");
  check(EVIDENCE(.certificate = PRINCIPAL_VALID_CERTIFICATE, .certificate_digest = certificate),
        PRINCIPAL_ADMITTED, "tls");
  check(EVIDENCE(.certificate = PRINCIPAL_TRUSTED_CERTIFICATE, .certificate_digest = other,
                 .common_name = name),
        PRINCIPAL_ADMITTED, "tls");
  check(
      EVIDENCE(.certificate = PRINCIPAL_VALID_CERTIFICATE, .certificate_digest = other, .common_name = name),
      PRINCIPAL_NOT_KNOWN, NULL);
  check(EVIDENCE(.certificate = PRINCIPAL_TRUSTED_CERTIFICATE, .certificate_digest = other,
                 .common_name = TEXT("Reporting")),
        PRINCIPAL_NOT_KNOWN, NULL);
  check(EVIDENCE(.certificate = PRINCIPAL_BAD_CERTIFICATE, .certificate_digest = certificate, .token = token),
        PRINCIPAL_WRONG_CERTIFICATE, NULL);
  check(
      EVIDENCE(.certificate = PRINCIPAL_VALID_CERTIFICATE, .certificate_digest = certificate, .token = token),
      PRINCIPAL_ADMITTED, "reader");
  check(EVIDENCE(.certificate_digest = certificate), PRINCIPAL_NOT_KNOWN, NULL);
}

static bool allows(const struct principal *principal)
{
  const struct policy_query query = {
      .channel = POLICY_HTTP, .category = POLICY_METHOD, .class_name = TEXT("a.B"), .member_name = TEXT("m")};
  struct policy *policy = policy_source_take(principal->policies);
  bool is_allowed = policy_check(policy, &query).allow;
  policy_destroy(policy);
  return is_allowed;
}

static void await_generation(uint64_t generation)
{
  const int64_t end_ms = clock_now_ms() + SPIN_MS;
  while (principals_generation(principals) < generation) {
    assert_true(clock_now_ms() < end_ms);
    usleep(1000);
  }
}

UNIT_TEST_WITH(a_principal_stays_the_same_until_it_is_gone, set_up, tear_down)
{
  struct principal_match first;
  struct principal_match second;
  uint64_t generation = principals_generation(principals);
  assert_int_equal(principals_find(principals, EVIDENCE(.token = token), &first), PRINCIPAL_ADMITTED);
  assert_true(allows(first.principal));
  load("principals:\n  - {name: reader, tokens: [\"" DIGEST(A8) "\"], allow: [c.D], limits: {calls: 1}}\n");
  assert_int_equal(principals_reload(principals, NULL), JP_OK);
  assert_true(principals_generation(principals) > generation);
  assert_int_equal(principals_find(principals, EVIDENCE(.token = token), &second), PRINCIPAL_ADMITTED);
  assert_ptr_equal(first.principal, second.principal);
  assert_false(allows(first.principal) || principal_is_gone(first.principal));
  assert_true(principal_enter(first.principal, PRINCIPAL_CALLS));
  assert_false(principal_enter(first.principal, PRINCIPAL_CALLS));
  principal_release(second.principal);
  load("principals:\n  - {name: other, tokens: [\"" DIGEST(A8) "\"]}\n");
  assert_int_equal(principals_reload(principals, NULL), JP_OK);
  assert_true(principal_is_gone(first.principal));
  assert_false(allows(first.principal));
  check(EVIDENCE(.token = token), PRINCIPAL_ADMITTED, "other");
  load("principals: [\n");
  assert_int_equal(principals_reload(principals, NULL), JP_INVALID);
  check(EVIDENCE(.token = token), PRINCIPAL_ADMITTED, "other");
  principal_release(first.principal);
}

static atomic_bool is_over;

/* Ends at a deadline, too, so that a reload that waits for its end returns late. context: the deadline. */
static void *flood(void *context)
{
  const uint8_t wrong[PRINCIPAL_DIGEST] = {1};
  const struct principal_evidence evidence = {.token = wrong};
  struct principal_match match;
  while (!atomic_load(&is_over) && clock_now_ms() < *(const int64_t *)context)
    assert_int_equal(principals_find(principals, &evidence, &match), PRINCIPAL_WRONG_TOKEN);
  return NULL;
}

UNIT_TEST_WITH(a_flood_of_wrong_tokens_keeps_no_reload_waiting, set_up, tear_down)
{
  enum { THREADS = 8, RELOADS = 3, TOKENS = 5000, LINE = 80, WAIT_MS = 20000 };
  pthread_t threads[THREADS];
  char *text = malloc(LINE * (size_t)(TOKENS + 2));
  assert_non_null(text);
  int length = sprintf(text, "principals:\n  - name: many\n    tokens:\n");
  for (int i = 0; i < TOKENS; i++)
    length += sprintf(text + length, "      - sha256:%064x\n", i);
  load(text); /* each comparison of a token holds the lock for a while */
  free(text);
  assert_int_equal(principals_reload(principals, NULL), JP_OK);
  atomic_store(&is_over, false);
  int64_t end_ms = clock_now_ms() + WAIT_MS;
  for (size_t i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, flood, &end_ms), 0);
  enum jp_status status = JP_OK;
  for (int i = 0; status == JP_OK && i < RELOADS; i++)
    status = principals_reload(principals, NULL);
  const bool is_late = clock_now_ms() >= end_ms;
  atomic_store(&is_over, true);
  for (size_t i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  assert_int_equal(status, JP_OK);
  assert_false(is_late);
}

/* Also one that the principals file names only since a reload. */
UNIT_TEST_WITH(a_change_before_the_watch_and_of_a_new_file_is_loaded, set_up, tear_down)
{
  char policy[sizeof path + sizeof ".yaml"];
  char text[256];
  snprintf(policy, sizeof policy, "%s.yaml", path);
  snprintf(text, sizeof text, "principals:\n  - {name: reader, tokens: [\"" DIGEST(A8) "\"], policy: %s}\n",
           policy);
  temporary_file_set(policy, "defaultAction: DENY\n");
  load(text);
  assert_int_equal(principals_watch_start(principals, 10, NULL), JP_OK);
  await_generation(2);
  temporary_file_set(policy, "defaultAction: ALLOW\n");
  await_generation(3);
  principals_watch_stop(principals);
  unlink(policy);
}

UNIT_TEST(a_reload_changes_the_policy_of_the_command_line_with_the_principals_or_not_at_all)
{
  char command_line[sizeof path + sizeof ".base"];
  snprintf(command_line, sizeof command_line, "%s.base", path);
  temporary_file_set(command_line, "defaultAction: DENY\n");
  const struct policy_config policy = {.file = command_line};
  set_up_with(&policy);
  struct principal_match match;
  assert_int_equal(principals_find(principals, EVIDENCE(.token = token), &match), PRINCIPAL_ADMITTED);
  temporary_file_set(command_line, "defaultAction: ALLOW\n");
  load("principals: [\n");
  struct policy *before = policy_source_take(base);
  assert_int_equal(principals_reload(principals, NULL), JP_INVALID);
  assert_true(policy_source_is_current(base, before) && !allows(match.principal));
  load(file);
  assert_int_equal(principals_reload(principals, NULL), JP_OK);
  assert_true(!policy_source_is_current(base, before) && allows(match.principal));
  temporary_file_set(command_line, "defaultAction: [\n");
  load("principals:\n  - {name: other, unix-users: [1]}\n");
  assert_int_equal(principals_reload(principals, NULL), JP_INVALID);
  assert_true(allows(match.principal) && !principal_is_gone(match.principal));
  policy_destroy(before);
  principal_release(match.principal);
  unlink(command_line);
  tear_down(NULL);
}

UNIT_TEST_WITH(a_policy_file_of_several_entries_is_loaded_once, set_up, tear_down)
{
  char policy_file[sizeof path + sizeof ".yaml"];
  char text[512];
  struct policy *policies[4];
  snprintf(policy_file, sizeof policy_file, "%s.yaml", path);
  temporary_file_set(policy_file, "defaultAction: ALLOW\n");
  snprintf(text, sizeof text,
           "principals:\n"
           "  - {name: a, unix-users: [0], policy: '%s'}\n  - {name: b, unix-users: [1], policy: '%s'}\n"
           "  - {name: c, unix-users: [2], policy: '%s', preset: [deny-files]}\n"
           "  - {name: d, unix-users: [3], preset: [deny-files]}\n",
           policy_file, policy_file, policy_file);
  load(text);
  assert_int_equal(principals_reload(principals, NULL), JP_OK);
  for (uid_t user = 0; user < COUNT_OF(policies); user++) {
    struct principal_match match;
    assert_int_equal(principals_find(principals, EVIDENCE(.has_user = true, .user = user), &match),
                     PRINCIPAL_ADMITTED);
    policies[user] = policy_source_take(match.principal->policies);
    principal_release(match.principal);
  }
  assert_ptr_equal(policies[0], policies[1]);
  assert_true(policies[1] != policies[2] && policies[2] != policies[3]);
  for (size_t i = 0; i < COUNT_OF(policies); i++)
    policy_destroy(policies[i]);
  unlink(policy_file);
}

/* The command line's only preset allows the rest: a preset of an entry must not, where the command line has none. */
UNIT_TEST(a_preset_of_an_entry_opens_nothing)
{
  const struct policy_config config = {.more_presets = "deny-files"};
  struct policy *policy;
  assert_int_equal(policy_create(&config, &policy, NULL), JP_OK);
  const struct policy_query query = {.class_name = TEXT("a.B"), .member_name = TEXT("m")};
  assert_false(policy_check(policy, &query).allow);
  policy_destroy(policy);
}

UNIT_MAIN

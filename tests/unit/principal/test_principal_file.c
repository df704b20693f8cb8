/* What a principals file means, and the places of its errors. */
#include "principal/principal_file.h"

#include "tests/unit/unit.h"

#define HASH  "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "sha256:60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752"
#define KEY   "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"

UNIT_TEST(an_entry_has_evidence_rights_and_limits)
{
  static const char yaml[] = "principals:\n"
                             "  - name: reporting\n"
                             "    tokens: [\"" HASH "\"]\n"
                             "    unix-users: [root, 1001]\n"
                             "    unix-groups: [7]\n"
                             "    certificates: [\"" OTHER "\", \"CN=reporting\"]\n"
                             "    curve-keys: [\"" KEY "\"]\n"
                             "    allow: [\"com.example.report.**\", a.B]\n"
                             "    preset: [deny-files]\n"
                             "    limits: {connections: 20, sessions: 10, objects: 100000, calls: 8}\n"
                             "  - {name: ops, unix-users: [0x], admin: true}\n";
  struct arena arena;
  struct principal_document document;
  struct jp_error error = {0};
  arena_init(&arena);
  assert_int_equal(principal_file_parse(text_of(yaml), "f", &arena, &document, &error), JP_INVALID);
  assert_string_equal(error.text, "f:11:30: '0x': this machine has no such user");
  struct text good =
      text_slice(text_of(yaml), 0, strlen(yaml) - strlen("  - {name: ops, unix-users: [0x], admin: true}\n"));
  assert_int_equal(principal_file_parse(good, "folder/f", &arena, &document, &error), JP_OK);
  const struct principal_entry *entry = document.entries;
  assert_int_equal(document.entry_count, 1);
  assert_string_equal(entry->allow, "com.example.report.**,a.B");
  assert_string_equal(entry->presets, "deny-files");
  assert_int_equal(entry->limits[PRINCIPAL_OBJECTS], 100000);
  assert_false(entry->is_admin || entry->is_anonymous);
  static const enum principal_proof_kind kinds[] = {
      PRINCIPAL_BY_TOKEN,       PRINCIPAL_BY_USER,        PRINCIPAL_BY_USER,     PRINCIPAL_BY_GROUP,
      PRINCIPAL_BY_CERTIFICATE, PRINCIPAL_BY_COMMON_NAME, PRINCIPAL_BY_CURVE_KEY};
  assert_int_equal(document.listed_count, sizeof kinds / sizeof kinds[0]);
  for (size_t i = 0; i < document.listed_count; i++)
    assert_int_equal(document.listed[i].kind, kinds[i]);
  assert_int_equal(document.listed[0].digest[1], 0x23);
  assert_int_equal(document.listed[1].id, 0);
  assert_int_equal(document.listed[2].id, 1001);
  assert_true(text_equal(document.listed[5].name, TEXT("reporting")));
  arena_fini(&arena);
}

UNIT_TEST(errors_name_line_and_column)
{
#define ENTRY(rest) "principals:\n  - {name: a, unix-users: [1]" rest "}\n"
  static const struct {
    const char *yaml;
    const char *error;
  } cases[] = {
      {"", "f:1:1: the file lists no principals"},
      {"# x\n", "f:1:1: the file lists no principals"},
      {"principals: []\n", "f:1:13: principals is an empty list: nobody could come in"},
      {"people: []\n", "f:1:1: unknown key 'people': known are principals"},
      {"principals: [\n", "f:2:1: not YAML: "},
      {"principals:\n  - {name: a}\n", "f:2:5: nobody can be a: "},
      {"principals:\n  - {unix-users: [1]}\n", "f:2:5: the entry has no 'name'"},
      {ENTRY(", tokens: [secret]"), "f:2:41: a token is listed as its hash: "},
      {ENTRY(", tokens: x"), "f:2:40: tokens has to be a list, not a word"},
      {ENTRY(", certificates: [x]"), "f:2:47: a certificate is sha256: "},
      {ENTRY(", certificates: ['CN=']"), "f:2:47: a certificate is sha256: "},
      {ENTRY(", curve-keys: [x]"), "f:2:45: a CURVE key is 40 characters of Z85"},
      {ENTRY(", unix-groups: [4294967295]"), "f:2:46: '4294967295': this machine has no such group"},
      {ENTRY(", admin: yes"), "f:2:39: admin is true or false"},
      {ENTRY(", admin: true, anonymous: true"), "f:2:5: a is anonymous and has admin"},
      {ENTRY(", allow: [a.B], policy: p.yaml"), "f:2:5: a has both 'allow' and 'policy'"},
      {ENTRY(", allow: []"), "f:2:39: allow is a list of 1 to "},
      {ENTRY(", allow: ['a.B,c.D']"), "f:2:40: a word of allow is not empty and has no comma"},
      {ENTRY(", limits: {calls: 0}"), "f:2:48: calls is a number from 1 to "},
      {ENTRY(", limits: {threads: 1}"), "f:2:41: unknown key 'threads': known are connections, "},
      {ENTRY(", limit: {}"), "f:2:32: unknown key 'limit': "},
      {ENTRY(", name: b"), "f:2:32: key 'name' is given twice"},
      {ENTRY("") "  - {name: a, unix-users: [2]}\n", "f:3:12: the entry of line 2 has the name a already"},
      {ENTRY("") "  - {name: b, unix-users: [1]}\n",
       "f:3:28: this evidence is listed in line 2 already, of a"},
      {ENTRY("") "  - {name: owner, unix-users: [2]}\n", "f:3:12: owner is the principal of a peer without "},
      {ENTRY(", anonymous: true") "  - {name: b, anonymous: true}\n", "f:3:5: a and b are both anonymous"},
      {"principals:\n  - {name: 'a b', unix-users: [1]}\n", "f:2:12: a name has 1 to 64 bytes"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct arena arena;
    struct principal_document document;
    struct jp_error error = {0};
    arena_init(&arena);
    enum jp_status status = principal_file_parse(text_of(cases[i].yaml), "f", &arena, &document, &error);
    if (status != JP_INVALID || strncmp(error.text, cases[i].error, strlen(cases[i].error)) != 0)
      fail_msg("%s: status %d, %s", cases[i].yaml, status, error.text);
    arena_fini(&arena);
  }
}

/* Wherever it was pasted. */
UNIT_TEST(no_error_has_a_token)
{
#define TOKEN "jp_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"
  static const char *const cases[] = {
      "- [" TOKEN,
      TOKEN ": []\n",
      "principals: !" TOKEN " []\n",
      "principals: *" TOKEN "\n",
      "principals: {" TOKEN "\n",
      "principals:\n  - {name: " TOKEN ", unix-users: [1]}\n",
      ENTRY(", tokens: [" TOKEN "]"),
      ENTRY(", certificates: [" TOKEN "]"),
      ENTRY(", unix-groups: [" TOKEN "]"),
      ENTRY(", " TOKEN ": 1"),
      ENTRY(", tokens: " TOKEN),
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct arena arena;
    struct principal_document document;
    struct jp_error error = {0};
    arena_init(&arena);
    assert_int_equal(principal_file_parse(text_of(cases[i]), "f", &arena, &document, &error), JP_INVALID);
    if (strstr(error.text, "jp_0123456789abcdef") != NULL)
      fail_msg("%s", error.text);
    arena_fini(&arena);
  }
}

UNIT_MAIN

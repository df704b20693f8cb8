#ifndef JPEER_PRINCIPAL_PRINCIPAL_FILE_H
#define JPEER_PRINCIPAL_PRINCIPAL_FILE_H
/*
 * Reads a principals file (docs/security.md, "Principals"): YAML by the same parser as policy files. Errors are JP_INVALID,
 * and begin with "name:line:column: ". One thread; what is read lives as long as the arena.
 *
 * Evidence is listed once in a file, so that it never means two principals.
 */
#include "base/arena.h"
#include "base/status.h"
#include "base/text.h"
#include "principal/principal.h"

#include <sys/types.h>

enum { PRINCIPAL_DIGEST = 32, PRINCIPALS_MAX = 1000, PRINCIPAL_EVIDENCE_MAX = 10000 };

/* A piece of evidence that an entry lists. */
struct principal_listed {
  enum principal_proof_kind kind;   /* not PRINCIPAL_BY_NOTHING */
  uint8_t digest[PRINCIPAL_DIGEST]; /* of a token or certificate */
  struct text name;                 /* a common name, or a CURVE key */
  uint32_t id;                      /* a user or group */
  size_t entry;                     /* its entry's index */
  int line;
  int column;
};

struct principal_entry {
  const char *name;
  bool is_anonymous; /* is for clients without evidence */
  bool is_admin;
  bool sees_metrics;
  const char *allow; /* patterns between commas; NULL: none are given */
  int allow_line, allow_column;
  const char *policy;              /* path of a policy file; NULL: none is given */
  const char *presets;             /* names between commas; NULL: none are given */
  size_t limits[PRINCIPAL_LIMITS]; /* SIZE_MAX: not given */
  int line, column;
};

struct principal_document {
  struct principal_entry *entries;
  size_t entry_count;
  struct principal_listed *listed;
  size_t listed_count;
};

/* name: of the file in errors; a relative path in it is one from the file's folder. An empty list is an error. */
enum jp_status principal_file_parse(struct text yaml, const char *name, struct arena *arena,
                                    struct principal_document *document,
                                    struct jp_error *error) JP_MUST_CHECK;
/* The same for a file that `jpeer token new` changes: entries may have no evidence yet. */
enum jp_status principal_file_parse_draft(struct text yaml, const char *name, struct arena *arena,
                                          struct principal_document *document,
                                          struct jp_error *error) JP_MUST_CHECK;
/* JP_NOT_FOUND, JP_IO: the file cannot be read. JP_INVALID also if others than its owner may write it. */
enum jp_status principal_file_load(const char *path, struct arena *arena, struct principal_document *document,
                                   struct jp_error *error) JP_MUST_CHECK;

/* Reads "sha256:" and 64 hexadecimal digits. False: it is something else. */
bool principal_read_digest(struct text written, uint8_t digest[PRINCIPAL_DIGEST]) JP_MUST_CHECK;

#endif

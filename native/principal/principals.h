#ifndef JPEER_PRINCIPAL_PRINCIPALS_H
#define JPEER_PRINCIPAL_PRINCIPALS_H
/*
 * The principals of a peer (--principals): who a client is, by its evidence. The file is loaded again while the peer runs
 * (principals_watch): all of it is replaced, or nothing.
 *
 * Any thread, unless a comment says otherwise. A lock is held while evidence is compared, but not while a file is read.
 */
#include "principal/principal_file.h"

#include <sys/types.h>

struct principals;

struct principals_config {
  const char *file; /* the principals file; borrowed */
  struct policy_config
      policy; /* the command line's; borrowed. Its file and `allow` are for entries with neither */
  struct policy_source *base; /* the policy of the command line, which those entries have; borrowed */
  /* Checks the patterns of an entry's `allow` by the rule of "jdk:" (policy/allow.h). name: of the list in errors. NULL: no
   * check (tests). */
  enum jp_status (*check_allow)(void *context, const char *patterns, const char *name,
                                struct jp_error *error);
  /* The principals have changed: connections and sessions of those that are gone have to end. May be NULL. On the thread
   * that has called principals_reload. */
  void (*changed)(void *context);
  void *context;
};

/* Loads the file. JP_INVALID: the error's text names file, line and column. JP_IO, JP_NOT_FOUND. Caller frees with
 * principals_destroy. */
enum jp_status principals_create(const struct principals_config *config, struct principals **principals,
                                 struct jp_error *error) JP_MUST_CHECK;
/* Retained principals stay valid. NULL is fine. */
void principals_destroy(struct principals *principals);

/* Loads the file, and all policies, the command line's included. If one of them fails, nothing changes. Else matches are by
 * the old file with the old rights, or by the new file with the new ones. A connection whose evidence is listed no more has
 * the rights of its entry until `changed` has it closed. From one thread at a time. */
enum jp_status principals_reload(struct principals *principals, struct jp_error *error) JP_MUST_CHECK;

/* Loads the command line's policy and the principals again when one of their files changes, or at principals_watch_reload,
 * and logs the result. See base/file_watch.h. */
enum jp_status principals_watch_start(struct principals *principals, int64_t interval_ms,
                                      struct jp_error *error) JP_MUST_CHECK;
/* As file_watch_reload (base/file_watch.h). */
void principals_watch_reload(struct principals *principals, void (*done)(void));
/* NULL is fine. */
void principals_watch_stop(struct principals *principals);

/* Grows with each reload that has changed something. Not 0. */
uint64_t principals_generation(const struct principals *principals);
/* True if an entry is for clients without evidence. */
bool principals_have_anonymous(struct principals *principals);

enum principal_certificate {
  PRINCIPAL_NO_CERTIFICATE,
  PRINCIPAL_VALID_CERTIFICATE,   /* within its time; the client has its key */
  PRINCIPAL_TRUSTED_CERTIFICATE, /* valid, and signed by the CA of --tls-client-ca: its common name counts */
  PRINCIPAL_BAD_CERTIFICATE      /* expired, revoked, or not of the CA */
};

/* What a client shows. All zero: nothing. All that it points to is borrowed. */
struct principal_evidence {
  const uint8_t *token; /* the SHA-256 of the token; NULL: none */
  enum principal_certificate certificate;
  const uint8_t *certificate_digest; /* the SHA-256 of its DER */
  struct text common_name;           /* data NULL: the certificate has none, or more than one */
  struct text curve_key;             /* the public key in Z85; data NULL: none */
  bool has_user;                     /* of a Unix socket */
  uid_t user;
  const gid_t *groups; /* all of the user's */
  size_t group_count;
};

enum principal_refusal {
  PRINCIPAL_ADMITTED,
  PRINCIPAL_NOT_KNOWN,   /* there is no evidence, or none that counts */
  PRINCIPAL_WRONG_TOKEN, /* nobody's */
  PRINCIPAL_WRONG_CERTIFICATE,
  PRINCIPAL_WRONG_CURVE_KEY,
  PRINCIPAL_AT_LIMIT /* the principal has as many connections as it may have; not of principals_find */
};

struct principal_match {
  struct principal *principal; /* held: release it with principal_release */
  struct principal_proof proof;
};

/*
 * Finds whose evidence this is, in the order token, certificate, CURVE key, user, group (the first group in the file's
 * order). Wrong evidence is refused although other evidence would do. A valid certificate, a user or a group that nobody
 * lists is no evidence. *match is set if the result is PRINCIPAL_ADMITTED.
 *
 * Hashes of tokens are compared in constant time, and all are.
 */
enum principal_refusal principals_find(struct principals *principals,
                                       const struct principal_evidence *evidence,
                                       struct principal_match *match) JP_MUST_CHECK;
/* True if the groups of a Unix socket's user count at all. */
bool principals_list_groups(struct principals *principals);

/* For a client: why it is refused. */
const char *principal_refusal_reason(enum principal_refusal refusal);

/* The SHA-256 of a token, as files list it. */
void principal_hash_token(struct text token, uint8_t digest[PRINCIPAL_DIGEST]);

#endif

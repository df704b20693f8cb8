#include "net/connection/connection_principal.h"

#include "net/admission/admission.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Sets the certificate as evidence. A certificate that was bad during the handshake was refused then, so it
 * is bad here only if it has expired since. */
static void fill_certificate(const struct connection *connection, struct principal_evidence *evidence)
{
  const struct tls_certificate *certificate = connection_certificate(connection);
  if (certificate == NULL)
    return;
  if (time(NULL) > certificate->not_after)
    evidence->certificate = PRINCIPAL_BAD_CERTIFICATE;
  else
    evidence->certificate =
        certificate->is_of_authority ? PRINCIPAL_TRUSTED_CERTIFICATE : PRINCIPAL_VALID_CERTIFICATE;
  evidence->certificate_digest = certificate->digest;
  if (certificate->common_name[0] != '\0')
    evidence->common_name = text_of(certificate->common_name);
}

/* Returns the groups, which the caller frees; NULL: the client is no user of this machine, or groups do not count. */
static gid_t *fill_user(const struct connection *connection, struct principal_evidence *evidence)
{
  uint32_t user;
  gid_t *groups = NULL;
  if (!rpc_address_user(&connection->address, &user))
    return NULL;
  evidence->has_user = true;
  evidence->user = user;
  if (principals_list_groups(connection->limits->principals) && connection->fd >= 0)
    groups = admission_read_groups(connection->fd, &evidence->group_count);
  evidence->groups = groups;
  return groups;
}

static enum principal_refusal find_principal(const struct connection *connection, const uint8_t *token,
                                             struct principal_match *match)
{
  struct principal_evidence evidence = {.token = token, .common_name = TEXT_ABSENT, .curve_key = TEXT_ABSENT};
  fill_certificate(connection, &evidence);
  gid_t *groups = fill_user(connection, &evidence);
  enum principal_refusal refusal = principals_find(connection->limits->principals, &evidence, match);
  free(groups);
  return refusal;
}

enum principal_refusal connection_judge(struct connection *connection, const uint8_t token[PRINCIPAL_DIGEST],
                                        struct jp_error *error)
{
  struct principal_match match;
  const uint64_t generation = principals_generation(connection->limits->principals); /* a reload may follow */
  enum principal_refusal refusal = find_principal(connection, token, &match);
  if (refusal != PRINCIPAL_ADMITTED) {
    (void)jp_fail(error, JP_DENIED, "%s", principal_refusal_reason(refusal));
    return refusal;
  }
  struct connection_principal *own = &connection->principal;
  if (match.principal == own->principal) {
    principal_release(match.principal);
  } else if (principal_enter(match.principal, PRINCIPAL_CONNECTIONS)) {
    connection_leave_principal(connection);
    own->principal = match.principal;
  } else {
    (void)principal_fail_limit(match.principal, PRINCIPAL_CONNECTIONS, error);
    principal_release(match.principal);
    return PRINCIPAL_AT_LIMIT;
  }
  own->proof = match.proof;
  own->generation = generation;
  own->has_token = token != NULL;
  if (token != NULL)
    memcpy(own->token, token, PRINCIPAL_DIGEST);
  return PRINCIPAL_ADMITTED;
}

void connection_leave_principal(struct connection *connection)
{
  struct principal *principal = connection->principal.principal;
  connection->principal.principal = NULL;
  principal_leave(principal, PRINCIPAL_CONNECTIONS);
  principal_release(principal);
}

bool connection_has_lost_principal(struct connection *connection)
{
  struct connection_principal *own = &connection->principal;
  struct principal_match match;
  const uint64_t generation = principals_generation(connection->limits->principals); /* a reload may follow */
  if (own->principal == NULL || own->generation == generation)
    return false;
  if (find_principal(connection, own->has_token ? own->token : NULL, &match) != PRINCIPAL_ADMITTED)
    return true;
  bool is_other = match.principal != own->principal;
  principal_release(match.principal);
  if (!is_other)
    own->generation = generation; /* the next tick need not compare its evidence again */
  return is_other;
}

enum principal_refusal connection_judge_again(struct connection *connection, struct jp_error *error)
{
  const struct principals *principals = connection->limits->principals;
  if (principals == NULL || principals_generation(principals) == connection->principal.generation)
    return PRINCIPAL_ADMITTED;
  const struct connection_principal own = connection->principal; /* connection_judge replaces it */
  return connection_judge(connection, own.has_token ? own.token : NULL, error);
}

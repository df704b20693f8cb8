#ifndef JPEER_RPC_META_NAME_LIST_H
#define JPEER_RPC_META_NAME_LIST_H
/*
 * `meta` `list_names`: the packages and classes whose names begin as a prefix says, for completion. Only names are read,
 * of jars and of the JDK's image, and no class file. Any thread.
 */
#include "base/buffer.h"
#include "classfile/catalog.h"
#include "policy/policy.h"

struct name_list_query {
  const struct policy *policy;
  enum policy_channel channel;
  struct text prefix;
  size_t max; /* names in the answer, packages before classes */
};

/*
 * Appends {"packages":[...],"classes":[...],"complete":true}, both sorted: what is directly in the package that the prefix
 * names up to its last dot, and whose last part begins with the rest of the prefix. Of classes the rest may also be the
 * beginnings of their words ("ArrL" for ArrayList); without a dot, and with a capital in front, it finds them in all
 * packages. Nested classes are listed where the rest has a `$`. Classes of which the policy allows nothing are left out, and
 * packages that have no others. "complete" is false where there were more than max. Fails as catalog_load does.
 */
enum jp_status name_list_write(struct catalog *catalog, const struct name_list_query *query,
                               struct buffer *out, struct jp_error *error) JP_MUST_CHECK;

/* True where a pattern of words ("ArrL") is the beginnings of the first words of a name ("ArrayList"): a word begins with a
 * capital, and the pattern has two at least. */
bool name_list_matches_words(struct text name, struct text pattern);

#endif

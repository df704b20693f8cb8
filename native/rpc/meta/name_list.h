#ifndef JPEER_RPC_META_NAME_LIST_H
#define JPEER_RPC_META_NAME_LIST_H
/*
 * `meta` `list_names`: the packages and classes whose names begin with a prefix, for completion. Reads only
 * the names in jars and in the JDK's image, not the class files. Any thread.
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
 * Appends {"packages":[...],"classes":[...],"complete":true}, both sorted. The package of the prefix is its
 * part up to the last dot. Listed are the packages and classes that are directly in that package, and whose
 * last part begins with the rest of the prefix. For classes the rest may also consist of the beginnings of
 * their words ("ArrL" for ArrayList); a prefix without a dot that begins with a capital finds the classes of
 * all packages. Nested classes are listed if the rest has a `$`. Classes of which the policy allows nothing
 * are left out, and so are packages that have only such classes. "complete" is false if there were more than
 * max names. Returns the errors of catalog_load.
 */
enum jp_status name_list_write(struct catalog *catalog, const struct name_list_query *query,
                               struct buffer *out, struct jp_error *error) JP_MUST_CHECK;

/* True if a pattern of words ("ArrL") consists of the beginnings of the first words of a name
 * ("ArrayList"): a word begins with a capital, and the pattern has at least two. */
bool name_list_matches_words(struct text name, struct text pattern);

#endif

#ifndef JPEER_RPC_META_META_LOOK_H
#define JPEER_RPC_META_META_LOOK_H
/*
 * Writes what there is to see of an object, or of a class, as JSON (docs/protocol.md, "Looking"). Its class may be one that no catalog
 * has, so that the tables of a small catalog are made of what the JVM tells; the members then have the form, and are
 * those, of fetch_classes_info. Only for meta.c.
 */
#include "base/buffer.h"
#include "classfile/catalog.h"
#include "op/look.h"
#include "policy/policy.h"

/* known: the tables of the catalog, which alone have the names of parameters; NULL: there are none. JP_NO_MEMORY;
 * JP_LIMIT: it has more members than a catalog takes. */
enum jp_status meta_look_write(const struct op_look *look, const struct catalog_tables *known,
                               const struct policy *policy, enum policy_channel channel,
                               struct buffer *out) JP_MUST_CHECK;

#endif

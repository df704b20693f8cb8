#ifndef JPEER_RPC_META_META_LINEAGE_H
#define JPEER_RPC_META_META_LINEAGE_H
/* The order in which a class inherits. Only for meta_members.c. */
#include "rpc/meta/meta_members.h"

/* Fills members->lineage and chain_length. Class files that inherit in a circle are visited once
 * each. Fails with JP_NO_MEMORY. */
enum jp_status meta_lineage_walk(struct meta_members *members, const struct catalog_tables *tables,
                                 uint32_t class_index) JP_MUST_CHECK;

#endif

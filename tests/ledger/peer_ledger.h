#ifndef JPEER_TESTS_LEDGER_PEER_LEDGER_H
#define JPEER_TESTS_LEDGER_PEER_LEDGER_H
/* Like the functions of rpc/peer.h with the same names, with each message under the reference ledger. */
#include "rpc/peer.h"

enum jp_status ledger_peer_attach(struct rpc_peer *peer, struct jvm *jvm,
                                  struct jp_error *error) JP_MUST_CHECK;
const struct rpc_service *ledger_peer_service(struct rpc_peer *peer);
bool ledger_peer_detach(struct rpc_peer *peer);

#endif

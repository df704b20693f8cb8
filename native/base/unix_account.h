#ifndef JPEER_BASE_UNIX_ACCOUNT_H
#define JPEER_BASE_UNIX_ACCOUNT_H
/* Users and groups of the machine, by name or number. Any thread. */
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum unix_account_kind { UNIX_USER, UNIX_GROUP };

/*
 * Finds the number of an account. Digits are a number, even if an account has these digits as its name: adduser and
 * useradd make no such account. The greatest 32-bit number is not an account, because system calls give it another
 * meaning. JP_NOT_FOUND; JP_IO: the look-up has failed; JP_NO_MEMORY. The error's text is about the look-up alone.
 */
enum jp_status unix_account_find(enum unix_account_kind kind, const char *name, uint32_t *id,
                                 struct jp_error *error) JP_MUST_CHECK;

/* True if the number stands for several accounts. A user namespace, such as a container's, may lack some
 * accounts of the machine; the system then reports the same number for all of them. */
bool unix_account_is_shared(enum unix_account_kind kind, uint32_t id);

#endif

/*
 * The refs of answers to Java's calls. Java's thread reads an answer when it comes to run, and the peer may let go of an
 * object before that, if the message that says so came over another link. So its handle stays for a moment.
 */
#include "native.h"

#include <stdlib.h>
#include <time.h>

enum { HELD_SECONDS = 1 };

struct answered {
  struct jp_ref *ref;
  struct answered *next;
};

static void release_all(struct answered **list)
{
  struct answered *each = *list;
  *list = NULL;
  while (each != NULL) {
    struct answered *next = each->next;
    jp_ref_release(each->ref);
    free(each);
    each = next;
  }
}

static time_t seconds_now(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec;
}

void answered_release_old(struct connection *connection)
{
  time_t now = seconds_now();
  if (now - connection->answered_since <= HELD_SECONDS)
    return;
  release_all(&connection->answered_before);
  connection->answered_before = connection->answered;
  connection->answered = NULL;
  connection->answered_since = now;
}

void answered_release_all(struct connection *connection)
{
  release_all(&connection->answered_before);
  release_all(&connection->answered);
}

void answered_hold_ref(struct connection *connection, const struct jp_ref *ref)
{
  struct answered *made = malloc(sizeof *made);
  if (made == NULL)
    return;
  answered_release_old(connection);
  *made = (struct answered){jp_ref_keep((struct jp_ref *)ref), connection->answered};
  connection->answered = made;
}

void answered_hold(struct connection *connection, const struct jp_argument *value)
{
  switch (value->kind) {
  case JP_ARGUMENT_REF:
    answered_hold_ref(connection, value->as.ref);
    break;
  case JP_ARGUMENT_LIST:
    for (size_t i = 0; i < value->as.list.count; i++)
      answered_hold(connection, &value->as.list.items[i]);
    break;
  case JP_ARGUMENT_MAP:
    for (size_t i = 0; i < value->as.map.count; i++)
      answered_hold(connection, &value->as.map.entries[i].value);
    break;
  default:
    break;
  }
}

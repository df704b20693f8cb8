#ifndef JPEER_NET_WORKERS_CREW_GROWTH_H
#define JPEER_NET_WORKERS_CREW_GROWTH_H
/* How many members the watcher adds. Any thread. */
#include <stdbool.h>

/* What the watcher sees of the members at one look. */
struct crew_load {
  unsigned busy;    /* all but those that wait for their clients */
  unsigned waiting; /* for their clients */
  unsigned idle;
  bool has_moved; /* a member has begun or ended a call since the last look */
};

/*
 * How many members to add, if there is room for them. 0: a member will take the next event soon, because one is idle, or
 * because a busy one has moved. Where all wait for their clients none will, however much they have done since the last
 * look. The more members there are, the more are added at once.
 */
unsigned crew_growth_wanted(const struct crew_load *load);

#endif

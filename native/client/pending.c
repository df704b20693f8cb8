#include "client/pending.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 128 };

static size_t home_of(const struct pending_table *table, uint64_t id)
{
  return (size_t)id & (table->capacity - 1);
}

static size_t next_place(const struct pending_table *table, size_t place)
{
  return (place + 1) & (table->capacity - 1);
}

bool pending_table_init(struct pending_table *table)
{
  *table = (struct pending_table){.places = calloc(FIRST_CAPACITY, sizeof(struct pending)),
                                  .capacity = FIRST_CAPACITY};
  return table->places != NULL;
}

void pending_table_fini(struct pending_table *table)
{
  free(table->places);
  *table = (struct pending_table){0};
}

static void put(struct pending_table *table, const struct pending *request)
{
  size_t home = home_of(table, request->id);
  size_t place = home;
  while (table->places[place].id != 0)
    place = next_place(table, place);
  table->places[place] = *request;
  table->displaced += place != home;
}

static bool grow(struct pending_table *table)
{
  struct pending_table larger = {.capacity = table->capacity * 2, .count = table->count};
  larger.places = calloc(larger.capacity, sizeof *larger.places);
  if (larger.places == NULL)
    return false;
  for (size_t i = 0; i < table->capacity; i++) {
    if (table->places[i].id != 0)
      put(&larger, &table->places[i]);
  }
  free(table->places);
  *table = larger;
  return true;
}

bool pending_table_add(struct pending_table *table, const struct pending *request)
{
  if (table->count >= table->capacity / 2 && !grow(table))
    return false;
  put(table, request);
  table->count++;
  return true;
}

struct pending *pending_table_find(const struct pending_table *table, uint64_t id)
{
  for (size_t place = home_of(table, id); table->places[place].id != 0; place = next_place(table, place)) {
    if (table->places[place].id == id)
      return &table->places[place];
  }
  return NULL;
}

struct pending *pending_table_find_oldest(const struct pending_table *table)
{
  struct pending *oldest = NULL;
  for (size_t i = 0; i < table->capacity; i++) {
    struct pending *request = &table->places[i];
    if (request->id != 0 && (oldest == NULL || request->id < oldest->id))
      oldest = request;
  }
  return oldest;
}

/* Those behind the hole move up where they may, so that no search ends too early. */
static size_t close_hole(struct pending_table *table, size_t hole)
{
  for (size_t at = next_place(table, hole); table->places[at].id != 0; at = next_place(table, at)) {
    size_t home = home_of(table, table->places[at].id);
    size_t from_home = (at - home) & (table->capacity - 1);
    size_t from_hole = (at - hole) & (table->capacity - 1);
    if (from_home < from_hole)
      continue;
    table->places[hole] = table->places[at];
    table->displaced -= hole == home;
    hole = at;
  }
  return hole;
}

void pending_table_remove(struct pending_table *table, struct pending *request)
{
  size_t hole = (size_t)(request - table->places);
  table->displaced -= hole != home_of(table, request->id);
  if (table->displaced > 0)
    hole = close_hole(table, hole);
  table->places[hole].id = 0;
  table->count--;
}

void pending_table_clear(struct pending_table *table)
{
  memset(table->places, 0, table->capacity * sizeof *table->places);
  table->count = 0;
  table->displaced = 0;
}

#include "rpc/meta/meta_lineage.h"

#include <stdlib.h>

/* Interfaces that extend one another deeper are left out. */
enum { DEPTH_MAX = 128 };

static bool append_class(struct array *table, uint32_t class_index)
{
  uint32_t *added = array_add(table, 1);
  if (added != NULL)
    *added = class_index;
  return added != NULL;
}

/* True for the first visit of the class in this walk. */
static bool mark_visited(struct meta_members *members, uint32_t class_index)
{
  if (members->visited[class_index] == members->walk)
    return false;
  members->visited[class_index] = members->walk;
  return true;
}

/* Appends the interfaces of a class from the last to the first, each behind those that it extends. The caller
 * then reverses the list, so that every interface comes before those that it extends. */
static bool append_interfaces(struct meta_members *members, const struct catalog_tables *tables,
                              uint32_t class_index, unsigned depth)
{
  const struct catalog_class *class = &tables->classes[class_index];
  for (unsigned i = class->interface_count; depth < DEPTH_MAX && i-- > 0;) {
    uint32_t interface = tables->links[class->first_interface + i].class_index;
    if (interface == CATALOG_NONE || !mark_visited(members, interface))
      continue;
    if (!append_interfaces(members, tables, interface, depth + 1) ||
        !append_class(&members->lineage, interface))
      return false;
  }
  return true;
}

static void reverse_classes(uint32_t *items, size_t count)
{
  for (size_t i = 0; i < count / 2; i++) {
    uint32_t kept = items[i];
    items[i] = items[count - 1 - i];
    items[count - 1 - i] = kept;
  }
}

enum jp_status meta_lineage_walk(struct meta_members *members, const struct catalog_tables *tables,
                                 uint32_t class_index)
{
  if (members->visited == NULL)
    members->visited = calloc(tables->class_count, sizeof *members->visited);
  if (members->visited == NULL)
    return JP_NO_MEMORY;
  members->walk++;
  members->lineage.count = 0;
  for (uint32_t at = class_index; at != CATALOG_NONE && mark_visited(members, at);
       at = tables->classes[at].superclass.class_index) {
    if (!append_class(&members->lineage, at))
      return JP_NO_MEMORY;
  }
  members->chain_length = members->lineage.count;
  for (size_t i = members->chain_length; i-- > 0;) {
    uint32_t class = ((const uint32_t *)members->lineage.items)[i];
    if (!append_interfaces(members, tables, class, 0))
      return JP_NO_MEMORY;
  }
  reverse_classes((uint32_t *)members->lineage.items + members->chain_length,
                  members->lineage.count - members->chain_length);
  return JP_OK;
}

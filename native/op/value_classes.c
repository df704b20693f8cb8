#include "op/value_classes.h"

#include <stdlib.h>

static int compare_names(const void *key, const void *row)
{
  return text_order(*(const struct text *)key, ((const struct value_class *)row)->name);
}

const struct value_class *value_class_find(struct text name)
{
  if (!text_starts_with(name, TEXT("java.")))
    return NULL;
  return bsearch(&name, value_class_rows, value_class_count, sizeof *value_class_rows, compare_names);
}

const struct value_class *value_class_find_maker(struct text name)
{
  const struct value_class *row = value_class_find(name);
  return row == NULL || row->maker == MAKER_OTHER ? NULL : row;
}

bool value_class_needs_no_rule(struct text name)
{
  const struct value_class *row = value_class_find(name);
  return row != NULL && row->needs_no_rule;
}

bool value_class_is_container(struct text name)
{
  const struct value_class *row = value_class_find(name);
  bool is_made_of_another =
      row != NULL && row->made != NULL; /* for example java.lang.Iterable, for which an ArrayList is made */
  return is_made_of_another || text_starts_with(name, TEXT("java.util."));
}

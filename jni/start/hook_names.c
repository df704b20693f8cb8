/* HotSpot exports a table of its own fields, with their names, types and addresses, for debuggers and
 * profilers (gHotSpotVMStructs; further variables hold the layout of a row). On 17 and on 25 it has the two
 * fields that hold the arguments. Where anything is not as expected, nothing is changed. */
#include "jni/start/hook_names.h"

#include "base/log.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct table {
  const char *row; /* the first */
  uint64_t stride;
  uint64_t type_name_at; /* in a row: const char * */
  uint64_t field_name_at;
  uint64_t type_at; /* const char *: the field's own type */
  uint64_t is_static_at;
  uint64_t address_at; /* void * */
};

static bool find_table(struct table *table)
{
  const struct {
    const char *symbol;
    uint64_t *value;
  } layout[] = {
      {"gHotSpotVMStructEntryArrayStride", &table->stride},
      {"gHotSpotVMStructEntryTypeNameOffset", &table->type_name_at},
      {"gHotSpotVMStructEntryFieldNameOffset", &table->field_name_at},
      {"gHotSpotVMStructEntryTypeStringOffset", &table->type_at},
      {"gHotSpotVMStructEntryIsStaticOffset", &table->is_static_at},
      {"gHotSpotVMStructEntryAddressOffset", &table->address_at},
  };
  const char *const *rows = dlsym(RTLD_DEFAULT, "gHotSpotVMStructs");
  if (rows == NULL)
    return false;
  table->row = *rows;
  for (size_t i = 0; i < sizeof layout / sizeof *layout; i++) {
    const uint64_t *value = dlsym(RTLD_DEFAULT, layout[i].symbol);
    if (value == NULL)
      return false;
    *layout[i].value = *value;
  }
  return table->row != NULL && table->stride > 0;
}

static const char *text_at(const char *row, uint64_t offset)
{
  return *(const char *const *)(row + offset);
}

static bool is_text_at(const char *row, uint64_t offset, const char *wanted)
{
  const char *text = text_at(row, offset);
  return text != NULL && strcmp(text, wanted) == 0;
}

/* The address of a static field of HotSpot's class Arguments; NULL: it has none of this name and type. */
static void *find_field(const struct table *table, const char *name, const char *type)
{
  for (const char *row = table->row; text_at(row, table->type_name_at) != NULL; row += table->stride) {
    if (is_text_at(row, table->type_name_at, "Arguments") && is_text_at(row, table->field_name_at, name) &&
        is_text_at(row, table->type_at, type) && *(const int32_t *)(row + table->is_static_at) != 0)
      return *(void *const *)(row + table->address_at);
  }
  return NULL;
}

static bool stand_at(char *const *arguments, const char *const *names)
{
  for (; *names != NULL; names++, arguments++) {
    if (*arguments == NULL || strcmp(*arguments, *names) != 0)
      return false;
  }
  return true;
}

void jvm_hide_hook_names(const char *const *names)
{
  struct table table;
  char ***arguments = NULL;
  int *count = NULL;
  if (find_table(&table)) {
    arguments = find_field(&table, "_jvm_args_array", "char**");
    count = find_field(&table, "_num_jvm_args", "int");
  }
  int name_count = 0;
  while (names[name_count] != NULL)
    name_count++;
  for (int at = 0; arguments != NULL && count != NULL && at + name_count <= *count; at++) {
    if (!stand_at(*arguments + at, names))
      continue;
    /* The texts stay allocated: somebody may be reading the list. */
    memmove(*arguments + at, *arguments + at + name_count,
            (size_t)(*count - at - name_count) * sizeof **arguments);
    *count -= name_count;
    return;
  }
  log_debug("the JVM tells the names of its hooks among its arguments");
}

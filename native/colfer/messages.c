#include "colfer/messages.h"

#define ROW_TYPE_OF_BOOL(name)          NULL
#define ROW_TYPE_OF_UINT8(name)         NULL
#define ROW_TYPE_OF_UINT32(name)        NULL
#define ROW_TYPE_OF_UINT64(name)        NULL
#define ROW_TYPE_OF_TEXT(name)          NULL
#define ROW_TYPE_OF_BINARY(name)        NULL
#define ROW_TYPE_OF_TEXTS(name)         NULL
#define ROW_TYPE_OF_STRUCT(name, type)  &colfer_##type##_type
#define ROW_TYPE_OF_STRUCTS(name, type) &colfer_##type##_type

#define FIRST(name, ...)               name
#define NAME(name)                     #name
#define OFFSET(of, name)               offsetof(struct colfer_##of, name)
#define ROW(of, kind, ...)             ROW_WITH(of, kind, FIRST(__VA_ARGS__, ), ROW_TYPE_OF_##kind(__VA_ARGS__))
#define ROW_WITH(of, kind, name, type) {NAME(name), COLFER_##kind, OFFSET(of, name), type},

#define DEFINE_TYPE(name, fields)                                                                            \
  static const struct colfer_member members_of_##name[] = {fields(ROW, name)};                               \
  const struct colfer_type colfer_##name##_type = {#name, sizeof(struct colfer_##name), members_of_##name,   \
                                                   sizeof members_of_##name / sizeof members_of_##name[0]};

COLFER_STRUCTS_OF_MESSAGES(DEFINE_TYPE)

#ifndef JPEER_COLFER_MESSAGES_H
#define JPEER_COLFER_MESSAGES_H
/*
 * The binary messages (docs/binary.md). The lists of fields below are the only description of the messages.
 * The structs here are made from these lists, and so are the tables in messages.c, by which colfer/colfer.h
 * reads and writes messages.
 *
 * FIELD(of, KIND, name) or FIELD(of, KIND, name, type); a field's place in its list is its index on the wire.
 */
#include "colfer/colfer.h"

#include <stdbool.h>

#define COLFER_CLASS(FIELD, of) FIELD(of, TEXT, name)

#define COLFER_OBJ(FIELD, of)                                                                                \
  FIELD(of, TEXT, value)                                                                                     \
  FIELD(of, STRUCT, clazz, class)                                                                            \
  FIELD(of, UINT32, ref)                                                                                     \
  FIELD(of, BOOL, is_null)

#define COLFER_CONTEXT(FIELD, of)                                                                            \
  FIELD(of, TEXT, source_location_file)                                                                      \
  FIELD(of, UINT32, source_location_line)                                                                    \
  FIELD(of, TEXT, source_location_type)

#define COLFER_CONSTRUCTOR(FIELD, of) FIELD(of, STRUCT, clazz, class)

#define COLFER_METHOD(FIELD, of)                                                                             \
  FIELD(of, STRUCT, clazz, class)                                                                            \
  FIELD(of, TEXT, name)                                                                                      \
  FIELD(of, UINT32, modifiers)

#define COLFER_FIELD(FIELD, of)                                                                              \
  FIELD(of, STRUCT, clazz, class)                                                                            \
  FIELD(of, TEXT, name)                                                                                      \
  FIELD(of, UINT32, modifiers)

#define COLFER_REFLECTABLE(FIELD, of)                                                                        \
  FIELD(of, STRUCT, constructor, constructor)                                                                \
  FIELD(of, STRUCT, method, method)                                                                          \
  FIELD(of, STRUCT, field, field)

#define COLFER_CONSTRUCTOR_CALL(FIELD, of)                                                                   \
  FIELD(of, STRUCT, clazz, class)                                                                            \
  FIELD(of, UINT32, modifiers)                                                                               \
  FIELD(of, STRUCTS, args, obj)                                                                              \
  FIELD(of, STRUCT, context, context)

#define COLFER_INSTANCE_METHOD_CALL(FIELD, of)                                                               \
  FIELD(of, STRUCT, clazz, class)                                                                            \
  FIELD(of, TEXT, name)                                                                                      \
  FIELD(of, UINT32, object_ref)                                                                              \
  FIELD(of, UINT32, modifiers)                                                                               \
  FIELD(of, STRUCTS, args, obj)                                                                              \
  FIELD(of, STRUCT, context, context)

#define COLFER_CLASS_METHOD_CALL(FIELD, of)                                                                  \
  FIELD(of, STRUCT, clazz, class)                                                                            \
  FIELD(of, TEXT, name)                                                                                      \
  FIELD(of, UINT32, modifiers)                                                                               \
  FIELD(of, STRUCTS, args, obj)                                                                              \
  FIELD(of, STRUCT, context, context)

#define COLFER_CLINIT_CALL(FIELD, of)                                                                        \
  FIELD(of, STRUCT, clazz, class)                                                                            \
  FIELD(of, UINT32, modifiers)                                                                               \
  FIELD(of, STRUCT, context, context)

#define COLFER_STATIC_FIELD_GET(FIELD, of)                                                                   \
  FIELD(of, STRUCT, clazz, class)                                                                            \
  FIELD(of, STRUCT, field, field)                                                                            \
  FIELD(of, STRUCT, context, context)

#define COLFER_STATIC_FIELD_PUT(FIELD, of)                                                                   \
  FIELD(of, STRUCT, clazz, class)                                                                            \
  FIELD(of, STRUCT, field, field)                                                                            \
  FIELD(of, STRUCT, value_object, obj)                                                                       \
  FIELD(of, UINT32, value_object_ref)                                                                        \
  FIELD(of, STRUCT, context, context)

#define COLFER_INSTANCE_FIELD_GET(FIELD, of)                                                                 \
  FIELD(of, STRUCT, clazz, class)                                                                            \
  FIELD(of, UINT32, object_ref)                                                                              \
  FIELD(of, STRUCT, field, field)                                                                            \
  FIELD(of, STRUCT, context, context)

#define COLFER_INSTANCE_FIELD_PUT(FIELD, of)                                                                 \
  FIELD(of, STRUCT, clazz, class)                                                                            \
  FIELD(of, UINT32, object_ref)                                                                              \
  FIELD(of, STRUCT, field, field)                                                                            \
  FIELD(of, STRUCT, value_object, obj)                                                                       \
  FIELD(of, UINT32, value_object_ref)                                                                        \
  FIELD(of, STRUCT, context, context)

#define COLFER_STATIC_FIELD_PUT_DONE(FIELD, of)                                                              \
  FIELD(of, STRUCT, field, field)                                                                            \
  FIELD(of, TEXT, static_field_put_id)

#define COLFER_INSTANCE_FIELD_PUT_DONE(FIELD, of)                                                            \
  FIELD(of, STRUCT, field, field)                                                                            \
  FIELD(of, TEXT, instance_field_put_id)

#define COLFER_THROWABLE(FIELD, of)                                                                          \
  FIELD(of, TEXT, type)                                                                                      \
  FIELD(of, TEXT, message)                                                                                   \
  FIELD(of, TEXTS, stack_trace_elements)                                                                     \
  FIELD(of, STRUCT, cause, throwable)

#define COLFER_RAISED_THROWABLE(FIELD, of)                                                                   \
  FIELD(of, BOOL, in_initializer)                                                                            \
  FIELD(of, STRUCT, from, reflectable)                                                                       \
  FIELD(of, UINT32, modifiers)                                                                               \
  FIELD(of, STRUCT, throwable, throwable)

#define COLFER_RETURN_VALUE(FIELD, of)                                                                       \
  FIELD(of, BOOL, is_void)                                                                                   \
  FIELD(of, STRUCT, object, obj)                                                                             \
  FIELD(of, STRUCT, from, reflectable)

#define COLFER_EXEC_MESSAGE(FIELD, of)                                                                       \
  FIELD(of, BINARY, peer_uuid)                                                                               \
  FIELD(of, TEXT, message_id)                                                                                \
  FIELD(of, TEXT, thread_name)                                                                               \
  FIELD(of, UINT64, current_time)                                                                            \
  FIELD(of, UINT32, dispatch_seq)                                                                            \
  FIELD(of, UINT32, builder_seq)                                                                             \
  FIELD(of, TEXT, response_to_id)                                                                            \
  FIELD(of, STRUCT, constructor_call, constructor_call)                                                      \
  FIELD(of, STRUCT, instance_method_call, instance_method_call)                                              \
  FIELD(of, STRUCT, class_method_call, class_method_call)                                                    \
  FIELD(of, STRUCT, clinit_call, clinit_call)                                                                \
  FIELD(of, STRUCT, static_field_get, static_field_get)                                                      \
  FIELD(of, STRUCT, static_field_put, static_field_put)                                                      \
  FIELD(of, STRUCT, instance_field_get, instance_field_get)                                                  \
  FIELD(of, STRUCT, instance_field_put, instance_field_put)                                                  \
  FIELD(of, STRUCT, static_field_put_done, static_field_put_done)                                            \
  FIELD(of, STRUCT, instance_field_put_done, instance_field_put_done)                                        \
  FIELD(of, STRUCT, raised_throwable, raised_throwable)                                                      \
  FIELD(of, STRUCT, return_value, return_value)                                                              \
  FIELD(of, TEXTS, declared_exceptions)                                                                      \
  FIELD(of, TEXT, thread_affinity)                                                                           \
  FIELD(of, BOOL, entry_point)

#define COLFER_CONTROL_MESSAGE(FIELD, of)                                                                    \
  FIELD(of, BINARY, from_peer)                                                                               \
  FIELD(of, TEXT, message_id)                                                                                \
  FIELD(of, TEXT, response_to_id)                                                                            \
  FIELD(of, UINT8, command)                                                                                  \
  FIELD(of, STRUCTS, params, obj)                                                                            \
  FIELD(of, UINT8, status)                                                                                   \
  FIELD(of, TEXT, body)

#define COLFER_META_MESSAGE(FIELD, of)                                                                       \
  FIELD(of, BINARY, from_peer)                                                                               \
  FIELD(of, TEXT, message_id)                                                                                \
  FIELD(of, TEXT, response_to_id)                                                                            \
  FIELD(of, UINT8, service)                                                                                  \
  FIELD(of, STRUCTS, params, obj)                                                                            \
  FIELD(of, UINT8, status)                                                                                   \
  FIELD(of, TEXT, body)

/* Indexes 4 to 8 of a message are intercept messages, which the peer does not serve: their fields are unknown. */
#define COLFER_MESSAGE(FIELD, of)                                                                            \
  FIELD(of, UINT8, message_type)                                                                             \
  FIELD(of, STRUCT, exec_message, exec_message)                                                              \
  FIELD(of, STRUCT, control_message, control_message)                                                        \
  FIELD(of, STRUCT, meta_message, meta_message)

/* STRUCT(name, fields): one row for each struct. A struct follows all structs that it contains in lists. */
#define COLFER_STRUCTS_OF_MESSAGES(STRUCT)                                                                   \
  STRUCT(class, COLFER_CLASS)                                                                                \
  STRUCT(obj, COLFER_OBJ)                                                                                    \
  STRUCT(context, COLFER_CONTEXT)                                                                            \
  STRUCT(constructor, COLFER_CONSTRUCTOR)                                                                    \
  STRUCT(method, COLFER_METHOD)                                                                              \
  STRUCT(field, COLFER_FIELD)                                                                                \
  STRUCT(reflectable, COLFER_REFLECTABLE)                                                                    \
  STRUCT(constructor_call, COLFER_CONSTRUCTOR_CALL)                                                          \
  STRUCT(instance_method_call, COLFER_INSTANCE_METHOD_CALL)                                                  \
  STRUCT(class_method_call, COLFER_CLASS_METHOD_CALL)                                                        \
  STRUCT(clinit_call, COLFER_CLINIT_CALL)                                                                    \
  STRUCT(static_field_get, COLFER_STATIC_FIELD_GET)                                                          \
  STRUCT(static_field_put, COLFER_STATIC_FIELD_PUT)                                                          \
  STRUCT(instance_field_get, COLFER_INSTANCE_FIELD_GET)                                                      \
  STRUCT(instance_field_put, COLFER_INSTANCE_FIELD_PUT)                                                      \
  STRUCT(static_field_put_done, COLFER_STATIC_FIELD_PUT_DONE)                                                \
  STRUCT(instance_field_put_done, COLFER_INSTANCE_FIELD_PUT_DONE)                                            \
  STRUCT(throwable, COLFER_THROWABLE)                                                                        \
  STRUCT(raised_throwable, COLFER_RAISED_THROWABLE)                                                          \
  STRUCT(return_value, COLFER_RETURN_VALUE)                                                                  \
  STRUCT(exec_message, COLFER_EXEC_MESSAGE)                                                                  \
  STRUCT(control_message, COLFER_CONTROL_MESSAGE)                                                            \
  STRUCT(meta_message, COLFER_META_MESSAGE)                                                                  \
  STRUCT(message, COLFER_MESSAGE)

#define COLFER_MEMBER_BOOL(name)          bool name;
#define COLFER_MEMBER_UINT8(name)         uint8_t name;
#define COLFER_MEMBER_UINT32(name)        uint32_t name;
#define COLFER_MEMBER_UINT64(name)        uint64_t name;
#define COLFER_MEMBER_TEXT(name)          struct text name;
#define COLFER_MEMBER_BINARY(name)        struct text name;
#define COLFER_MEMBER_STRUCT(name, type)  struct colfer_##type *name;
#define COLFER_MEMBER_TEXTS(name)         struct colfer_texts name;
#define COLFER_MEMBER_STRUCTS(name, type) struct colfer_##type##_list name;
#define COLFER_MEMBER(of, kind, ...)      COLFER_MEMBER_##kind(__VA_ARGS__)
#define COLFER_DEFINE_STRUCT(name, fields)                                                                   \
  struct colfer_##name {                                                                                     \
    fields(COLFER_MEMBER, name)                                                                              \
  };                                                                                                         \
  struct colfer_##name##_list {                                                                              \
    struct colfer_##name *items;                                                                             \
    size_t count;                                                                                            \
  };

/* struct colfer_message, struct colfer_obj, struct colfer_obj_list, ... */
COLFER_STRUCTS_OF_MESSAGES(COLFER_DEFINE_STRUCT)

/* The tables: colfer_message_type, colfer_obj_type, ... */
#define COLFER_DECLARE_TYPE(name, fields) extern const struct colfer_type colfer_##name##_type;
COLFER_STRUCTS_OF_MESSAGES(COLFER_DECLARE_TYPE)
#undef COLFER_DECLARE_TYPE

/* colfer_message.message_type */
enum colfer_message_kind {
  COLFER_CALLS_CONSTRUCTOR = 1,
  COLFER_CALLS_INSTANCE_METHOD = 2,
  COLFER_CALLS_CLASS_METHOD = 3,
  COLFER_GETS_STATIC = 4,
  COLFER_GETS_FIELD = 5,
  COLFER_PUTS_STATIC = 6,
  COLFER_PUTS_FIELD = 7,
  COLFER_PUT_STATIC_DONE = 8,
  COLFER_PUT_FIELD_DONE = 9,
  COLFER_THROWS = 10,
  COLFER_RETURNS = 11,
  COLFER_CONTROL_REQUEST = 31,
  COLFER_CONTROL_RESPONSE = 32,
  COLFER_META_REQUEST = 60,
  COLFER_META_RESPONSE = 61
};

/* colfer_control_message.command */
enum colfer_command { COLFER_DELETE_OBJECT = 1, COLFER_DELETE_SESSION = 2, COLFER_GC = 3, COLFER_PING = 4 };

/* colfer_meta_message.service */
enum colfer_service { COLFER_FETCH_CLASSES_INFO = 1 };

/* The status of a control message. A meta message has only the first four of these. */
enum colfer_status {
  COLFER_STATUS_OK = 1,
  COLFER_STATUS_ERROR = 2,
  COLFER_STATUS_UNAUTHORIZED = 3,
  COLFER_STATUS_UNSUPPORTED = 4,
  COLFER_STATUS_NO_SUCH_SESSION = 5,
  COLFER_STATUS_NO_SUCH_OBJECT = 6
};

#endif

/* The requests for jpeer: JSON-RPC 2.0 with the six methods (docs/protocol.md). */
#include "workload.h"

#define OBJECT(id, rest)         "{\"jsonrpc\":\"2.0\",\"id\":" id "," rest "}"
#define METHOD(method, params)   "\"method\":\"" method "\",\"params\":{" params "}"
#define REQUEST(method, params)  OBJECT("$i", METHOD(method, params))
#define MEMBER(type, rest)       "\"type\":\"" type "\"," rest
#define CALL(type, method, args) MEMBER(type, "\"method\":\"" method "\",\"args\":[" args "]")
#define CALL_ON(type, method, args)                                                                          \
  MEMBER(type, "\"method\":\"" method "\",\"instance\":$o,\"args\":[" args "]")
#define FIELD_ON(type, field) MEMBER(type, "\"field\":\"" field "\",\"instance\":$o")
#define TYPED(type, value)    "{\"type\":\"" type "\",\"value\":" value "}"

#define VOID_RESULT "\"result\":{\"void\":true}"
#define VALUE_RESULT(type, value)                                                                            \
  "\"result\":{\"void\":false,\"value\":{\"type\":\"" type "\",\"null\":false,\"value\":\"" value "\"}}"
#define REF_RESULT(type, hole)                                                                               \
  "\"result\":{\"void\":false,\"value\":{\"type\":\"" type "\",\"null\":false,\"ref\":" hole "}}"
#define THROWN(type, message, frames, above)                                                                 \
  "\"error\":{\"code\":-32000,\"message\":\"Server error\",\"data\":{\"throwable_type\":\"" type             \
  "\",\"message\":\"" message "\",\"request_id\":$i,\"stack_trace\":[" frames "],\"superclasses\":[" above   \
  "],\"cause\":null}}"

#define CALCULATOR     "com.example.Calculator"
#define NEW_CALCULATOR REQUEST("new", "\"type\":\"" CALCULATOR "\"")
#define NEW_FIELDS     REQUEST("new", "\"type\":\"fixtures.Fields\"")
#define FIELDS_MADE    OBJECT("$i", REF_RESULT("fixtures.Fields", "$o"))
#define ADD_CALL       METHOD("call", CALL(CALCULATOR, "add", TYPED("int", "$a") "," TYPED("int", "$b")))
#define ADD(id, more)                                                                                        \
  {                                                                                                          \
    OBJECT(id, ADD_CALL more), OBJECT(id, VALUE_RESULT("int", "$s"))                                         \
  }

const struct workload_row workload_rows[] = {
    {.name = "ping",
     .what = "control ping: no Java",
     .steps = {{REQUEST("control", "\"method\":\"ping\""), OBJECT("$i", VOID_RESULT)}}},
    {.name = "add", .what = "static int add(int, int)", .steps = {ADD("$i", "")}},
    {.name = "add-anew",
     .what = "add, with an unknown member of a new name each time: no text occurs twice",
     .steps = {ADD("$i", ",\"name-$i\":0")}},
    {.name = "instance",
     .what = "int accumulate(int) on an object of the session",
     .setup = {NEW_CALCULATOR, OBJECT("$i", REF_RESULT(CALCULATOR, "$o"))},
     .keeps_session = true,
     .steps = {{REQUEST("call", CALL_ON(CALCULATOR, "accumulate", TYPED("int", "1"))),
                OBJECT("$i", VALUE_RESULT("int", "$n"))}}},
    {.name = "echo",
     .what = "String echoString(String) of 1 KiB, also from beyond the BMP",
     .steps = {{REQUEST("call",
                        CALL("fixtures.Arguments", "echoString", TYPED("java.lang.String", "\"$E\""))),
                OBJECT("$i", VALUE_RESULT("java.lang.String", "$E"))}}},
    {.name = "text",
     .what = "the same of 1 MiB of ASCII",
     .steps = {{REQUEST("call",
                        CALL("fixtures.Arguments", "echoString", TYPED("java.lang.String", "\"$X\""))),
                OBJECT("$i", VALUE_RESULT("java.lang.String", "$X"))}}},
    {.name = "get",
     .what = "get of an int field of an object of the session",
     .setup = {NEW_FIELDS, FIELDS_MADE},
     .keeps_session = true,
     .steps = {{REQUEST("get", FIELD_ON("fixtures.Fields", "anInt")),
                OBJECT("$i", VALUE_RESULT("int", "4"))}}},
    {.name = "put",
     .what = "put of an int field of an object of the session",
     .setup = {NEW_FIELDS, FIELDS_MADE},
     .keeps_session = true,
     .steps = {{REQUEST("put", FIELD_ON("fixtures.Fields", "anInt") ",\"value\":" TYPED("int", "$a")),
                OBJECT("$i", VOID_RESULT)}}},
    {.name = "new-delete",
     .what = "new, then control delete_object: two requests a call",
     .keeps_session = true,
     .steps = {{NEW_CALCULATOR, OBJECT("$i", REF_RESULT(CALCULATOR, "$r"))},
               {REQUEST("control", "\"method\":\"delete_object\",\"args\":[{\"ref\":$r}]"),
                OBJECT("$i", VOID_RESULT)}}},
    {.name = "ints",
     .what = "int sum(int[]) of 1,000",
     .steps = {{REQUEST("call", CALL("fixtures.Workloads", "sum", TYPED("int[]", "[$J]"))),
                OBJECT("$i", VALUE_RESULT("int", "-678781"))}}},
    {.name = "base64",
     .what = "long checksum(byte[]) of 1 MiB in base64",
     .steps = {{REQUEST("call", CALL("fixtures.Workloads", "checksum",
                                     "{\"type\":\"byte[]\",\"value\":\"$B\",\"encoding\":\"base64\"}")),
                OBJECT("$i", VALUE_RESULT("long", "325009406"))}}},
    {.name = "list",
     .what = "int sumArrayList(ArrayList<Integer>) of 100",
     .steps = {{REQUEST("call",
                        CALL("fixtures.Arguments", "sumArrayList", TYPED("java.util.ArrayList", "[$L]"))),
                OBJECT("$i", VALUE_RESULT("int", "4950"))}}},
    {.name = "throw",
     .what = "a static method that throws, its stack trace in the answer",
     .steps = {{REQUEST("call", CALL("fixtures.Throwables", "plain", "\"no luck\"")),
                OBJECT("$i", THROWN("java.lang.IllegalStateException", "no luck",
                                    "\"fixtures.Throwables.plain(Throwables.java:$t)\"",
                                    "\"java.lang.RuntimeException\",\"java.lang.Exception\","
                                    "\"java.lang.Throwable\",\"java.lang.Object\""))}}},
    {.name = "batch", .what = "100 times add, one batch", .batch = 100, .steps = {ADD("\"$i-$k\"", "")}},
};

const unsigned workload_row_count = sizeof(workload_rows) / sizeof(workload_rows[0]);

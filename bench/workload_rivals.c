/* The rows of the rivals, each in its own protocol. */
#include "workload.h"

#define PY4J_CALL(object, method, arguments) "c\n" object "\n" method "\n" arguments "e\n"
#define PY4J_NEW(class)                      "i\n" class "\ne\n"
#define PY4J_NEW_CALCULATOR                  PY4J_NEW("com.example.Calculator")
/* The agent's answer begins with the request, whose members it writes in an order of its own. */
#define JOLOKIA_MBEAN     "\"mbean\":\"bench:type=Calculator\""
#define JOLOKIA_ARGUMENTS "\"arguments\":[$a,$b]"

const struct workload_row workload_rival_rows[] = {
    {.name = "py4j-add",
     .what = "Py4J's gateway: static int add(int, int)",
     .steps = {{PY4J_CALL("z:com.example.Calculator", "add", "i$a\ni$b\n"), "!yi$s"}}},
    {.name = "py4j-echo",
     .what = "Py4J's gateway: String echoString(String) of 1 KiB",
     .steps = {{PY4J_CALL("z:fixtures.Arguments", "echoString", "s$E\n"), "!ys$E"}}},
    {.name = "py4j-base64",
     .what = "Py4J's gateway: long checksum(byte[]) of 1 MiB, as base64",
     .steps = {{PY4J_CALL("z:fixtures.Workloads", "checksum", "j$B\n"), "!yL325009406"}}},
    {.name = "py4j-get",
     .what = "Py4J's gateway: get of an int field",
     .setup = {PY4J_NEW("fixtures.Fields"), "!yro$o"},
     .steps = {{"f\ng\no$o\nanInt\ne\n", "!yi4"}}},
    {.name = "py4j-instance",
     .what = "Py4J's gateway: int accumulate(int) on an object of the connection",
     .setup = {PY4J_NEW_CALCULATOR, "!yro$o"},
     .steps = {{PY4J_CALL("o$o", "accumulate", "i1\n"), "!yi$n"}}},
    {.name = "py4j-new-delete",
     .what = "Py4J's gateway: new, then its delete: two commands a call",
     .steps = {{PY4J_NEW_CALCULATOR, "!yro$r"}, {"m\nd\no$r\ne\n", "!yv"}}},
    {.name = "jolokia-add",
     .what = "Jolokia's agent, over HTTP: exec of int add(int, int)",
     .steps = {{"{\"type\":\"exec\"," JOLOKIA_MBEAN ",\"operation\":\"add\"," JOLOKIA_ARGUMENTS "}",
                "{\"request\":{" JOLOKIA_MBEAN "," JOLOKIA_ARGUMENTS
                ",\"type\":\"exec\",\"operation\":\"add\"},"
                "\"value\":$s,\"status\":200,\"timestamp\":$t}"}}},
};

const unsigned workload_rival_row_count = sizeof(workload_rival_rows) / sizeof(workload_rival_rows[0]);

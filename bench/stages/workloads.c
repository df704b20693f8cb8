#include "workloads.h"

#define REQUEST(method, params)                                                                              \
  "{\"jsonrpc\":\"2.0\",\"id\":12345,\"method\":\"" method "\",\"params\":{" params "}}"
#define RESULT(result) "{\"jsonrpc\":\"2.0\",\"id\":12345,\"result\":" result "}"
#define VALUE(type, fields)                                                                                  \
  RESULT("{\"void\":false,\"value\":{\"type\":\"" type "\",\"null\":false," fields "}}")
#define CALCULATOR "\"type\":\"com.example.Calculator\""
#define ARGUMENTS  "\"type\":\"fixtures.Arguments\""

static const struct workload_call add_call = {.class_name = "com.example.Calculator",
                                              .method = "add",
                                              .args = {{"int", "31415"}, {"int", "27182"}},
                                              .result = {"int", "58597"}};
static const struct workload_call instance_call = {.class_name = "com.example.Calculator",
                                                   .method = "accumulate",
                                                   .has_receiver = true,
                                                   .args = {{"int", "1"}},
                                                   .result = {"int", "1"}};
static const struct workload_call echo_call = {.class_name = "fixtures.Arguments",
                                               .method = "echoString",
                                               .args = {{"java.lang.String", "\"$t\""}},
                                               .result = {"java.lang.String", "\"$t\""}};
static const struct workload_call ints_call = {.class_name = "fixtures.Arguments",
                                               .method = "sumInts",
                                               .args = {{"[I", "[$n]"}},
                                               .result = {"int", "$s"}};

const struct workload workloads[WORKLOADS] = {
    [WORKLOAD_PING] = {"ping", "control ping: no Java", REQUEST("control", "\"method\":\"ping\""),
                       RESULT("{\"void\":true}"), 1, NULL},
    [WORKLOAD_ADD] = {"add", "static int add(int, int)",
                      REQUEST("call",
                              CALCULATOR ",\"method\":\"add\",\"args\":[{\"type\":\"int\",\"value\":31415},"
                                         "{\"type\":\"int\",\"value\":27182}]"),
                      VALUE("int", "\"value\":\"58597\""), 1, NULL},
    [WORKLOAD_INSTANCE] = {"instance", "int accumulate(int) on an object",
                           REQUEST("call", CALCULATOR ",\"method\":\"accumulate\",\"instance\":$o,"
                                                      "\"args\":[{\"type\":\"int\",\"value\":1}]"),
                           VALUE("int", "\"value\":\"1\""), 1, NULL},
    [WORKLOAD_GET] = {"get", "an int field of an object",
                      REQUEST("get", CALCULATOR ",\"field\":\"result\",\"instance\":$o"),
                      VALUE("int", "\"value\":\"0\""), 1, NULL},
    [WORKLOAD_PUT] = {"put", "an int field of an object",
                      REQUEST("put", CALCULATOR ",\"field\":\"result\",\"instance\":$o,"
                                                "\"value\":{\"type\":\"int\",\"value\":31415}"),
                      RESULT("{\"void\":true}"), 1, NULL},
    [WORKLOAD_NEW_DELETE] =
        {"new-delete", "new, then control delete_object: two messages", REQUEST("new", CALCULATOR),
         "{\"jsonrpc\":\"2.0\",\"id\":12345,\"result\":{\"void\":false,\"value\":{\"type\":"
         "\"com.example.Calculator\",\"null\":false,\"ref\":",
         1, NULL},
    [WORKLOAD_ECHO] = {"echo", "a String of 1 KiB there and back",
                       REQUEST("call", ARGUMENTS ",\"method\":\"echoString\",\"args\":[{\"type\":\"String\","
                                                 "\"value\":\"$t\"}]"),
                       VALUE("java.lang.String", "\"value\":\"$t\""), 5, NULL},
    [WORKLOAD_INTS] = {"ints", "int sumInts(int[]) of 1000 numbers",
                       REQUEST("call", ARGUMENTS ",\"method\":\"sumInts\",\"args\":[{\"type\":\"int[]\","
                                                 "\"value\":[$n]}]"),
                       VALUE("int", "\"value\":\"$s\""), 20, NULL},
    [WORKLOAD_ADD_BINARY] = {"add-binary", "add as a binary message", NULL, NULL, 1, &add_call},
    [WORKLOAD_INSTANCE_BINARY] = {"instance-binary", "instance as a binary message", NULL, NULL, 1,
                                  &instance_call},
    [WORKLOAD_ECHO_BINARY] = {"echo-binary", "echo as a binary message", NULL, NULL, 5, &echo_call},
    [WORKLOAD_INTS_BINARY] = {"ints-binary", "ints as a binary message", NULL, NULL, 20, &ints_call},
};

enum { TEXT_LENGTH = 1024, NUMBER_STEP = 7919, NUMBER_RANGE = 100003 };

static int number_at(int i)
{
  return i * NUMBER_STEP % NUMBER_RANGE - NUMBER_RANGE / 4;
}

static void fill_numbers(struct buffer *out)
{
  for (int i = 0; i < STAGES_NUMBERS; i++)
    buffer_printf(out, "%s%d", i == 0 ? "" : ",", number_at(i));
}

static void fill_sum(struct buffer *out)
{
  int sum = 0;
  for (int i = 0; i < STAGES_NUMBERS; i++)
    sum += number_at(i);
  buffer_printf(out, "%d", sum);
}

static void fill_text(struct buffer *out)
{
  const struct text phrase = TEXT("Gr\u00fc\u00dfe, \u4e16\u754c, from \U0001f30d. ");
  size_t end = out->len + TEXT_LENGTH;
  while (out->len + phrase.len <= end)
    buffer_append_text(out, phrase);
  while (out->len < end)
    buffer_append_char(out, '.');
}

void workload_fill(const char *source, uint32_t receiver, struct buffer *out)
{
  const char *from = source;
  for (const char *hole = strchr(from, '$'); hole != NULL; hole = strchr(from, '$')) {
    buffer_append(out, from, (size_t)(hole - from));
    switch (hole[1]) {
    case 'n':
      fill_numbers(out);
      break;
    case 's':
      fill_sum(out);
      break;
    case 't':
      fill_text(out);
      break;
    default:
      buffer_printf(out, "%u", receiver);
      break;
    }
    from = hole + 2;
  }
  buffer_append_text(out, text_of(from));
}

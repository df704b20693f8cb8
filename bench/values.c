/*
 * jpeer-bench-values: the time of large values over one WebSocket. The client reads frames, and parses only
 * the parts that it needs for its next request.
 *
 * usage: jpeer-bench-values ADDRESS STRINGS DOUBLES ROUNDS
 * Fetches a list of STRINGS Strings in every possible way. Sends DOUBLES doubles, and a text of the same
 * length, and receives them back. The rounds of all measures alternate. Prints a JSON object that has the
 * milliseconds of each round for each measure.
 */
#include "bench/link.h"

#include "base/base64.h"
#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEP = 1000, WINDOW = 64, STALL_MS = 20000, ROUNDS_MAX = 1000, TAIL = 64 };

struct client {
  struct link_listener listener; /* the first member, so that a listener can be cast to its client */
  const struct link_kind *kind;
  struct link *link;
  struct buffer message;
  uint64_t answers;
  struct text answer; /* the last answer, borrowed until the next read */
};

struct bench {
  struct client client;
  uint32_t list; /* the ref of the list */
  size_t strings;
  struct buffer encoded; /* the doubles, as base64 */
  size_t list_length;    /* the length of the elements as JSON; 0: the list was not received by value yet */
};

/* ---- the client ---- */

static enum jp_status handle_answer(struct link_listener *listener, struct text answer,
                                    struct jp_error *error)
{
  struct client *client = (struct client *)listener;
  struct text head = text_slice(answer, 0, answer.len < TAIL ? answer.len : TAIL);
  if (memmem(head.data, head.len, "\"result\":", sizeof("\"result\":") - 1) == NULL)
    return jp_fail(error, JP_INVALID, "an answer that is no result: %.*s",
                   (int)(answer.len < 500 ? answer.len : 500), answer.data);
  client->answer = answer;
  client->answers++;
  return JP_OK;
}

/* Sends queued messages, and reads until the total number of answers is reached. */
static enum jp_status await_answers(struct client *client, uint64_t wanted, struct jp_error *error)
{
  bool blocked = true;
  while (client->answers < wanted) {
    bool again;
    enum jp_status status = blocked ? client->kind->flush(client->link, &blocked, &again, error) : JP_OK;
    struct pollfd ready = {.fd = client->kind->fd(client->link), .events = POLLIN};
    if (blocked)
      ready.events |= POLLOUT;
    if (status == JP_OK && poll(&ready, 1, STALL_MS) != 1)
      status = jp_fail(error, JP_IO, "no answer for %d ms", STALL_MS);
    if (status == JP_OK && (ready.revents & ~POLLOUT) != 0)
      status = client->kind->receive(client->link, &client->listener, error);
    if (status != JP_OK)
      return status;
  }
  return JP_OK;
}

/* client->message holds the method and its params. */
static enum jp_status ask(struct client *client, struct jp_error *error)
{
  if (client->message.failed)
    return jp_fail(error, JP_NO_MEMORY, "no memory for a request");
  client->kind->send(client->link, buffer_text(&client->message));
  return await_answers(client, client->answers + 1, error);
}

static void begin_request(struct client *client, const char *method)
{
  buffer_clear(&client->message);
  buffer_printf(&client->message, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":", method);
}

/* ---- content of an answer ---- */

/* Returns the number after the words in the last bytes of the answer; 0: the words are not there. */
static uint32_t number_after(struct text answer, const char *words)
{
  struct text tail = text_slice(answer, answer.len < TAIL ? 0 : answer.len - TAIL, answer.len);
  const char *at = memmem(tail.data, tail.len, words, strlen(words));
  return at == NULL ? 0 : (uint32_t)strtoul(at + strlen(words), NULL, 10);
}

/* Returns the length of the list's text in the answer, without its brackets. */
static size_t length_of_list(struct text answer)
{
  const char *begin = memchr(answer.data, '[', answer.len);
  const char *end = memrchr(answer.data, ']', answer.len);
  return begin == NULL || end == NULL ? 0 : (size_t)(end - begin) - 1;
}

/* ---- Strings of a list ---- */

static enum jp_status make_list(struct bench *bench, struct jp_error *error)
{
  struct client *client = &bench->client;
  begin_request(client, "call");
  buffer_printf(&client->message, "{\"type\":\"fixtures.Iterables\",\"method\":\"strings\",\"args\":[%zu]}}",
                bench->strings);
  enum jp_status status = ask(client, error);
  bench->list = status == JP_OK ? number_after(client->answer, "\"ref\":") : 0;
  if (status == JP_OK && bench->list == 0)
    return jp_fail(error, JP_INVALID, "a list without a ref: %.*s", TEXT_ARGS(client->answer));
  return status;
}

static enum jp_status fetch_by_value(struct bench *bench, struct jp_error *error)
{
  struct client *client = &bench->client;
  begin_request(client, "java.util.ArrayList.subList");
  buffer_printf(&client->message, "[{\"ref\":%u},0,%zu],\"options\":{\"array_value_max\":%zu}}", bench->list,
                bench->strings, bench->strings);
  enum jp_status status = ask(client, error);
  bench->list_length = status == JP_OK ? length_of_list(client->answer) : 0;
  return status;
}

static enum jp_status fetch_in_pieces(struct bench *bench, struct jp_error *error)
{
  struct client *client = &bench->client;
  size_t length = 0;
  for (uint32_t ref = bench->list; ref != 0; ref = number_after(client->answer, "\"done\":false,\"ref\":")) {
    begin_request(client, "jpeer.fetch");
    buffer_printf(&client->message, "{\"instance\":{\"ref\":%u},\"max\":%d}}", ref, STEP);
    enum jp_status status = ask(client, error);
    if (status != JP_OK)
      return status;
    length += length_of_list(client->answer) + 1; /* plus 1 for a comma */
  }
  if (bench->list_length != 0 && length - 1 != bench->list_length)
    return jp_fail(error, JP_INVALID, "the pieces are %zu bytes of text, and the list is %zu", length - 1,
                   bench->list_length);
  return JP_OK;
}

static void write_get(struct bench *bench, size_t index)
{
  struct client *client = &bench->client;
  begin_request(client, "call");
  buffer_printf(&client->message,
                "{\"type\":\"java.util.ArrayList\",\"method\":\"get\",\"instance\":%u,\"args\":[%zu]}}",
                bench->list, index);
}

static enum jp_status fetch_one_by_one(struct bench *bench, struct jp_error *error)
{
  enum jp_status status = JP_OK;
  for (size_t i = 0; status == JP_OK && i < bench->strings; i++) {
    write_get(bench, i);
    status = ask(&bench->client, error);
  }
  return status;
}

/* Gets the elements by get(i), with WINDOW requests in flight. */
static enum jp_status fetch_in_flight(struct bench *bench, struct jp_error *error)
{
  struct client *client = &bench->client;
  uint64_t before = client->answers;
  enum jp_status status = JP_OK;
  for (size_t asked = 0; status == JP_OK && client->answers - before < bench->strings;) {
    while (asked < bench->strings && asked - (client->answers - before) < WINDOW) {
      write_get(bench, asked++);
      client->kind->send(client->link, buffer_text(&client->message));
    }
    status = await_answers(client, client->answers + 1, error);
  }
  return status;
}

/* ---- doubles, and a text as long ---- */

static enum jp_status encode_doubles(struct bench *bench, size_t count, struct jp_error *error)
{
  double *doubles = calloc(count, sizeof *doubles);
  for (size_t i = 0; doubles != NULL && i < count; i++)
    doubles[i] = (double)i * 1.1;
  if (doubles != NULL)
    base64_encode(&bench->encoded, (const uint8_t *)doubles, count * sizeof *doubles);
  free(doubles);
  return doubles == NULL || bench->encoded.failed ? jp_fail(error, JP_NO_MEMORY, "no memory for the doubles")
                                                  : JP_OK;
}

/* The answer holds the sent value unchanged. */
static enum jp_status check_encoded(struct bench *bench, struct jp_error *error)
{
  struct text sent = buffer_text(&bench->encoded);
  struct text answer = bench->client.answer;
  const char *end = memrchr(answer.data, '"', answer.len);
  if (end == NULL || (size_t)(end - answer.data) < sent.len ||
      memcmp(end - sent.len, sent.data, sent.len) != 0)
    return jp_fail(error, JP_INVALID, "another value was returned, of %zu bytes", answer.len);
  return JP_OK;
}

static enum jp_status send_there_and_back(struct bench *bench, const char *before, const char *after,
                                          struct jp_error *error)
{
  struct client *client = &bench->client;
  begin_request(client, "call");
  buffer_append_text(&client->message, text_of(before));
  buffer_append_text(&client->message, buffer_text(&bench->encoded));
  buffer_append_text(&client->message, text_of(after));
  enum jp_status status = ask(client, error);
  return status == JP_OK ? check_encoded(bench, error) : status;
}

static enum jp_status echo_text(struct bench *bench, struct jp_error *error)
{
  return send_there_and_back(bench, "{\"type\":\"fixtures.Arguments\",\"method\":\"echoString\",\"args\":[\"",
                             "\"]}}", error);
}

static enum jp_status echo_doubles(struct bench *bench, struct jp_error *error)
{
  return send_there_and_back(bench,
                             "{\"type\":\"fixtures.Arguments\",\"method\":\"echoDoubles\",\"args\":[{"
                             "\"type\":\"double[]\",\"value\":\"",
                             "\",\"encoding\":\"base64\"}]},\"options\":{\"encoding\":\"base64\"}}", error);
}

/* ---- measures ---- */

static const struct measure {
  const char *name;
  enum jp_status (*run)(struct bench *bench, struct jp_error *error);
} measures[] = {
    {"by_value", fetch_by_value},      {"fetch", fetch_in_pieces}, {"one_by_one", fetch_one_by_one},
    {"in_flight_64", fetch_in_flight}, {"text", echo_text},        {"doubles", echo_doubles},
};

enum { MEASURES = sizeof measures / sizeof *measures };

static enum jp_status run_rounds(struct bench *bench, size_t rounds, double elapsed[][ROUNDS_MAX],
                                 struct jp_error *error)
{
  enum jp_status status = JP_OK;
  for (size_t round = 0; round < rounds; round++) {
    for (size_t i = 0; status == JP_OK && i < MEASURES; i++) {
      int64_t begins = clock_now_ns();
      status = measures[i].run(bench, error);
      elapsed[i][round] = (double)(clock_now_ns() - begins) / 1e6;
    }
  }
  return status;
}

static void print_elapsed(size_t rounds, double elapsed[][ROUNDS_MAX])
{
  for (size_t i = 0; i < MEASURES; i++) {
    printf("%s\"%s\":[", i == 0 ? "{" : ",", measures[i].name);
    for (size_t round = 0; round < rounds; round++)
      printf("%s%.4f", round == 0 ? "" : ",", elapsed[i][round]);
    printf("]");
  }
  puts("}");
}

static enum jp_status connect_client(struct client *client, const char *address, struct jp_error *error)
{
  struct link_target target;
  client->listener.answer = handle_answer;
  enum jp_status status = link_target_parse(&target, address, &client->kind, error);
  return status == JP_OK ? client->kind->open(&target, &client->link, error) : status;
}

/* Each measure runs once before its times count. */
static enum jp_status run_bench(struct bench *bench, char **words, size_t rounds, struct jp_error *error)
{
  static double elapsed[MEASURES][ROUNDS_MAX];
  bench->strings = strtoul(words[2], NULL, 10);
  enum jp_status status = connect_client(&bench->client, words[1], error);
  if (status == JP_OK)
    status = encode_doubles(bench, strtoul(words[3], NULL, 10), error);
  if (status == JP_OK)
    status = make_list(bench, error);
  if (status == JP_OK)
    status = run_rounds(bench, 1, elapsed, error);
  if (status == JP_OK)
    status = run_rounds(bench, rounds, elapsed, error);
  if (status == JP_OK)
    print_elapsed(rounds, elapsed);
  return status;
}

int main(int argc, char **argv)
{
  size_t rounds = argc == 5 ? strtoul(argv[4], NULL, 10) : 0;
  if (rounds == 0 || rounds > ROUNDS_MAX) {
    fputs("usage: jpeer-bench-values ADDRESS STRINGS DOUBLES ROUNDS\n", stderr);
    return 2;
  }
  struct bench bench = {.list = 0};
  buffer_init(&bench.client.message);
  buffer_init(&bench.encoded);
  struct jp_error error;
  enum jp_status status = run_bench(&bench, argv, rounds, &error);
  if (status != JP_OK)
    fprintf(stderr, "jpeer-bench-values: %s\n", error.text);
  if (bench.client.link != NULL)
    bench.client.kind->close(bench.client.link);
  buffer_fini(&bench.client.message);
  buffer_fini(&bench.encoded);
  return status == JP_OK ? 0 : 1;
}

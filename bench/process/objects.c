/*
 * jpeer-bench-objects: the cost of one `new` in a session that holds many objects already.
 *
 * usage: jpeer-bench-objects ADDRESS PID HELD MEASURED
 *        jpeer-bench-objects ADDRESS PID HELD 0
 * Makes objects in one session until the session holds about HELD, then MEASURED more. For each of the MEASURED objects
 * it prints the mean processor time of the server (process PID) and the mean elapsed time, in microseconds. If MEASURED
 * is more than HELD, it uses several sessions, and measures in each while the session grows from HELD / 2 to
 * HELD * 3 / 2 objects. With MEASURED 0 it prints "held" and keeps the session until its standard input ends.
 */
#include "base/clock.h"
#include "bench/link.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { IN_FLIGHT = 64, SPIN_MS = 20000 };

struct client {
  struct link_listener listener; /* the first member, so that count_answer can cast it to its client */
  const struct link_kind *kind;
  struct link *link;
  unsigned open; /* requests without an answer */
};

struct times {
  int64_t passed_ns;
  int64_t server_ns;
};

struct wish {
  const char *address;
  int pid;
  unsigned long held;
  unsigned long measured;
};

static enum jp_status count_answer(struct link_listener *listener, struct text answer, struct jp_error *error)
{
  struct client *client = (struct client *)listener;
  if (client->open == 0 || memmem(answer.data, answer.len, "\"result\"", sizeof("\"result\"") - 1) == NULL)
    return jp_fail(error, JP_INVALID, "an answer that is no result: %.*s", TEXT_ARGS(answer));
  client->open--;
  return JP_OK;
}

static enum jp_status open_client(struct client *client, const char *address, struct jp_error *error)
{
  struct link_target target;
  *client = (struct client){.listener = {count_answer}};
  enum jp_status status = link_target_parse(&target, address, &client->kind, error);
  return status == JP_OK ? client->kind->open(&target, &client->link, error) : status;
}

static void close_client(struct client *client)
{
  if (client->link != NULL)
    client->kind->close(client->link);
}

/* Sends the same request count times, up to IN_FLIGHT at once, and waits for every answer. */
static enum jp_status ask(struct client *client, const char *request, unsigned long count,
                          struct jp_error *error)
{
  struct pollfd readable = {.fd = client->kind->fd(client->link), .events = POLLIN};
  enum jp_status status = JP_OK;
  while (status == JP_OK && (count > 0 || client->open > 0)) {
    bool blocked;
    bool again;
    for (; count > 0 && client->open < IN_FLIGHT; count--, client->open++)
      client->kind->send(client->link, text_of(request));
    status = client->kind->flush(client->link, &blocked, &again, error);
    if (status == JP_OK && poll(&readable, 1, SPIN_MS) != 1)
      status = jp_fail(error, JP_IO, "no answer");
    if (status == JP_OK)
      status = client->kind->receive(client->link, &client->listener, error);
  }
  return status;
}

static const char new_request[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"new\",\"params\":{\"type\":"
                                  "\"com.example.Calculator\"}}";
static const char end_request[] =
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"control\",\"params\":{\"method\":"
    "\"delete_session\"}}";

static struct times times_now(int pid)
{
  clockid_t clock;
  struct timespec used = {0};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0)
    fputs("jpeer-bench-objects: the server's processor time cannot be read\n", stderr);
  return (struct times){clock_now_ns(), (int64_t)used.tv_sec * 1000000000 + used.tv_nsec};
}

/* Fills a session, measures, and ends the session before the next session is measured. */
static enum jp_status measure(const struct wish *wish, unsigned long step, struct times *sum,
                              struct jp_error *error)
{
  struct client client;
  enum jp_status status = open_client(&client, wish->address, error);
  if (status == JP_OK)
    status = ask(&client, new_request, wish->held - step / 2, error);
  struct times before = times_now(wish->pid);
  if (status == JP_OK)
    status = ask(&client, new_request, step, error);
  struct times after = times_now(wish->pid);
  sum->passed_ns += after.passed_ns - before.passed_ns;
  sum->server_ns += after.server_ns - before.server_ns;
  if (status == JP_OK)
    status = ask(&client, end_request, 1, error);
  close_client(&client);
  return status;
}

static enum jp_status measure_all(const struct wish *wish, struct jp_error *error)
{
  unsigned long step = wish->measured < wish->held ? wish->measured : wish->held;
  struct times sum = {0};
  enum jp_status status = JP_OK;
  unsigned long done = 0;
  for (; status == JP_OK && done < wish->measured; done += step)
    status = measure(wish, step, &sum, error);
  if (status == JP_OK)
    printf("%.3f %.3f\n", (double)sum.server_ns / 1e3 / (double)done,
           (double)sum.passed_ns / 1e3 / (double)done);
  return status;
}

static enum jp_status hold(const struct wish *wish, struct jp_error *error)
{
  struct client client;
  enum jp_status status = open_client(&client, wish->address, error);
  if (status == JP_OK)
    status = ask(&client, new_request, wish->held, error);
  if (status == JP_OK) {
    char ignored;
    puts("held");
    fflush(stdout);
    while (read(STDIN_FILENO, &ignored, 1) > 0)
      ;
  }
  close_client(&client);
  return status;
}

int main(int argc, char **argv)
{
  struct wish wish = {0};
  if (argc == 5)
    wish = (struct wish){argv[1], (int)strtol(argv[2], NULL, 10), strtoul(argv[3], NULL, 10),
                         strtoul(argv[4], NULL, 10)};
  if (wish.held == 0) {
    fputs("usage: jpeer-bench-objects ADDRESS PID HELD MEASURED\n", stderr);
    return 2;
  }
  struct jp_error error;
  if ((wish.measured == 0 ? hold : measure_all)(&wish, &error) != JP_OK) {
    fprintf(stderr, "jpeer-bench-objects: %s\n", error.text);
    return 1;
  }
  return 0;
}

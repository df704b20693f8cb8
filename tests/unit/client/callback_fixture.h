#ifndef JPEER_TESTS_UNIT_CLIENT_CALLBACK_FIXTURE_H
#define JPEER_TESTS_UNIT_CLIENT_CALLBACK_FIXTURE_H
/* A fake peer that follows a fixed conversation exactly, and clients with callbacks. */
#include "client_fixture.h"

#include <stdio.h>
#include <stdlib.h>

/* One message: expected from the client, or sent by the peer. */
struct line {
  enum { FROM_CLIENT, FROM_PEER } from;
  const char *text;
};

struct play {
  const struct line *lines;
  size_t count;
  char fault[4096]; /* the first unexpected message; "": no message was unexpected */
};

#define PLAY(...)                                                                                            \
  {                                                                                                          \
    .lines = (const struct line[]){__VA_ARGS__},                                                             \
    .count = sizeof((const struct line[]){__VA_ARGS__}) / sizeof(struct line)                                \
  }

#define CLIENT(text_) ((struct line){FROM_CLIENT, text_})
#define PEER(text_)   ((struct line){FROM_PEER, text_})

/* id, within: literals. */
#define HEAD(id)               "{\"jsonrpc\":\"2.0\",\"id\":" id ","
#define CALL_T                 "\"method\":\"call\",\"params\":{\"type\":\"T\",\"method\":\"m\""
#define REQUEST(id)            CLIENT(HEAD(id) CALL_T "}}")
#define REQUEST_WITH(id, args) CLIENT(HEAD(id) CALL_T ",\"args\":[" args "]}}")
#define NESTED(id, within)     CLIENT(HEAD(id) CALL_T "},\"options\":{\"within\":\"" within "\"}}")
#define ANSWER(id)                                                                                           \
  PEER(HEAD(id) "\"result\":{\"void\":false,\"value\":{\"type\":\"int\",\"null\":false,\"value\":\"8\"}}}")
#define INT_0                 "{\"type\":\"int\",\"value\":0}"
#define GIVES_AS(id)          REQUEST_WITH(id, GIVEN("1"))
#define GIVES                 GIVES_AS("1")
#define GIVEN(id_of_callback) "{\"ref\":{\"callback\":" id_of_callback "}}"

#define CALLBACK(callback)                                                                                   \
  "\"method\":\"callback\",\"params\":{\"callback\":" callback ",\"interface\":\"a.I\",\"method\":\"f\""
#define CALLED_WITH(id, callback, parameters, args)                                                          \
  PEER(HEAD("\"" id "\"") CALLBACK(callback) ",\"parameters\":[" parameters "],\"args\":[" args "]}}")
#define CALLED(id, callback) CALLED_WITH(id, callback, "", "")
#define EVENT(callback, number)                                                                              \
  PEER("{\"jsonrpc\":\"2.0\"," CALLBACK(                                                                     \
      callback) ",\"parameters\":[\"int\"],\"args\":[{\"type\":\"int\",\"null\":false,\"value\":\"" number   \
                "\"}]}}")
#define RETURNED(id, value)    CLIENT(HEAD("\"" id "\"") "\"result\":" value "}")
#define FAILED_WITH(id, error) CLIENT(HEAD("\"" id "\"") "\"error\":{" error "}}")
#define RELEASED(callback, given)                                                                            \
  PEER("{\"jsonrpc\":\"2.0\",\"method\":\"callback_released\",\"params\":{\"callbacks\":[{"                  \
       "\"callback\":" callback ",\"given\":" given "}]}}")

static inline void note_fault(struct play *play, const char *what, struct text got, const char *wanted)
{
  if (play->fault[0] == '\0')
    snprintf(play->fault, sizeof play->fault, "%s\n%.*s\ninstead of\n%s", what, TEXT_ARGS(got), wanted);
}

/* A '#' in the line matches any byte. */
static inline bool is_line(struct text message, const char *line)
{
  size_t at = 0;
  while (at < message.len && line[at] != '\0' && (line[at] == '#' || line[at] == message.data[at]))
    at++;
  return at == message.len && line[at] == '\0';
}

/* False: an unexpected message, or the end of the connection. */
static inline bool play_through(struct fake_connection *connection, struct play *play)
{
  struct text message;
  for (size_t i = 0; i < play->count && play->fault[0] == '\0'; i++) {
    if (play->lines[i].from == FROM_PEER)
      fake_write(connection, "%s", play->lines[i].text);
    else if (!fake_read(connection, &message))
      note_fault(play, "the end", TEXT(""), play->lines[i].text);
    else if (!is_line(message, play->lines[i].text))
      note_fault(play, "the client says", message, play->lines[i].text);
  }
  return play->fault[0] == '\0';
}

/* The client ends the conversation. */
static inline void play_lines(struct fake_connection *connection, void *context)
{
  struct play *play = context;
  struct text message;
  if (play_through(connection, play)) {
    while (fake_read(connection, &message))
      note_fault(play, "the client says", message, "the end");
  }
}

/* A callback with its counters, and the conversation of its client. */
struct object {
  struct play play;
  struct fake_peer *peer; /* NULL: the peer of another object */
  struct jp_client *client;
  struct jp_callback *callback;
  _Atomic unsigned calls;
  unsigned released;
  int value;                                                            /* returned by the callback */
  void (*behave)(struct object *object, struct jp_callback_call *call); /* NULL: it returns `value` */
};

static inline void count_release(void *context)
{
  ((struct object *)context)->released++;
}

static inline void serve_call(void *context, struct jp_callback_call *call)
{
  struct object *object = context;
  const struct jp_argument value = jp_int(object->value);
  object->calls++;
  if (object->behave != NULL)
    object->behave(object, call);
  else
    assert_int_equal(jp_callback_return(call, &value, NULL), JP_CLIENT_OK);
}

/* given: gets the fixture's function and context, and the fixture's `released` if it has none. NULL: no
 * options. */
static inline void object_init(struct object *object, struct jp_client *client,
                               const struct jp_callback_config *given)
{
  struct jp_callback_config config = {0};
  struct jp_client_error error;
  if (given != NULL)
    config = *given;
  config.size = sizeof config;
  config.function = serve_call;
  if (config.released == NULL)
    config.released = count_release;
  config.context = object;
  object->client = client;
  if (jp_callback_create(client, &config, &object->callback, &error) != JP_CLIENT_OK)
    fail_msg("%s", error.text);
}

/* A call with the callback as its argument; the answer is 8. */
static inline enum jp_client_status give_object(const struct object *object, int timeout_ms,
                                                struct jp_client_error *error)
{
  const struct jp_request request =
      jp_build_class_method_call("T", "m", JP_ARGUMENTS(jp_callback_argument(object->callback)));
  struct jp_answer *answer;
  int64_t value = 0;
  enum jp_client_status status = jp_client_call(object->client, &request, timeout_ms, &answer, error);
  if (status == JP_CLIENT_OK && (!jp_answer_integer(answer, &value) || value != 8))
    status = JP_CLIENT_PROTOCOL;
  jp_answer_free(answer);
  return status;
}

static inline void assert_given(const struct object *object)
{
  struct jp_client_error error = {0};
  if (give_object(object, 30000, &error) != JP_CLIENT_OK)
    fail_msg("%s", error.text);
}

/* Starts a peer that follows the object's conversation, a client of this peer, and the callback. The configs
 * are NULL or as in object_init. */
static inline void begin_play(struct object *object, const struct jp_client_config *config,
                              const struct jp_callback_config *given)
{
  object->peer = fake_peer_start(play_lines, &object->play);
  object_init(object, fixture_open(object->peer, config), given);
}

/* Ends the peer and the conversation. */
static inline void end_play(struct object *object)
{
  fake_peer_stop(object->peer);
  if (object->play.fault[0] != '\0')
    fail_msg("%s", object->play.fault);
}

/* The usual end: nobody holds a reference. */
static inline void close_play(struct object *object)
{
  jp_client_close(object->client);
  end_play(object);
  assert_int_equal(object->released, 1);
}

static inline void release_and_close(struct object *object)
{
  jp_callback_release(object->callback);
  close_play(object);
}

#endif

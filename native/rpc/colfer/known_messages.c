#include "rpc/colfer/known_messages.h"

#include "base/clock.h"
#include "jni/fastpath/whole_number_call.h"
#include "rpc/channel.h"
#include "rpc/colfer/codec_state.h"
#include "rpc/colfer/exec_body.h"
#include "rpc/colfer/reply_template.h"
#include "rpc/fastpath/whole_number_path.h"
#include "rpc/peer_state.h"

#include <stdlib.h>

enum {
  MESSAGES = 8,
  NAMES_MAX = 256, /* of a class and its member */
  /* After so many messages that were not known, only one in so many is kept: others pay next to nothing. */
  MISSES_MAX = 64,
  MISSES_STEP = 16,
  VISITS = 16,         /* a power of two */
  VISIT_TTL_PART = 256 /* of a session's TTL */
};

struct known_message {
  struct exec_body body;
  struct jvm_whole_number_call call;
  struct reply_template reply;
  struct rpc_reached_member reached; /* its texts are in names */
  char names[NAMES_MAX];
};

/* When a message that named a session has last held it, so that its TTL began again. */
struct visit {
  struct uuid session;
  int64_t at_ms;
};

struct known_messages {
  struct known_message messages[MESSAGES];
  struct visit visits[VISITS];
  struct known_message *fitting; /* what the message in hand is; NULL: it is not known */
  size_t last;                   /* the message that fitted last */
  size_t oldest;                 /* the message that is replaced next */
  unsigned misses;               /* since one fitted */
};

/* ---- visits of sessions ---- */

static size_t place_of(const uint8_t *session)
{
  return session[sizeof(struct uuid) - 1] & (VISITS - 1);
}

static void note_visit(struct known_messages *known, struct text session)
{
  if (session.data == NULL)
    return;
  struct visit *visit = &known->visits[place_of((const uint8_t *)session.data)];
  memcpy(&visit->session, session.data, sizeof visit->session);
  visit->at_ms = clock_coarse_ms();
}

/*
 * A call that needs no object needs no session either, but it keeps alive the one that it names. Holding it takes as
 * long as all the rest, so that is left to the general path, and done again when a small part of the TTL is over.
 */
static bool has_visited(const struct known_messages *known, const struct rpc_peer *peer, struct text session)
{
  if (session.data == NULL)
    return true;
  const struct visit *visit = &known->visits[place_of((const uint8_t *)session.data)];
  return memcmp(&visit->session, session.data, sizeof visit->session) == 0 &&
         clock_coarse_ms() - visit->at_ms < peer->config.limits.session_ttl_ms / VISIT_TTL_PART;
}

/* ---- serving ---- */

static struct known_message *find_message(struct known_messages *known, const struct exec_head *head)
{
  for (size_t i = 0; i < MESSAGES; i++) {
    size_t at = (known->last + i) % MESSAGES;
    if (!exec_body_fits(&known->messages[at].body, head))
      continue;
    known->last = at;
    known->misses = 0;
    return &known->messages[at];
  }
  known->misses++;
  return NULL;
}

static bool has_room(const struct known_message *message, const struct exec_head *head, size_t reply_max)
{
  return reply_max == 0 || reply_template_length_max(&message->reply, head->message_id.len) <= reply_max;
}

/* Before the request's frame is closed. Out of line: most calls need no room for it. */
static __attribute__((noinline)) void answer_failed(const struct jvm_request *jvm,
                                                    const struct known_message *message,
                                                    const struct exec_head *head,
                                                    const struct known_call *call)
{
  struct outcome failed;
  jvm_whole_number_call_fail(jvm, &failed);
  call->answer_failed(call, head->message_id, &message->reached, &failed);
}

static bool run_framed(const struct known_message *message, struct jvm_objects *objects,
                       const struct exec_head *head, const struct known_call *call)
{
  struct rpc_runner *runner = call->runner;
  const struct jvm_request jvm = {.thread = runner->thread,
                                  .objects = objects,
                                  .operation = &message->body.operation,
                                  .arena = &runner->arena,
                                  .limits = &runner->peer->config.limits.java};
  int64_t result = 0;
  rpc_call_begin(runner->watch, &message->body.operation, &message->reached, call->client->number, false);
  rpc_call_reach(runner->watch);
  enum jvm_whole_number told = jvm_whole_number_call_run(&jvm, &message->call, &result);
  if (told == JVM_WHOLE_NUMBER_THREW)
    answer_failed(&jvm, message, head, call); /* before the end, which may call the JVM */
  rpc_call_end(runner->watch, runner->thread);
  if (told == JVM_WHOLE_NUMBER_UNFIT)
    return false;
  call->client->calls++;
  if (told == JVM_WHOLE_NUMBER_THREW)
    return true;
  reply_template_write(&message->reply, rpc_colfer_ids_next(&call->own->ids).data, head->message_id, result,
                       call->out);
  return true;
}

/* objects: NULL where the call has no receiver. */
static bool run_message(const struct known_message *message, struct jvm_objects *objects,
                        const struct exec_head *head, const struct known_call *call)
{
  if (jvm_request_begin(call->runner->thread) != JP_OK)
    return false;
  bool served = run_framed(message, objects, head, call);
  jvm_request_end(call->runner->thread);
  return served;
}

static __attribute__((noinline)) bool run_in_session(const struct known_message *message,
                                                     const struct exec_head *head,
                                                     const struct known_call *call)
{
  struct rpc_run run = {.runner = call->runner, .client = call->client};
  struct rpc_session *session;
  struct outcome failed; /* the general path tells it */
  struct uuid uuid;
  if (head->peer_uuid.data != NULL)
    memcpy(&uuid, head->peer_uuid.data, sizeof uuid);
  rpc_run_begin(&run, head->peer_uuid.data == NULL ? NULL : &uuid, false);
  bool served = rpc_run_find_session(&run, false, &session, &failed) == JP_OK && session != NULL &&
                run_message(message, rpc_session_objects(session), head, call);
  rpc_run_end(&run);
  return served;
}

bool known_messages_serve(struct known_messages *known, const struct known_call *call)
{
  struct exec_head head;
  if (known == NULL)
    return false;
  known->fitting = NULL;
  if (!exec_head_read(call->message, &head))
    return false;
  if (!rpc_channels[call->client->channel].names_session_in_message)
    head.peer_uuid = TEXT_ABSENT;
  struct known_message *message = find_message(known, &head);
  known->fitting = message;
  if (message == NULL || !has_room(message, &head, call->reply_max) ||
      !whole_number_path_is_allowed(&message->call, &message->body.operation, call->runner, call->client))
    return false;
  if (message->body.operation.has_instance)
    return run_in_session(message, &head, call);
  return has_visited(known, call->runner->peer, head.peer_uuid) && run_message(message, NULL, &head, call);
}

/* ---- keeping ---- */

static bool copy_name(struct known_message *message, size_t at, struct text *name)
{
  if (name->len > NAMES_MAX - at)
    return false;
  memcpy(message->names + at, name->data, name->len);
  name->data = message->names + at;
  return true;
}

static bool keep_reached(struct known_message *message, const struct rpc_reached_member *reached)
{
  message->reached = *reached;
  return copy_name(message, 0, &message->reached.class_name) &&
         copy_name(message, reached->class_name.len, &message->reached.member);
}

/* A template is good that comes to the reply it was made of. */
static bool writes_reply(const struct reply_template *reply, const struct colfer_message *decoded,
                         struct text request_id, int64_t number, struct buffer *out, size_t start)
{
  char own_id[UUID_TEXT_LENGTH];
  size_t length = out->len - start;
  memcpy(own_id, decoded->exec_message->message_id.data, sizeof own_id);
  reply_template_write(reply, own_id, request_id, number, out); /* decoded may be lost here */
  struct text both = buffer_text(out);
  bool is_same =
      text_equal(text_slice(both, start, start + length), text_slice(both, start + length, both.len));
  buffer_truncate(out, start + length);
  return is_same && !out->failed;
}

static bool keep_reply(struct known_message *message, struct text request_id, const struct known_call *call,
                       const struct known_outcome *made)
{
  struct text bytes = text_slice(buffer_text(call->out), made->reply, call->out->len);
  struct colfer_message decoded;
  return colfer_decode(&colfer_message_type, bytes, &call->runner->arena, &decoded, NULL) == JP_OK &&
         reply_template_fill(&message->reply, bytes, &decoded, request_id) &&
         message->reply.has_number == (message->call.result != 'V') &&
         writes_reply(&message->reply, &decoded, request_id, made->outcome->value.integer, call->out,
                      made->reply);
}

static bool fill_message(struct known_message *message, const struct exec_head *head,
                         const struct jvm_whole_number_call *java, const struct known_call *call,
                         const struct known_outcome *made)
{
  message->call = *java;
  return exec_body_keep(&message->body, head, made->request->exec_message, made->operation) &&
         keep_reached(message, made->reached) && keep_reply(message, head->message_id, call, made);
}

/* Where the message is to be kept; NULL: it is kept already, or passed over. */
static struct known_message *choose_place(struct known_messages *known,
                                          const struct jvm_whole_number_call *java)
{
  struct known_message *fitting = known->fitting;
  if (fitting != NULL)
    return fitting->call.member == java->member && fitting->call.serial == java->serial ? NULL : fitting;
  bool is_skipped = known->misses > MISSES_MAX && known->misses % MISSES_STEP != 0;
  return is_skipped ? NULL : &known->messages[known->oldest];
}

/* The next one takes the same place, where this one cannot be kept. */
static void keep_message(struct known_messages *known, const struct exec_head *head,
                         const struct jvm_whole_number_call *java, const struct known_call *call,
                         const struct known_outcome *made)
{
  struct known_message *place = choose_place(known, java);
  if (place == NULL)
    return;
  if (!fill_message(place, head, java, call, made)) {
    place->body.message_type = 0;
  } else if (place != known->fitting) {
    known->last = known->oldest;
    known->oldest = (known->oldest + 1) % MESSAGES;
  }
}

void known_messages_keep(struct known_messages **known, const struct known_call *call,
                         const struct known_outcome *made)
{
  struct jvm_whole_number_call java;
  struct exec_head head;
  if (made->outcome->kind == OUTCOME_ERROR || made->reached->resolved == NULL || call->out->failed ||
      made->operation->value_refs ||
      !jvm_whole_number_call_keep(call->runner->thread, made->reached->resolved, made->operation, &java) ||
      !exec_head_read(call->message, &head))
    return;
  if (*known == NULL)
    *known = calloc(1, sizeof **known);
  if (*known == NULL)
    return;
  note_visit(*known, head.peer_uuid);
  keep_message(*known, &head, &java, call, made);
}

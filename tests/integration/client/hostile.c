/*
 * A program that calls all functions of the client library against tests/release/hostile_peer.py. No message
 * may crash it. The program ends with 0 after the given time.
 *
 * usage: client_hostile FOLDER SECONDS SEED
 */
#include "jpeer/client.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TIMEOUT_MS = 20, KEPT = 16, TEXT_MAX = 256 };

struct player {
  unsigned random;
  unsigned long operations;
  unsigned long answered;
  struct jp_client *client;
  struct jp_callback *callback;
  struct jp_ref *kept[KEPT];
  bool is_over; /* the connection has ended */
  int depth;    /* how many functions of callbacks are running inside one another */
};

static unsigned choose(struct player *player, unsigned count)
{
  player->random = player->random * 1664525U + 1013904223U;
  return (player->random >> 8) % count;
}

static void keep(struct player *player, struct jp_ref *ref)
{
  struct jp_ref **place = &player->kept[choose(player, KEPT)];
  jp_ref_release(*place);
  *place = ref;
}

/* Reads every byte of a text. */
static void read_text(struct jp_text text)
{
  volatile unsigned sum = 0;
  for (size_t i = 0; text.data != NULL && i < text.len; i++)
    sum += (unsigned char)text.data[i];
}

static void read_json(struct player *player, struct jp_answer *owner, struct jp_json value, int depth)
{
  struct jp_json key, element;
  int64_t integer;
  double number;
  bool boolean;
  char text[TEXT_MAX];
  read_text(value.text);
  (void)jp_json_integer(value, &integer);
  (void)jp_json_number(value, &number);
  (void)jp_json_boolean(value, &boolean);
  (void)jp_json_string(value, text, choose(player, sizeof text));
  if (owner != NULL) {
    struct jp_ref *ref = jp_answer_take_ref(owner, value);
    if (ref != NULL)
      keep(player, ref);
  }
  if (depth > 20)
    return;
  struct jp_json_cursor cursor = jp_json_enter(value);
  while (jp_json_next(&cursor, &key, &element))
    read_json(player, owner, element, depth + 1);
}

static void read_throwable(const struct jp_throwable *throwable)
{
  for (; throwable != NULL; throwable = throwable->cause) {
    read_text(jp_text_of(throwable->type == NULL ? "" : throwable->type));
    read_text(jp_text_of(throwable->message == NULL ? "" : throwable->message));
    for (size_t i = 0; i < throwable->stack_count; i++)
      read_text(jp_text_of(throwable->stack[i]));
  }
}

/* Calls every accessor. */
static void read_answer(struct player *player, const struct jp_answer *answer, struct jp_answer *owned)
{
  static const char *const arrays[] = {"int[]",  "byte[]",  "double[]", "boolean[]", "char[]",
                                       "long[]", "float[]", "[I",       ""};
  double elements[8];
  int64_t integer;
  double number;
  bool boolean;
  size_t length;
  (void)jp_answer_kind(answer);
  read_text(jp_text_of(jp_answer_type(answer)));
  read_text(jp_answer_text(answer));
  const char *text = jp_answer_text_of(answer, &length);
  if (text != NULL && text[length] != '\0')
    abort();
  const char *json = jp_answer_json_of(answer, &length);
  if (json != NULL && json[length] != '\0')
    abort();
  (void)jp_answer_boolean(answer, &boolean);
  (void)jp_answer_integer(answer, &integer);
  (void)jp_answer_number(answer, &number);
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
    (void)jp_answer_array(answer, arrays[i], elements, choose(player, 9));
  read_json(player, owned, jp_answer_json(answer), 0);
  (void)jp_answer_error_code(answer);
  read_text(jp_text_of(jp_answer_error_message(answer)));
  read_throwable(jp_answer_throwable(answer));
  struct jp_ref *ref = jp_answer_ref(answer);
  if (ref != NULL) {
    read_text(jp_text_of(jp_ref_type(ref)));
    (void)jp_ref_number(ref);
    if (choose(player, 2) == 0)
      keep(player, jp_ref_keep(ref));
  }
  player->answered += answer != NULL;
}

static struct jp_request make_request(struct player *player, struct jp_argument *args,
                                      const struct jp_options *options)
{
  static const int ints[] = {1, 2, 3};
  struct jp_ref *ref = player->kept[choose(player, KEPT)];
  struct jp_argument object = ref != NULL ? jp_object(ref) : jp_object_number(1 + choose(player, 9));
  args[0] = choose(player, 2) == 0 ? jp_int(5) : jp_array("int[]", ints, 3);
  args[1] =
      player->callback != NULL && choose(player, 3) == 0 ? jp_callback_argument(player->callback) : object;
  struct jp_request made;
  switch (choose(player, 9)) {
  case 0:
    made = jp_build_constructor_call("a.B", args, choose(player, 3));
    break;
  case 1:
    made = jp_build_instance_method_call("a.B", "f", object, args, choose(player, 3));
    break;
  case 2:
    made = jp_build_instance_field_get("a.B", object, "x");
    break;
  case 3:
    made = jp_build_static_field_put("a.B", "x", args);
    break;
  case 4:
    made = jp_build_fetch(object, 10, 0);
    break;
  case 5:
    made = jp_build_describe(object);
    break;
  case 6:
    made = jp_build_method("java.util.List.of", jp_text_of("[1]"));
    break;
  case 7:
    made = jp_build_fetch_classes_info(NULL, NULL, true, true);
    break;
  default:
    made = jp_build_class_method_call("a.B", "f", args, choose(player, 3));
    break;
  }
  return choose(player, 3) == 0 ? jp_with_options(made, options) : made;
}

static void call(struct player *player)
{
  const struct jp_options options = {
      .size = sizeof options, .elements = true, .throwables = true, .base64 = true};
  struct jp_argument args[2];
  struct jp_request request = make_request(player, args, &options);
  struct jp_client_error error;
  struct jp_answer *answer = NULL;
  enum jp_client_status status = jp_client_call(player->client, &request, TIMEOUT_MS, &answer, &error);
  if (status != JP_CLIENT_OK && error.text[0] == '\0')
    abort();
  player->is_over = status == JP_CLIENT_CLOSED || status == JP_CLIENT_PROTOCOL;
  read_answer(player, answer, answer);
  jp_answer_free(answer);
}

static void call_json(struct player *player)
{
  static const char *const texts[] = {"{\"method\":\"call\",\"params\":{},\"options\":{\"elements\":true}}",
                                      "{\"method\":\"jpeer.fetch\"}", "{\"method\":\"a.B.f\"}"};
  const char *text = texts[choose(player, 3)];
  struct jp_answer *answer = NULL;
  (void)!jp_client_call_json(player->client, text, strlen(text), TIMEOUT_MS, &answer, NULL);
  read_answer(player, answer, answer);
  jp_answer_free(answer);
}

static void send_chain(struct player *player)
{
  struct jp_chain *chain = jp_chain_create(player->client);
  struct jp_client_error error;
  jp_chain_create_object(chain, "a", "a.B", JP_NO_ARGUMENTS);
  for (unsigned i = choose(player, 5); i > 0; i--)
    jp_chain_call(chain, i == 2 ? "b" : NULL, "f", JP_ARGUMENTS(jp_int(5), jp_named("a")));
  (void)!jp_chain_send(chain, TIMEOUT_MS, &error);
  read_answer(player, jp_chain_answer(chain, "a"), jp_chain_answer(chain, "a"));
  read_answer(player, jp_chain_answer(chain, "b"), NULL);
  read_answer(player, jp_chain_failure(chain), NULL);
  jp_chain_destroy(chain);
}

static void complete(void *context, enum jp_client_status status, struct jp_answer *answer)
{
  (void)status;
  read_answer(context, answer, answer);
  jp_answer_free(answer);
}

static void send_some(struct player *player)
{
  struct pollfd set = {.fd = jp_client_descriptor(player->client), .events = POLLIN};
  for (unsigned i = choose(player, 5); i > 0; i--) {
    struct jp_argument args[2];
    struct jp_request request = make_request(player, args, NULL);
    if (choose(player, 4) == 0)
      (void)!jp_client_notify(player->client, &request, NULL);
    else
      (void)!jp_client_send(player->client, &request, TIMEOUT_MS, complete, player, NULL);
  }
  for (int i = 0; i < 5 && poll(&set, 1, 10) >= 0 && jp_client_process(player->client, NULL) == JP_CLIENT_OK;
       i++)
    continue;
  (void)jp_client_flush(player->client);
}

static void play_once(struct player *player)
{
  player->operations++;
  switch (choose(player, 6)) {
  case 0:
    send_chain(player);
    break;
  case 1:
    send_some(player);
    break;
  case 2:
    call_json(player);
    break;
  default:
    call(player);
    break;
  }
}

static void run_callback(void *context, struct jp_callback_call *java)
{
  struct player *player = context;
  const struct jp_argument result = jp_int(5);
  read_text(jp_text_of(jp_callback_interface(java)));
  read_text(jp_text_of(jp_callback_method(java)));
  for (size_t i = 0; i <= jp_callback_argument_count(java); i++) {
    const char *type = jp_callback_parameter_type(java, i);
    read_text(jp_text_of(type == NULL ? "" : type));
    read_answer(player, jp_callback_argument_at(java, i), NULL);
  }
  if (player->depth < 3 && choose(player, 3) == 0) {
    player->depth++;
    call(player);
    player->depth--;
  }
  switch (choose(player, 4)) {
  case 0:
    (void)!jp_callback_throw(java, "java.lang.IllegalStateException", "no", NULL);
    break;
  case 1:
    break;
  default:
    (void)!jp_callback_return(java, &result, NULL);
    break;
  }
}

static struct jp_client *open_client(struct player *player, const char *folder)
{
  static const struct {
    const char *scheme, *name;
  } ways[] = {{"ws+unix:", "socket"},
              {"ws+unix:", "socket"},
              {"http+unix:", "socket"},
              {"shm:", "socket"},
              {"ipc://", "zeromq"}};
  unsigned way = choose(player, sizeof ways / sizeof ways[0]);
  char url[TEXT_MAX];
  const struct jp_client_config config = {.size = sizeof config,
                                          .connect_timeout_ms = 200,
                                          .reconnects = choose(player, 3) == 0,
                                          .binary = way == 4 && choose(player, 2) == 0,
                                          .message_max = choose(player, 4) == 0 ? 2000 : 0,
                                          .pending_max = choose(player, 4) == 0 ? 3 : 0};
  struct jp_client *client = NULL;
  snprintf(url, sizeof url, "%s%s/%s", ways[way].scheme, folder, ways[way].name);
  (void)!jp_client_open(url, &config, &client, NULL);
  return client;
}

static void play(struct player *player, const char *folder)
{
  const struct jp_callback_config config = {
      .size = sizeof config, .borrow = choose(player, 2) == 0, .function = run_callback, .context = player};
  player->client = open_client(player, folder);
  player->operations++;
  if (player->client == NULL)
    return;
  (void)!jp_callback_create(player->client, &config, &player->callback, NULL);
  player->is_over = false;
  for (unsigned i = 1 + choose(player, 40); i > 0 && !player->is_over; i--)
    play_once(player);
  bool is_closed_first = choose(player, 2) == 0; /* handles may be released after the client was closed */
  if (choose(player, 4) == 0)
    jp_client_end(player->client);
  if (is_closed_first)
    jp_client_close(player->client);
  for (size_t i = 0; i < KEPT; i++) {
    jp_ref_release(player->kept[i]);
    player->kept[i] = NULL;
  }
  jp_callback_release(player->callback);
  player->callback = NULL;
  if (!is_closed_first)
    jp_client_close(player->client);
  player->client = NULL;
}

int main(int count, char **words)
{
  if (count != 4)
    return 2;
  struct player player = {.random = (unsigned)strtoul(words[3], NULL, 10)};
  const time_t end = time(NULL) + strtol(words[2], NULL, 10);
  while (time(NULL) < end)
    play(&player, words[1]);
  printf("%lu operations, %lu answers\n", player.operations, player.answered);
  return player.answered > 0 ? 0 : 1; /* otherwise the peer never answered */
}

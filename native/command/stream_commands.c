/* Commands whose output is a stream: each and rpc. */
#include "command/command.h"

#include "base/clock.h"
#include "client/transports/transport.h"
#include "command/element_pages.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- each ---- */

enum { PAGE_MAX = 1000, PAGE_QUICK_MS = 50, PAGE_SLOW_MS = 200 };

/* Returns the number of elements for the next page: more if the last page arrived quickly, fewer if it arrived
 * slowly. The first page has one element, so that a slow stream shows each element at once. */
static size_t next_page(size_t page, int64_t took_ms)
{
  if (took_ms < PAGE_QUICK_MS)
    return page * 2 < PAGE_MAX ? page * 2 : PAGE_MAX;
  return took_ms > PAGE_SLOW_MS && page > 1 ? page / 2 : page;
}

static bool write_line(const struct command *command, struct text line)
{
  command_write_text(command, line);
  return fputc('\n', command->out) != EOF;
}

/* Prints the elements of a page as texts; the texts of objects are asked for together. */
static bool print_texts(struct command *command, struct value_pool *pool, struct fetch *fetch)
{
  struct jp_json element;
  struct value *values[PAGE_MAX];
  struct buffer line;
  size_t length = 0;
  for (struct jp_json_cursor cursor = jp_json_enter(fetch->elements);
       length < PAGE_MAX && jp_json_next(&cursor, NULL, &element);) {
    values[length] = fetch_value(fetch, pool, element);
    if (values[length++] == NULL)
      return false;
  }
  buffer_init(&line);
  bool is_good = command_learn_texts(command, values, length);
  for (size_t i = 0; is_good && i < length; i++) {
    buffer_clear(&line);
    command_append_plain(values[i], &line);
    is_good = write_line(command, line.len == 0 ? TEXT("") : buffer_text(&line));
  }
  buffer_fini(&line);
  return is_good;
}

static bool print_jsons(struct command *command, const struct fetch *fetch)
{
  struct jp_json element;
  bool is_good = true;
  for (struct jp_json_cursor cursor = jp_json_enter(fetch->elements);
       is_good && jp_json_next(&cursor, NULL, &element);)
    is_good = write_line(command, (struct text){element.text.data, element.text.len});
  return is_good;
}

/* Closes the object if it is a Stream, so that the file or other source of the Stream is closed. For a Stream
 * that was not read to its end. */
static void close_stream(struct command *command, const struct value *object)
{
  struct jp_argument argument = jp_object(object->ref);
  struct jp_request is_stream = jp_build_instance_method_call(
      NULL, "isInstance", jp_text_of_type("java.lang.Class", "java.util.stream.BaseStream"), &argument, 1);
  struct jp_request close_it =
      jp_build_instance_method_call("java.util.stream.BaseStream", "close", argument, JP_NO_ARGUMENTS);
  struct jp_answer *answer;
  const struct failure *failure;
  bool truth = false;
  close_it.options = evaluator_options(command->evaluator);
  if (evaluator_ask(command->evaluator, &is_stream, 1, &truth) && truth &&
      evaluator_request(command->evaluator, &close_it, &answer, &failure))
    jp_answer_free(answer);
}

int command_print_elements(struct command *command, struct value *object)
{
  const bool is_plain = command->options.json || command->options.ndjson;
  struct value_pool pool = {0};
  struct progress progress = {0};
  struct fetch fetch;
  size_t page = 1;
  bool is_written = true;
  int code = COMMAND_GOOD;
  fetch_begin(&fetch, command->evaluator, object, is_plain ? FETCH_PLAIN : FETCH_TYPED, FETCH_FOR_PROGRAM);
  while (code == COMMAND_GOOD && !fetch.is_done && is_written) {
    const struct failure *failure;
    int64_t begin_ms = clock_now_ms();
    if (!command->is_terminal) /* else the elements themselves show it */
      command_show_progress(&progress, fetch.count);
    if (!fetch_page(&fetch, page, &failure)) {
      command_end_progress(&progress);
      code = command_pipe_has_ended() ? COMMAND_GOOD : command_report(command, failure, TEXT_ABSENT);
      break;
    }
    page = next_page(page, clock_now_ms() - begin_ms);
    is_written = is_plain ? print_jsons(command, &fetch) : print_texts(command, &pool, &fetch);
    if (is_written || ferror(command->out))
      code = command_flush_output(command);
    else if (!command_pipe_has_ended()) /* the texts of the elements did not arrive */
      code = command_report_lost(command);
    is_written = is_written && !command_pipe_has_ended();
    value_pool_drain(&pool, 0);
  }
  const bool is_done = fetch.is_done;
  command_end_progress(&progress);
  fetch_end(&fetch);
  value_pool_fini(&pool);
  if (!is_done) {
    command_forget_interrupt();
    close_stream(command, object);
  }
  return code;
}

int command_each(struct command *command)
{
  struct text source = text_of(command->words[0]);
  struct value *value;
  const struct failure *failure;
  char words[120];
  int code = COMMAND_GOOD;
  if (!evaluator_run(command->evaluator, source, &value, &failure))
    return command_report(command, failure, source);
  command_watch_pipe();
  if (value->kind == VALUE_OBJECT) {
    code = command_print_elements(command, value);
  } else if (value->kind == VALUE_LIST || value->kind == VALUE_ENTRY || value->kind == VALUE_MAP) {
    struct buffer line;
    buffer_init(&line);
    for (size_t i = 0; i < value->item_count; i++) {
      buffer_clear(&line);
      command_append_plain(value->items[i], &line);
      if (value->kind == VALUE_MAP) {
        buffer_append_char(&line, '=');
        command_append_plain(value->items[++i], &line);
      }
      (void)write_line(command, line.len == 0 ? TEXT("") : buffer_text(&line));
    }
    buffer_fini(&line);
  } else {
    fprintf(stderr, "jpeer each: %s has no elements\n", value_describe(value, words));
    code = COMMAND_FAILED;
  }
  value_release(value);
  return code;
}

/* ---- rpc ---- */

/* Messages go to the peer and back as they are, so the transport is used without a client. */
struct relay {
  struct transport_listener listener; /* first */
  struct client_transport *transport;
  struct buffer input;
  size_t awaited; /* answers */
  bool input_has_ended;
  bool has_error; /* an answer is an error */
  bool is_written;
};

static bool has_answer(struct text line)
{
  struct jp_json json;
  struct jp_json item;
  bool is_answered = false;
  if (jp_json_parse((struct jp_text){line.data, line.len}, 1000, &json, NULL) != JP_JSONRPC_OK ||
      (json.kind == JP_JSON_ARRAY && jp_json_count(json) == 0))
    return true;
  if (json.kind != JP_JSON_ARRAY)
    return json.kind != JP_JSON_OBJECT || jp_json_member(json, "id").kind != JP_JSON_ABSENT;
  for (struct jp_json_cursor cursor = jp_json_enter(json); jp_json_next(&cursor, NULL, &item);)
    is_answered |= item.kind != JP_JSON_OBJECT || jp_json_member(item, "id").kind != JP_JSON_ABSENT;
  return is_answered;
}

static bool is_error(struct jp_json json)
{
  struct jp_json item;
  if (json.kind != JP_JSON_ARRAY)
    return jp_json_member(json, "error").kind == JP_JSON_OBJECT;
  for (struct jp_json_cursor cursor = jp_json_enter(json); jp_json_next(&cursor, NULL, &item);) {
    if (is_error(item))
      return true;
  }
  return false;
}

static enum jp_client_status print_message(struct transport_listener *listener, struct text message,
                                           struct jp_client_error *error)
{
  struct relay *relay = (struct relay *)listener;
  struct jp_json json;
  (void)error;
  if (jp_json_parse((struct jp_text){message.data, message.len}, 1000, &json, NULL) == JP_JSONRPC_OK) {
    bool is_request = json.kind == JP_JSON_OBJECT && jp_json_member(json, "method").kind != JP_JSON_ABSENT;
    relay->has_error |= is_error(json);
    relay->awaited -= !is_request && relay->awaited > 0;
  }
  fwrite(message.data, 1, message.len, stdout);
  putchar('\n');
  return JP_CLIENT_OK;
}

static void keep_epoch(struct transport_listener *listener, struct text epoch)
{
  (void)listener;
  (void)epoch;
}

static void send_line(struct relay *relay, struct text line)
{
  bool is_blank = true;
  for (size_t i = 0; i < line.len; i++)
    is_blank &= line.data[i] == ' ' || line.data[i] == '\t' || line.data[i] == '\r';
  if (is_blank)
    return;
  bool is_answered = has_answer(line);
  buffer_append_text(relay->transport->kind->begin(relay->transport), line);
  relay->transport->kind->end(relay->transport, is_answered);
  relay->awaited += is_answered;
}

/* Sends the whole lines of the input, at its end also one without a line end. False: stdin cannot be read. */
static bool read_lines(struct relay *relay)
{
  char *room = buffer_reserve(&relay->input, 65536);
  ssize_t length = room == NULL ? -1 : read(STDIN_FILENO, room, 65536);
  if (length < 0)
    return room != NULL && errno == EINTR;
  relay->input.len += (size_t)length;
  relay->input_has_ended = length == 0;
  size_t from = 0;
  for (size_t at = from; at < relay->input.len; at++) {
    if (relay->input.data[at] != '\n')
      continue;
    send_line(relay, text_slice(buffer_text(&relay->input), from, at));
    from = at + 1;
  }
  if (relay->input_has_ended && from < relay->input.len) {
    send_line(relay, text_slice(buffer_text(&relay->input), from, relay->input.len));
    from = relay->input.len;
  }
  buffer_consume(&relay->input, from);
  return true;
}

enum { AWAITED_MAX = 1000 }; /* more lines are read when answers have arrived */

static enum jp_client_status pass_messages(struct relay *relay, int timeout_ms, bool *is_timed_out,
                                           struct jp_client_error *error)
{
  struct client_transport *transport = relay->transport;
  enum jp_client_status status = transport->kind->flush(transport, error);
  if (status != JP_CLIENT_OK)
    return status;
  bool reads = !relay->input_has_ended && relay->awaited < AWAITED_MAX;
  struct pollfd fds[2] = {
      {.fd = transport->kind->descriptor(transport),
       .events = (short)(POLLIN | (transport->kind->wants_to_write(transport) ? POLLOUT : 0))},
      {.fd = reads ? STDIN_FILENO : -1, .events = POLLIN}};
  int ready = transport->kind->has_input(transport) ? 1 : command_poll(fds, 2, timeout_ms);
  *is_timed_out = ready == 0;
  if (ready < 0)
    return JP_CLIENT_OK; /* a signal */
  if ((fds[1].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !read_lines(relay))
    return snprintf(error->text, sizeof error->text, "cannot read stdin: %s", strerror(errno)),
           JP_CLIENT_INVALID;
  status = transport->kind->receive(transport, &relay->listener, error);
  relay->is_written = fflush(stdout) == 0;
  return status;
}

static int run_relay(struct command *command, struct relay *relay)
{
  const int timeout_ms = command->options.timeout_ms == 0 ? -1 : (int)command->options.timeout_ms;
  struct jp_client_error error = {0};
  enum jp_client_status status = JP_CLIENT_OK;
  while (status == JP_CLIENT_OK && relay->is_written && !(relay->input_has_ended && relay->awaited == 0)) {
    bool is_timed_out = false;
    status = pass_messages(relay, relay->awaited > 0 ? timeout_ms : -1, &is_timed_out, &error);
    if (command_is_interrupted())
      return COMMAND_INTERRUPTED;
    if (is_timed_out) {
      fprintf(stderr, "jpeer rpc: no answer in %d ms\n", timeout_ms);
      return COMMAND_TIMED_OUT;
    }
  }
  if (status == JP_CLIENT_OK)
    return relay->has_error ? COMMAND_FAILED : COMMAND_GOOD;
  fprintf(stderr, "jpeer rpc: %s\n", error.text);
  return status == JP_CLIENT_CLOSED ? COMMAND_UNREACHED : COMMAND_FAILED;
}

/* Over HTTP each message has the token; the token of the first one is kept. */
static enum jp_client_status use_token(struct client_transport *transport,
                                       const struct client_credentials *credentials,
                                       struct jp_client_error *error)
{
  char token[JP_TOKEN_SIZE];
  if (transport->kind->use_token == NULL)
    return JP_CLIENT_OK;
  enum jp_client_status status = client_credentials_read_token(credentials, token, error);
  if (status == JP_CLIENT_OK && !transport->kind->use_token(transport, token))
    status = JP_CLIENT_NO_MEMORY;
  explicit_bzero(token, sizeof token);
  return status;
}

int command_rpc(struct command *command)
{
  const char *url = command->peer != NULL ? jp_peer_url(command->peer) : command->options.url;
  struct relay relay = {.listener = {print_message, keep_epoch}, .is_written = true};
  const struct jp_client_config config = command_client_config(command);
  struct client_credentials credentials;
  const struct transport_options options = {
      .timeout_ms = 10000, .message_max = (size_t)256 << 20, .credentials = &credentials};
  const struct transport_kind *kind;
  struct client_url parts;
  struct jp_client_error error = {0};
  enum jp_client_status status = client_url_parse(url, &parts, &kind, &error);
  if (status == JP_CLIENT_OK && kind->session_is_named && kind->names_in_messages)
    return command_fail_usage(command,
                              "messages over ZeroMQ name their session themselves: use another address");
  enum jp_client_status checked = client_credentials_init(&credentials, &config, &error);
  status = status == JP_CLIENT_OK ? checked : status;
  if (status == JP_CLIENT_OK)
    status = kind->open(&parts, &options, &relay.transport, &error);
  if (status == JP_CLIENT_OK)
    status = use_token(relay.transport, &credentials, &error);
  if (status != JP_CLIENT_OK) {
    if (relay.transport != NULL)
      relay.transport->kind->close(relay.transport);
    client_credentials_fini(&credentials);
    fprintf(stderr, "jpeer rpc: %s\n", error.text);
    return status == JP_CLIENT_INVALID || status == JP_CLIENT_UNSUPPORTED ? COMMAND_USAGE : COMMAND_UNREACHED;
  }
  buffer_init(&relay.input);
  int code = run_relay(command, &relay);
  buffer_fini(&relay.input);
  relay.transport->kind->close(relay.transport);
  client_credentials_fini(&credentials);
  return code;
}

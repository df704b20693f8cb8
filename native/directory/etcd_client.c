#include "directory/etcd_client.h"

#include "base/base64.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/small_file.h"
#include "directory/curl_library.h"
#include "json/reader.h"
#include "json/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum {
  USER_FILE_MAX = 4096,
  TOKEN_MAX = 4096,
  HOST_MAX = 253,
  ANSWER_DEPTH_MAX = 64,
  PAGE_MAX = 500,        /* keys of one answer */
  PAIRS_MAX = 1000000,   /* of one read */
  READS_MAX = 5,         /* of all pages, if etcd compacts its history between two of them */
  WATCH_BEGIN_MS = 5000, /* until etcd says that a watch has begun */
  SHOWN_MAX = 200,       /* bytes of an answer that an error shows */
  ENDPOINT_SIZE = HOST_MAX + 32
};

struct etcd_client {
  const struct curl_library *curl;
  struct curl_multi *multi;
  struct curl_easy *easy;
  char (*endpoints)[ENDPOINT_SIZE]; /* "http://a:2379" */
  size_t endpoint_count;
  size_t current; /* the endpoint to try first */
  size_t used;    /* the endpoint of the last request */
  char *ca_file;
  char *cert_file;
  char *key_file;
  char *user; /* NULL: without */
  char *password;
  char token[TOKEN_MAX + sizeof "Authorization: "]; /* the header; empty: none yet */
  struct buffer body;                               /* of the request */
  struct buffer answer;
  int stop_event;
  atomic_bool is_stopped;
};

/* ---- endpoints ---- */

struct endpoint {
  bool is_tls;
  bool is_loopback;
  struct text host; /* with brackets, if it has them */
  unsigned port;
};

/* Letters, digits and a few others, so that nothing has to be escaped in a URL. */
static bool is_host(struct text host)
{
  bool is_bracketed = host.len > 2 && host.data[0] == '[' && host.data[host.len - 1] == ']';
  struct text name = is_bracketed ? text_slice(host, 1, host.len - 1) : host;
  const char *allowed = is_bracketed ? "0123456789abcdefABCDEF:."
                                     : "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._";
  for (size_t i = 0; i < name.len; i++) {
    if (name.data[i] == '\0' || strchr(allowed, name.data[i]) == NULL)
      return false;
  }
  return name.len > 0 && name.len <= HOST_MAX;
}

/* A host name cannot be of digits and dots alone. */
static bool is_ipv4(struct text host)
{
  for (size_t i = 0; i < host.len; i++) {
    if (host.data[i] != '.' && (host.data[i] < '0' || host.data[i] > '9'))
      return false;
  }
  return true;
}

static bool read_endpoint(struct text t, struct endpoint *endpoint)
{
  enum { PORT_MAX = 65535, DECIMAL = 10 };
  endpoint->is_tls = text_starts_with(t, TEXT("https://"));
  if (endpoint->is_tls || text_starts_with(t, TEXT("http://")))
    t = text_slice(t, endpoint->is_tls ? sizeof "https://" - 1 : sizeof "http://" - 1, t.len);
  if (text_ends_with(t, TEXT("/")))
    t.len--;
  size_t colon = text_find_last(t, ':');
  if (colon == SIZE_MAX)
    return false;
  endpoint->host = text_slice(t, 0, colon);
  endpoint->port = 0;
  for (size_t i = colon + 1; i < t.len; i++) {
    if (t.data[i] < '0' || t.data[i] > '9' || endpoint->port > PORT_MAX)
      return false;
    endpoint->port = endpoint->port * DECIMAL + (unsigned)(t.data[i] - '0');
  }
  endpoint->is_loopback = text_equal(endpoint->host, TEXT("localhost")) ||
                          text_equal(endpoint->host, TEXT("[::1]")) ||
                          (text_starts_with(endpoint->host, TEXT("127.")) && is_ipv4(endpoint->host));
  return is_host(endpoint->host) && endpoint->port > 0 && endpoint->port <= PORT_MAX;
}

/* The text before the next comma, without blanks around it; after the last, the data of *rest is NULL. */
static struct text next_endpoint(struct text *rest)
{
  const char *comma = memchr(rest->data, ',', rest->len);
  size_t length = comma == NULL ? rest->len : (size_t)(comma - rest->data);
  struct text t = text_slice(*rest, 0, length);
  *rest = comma == NULL ? TEXT_ABSENT : text_slice(*rest, length + 1, rest->len);
  while (t.len > 0 && t.data[0] == ' ')
    t = text_slice(t, 1, t.len);
  while (t.len > 0 && t.data[t.len - 1] == ' ')
    t.len--;
  return t;
}

enum jp_status etcd_endpoints_check(const char *endpoints, struct etcd_endpoint_facts *facts,
                                    struct jp_error *error)
{
  struct text rest = text_of(endpoints);
  struct etcd_endpoint_facts found = {.all_tls = true, .all_loopback = true};
  size_t count = 0;
  do {
    struct text t = next_endpoint(&rest);
    struct endpoint endpoint;
    if (!read_endpoint(t, &endpoint))
      return jp_fail(error, JP_INVALID,
                     "takes HOST:PORT or https://HOST:PORT, several with commas between them");
    found.all_tls = found.all_tls && endpoint.is_tls;
    found.any_tls = found.any_tls || endpoint.is_tls;
    found.all_loopback = found.all_loopback && endpoint.is_loopback;
    count++;
  } while (rest.data != NULL);
  if (count > ETCD_ENDPOINTS_MAX)
    return jp_fail(error, JP_INVALID, "takes at most %d endpoints", ETCD_ENDPOINTS_MAX);
  if (facts != NULL)
    *facts = found;
  return JP_OK;
}

static enum jp_status copy_endpoints(struct etcd_client *client, const char *endpoints,
                                     struct jp_error *error)
{
  struct text rest = text_of(endpoints);
  enum jp_status status = etcd_endpoints_check(endpoints, NULL, error);
  if (status != JP_OK)
    return status;
  client->endpoints = calloc(ETCD_ENDPOINTS_MAX, sizeof *client->endpoints);
  if (client->endpoints == NULL)
    return jp_fail_memory(error, NULL);
  do {
    struct endpoint endpoint;
    if (read_endpoint(next_endpoint(&rest), &endpoint))
      text_format(client->endpoints[client->endpoint_count++], ENDPOINT_SIZE, "%s://%.*s:%u",
                  endpoint.is_tls ? "https" : "http", TEXT_ARGS(endpoint.host), endpoint.port);
  } while (rest.data != NULL);
  return JP_OK;
}

/* ---- the client ---- */

static enum jp_status read_user(struct etcd_client *client, const char *path, struct jp_error *error)
{
  struct buffer content;
  buffer_init(&content);
  enum jp_status status = small_file_read(path, SMALL_FILE_SECRET, USER_FILE_MAX, &content, NULL, error);
  if (status == JP_OK) {
    struct text line = buffer_text(&content);
    while (line.len > 0 && (line.data[line.len - 1] == '\n' || line.data[line.len - 1] == '\r'))
      line.len--;
    const char *colon = line.len == 0 ? NULL : memchr(line.data, ':', line.len);
    if (colon == NULL || colon == line.data || memchr(line.data, '\n', line.len) != NULL ||
        memchr(line.data, '\0', line.len) != NULL || text_valid_utf8(line) != line.len) {
      status = jp_fail(error, JP_INVALID, "%s: it must have one line, USER:PASSWORD", path);
    } else {
      client->user = strndup(line.data, (size_t)(colon - line.data));
      client->password = strndup(colon + 1, (size_t)(line.data + line.len - colon - 1));
      if (client->user == NULL || client->password == NULL)
        status = jp_fail_memory(error, NULL);
    }
  }
  if (content.data != NULL)
    explicit_bzero(content.data, content.cap);
  buffer_fini(&content);
  return status;
}

static bool copy_path(char **copy, const char *path)
{
  *copy = path == NULL ? NULL : strdup(path);
  return path == NULL || *copy != NULL;
}

enum jp_status etcd_client_create(const struct etcd_options *options, struct etcd_client **client,
                                  struct jp_error *error)
{
  struct etcd_client *made = calloc(1, sizeof *made);
  *client = NULL;
  if (made == NULL)
    return jp_fail_memory(error, NULL);
  made->stop_event = -1;
  buffer_init(&made->body);
  buffer_init(&made->answer);
  enum jp_status status = copy_endpoints(made, options->endpoints, error);
  if (status == JP_OK && options->user_file != NULL)
    status = read_user(made, options->user_file, error);
  if (status == JP_OK &&
      (!copy_path(&made->ca_file, options->ca_file) || !copy_path(&made->cert_file, options->cert_file) ||
       !copy_path(&made->key_file, options->key_file)))
    status = jp_fail_memory(error, NULL);
  if (status == JP_OK)
    status = curl_library_load(&made->curl, error);
  if (status == JP_OK) {
    made->multi = made->curl->multi_init();
    made->easy = made->curl->easy_init();
    made->stop_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (made->multi == NULL || made->easy == NULL)
      status = jp_fail_memory(error, NULL);
    else if (made->stop_event < 0)
      status = jp_fail(error, JP_IO, "the directory: %s", strerror(errno));
  }
  if (status == JP_OK)
    *client = made;
  else
    etcd_client_destroy(made);
  return status;
}

void etcd_client_destroy(struct etcd_client *client)
{
  if (client == NULL)
    return;
  if (client->easy != NULL)
    client->curl->easy_cleanup(client->easy);
  if (client->multi != NULL)
    client->curl->multi_cleanup(client->multi);
  if (client->stop_event >= 0)
    close(client->stop_event);
  if (client->password != NULL)
    explicit_bzero(client->password, strlen(client->password));
  explicit_bzero(client->token, sizeof client->token);
  free(client->endpoints);
  free(client->ca_file);
  free(client->cert_file);
  free(client->key_file);
  free(client->user);
  free(client->password);
  buffer_fini(&client->body);
  buffer_fini(&client->answer);
  free(client);
}

void etcd_client_stop(struct etcd_client *client)
{
  const uint64_t one = 1;
  atomic_store(&client->is_stopped, true);
  (void)!write(client->stop_event, &one, sizeof one);
}

void etcd_client_resume(struct etcd_client *client)
{
  uint64_t count;
  atomic_store(&client->is_stopped, false);
  (void)!read(client->stop_event, &count, sizeof count);
}

const char *etcd_client_endpoint(const struct etcd_client *client)
{
  return client->endpoints[client->used];
}

/* ---- one exchange with one endpoint ---- */

/* Reads the part of an answer that has arrived, while the rest is on its way. False: it needs no more. */
typedef bool part_reader(void *context, struct etcd_client *client);

struct exchange {
  const char *path;
  int64_t deadline_ms;
  part_reader *read_part; /* NULL: the answer is read when it is whole */
  void *context;
  /* what came of it */
  bool was_sent; /* etcd may have received the request */
  bool is_too_long;
  bool
      has_begun; /* set by read_part: the deadline ends the call without an error, and no other endpoint is tried */
  bool is_enough; /* read_part has returned false */
  bool is_late;
  bool is_stopped;
  int code;      /* curl's */
  long response; /* HTTP's status; 0: none */
  char text[CURL_ERROR_TEXT_SIZE];
};

struct sink {
  struct etcd_client *client;
  struct exchange *exchange;
};

/* Returns the number of bytes that were taken; curl ends the transfer if these are not all. */
static size_t take_bytes(char *bytes, size_t size, size_t count, void *context)
{
  struct sink *sink = context;
  struct buffer *answer = &sink->client->answer;
  size_t length = size * count;
  if (length > ETCD_ANSWER_MAX - answer->len) {
    sink->exchange->is_too_long = true;
    return 0;
  }
  buffer_append(answer, bytes, length);
  return answer->failed ? 0 : length;
}

static int prepare_socket(void *context, int fd, int purpose)
{
  (void)context;
  (void)purpose;
  (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
  return 0;
}

static bool set_options(struct etcd_client *client, const struct exchange *exchange, const char *url,
                        struct curl_list *headers, struct sink *sink)
{
  enum { KEEP_IDLE_S = 20, KEEP_INTERVAL_S = 10 };
  const struct curl_library *curl = client->curl;
  struct curl_easy *easy = client->easy;
  int fault = 0;
  curl->easy_reset(easy);
  fault |= curl->easy_setopt(easy, CURL_URL, url);
  /* An etcd is not reached by a proxy that the environment names for other purposes. */
  fault |= curl->easy_setopt(easy, CURL_PROXY, "");
  fault |= curl->easy_setopt(easy, CURL_NO_SIGNAL, 1L);
  fault |= curl->easy_setopt(easy, CURL_HTTP_VERSION_WANTED, (long)CURL_HTTP_1_1);
  fault |= curl->easy_setopt(easy, CURL_POST_FIELDS, client->body.data);
  fault |= curl->easy_setopt(easy, CURL_POST_FIELD_SIZE, (long)client->body.len);
  fault |= curl->easy_setopt(easy, CURL_HTTP_HEADER, headers);
  fault |= curl->easy_setopt(easy, CURL_WRITE_FUNCTION, take_bytes);
  fault |= curl->easy_setopt(easy, CURL_WRITE_DATA, sink);
  fault |= curl->easy_setopt(easy, CURL_SOCKET_FUNCTION, prepare_socket);
  fault |= curl->easy_setopt(easy, CURL_ERROR_BUFFER, exchange->text);
  fault |= curl->easy_setopt(easy, CURL_TCP_KEEP_ALIVE, 1L);
  fault |= curl->easy_setopt(easy, CURL_TCP_KEEP_IDLE, (long)KEEP_IDLE_S);
  fault |= curl->easy_setopt(easy, CURL_TCP_KEEP_INTERVAL, (long)KEEP_INTERVAL_S);
  if (client->ca_file != NULL)
    fault |= curl->easy_setopt(easy, CURL_CA_FILE, client->ca_file);
  if (client->cert_file != NULL)
    fault |= curl->easy_setopt(easy, CURL_CERT_FILE, client->cert_file);
  if (client->key_file != NULL)
    fault |= curl->easy_setopt(easy, CURL_KEY_FILE, client->key_file);
  /* Does not wait for a thread that looks up a host name. Before curl 7.87 there is no such option. */
  (void)curl->easy_setopt(easy, CURL_QUICK_END, 1L);
  return fault == 0;
}

/* Ends when the answer is whole, when it is enough, at the deadline, or when the client is stopped. */
static void drive_transfer(struct etcd_client *client, struct exchange *exchange)
{
  const struct curl_library *curl = client->curl;
  int running = 1;
  for (;;) {
    if (curl->multi_perform(client->multi, &running) != 0) {
      exchange->code = CURL_CODE_FAILED;
      return;
    }
    if (exchange->read_part != NULL && !exchange->is_enough)
      exchange->is_enough = !exchange->read_part(exchange->context, client);
    if (running == 0 || exchange->is_enough)
      break;
    int64_t left = exchange->deadline_ms - clock_now_ms();
    if (left <= 0) {
      exchange->is_late = true;
      return;
    }
    struct curl_wait stop = {.fd = client->stop_event, .events = CURL_WAIT_READABLE};
    int ready;
    if (curl->multi_poll(client->multi, &stop, 1, left > INT_MAX ? INT_MAX : (int)left, &ready) != 0) {
      exchange->code = CURL_CODE_FAILED;
      return;
    }
    if (atomic_load(&client->is_stopped)) {
      exchange->is_stopped = true;
      return;
    }
  }
  int left;
  for (struct curl_message *message = curl->multi_info_read(client->multi, &left); message != NULL;
       message = curl->multi_info_read(client->multi, &left)) {
    if (message->kind == CURL_MESSAGE_DONE)
      exchange->code = message->data.code;
  }
}

/* OpenSSL writes without MSG_NOSIGNAL, and the caller's thread may want to live. */
struct pipe_signal {
  sigset_t before;
  bool was_pending;
};

static void block_pipe_signal(struct pipe_signal *state)
{
  sigset_t pipe_set;
  sigset_t pending;
  sigemptyset(&pipe_set);
  sigaddset(&pipe_set, SIGPIPE);
  sigemptyset(&pending);
  sigpending(&pending);
  state->was_pending = sigismember(&pending, SIGPIPE) == 1;
  pthread_sigmask(SIG_BLOCK, &pipe_set, &state->before);
}

static void unblock_pipe_signal(const struct pipe_signal *state)
{
  sigset_t pipe_set;
  const struct timespec now = {0};
  sigemptyset(&pipe_set);
  sigaddset(&pipe_set, SIGPIPE);
  while (!state->was_pending && sigtimedwait(&pipe_set, NULL, &now) < 0 && errno == EINTR)
    continue;
  pthread_sigmask(SIG_SETMASK, &state->before, NULL);
}

/* Sends client->body to the endpoint `used`; the answer is in client->answer. */
static enum jp_status exchange_with(struct etcd_client *client, struct exchange *exchange,
                                    struct jp_error *error)
{
  const struct curl_library *curl = client->curl;
  char url[ENDPOINT_SIZE + 64];
  struct sink sink = {client, exchange};
  struct pipe_signal pipe_signal;
  text_format(url, sizeof url, "%s%s", client->endpoints[client->used], exchange->path);
  buffer_clear(&client->answer);
  if (atomic_load(&client->is_stopped)) {
    exchange->is_stopped = true;
    return JP_OK;
  }
  struct curl_list *headers = curl->slist_append(NULL, "Content-Type: application/json");
  struct curl_list *more = headers == NULL ? NULL : curl->slist_append(headers, "Expect:");
  if (more != NULL && client->token[0] != '\0')
    more = curl->slist_append(headers, client->token);
  enum jp_status status = JP_OK;
  if (more == NULL || !set_options(client, exchange, url, headers, &sink) ||
      curl->multi_add_handle(client->multi, client->easy) != 0) {
    status = jp_fail_memory(error, NULL);
  } else {
    block_pipe_signal(&pipe_signal);
    drive_transfer(client, exchange);
    long sent = 0;
    curl->easy_getinfo(client->easy, CURL_RESPONSE_CODE, &exchange->response);
    curl->easy_getinfo(client->easy, CURL_REQUEST_SIZE, &sent);
    exchange->was_sent = sent > 0;
    curl->multi_remove_handle(client->multi, client->easy);
    curl->easy_reset(client->easy); /* it must not keep pointers to the exchange */
    unblock_pipe_signal(&pipe_signal);
  }
  curl->slist_free_all(headers);
  return status;
}

/* ---- what an answer means ---- */

/* gRPC's codes, https://grpc.io/docs/guides/status-codes/ */
enum {
  GRPC_UNKNOWN = 2,
  GRPC_INVALID = 3,
  GRPC_DEADLINE = 4,
  GRPC_NOT_FOUND = 5,
  GRPC_PERMISSION = 7,
  GRPC_EXHAUSTED = 8,
  GRPC_OUT_OF_RANGE = 11, /* a revision that etcd has compacted, or has not got yet */
  GRPC_UNAVAILABLE = 14,
  GRPC_UNAUTHENTICATED = 16
};

enum { HTTP_OK = 200, HTTP_REDIRECT = 300, HTTP_BAD = 400, HTTP_UNAUTHENTICATED = 401, HTTP_NOT_FOUND = 404 };

struct refusal {
  int64_t code; /* gRPC's; -1: the answer has none */
  struct text message;
};

static bool read_whole(struct json_value value, int64_t *number)
{
  struct text t = value.span;
  if (value.kind == JSON_KIND_STRING && t.len >= 2)
    t = text_slice(t, 1, t.len - 1);
  else if (value.kind != JSON_KIND_NUMBER)
    return false;
  enum { DIGITS_MAX = 19, DECIMAL = 10 };
  bool is_negative = t.len > 0 && t.data[0] == '-';
  size_t i = is_negative ? 1 : 0;
  if (i == t.len || t.len - i > DIGITS_MAX)
    return false;
  uint64_t sum = 0;
  for (; i < t.len; i++) {
    if (t.data[i] < '0' || t.data[i] > '9')
      return false;
    sum = sum * DECIMAL + (uint64_t)(t.data[i] - '0');
  }
  if (sum > INT64_MAX)
    return false;
  *number = is_negative ? -(int64_t)sum : (int64_t)sum;
  return true;
}

/* The member of an object; NULL kinds and other values count as absent. */
static bool find_member(struct json_value object, struct text name, struct json_value *value)
{
  struct json_members members;
  if (object.kind != JSON_KIND_OBJECT)
    return false;
  json_members_collect(object, &name, 1, &members);
  if (!members.has[0] || members.value[0].kind == JSON_KIND_NULL)
    return false;
  *value = members.value[0];
  return true;
}

/* protobuf's JSON leaves a number of 0 out. False: the member is not a number. */
static bool find_number(struct json_value object, struct text name, int64_t *number)
{
  struct json_value value;
  *number = 0;
  return !find_member(object, name, &value) || read_whole(value, number);
}

static bool find_true(struct json_value object, struct text name)
{
  struct json_value value;
  return find_member(object, name, &value) && value.kind == JSON_KIND_TRUE;
}

/* Validates a JSON object. */
static bool read_object(struct text t, struct json_value *object)
{
  struct json_fault fault;
  *object = (struct json_value){0};
  if (json_validate(t, (struct json_limits){ANSWER_DEPTH_MAX}, TEXT_ABSENT, &fault) != JP_OK)
    return false;
  *object = json_root(t);
  return object->kind == JSON_KIND_OBJECT;
}

/* {"error":TEXT,"code":N}, or {"grpc_code":N,"message":TEXT,...} inside the "error" of a stream. */
static void read_refusal(struct json_value object, struct arena *arena, struct refusal *refusal)
{
  struct json_value value;
  refusal->code = -1;
  refusal->message = TEXT_ABSENT;
  if (find_member(object, TEXT("error"), &value) && value.kind == JSON_KIND_OBJECT)
    object = value;
  if ((find_member(object, TEXT("message"), &value) || find_member(object, TEXT("error"), &value)) &&
      value.kind == JSON_KIND_STRING)
    refusal->message = json_read_string(value, arena);
  if ((!find_member(object, TEXT("code"), &value) && !find_member(object, TEXT("grpc_code"), &value)) ||
      !read_whole(value, &refusal->code))
    refusal->code = -1;
}

static bool text_has(struct text t, const char *part)
{
  return t.data != NULL && memmem(t.data, t.len, part, strlen(part)) != NULL;
}

#define COMMON_NAME "CommonName of client"
static const char common_name_advice[] =
    ": with authentication, its JSON gateway refuses a client certificate that has a CN: use a certificate "
    "without a CN";

/* What to do about the refusals of etcd whose own words do not say it. */
static const char *advice_of(const struct refusal *refusal)
{
  if (text_has(refusal->message, COMMON_NAME))
    return common_name_advice;
  if (text_has(refusal->message, "user name is empty"))
    return ": etcd asks for a user and a password";
  return "";
}

static enum jp_status status_of_code(int64_t code)
{
  switch (code) {
  case GRPC_NOT_FOUND:
  case GRPC_OUT_OF_RANGE:
    return JP_NOT_FOUND;
  case GRPC_PERMISSION:
  case GRPC_UNAUTHENTICATED:
    return JP_DENIED;
  case GRPC_DEADLINE:
  case GRPC_UNAVAILABLE:
  case GRPC_EXHAUSTED:
    return JP_IO;
  default:
    return JP_INVALID;
  }
}

static enum jp_status fail_refused(const struct etcd_client *client, const struct refusal *refusal,
                                   struct jp_error *error)
{
  char shown[SHOWN_MAX * 4 + 1];
  text_escape(text_cut(refusal->message.data == NULL ? TEXT("") : refusal->message, SHOWN_MAX), "", "", shown,
              sizeof shown);
  enum jp_status status = status_of_code(refusal->code);
  if (text_has(refusal->message, "user name is empty") || text_has(refusal->message, COMMON_NAME) ||
      text_has(refusal->message, "authentication failed"))
    status = JP_DENIED;
  return jp_fail(error, status, "etcd at %s refuses: %s%s", client->endpoints[client->used],
                 shown[0] != '\0' ? shown : "it does not say why", advice_of(refusal));
}

/* The text of an answer that is not etcd's. */
static enum jp_status fail_foreign(const struct etcd_client *client, const struct exchange *exchange,
                                   struct jp_error *error)
{
  char shown[SHOWN_MAX * 4 + 1];
  const char *endpoint = client->endpoints[client->used];
  text_escape(text_cut(buffer_text(&client->answer), SHOWN_MAX / 2), "", "", shown, sizeof shown);
  if (text_has(buffer_text(&client->answer), COMMON_NAME))
    return jp_fail(error, JP_DENIED, "etcd at %s refuses: %s%s", endpoint, COMMON_NAME, common_name_advice);
  if (exchange->response == HTTP_NOT_FOUND)
    return jp_fail(error, JP_INVALID,
                   "%s answers 404 to %s: it is not etcd 3.4 or later, or its JSON gateway is off (with "
                   "--config-file etcd needs enable-grpc-gateway: true)",
                   endpoint, exchange->path);
  if (exchange->response >= HTTP_REDIRECT && exchange->response < HTTP_BAD)
    return jp_fail(error, JP_INVALID, "%s answers with a redirect (%ld), which is not followed: is it etcd?",
                   endpoint, exchange->response);
  return jp_fail(error, JP_INVALID, "%s does not answer as etcd does (HTTP status %ld): \"%s\"", endpoint,
                 exchange->response, shown);
}

static enum jp_status fail_transfer(const struct etcd_client *client, const struct exchange *exchange,
                                    struct jp_error *error)
{
  const char *endpoint = client->endpoints[client->used];
  if (exchange->is_stopped)
    return jp_fail(error, JP_CLOSED, "%s was not waited for", endpoint);
  if (exchange->is_too_long)
    return jp_fail(error, JP_LIMIT, "%s: its answer has more than %d bytes", endpoint, ETCD_ANSWER_MAX);
  if (client->answer.failed)
    return jp_fail_memory(error, "an answer of etcd");
  if (exchange->is_late)
    return jp_fail(error, JP_IO, "%s does not answer in time", endpoint);
  bool is_certificate = exchange->code == CURL_CODE_OWN_CERTIFICATE ||
                        exchange->code == CURL_CODE_PEER_CERTIFICATE || exchange->code == CURL_CODE_CA_FILE;
  const bool has_tls = text_starts_with(text_of(endpoint), TEXT("https://"));
  const char *advice = "";
  if (!has_tls && (exchange->code == CURL_CODE_NO_ANSWER || exchange->code == CURL_CODE_RECEIVE ||
                   exchange->code == CURL_CODE_NO_HTTP))
    advice = ": if it speaks TLS, name it by https://HOST:PORT";
  else if (has_tls && exchange->code == CURL_CODE_TLS)
    advice = ": if it speaks no TLS, name it by http://HOST:PORT";
  return jp_fail(error, is_certificate ? JP_DENIED : JP_IO, "%s: %s%s", endpoint,
                 exchange->text[0] != '\0' ? exchange->text : client->curl->easy_strerror(exchange->code),
                 advice);
}

/* ---- authentication ---- */

static enum jp_status authenticate(struct etcd_client *client, int64_t deadline_ms, struct jp_error *error)
{
  struct exchange exchange = {.path = "/v3/auth/authenticate", .deadline_ms = deadline_ms};
  struct buffer kept = client->body;
  struct arena arena;
  struct json_value answer;
  struct json_value token;
  struct refusal refusal;
  arena_init_small(&arena);
  buffer_init(&client->body);
  client->token[0] = '\0';
  BUFFER_LITERAL(&client->body, "{\"name\":");
  json_write_string(&client->body, text_of(client->user));
  BUFFER_LITERAL(&client->body, ",\"password\":");
  json_write_string(&client->body, text_of(client->password));
  BUFFER_LITERAL(&client->body, "}");
  enum jp_status status =
      client->body.failed ? jp_fail_memory(error, NULL) : exchange_with(client, &exchange, error);
  if (client->body.data != NULL)
    explicit_bzero(client->body.data, client->body.cap);
  buffer_fini(&client->body);
  client->body = kept;
  if (status != JP_OK)
    goto out;
  if (exchange.code != CURL_CODE_OK || exchange.is_late || exchange.is_stopped) {
    status = fail_transfer(client, &exchange, error);
  } else if (read_object(buffer_text(&client->answer), &answer) && exchange.response != HTTP_OK) {
    read_refusal(answer, &arena, &refusal);
    /* A directory without users needs none. */
    if (!text_has(refusal.message, "authentication is not enabled"))
      status = fail_refused(client, &refusal, error);
  } else if (!find_member(answer, TEXT("token"), &token) || token.kind != JSON_KIND_STRING) {
    status = fail_foreign(client, &exchange, error);
  } else {
    struct text t = json_read_string(token, &arena);
    bool is_plain = t.data != NULL && t.len > 0 && t.len <= TOKEN_MAX;
    for (size_t i = 0; is_plain && i < t.len; i++)
      is_plain = t.data[i] > ' ' && t.data[i] < 0x7f;
    if (is_plain)
      text_format(client->token, sizeof client->token, "Authorization: %.*s", TEXT_ARGS(t));
    else
      status = jp_fail(error, JP_INVALID, "%s gives a token that is none", client->endpoints[client->used]);
  }
out:
  arena_fini(&arena);
  return status;
}

/* ---- a call: endpoints, one after the other ---- */

enum repeat { REPEAT_ALWAYS, REPEAT_IF_NOT_SENT };

/* One endpoint, authentication included. JP_OK: *answer is the whole answer, or a part was enough. *is_next:
 * another endpoint may do better. */
static enum jp_status ask_endpoint(struct etcd_client *client, struct exchange *exchange, enum repeat repeat,
                                   struct arena *arena, struct json_value *answer, bool *is_next,
                                   struct jp_error *error)
{
  const struct exchange begun = *exchange;
  *is_next = true;
  for (bool is_again = false;; is_again = true) {
    enum jp_status status = JP_OK;
    *exchange = begun;
    if (client->user != NULL && (client->token[0] == '\0' || is_again))
      status = authenticate(client, exchange->deadline_ms, error);
    if (status != JP_OK) {
      *is_next = status == JP_IO || status == JP_INVALID || status == JP_NOT_FOUND;
      return status;
    }
    status = exchange_with(client, exchange, error);
    if (status != JP_OK)
      return status;
    if (exchange->is_enough || (exchange->has_begun && exchange->is_late))
      return JP_OK;
    if (exchange->code != CURL_CODE_OK || exchange->is_late || exchange->is_stopped) {
      *is_next =
          !exchange->is_stopped && !exchange->has_begun && (repeat == REPEAT_ALWAYS || !exchange->was_sent);
      return fail_transfer(client, exchange, error);
    }
    *is_next = repeat == REPEAT_ALWAYS && !exchange->has_begun;
    if (exchange->response == HTTP_OK && exchange->read_part != NULL)
      return jp_fail(error, JP_IO, "%s has closed the watch", client->endpoints[client->used]);
    if (!read_object(buffer_text(&client->answer), answer))
      return fail_foreign(client, exchange, error);
    struct refusal refusal;
    read_refusal(*answer, arena, &refusal);
    if (exchange->response == HTTP_OK && refusal.code < 0)
      return JP_OK;
    if (refusal.code < 0 && exchange->response != HTTP_UNAUTHENTICATED)
      return fail_foreign(client, exchange, error);
    /* The token has ended, or users were introduced after this client was made. */
    if (client->user != NULL && !is_again &&
        (refusal.code == GRPC_UNAUTHENTICATED || exchange->response == HTTP_UNAUTHENTICATED ||
         text_has(refusal.message, "user name is empty") ||
         text_has(refusal.message, "revision of auth store is old")))
      continue;
    if (refusal.code < 0)
      refusal.code = GRPC_UNAUTHENTICATED;
    status = fail_refused(client, &refusal, error);
    *is_next = *is_next && status == JP_IO;
    return status;
  }
}

/* Sends client->body to the endpoints until one has answered. */
static enum jp_status ask_endpoints(struct etcd_client *client, struct exchange *exchange, enum repeat repeat,
                                    struct arena *arena, struct json_value *answer, struct jp_error *error)
{
  const struct exchange begun = *exchange;
  *answer = (struct json_value){0};
  enum jp_status status = JP_OK;
  size_t first = client->current;
  if (client->body.failed)
    return jp_fail_memory(error, NULL);
  for (size_t i = 0; i < client->endpoint_count; i++) {
    bool is_next;
    client->used = (first + i) % client->endpoint_count;
    int64_t now = clock_now_ms();
    int64_t left = begun.deadline_ms - now;
    *exchange = begun;
    if (i > 0 && error != NULL)
      *error = (struct jp_error){0};
    /* An endpoint that hangs leaves time for the others. A watch has a time for its begin alone. */
    if (begun.read_part == NULL)
      exchange->deadline_ms = now + left / (int64_t)(client->endpoint_count - i);
    else if (left > WATCH_BEGIN_MS)
      exchange->deadline_ms = now + WATCH_BEGIN_MS;
    status = ask_endpoint(client, exchange, repeat, arena, answer, &is_next, error);
    if (status == JP_OK) {
      client->current = client->used;
      return JP_OK;
    }
    if (status == JP_IO)
      client->current = (client->used + 1) % client->endpoint_count;
    if (!is_next || status == JP_CLOSED || status == JP_NO_MEMORY)
      return status;
  }
  if (status == JP_IO && client->endpoint_count > 1)
    jp_error_prefix(error, "none of %zu endpoints answers", client->endpoint_count);
  return status;
}

static enum jp_status fail_answer(const struct etcd_client *client, const char *path, struct jp_error *error)
{
  struct exchange exchange = {.path = path, .response = HTTP_OK};
  return fail_foreign(client, &exchange, error);
}

/* ---- pairs ---- */

static void write_base64(struct buffer *out, const char *name, struct text t)
{
  buffer_printf(out, "\"%s\":\"", name);
  base64_encode(out, (const uint8_t *)t.data, t.len);
  buffer_append_char(out, '"');
}

/* The members key and range_end: the span, or what is after a key of it. after: data NULL: the whole span. */
static void write_span(struct buffer *out, struct text key, enum etcd_span span, struct text after)
{
  struct buffer bytes;
  buffer_init(&bytes);
  buffer_append_text(&bytes, after.data == NULL ? key : after);
  if (after.data != NULL)
    buffer_append_char(&bytes, '\0');
  write_base64(out, "key", buffer_text(&bytes));
  if (span == ETCD_PREFIX) {
    /* The first key after all that begin with the prefix; \0: all keys. */
    while (key.len > 0 && (unsigned char)key.data[key.len - 1] == UCHAR_MAX)
      key.len--;
    buffer_clear(&bytes);
    buffer_append_text(&bytes, key.len > 0 ? key : (struct text){"", 1});
    if (key.len > 0 && !bytes.failed)
      bytes.data[key.len - 1] = (char)((unsigned char)bytes.data[key.len - 1] + 1);
    buffer_append_char(out, ',');
    write_base64(out, "range_end", buffer_text(&bytes));
  }
  out->failed = out->failed || bytes.failed;
  buffer_fini(&bytes);
}

/* An absent member is an empty text. */
static bool read_bytes(struct json_value object, struct text name, struct arena *arena, struct text *bytes)
{
  struct json_value value;
  *bytes = TEXT("");
  if (!find_member(object, name, &value))
    return true;
  if (value.kind != JSON_KIND_STRING)
    return false;
  struct text encoded = json_read_string(value, arena);
  size_t length;
  char *out = encoded.data == NULL ? NULL : arena_alloc(arena, base64_decoded_max(encoded) + 1);
  if (out == NULL || base64_decode(encoded, (uint8_t *)out, &length) != JP_OK)
    return false;
  *bytes = (struct text){out, length};
  return true;
}

static bool read_pair(struct json_value object, struct arena *arena, struct etcd_pair *pair)
{
  return object.kind == JSON_KIND_OBJECT && read_bytes(object, TEXT("key"), arena, &pair->key) &&
         pair->key.len > 0 && read_bytes(object, TEXT("value"), arena, &pair->value) &&
         find_number(object, TEXT("create_revision"), &pair->create_revision) &&
         find_number(object, TEXT("mod_revision"), &pair->mod_revision) &&
         find_number(object, TEXT("lease"), &pair->lease);
}

/* Appends the kvs of a range's answer. */
static bool read_pairs(struct json_value range, struct arena *arena, struct etcd_pairs *pairs)
{
  struct json_value kvs;
  struct json_value element;
  if (!find_member(range, TEXT("kvs"), &kvs))
    return true;
  if (kvs.kind != JSON_KIND_ARRAY)
    return false;
  struct json_cursor cursor = json_enter(kvs);
  while (json_next_element(&cursor, &element)) {
    pairs->items = arena_grow(arena, pairs->items, pairs->count, &pairs->capacity, sizeof *pairs->items);
    if (pairs->items == NULL || !read_pair(element, arena, &pairs->items[pairs->count]))
      return false;
    pairs->count++;
  }
  return true;
}

static bool read_revision(struct json_value answer, int64_t *revision)
{
  struct json_value header;
  return find_member(answer, TEXT("header"), &header) && find_number(header, TEXT("revision"), revision) &&
         *revision > 0;
}

enum jp_status etcd_read(struct etcd_client *client, struct text key, enum etcd_span span,
                         int64_t deadline_ms, struct arena *arena, struct etcd_pairs *pairs,
                         struct jp_error *error)
{
  *pairs = (struct etcd_pairs){0};
  struct text after = TEXT_ABSENT;
  for (int begun = 1;;) {
    struct exchange exchange = {.path = "/v3/kv/range", .deadline_ms = deadline_ms};
    struct json_value answer;
    int64_t revision;
    size_t before = pairs->count;
    buffer_clear(&client->body);
    buffer_append_char(&client->body, '{');
    write_span(&client->body, key, span, after);
    buffer_printf(&client->body, ",\"limit\":%d,\"revision\":\"%" PRId64 "\"}", PAGE_MAX, pairs->revision);
    enum jp_status status = ask_endpoints(client, &exchange, REPEAT_ALWAYS, arena, &answer, error);
    if (status == JP_NOT_FOUND && pairs->revision != 0 && begun++ < READS_MAX) {
      /* The revision of the first page is gone: the next page is the first of a newer one. */
      *pairs = (struct etcd_pairs){0};
      after = TEXT_ABSENT;
      continue;
    }
    if (status == JP_NOT_FOUND)
      return jp_fail(error, JP_IO, "%s has compacted its history during each of %d reads",
                     etcd_client_endpoint(client), READS_MAX);
    if (status != JP_OK)
      return status;
    if (!read_revision(answer, &revision) || !read_pairs(answer, arena, pairs) ||
        (after.data != NULL && pairs->count > before && text_order(pairs->items[before].key, after) <= 0))
      return fail_answer(client, exchange.path, error);
    if (pairs->count > PAIRS_MAX)
      return jp_fail(error, JP_LIMIT, "%s: there are more than %d keys", etcd_client_endpoint(client),
                     PAIRS_MAX);
    if (pairs->revision == 0)
      pairs->revision = revision;
    if (!find_true(answer, TEXT("more")) || pairs->count == before)
      return JP_OK;
    after = pairs->items[pairs->count - 1].key;
  }
}

/* ---- transactions ---- */

static void write_txn(struct buffer *out, const struct etcd_txn *txn)
{
  BUFFER_LITERAL(out, "{\"compare\":[");
  for (size_t i = 0; i < txn->condition_count; i++) {
    BUFFER_LITERAL(out, "{\"target\":\"MOD\",\"result\":\"EQUAL\",");
    write_base64(out, "key", txn->conditions[i].key);
    buffer_printf(out, ",\"mod_revision\":\"%" PRId64 "\"}%s", txn->conditions[i].mod_revision,
                  i + 1 < txn->condition_count ? "," : "");
  }
  BUFFER_LITERAL(out, "],\"success\":[");
  for (size_t i = 0; i < txn->change_count; i++) {
    const struct etcd_change *change = &txn->changes[i];
    const bool is_put = change->kind == ETCD_PUT;
    buffer_printf(out, "{\"%s\":{", is_put ? "request_put" : "request_delete_range");
    write_base64(out, "key", change->key);
    if (is_put) {
      buffer_append_char(out, ',');
      write_base64(out, "value", change->value);
      buffer_printf(out, ",\"lease\":\"%" PRId64 "\"", change->lease);
    }
    buffer_printf(out, "}}%s", i + 1 < txn->change_count ? "," : "");
  }
  BUFFER_LITERAL(out, "],\"failure\":[");
  for (size_t i = 0; i < txn->read_count; i++) {
    BUFFER_LITERAL(out, "{\"request_range\":{");
    write_base64(out, "key", txn->reads[i]);
    buffer_printf(out, "}}%s", i + 1 < txn->read_count ? "," : "");
  }
  BUFFER_LITERAL(out, "]}");
}

static bool read_responses(struct json_value answer, struct arena *arena, struct etcd_pairs *pairs)
{
  struct json_value responses;
  struct json_value element;
  struct json_value range;
  if (!find_member(answer, TEXT("responses"), &responses))
    return true;
  if (responses.kind != JSON_KIND_ARRAY)
    return false;
  struct json_cursor cursor = json_enter(responses);
  while (json_next_element(&cursor, &element)) {
    if (find_member(element, TEXT("response_range"), &range) && !read_pairs(range, arena, pairs))
      return false;
  }
  return true;
}

enum jp_status etcd_commit(struct etcd_client *client, const struct etcd_txn *txn, int64_t deadline_ms,
                           struct arena *arena, struct etcd_txn_result *result, struct jp_error *error)
{
  struct exchange exchange = {.path = "/v3/kv/txn", .deadline_ms = deadline_ms};
  struct json_value answer;
  *result = (struct etcd_txn_result){0};
  buffer_clear(&client->body);
  write_txn(&client->body, txn);
  enum jp_status status = ask_endpoints(client, &exchange, REPEAT_IF_NOT_SENT, arena, &answer, error);
  if (status != JP_OK)
    return status;
  result->succeeded = find_true(answer, TEXT("succeeded"));
  if (!read_revision(answer, &result->pairs.revision) ||
      (!result->succeeded && !read_responses(answer, arena, &result->pairs)))
    return fail_answer(client, exchange.path, error);
  return JP_OK;
}

/* ---- leases ---- */

static enum jp_status ask_lease(struct etcd_client *client, const char *path, int64_t lease,
                                int64_t deadline_ms, struct arena *arena, struct json_value *answer,
                                struct jp_error *error)
{
  struct exchange exchange = {.path = path, .deadline_ms = deadline_ms};
  buffer_clear(&client->body);
  buffer_printf(&client->body, "{\"ID\":\"%" PRId64 "\"}", lease);
  return ask_endpoints(client, &exchange, REPEAT_ALWAYS, arena, answer, error);
}

static enum jp_status fail_lease(struct jp_error *error)
{
  return jp_fail(error, JP_NOT_FOUND, "the lease has ended");
}

enum jp_status etcd_lease_grant(struct etcd_client *client, int64_t ttl_s, int64_t deadline_ms,
                                int64_t *lease, int64_t *granted_s, struct jp_error *error)
{
  struct exchange exchange = {.path = "/v3/lease/grant", .deadline_ms = deadline_ms};
  struct json_value answer;
  struct arena arena;
  arena_init_small(&arena);
  buffer_clear(&client->body);
  buffer_printf(&client->body, "{\"TTL\":\"%" PRId64 "\"}", ttl_s);
  /* A second lease, of an answer that was lost, has no keys and ends by itself. */
  enum jp_status status = ask_endpoints(client, &exchange, REPEAT_ALWAYS, &arena, &answer, error);
  if (status == JP_OK && (!find_number(answer, TEXT("ID"), lease) ||
                          !find_number(answer, TEXT("TTL"), granted_s) || *lease == 0 || *granted_s <= 0))
    status = fail_answer(client, exchange.path, error);
  arena_fini(&arena);
  return status;
}

enum jp_status etcd_lease_keep(struct etcd_client *client, int64_t lease, int64_t deadline_ms,
                               struct jp_error *error)
{
  static const char path[] = "/v3/lease/keepalive";
  struct json_value answer;
  struct json_value result;
  struct arena arena;
  int64_t left = 0;
  arena_init_small(&arena);
  enum jp_status status = ask_lease(client, path, lease, deadline_ms, &arena, &answer, error);
  if (status == JP_OK &&
      (!find_member(answer, TEXT("result"), &result) || !find_number(result, TEXT("TTL"), &left)))
    status = fail_answer(client, path, error);
  else if (status == JP_OK && left <= 0)
    status = fail_lease(error);
  arena_fini(&arena);
  return status;
}

enum jp_status etcd_lease_revoke(struct etcd_client *client, int64_t lease, int64_t deadline_ms,
                                 struct jp_error *error)
{
  struct json_value answer;
  struct arena arena;
  arena_init_small(&arena);
  enum jp_status status = ask_lease(client, "/v3/lease/revoke", lease, deadline_ms, &arena, &answer, error);
  arena_fini(&arena);
  return status;
}

enum jp_status etcd_lease_look(struct etcd_client *client, int64_t lease, int64_t deadline_ms,
                               int64_t *left_s, int64_t *granted_s, struct jp_error *error)
{
  static const char path[] = "/v3/lease/timetolive";
  struct json_value answer;
  struct arena arena;
  arena_init_small(&arena);
  enum jp_status status = ask_lease(client, path, lease, deadline_ms, &arena, &answer, error);
  if (status == JP_OK &&
      (!find_number(answer, TEXT("TTL"), left_s) || !find_number(answer, TEXT("grantedTTL"), granted_s)))
    status = fail_answer(client, path, error);
  else if (status == JP_OK && *left_s < 0)
    status = fail_lease(error);
  arena_fini(&arena);
  return status;
}

/* ---- watches ---- */

enum watch_state { WATCH_ASKED, WATCH_BEGUN, WATCH_ENDED };

struct watch {
  enum watch_state state;
  etcd_watcher *watcher;
  void *context;
  struct exchange *exchange;
  int64_t deadline_ms;
  struct arena arena; /* of one answer */
  enum jp_status status;
  struct jp_error *error;
};

static bool read_events(struct watch *watch, struct json_value result, struct etcd_event **events,
                        size_t *count)
{
  struct json_value array;
  struct json_value element;
  struct json_value pair;
  struct json_value type;
  size_t capacity = 0;
  if (!find_member(result, TEXT("events"), &array))
    return true;
  if (array.kind != JSON_KIND_ARRAY)
    return false;
  struct json_cursor cursor = json_enter(array);
  while (json_next_element(&cursor, &element)) {
    *events = arena_grow(&watch->arena, *events, *count, &capacity, sizeof **events);
    if (*events == NULL || !find_member(element, TEXT("kv"), &pair) ||
        !read_pair(pair, &watch->arena, &(*events)[*count].pair))
      return false;
    (*events)[*count].is_delete =
        find_member(element, TEXT("type"), &type) && text_equal(type.span, TEXT("\"DELETE\""));
    (*count)++;
  }
  return true;
}

static enum jp_status read_watch_answer(struct etcd_client *client, struct watch *watch, struct text line)
{
  struct json_value object;
  struct json_value result;
  struct json_value header;
  struct json_value reason;
  struct etcd_event *events = NULL;
  size_t count = 0;
  int64_t revision = 0;
  struct refusal refusal;
  static const char path[] = "/v3/watch";
  if (!read_object(line, &object))
    return fail_answer(client, path, watch->error);
  if (!find_member(object, TEXT("result"), &result)) {
    read_refusal(object, &watch->arena, &refusal);
    return refusal.code < 0 ? fail_answer(client, path, watch->error)
                            : fail_refused(client, &refusal, watch->error);
  }
  if (find_true(result, TEXT("canceled"))) {
    int64_t compacted;
    struct text why = TEXT("it does not say why");
    if (find_number(result, TEXT("compact_revision"), &compacted) && compacted > 0)
      return jp_fail(watch->error, JP_NOT_FOUND, "etcd has forgotten the revision of the watch");
    if (find_member(result, TEXT("cancel_reason"), &reason) && reason.kind == JSON_KIND_STRING)
      why = json_read_string(reason, &watch->arena);
    refusal = (struct refusal){.code = GRPC_PERMISSION, .message = why};
    return fail_refused(client, &refusal, watch->error);
  }
  if (!find_member(result, TEXT("header"), &header) || !find_number(header, TEXT("revision"), &revision) ||
      !read_events(watch, result, &events, &count))
    return fail_answer(client, path, watch->error);
  bool is_begin = watch->state == WATCH_ASKED;
  if (is_begin && !find_true(result, TEXT("created")))
    return fail_answer(client, path, watch->error);
  watch->state = WATCH_BEGUN;
  watch->exchange->has_begun = true;
  watch->exchange->deadline_ms = watch->deadline_ms;
  if ((is_begin || count > 0) && !watch->watcher(watch->context, events, count, revision))
    watch->state = WATCH_ENDED;
  return JP_OK;
}

/* A line is an answer. */
static bool read_watch_part(void *context, struct etcd_client *client)
{
  struct watch *watch = context;
  struct buffer *answer = &client->answer;
  size_t read = 0;
  const char *end;
  long response = 0;
  client->curl->easy_getinfo(client->easy, CURL_RESPONSE_CODE, &response);
  if (response != HTTP_OK)
    return true; /* a refusal, which is read when it is whole */
  while (watch->status == JP_OK && watch->state != WATCH_ENDED && read < answer->len &&
         (end = memchr(answer->data + read, '\n', answer->len - read)) != NULL) {
    struct text line = {answer->data + read, (size_t)(end - answer->data) - read};
    read += line.len + 1;
    arena_reset(&watch->arena);
    if (line.len > 0)
      watch->status = read_watch_answer(client, watch, line);
  }
  buffer_consume(answer, read);
  return watch->status == JP_OK && watch->state != WATCH_ENDED;
}

enum jp_status etcd_watch(struct etcd_client *client, struct text key, enum etcd_span span,
                          int64_t from_revision, int64_t deadline_ms, etcd_watcher *watcher, void *context,
                          struct jp_error *error)
{
  struct exchange exchange = {.path = "/v3/watch", .deadline_ms = deadline_ms, .read_part = read_watch_part};
  struct watch watch = {.watcher = watcher,
                        .context = context,
                        .exchange = &exchange,
                        .deadline_ms = deadline_ms,
                        .error = error};
  struct json_value answer;
  struct arena arena;
  exchange.context = &watch;
  const struct exchange begun = exchange;
  arena_init(&watch.arena);
  arena_init_small(&arena);
  buffer_clear(&client->body);
  BUFFER_LITERAL(&client->body, "{\"create_request\":{");
  write_span(&client->body, key, span, TEXT_ABSENT);
  buffer_printf(&client->body, ",\"start_revision\":\"%" PRId64 "\"}}", from_revision);
  enum jp_status status;
  bool had_token = client->token[0] != '\0';
  for (;;) {
    status = ask_endpoints(client, &exchange, REPEAT_ALWAYS, &arena, &answer, error);
    if (status == JP_OK)
      status = watch.status;
    /* etcd refuses a watch whose token has ended as it refuses a user without permission. */
    if (status != JP_DENIED || watch.state != WATCH_ASKED || !had_token)
      break;
    had_token = false;
    client->token[0] = '\0';
    watch.status = JP_OK;
    if (error != NULL)
      *error = (struct jp_error){0};
    exchange = begun;
  }
  arena_fini(&arena);
  arena_fini(&watch.arena);
  return status;
}

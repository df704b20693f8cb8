#include "net/zeromq/zeromq_zap.h"

#include "base/clock.h"
#include "base/curve_keys.h"
#include "base/log.h"
#include "net/admission/client_address.h"
#include "net/admission/connection_audit.h"
#include "net/monitor/monitor.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zmq.h>

enum {
  ID_MAX = 255,
  DELAYED_MAX = 256,     /* refusals that wait for their time */
  REQUESTS_A_ROUND = 64, /* after this many requests the thread checks whether it has to end, and sends
                          * delayed refusals */
  CURVE_BINARY_LENGTH = 32
};

/* The frames of a request, as a ROUTER socket receives them. */
enum frame {
  FRAME_ROUTING_ID,
  FRAME_DELIMITER,
  FRAME_VERSION,
  FRAME_REQUEST_ID,
  FRAME_DOMAIN,
  FRAME_ADDRESS,
  FRAME_IDENTITY,
  FRAME_MECHANISM,
  FRAME_KEY,
  FRAMES
};

/* To whom an answer goes. */
struct envelope {
  size_t routing_id_length;
  size_t request_id_length;
  unsigned char routing_id[ID_MAX];
  unsigned char request_id[ID_MAX];
};

struct delayed {
  int64_t due_ms;
  struct envelope envelope;
};

struct zeromq_zap {
  struct principals *principals;
  struct wrong_evidence *wrong;
  struct net_monitor *monitor;
  void *socket; /* the thread's, from its start to its end */
  int stop_fd;
  pthread_t thread;
  /* A ring, in the order of their time. */
  struct delayed delayed[DELAYED_MAX];
  size_t first_delayed, delayed_count;
};

static struct text frame_text(zmq_msg_t *frame)
{
  return (struct text){zmq_msg_data(frame), zmq_msg_size(frame)};
}

/* ---- answers ---- */

/* Sends the answer to libzmq. If the client has left in the meantime, libzmq drops the answer. user: ""
 * unless the status is 200. */
static void send_answer(const struct zeromq_zap *zap, const struct envelope *envelope, const char *status,
                        const char *reason, const char *user)
{
  const struct text frames[] = {{(const char *)envelope->routing_id, envelope->routing_id_length},
                                TEXT(""),
                                TEXT("1.0"),
                                {(const char *)envelope->request_id, envelope->request_id_length},
                                text_of(status),
                                text_of(reason),
                                text_of(user),
                                TEXT("")};
  const size_t count = sizeof frames / sizeof frames[0];
  for (size_t i = 0; i < count; i++) {
    int sent;
    do
      sent = zmq_send(zap->socket, frames[i].data, frames[i].len, i + 1 < count ? ZMQ_SNDMORE : 0);
    while (sent < 0 && errno == EINTR);
    if (sent < 0) {
      log_error_rarely("an answer of ZAP could not be sent: %s", zmq_strerror(errno));
      return;
    }
  }
}

static void send_refusal(const struct zeromq_zap *zap, const struct envelope *envelope)
{
  send_answer(zap, envelope, "400", principal_refusal_reason(PRINCIPAL_WRONG_CURVE_KEY), "");
}

/* Sends the refusals that are due. Returns the time until the next one in milliseconds; -1: there is none. */
static long send_due(struct zeromq_zap *zap)
{
  while (zap->delayed_count > 0) {
    const struct delayed *delayed = &zap->delayed[zap->first_delayed];
    const int64_t left_ms = delayed->due_ms - clock_now_ms();
    if (left_ms > 0)
      return (long)left_ms;
    send_refusal(zap, &delayed->envelope);
    zap->first_delayed = (zap->first_delayed + 1) % DELAYED_MAX;
    zap->delayed_count--;
  }
  return -1;
}

static void refuse_key(struct zeromq_zap *zap, const struct envelope *envelope, const char *key,
                       struct text address)
{
  char text[CLIENT_ADDRESS_TEXT];
  const int64_t now_ms = clock_now_ms();
  snprintf(text, sizeof text, "%.*s", (int)(address.len < sizeof text ? address.len : 0), address.data);
  const struct rpc_address client = client_address_of_text(text);
  const int64_t delay_ms = wrong_evidence_count(zap->wrong, &client, true, now_ms);
  monitor_count_refusal(zap->monitor, METRICS_REFUSAL_WRONG_EVIDENCE);
  log_warn_rarely("a ZeroMQ client at %s is refused: no principal lists its CURVE key %s",
                  client_address_write(&client, text), key);
  connection_audit_refusal(0, &client, principal_refusal_reason(PRINCIPAL_WRONG_CURVE_KEY));
  if (delay_ms == 0) {
    send_refusal(zap, envelope);
    return;
  }
  /* A refusal that cannot be delayed is not sent: the client's handshake ends at its timeout. */
  if (zap->delayed_count == DELAYED_MAX)
    return;
  zap->delayed[(zap->first_delayed + zap->delayed_count) % DELAYED_MAX] =
      (struct delayed){now_ms + delay_ms, *envelope};
  zap->delayed_count++;
}

/* ---- requests ---- */

/* Reads the frames of a request. False: the frames are not those of ZAP. */
static bool read_envelope(zmq_msg_t *frames, size_t count, struct envelope *envelope)
{
  if (count <= FRAME_MECHANISM)
    return false;
  const struct text routing_id = frame_text(&frames[FRAME_ROUTING_ID]);
  const struct text request_id = frame_text(&frames[FRAME_REQUEST_ID]);
  if (routing_id.len > ID_MAX || request_id.len > ID_MAX ||
      !text_equal(frame_text(&frames[FRAME_VERSION]), TEXT("1.0")))
    return false;
  envelope->routing_id_length = routing_id.len;
  envelope->request_id_length = request_id.len;
  memcpy(envelope->routing_id, routing_id.data, routing_id.len);
  memcpy(envelope->request_id, request_id.data, request_id.len);
  return true;
}

static bool is_of(zmq_msg_t *frames, const char *domain, const char *mechanism)
{
  return text_equal(frame_text(&frames[FRAME_DOMAIN]), text_of(domain)) &&
         text_equal(frame_text(&frames[FRAME_MECHANISM]), text_of(mechanism));
}

static void answer_request(struct zeromq_zap *zap, zmq_msg_t *frames, size_t count)
{
  struct envelope envelope;
  char key[CURVE_KEY_SIZE];
  if (!read_envelope(frames, count, &envelope)) {
    /* without an answer the client is not admitted: its handshake ends at its timeout */
    log_error_rarely("libzmq has sent a request that is none of ZAP 1.0");
    return;
  }
  if (is_of(frames, ZEROMQ_ZAP_DOMAIN_IPC, "NULL")) {
    send_answer(zap, &envelope, "200", "OK", "");
    return;
  }
  if (!is_of(frames, ZEROMQ_ZAP_DOMAIN_TCP, "CURVE") || count != FRAMES ||
      zmq_msg_size(&frames[FRAME_KEY]) != CURVE_BINARY_LENGTH ||
      zmq_z85_encode(key, zmq_msg_data(&frames[FRAME_KEY]), CURVE_BINARY_LENGTH) == NULL) {
    send_answer(zap, &envelope, "400", "CURVE is needed", "");
    return;
  }
  const struct principal_evidence evidence = {.common_name = TEXT_ABSENT, .curve_key = text_of(key)};
  struct principal_match match;
  if (principals_find(zap->principals, &evidence, &match) != PRINCIPAL_ADMITTED) {
    refuse_key(zap, &envelope, key, frame_text(&frames[FRAME_ADDRESS]));
    return;
  }
  principal_release(match.principal);
  send_answer(zap, &envelope, "200", "OK", key);
}

/* Receives and answers a request. False: there is no request. Frames beyond FRAMES are counted and
 * dropped. */
static bool serve_request(struct zeromq_zap *zap)
{
  zmq_msg_t frames[FRAMES];
  size_t count = 0;
  bool more = true;
  while (more) {
    zmq_msg_t extra;
    zmq_msg_t *frame = count < FRAMES ? &frames[count] : &extra;
    zmq_msg_init(frame);
    int received;
    do
      received = zmq_msg_recv(frame, zap->socket, ZMQ_DONTWAIT);
    while (received < 0 && errno == EINTR);
    more = received >= 0 && zmq_msg_more(frame);
    if (received < 0 || count >= FRAMES)
      zmq_msg_close(frame);
    if (received >= 0)
      count++;
  }
  if (count > 0)
    answer_request(zap, frames, count);
  for (size_t i = 0; i < count && i < FRAMES; i++)
    zmq_msg_close(&frames[i]);
  return count > 0;
}

/* ---- the thread ---- */

static void *run_zap(void *context)
{
  struct zeromq_zap *zap = context;
  for (;;) {
    zmq_pollitem_t items[] = {{.socket = zap->socket, .events = ZMQ_POLLIN},
                              {.fd = zap->stop_fd, .events = ZMQ_POLLIN}};
    const long left_ms = send_due(zap);
    if (zmq_poll(items, 2, left_ms) < 0 && errno != EINTR) {
      log_error("ZAP ends, and no client of CURVE is admitted any more: %s", zmq_strerror(errno));
      return NULL;
    }
    if ((items[1].revents & ZMQ_POLLIN) != 0)
      return NULL;
    bool more = (items[0].revents & ZMQ_POLLIN) != 0;
    for (int i = 0; more && i < REQUESTS_A_ROUND; i++)
      more = serve_request(zap);
  }
}

static void free_zap(struct zeromq_zap *zap)
{
  if (zap->socket != NULL)
    zmq_close(zap->socket);
  if (zap->stop_fd >= 0)
    close(zap->stop_fd);
  free(zap);
}

static int open_socket(struct zeromq_zap *zap, void *context)
{
  const int none = 0;
  zap->socket = zmq_socket(context, ZMQ_ROUTER);
  return zap->socket != NULL && zmq_setsockopt(zap->socket, ZMQ_LINGER, &none, sizeof none) == 0 &&
                 zmq_bind(zap->socket, "inproc://zeromq.zap.01") == 0
             ? 0
             : -1;
}

enum jp_status zeromq_zap_create(void *context, struct principals *principals, struct wrong_evidence *wrong,
                                 struct net_monitor *monitor, struct zeromq_zap **zap, struct jp_error *error)
{
  struct zeromq_zap *made = calloc(1, sizeof *made);
  if (made == NULL)
    return jp_fail_memory(error, NULL);
  made->principals = principals;
  made->wrong = wrong;
  made->monitor = monitor;
  made->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (made->stop_fd < 0 || open_socket(made, context) != 0) {
    const int reason = errno;
    free_zap(made);
    return jp_fail(error, JP_IO, "ZAP: %s", zmq_strerror(reason));
  }
  const int failed = pthread_create(&made->thread, NULL, run_zap, made);
  if (failed != 0) {
    free_zap(made);
    return jp_fail(error, JP_LIMIT, "the thread of ZAP: %s", strerror(failed));
  }
  pthread_setname_np(made->thread, "jpeer-zap");
  *zap = made;
  return JP_OK;
}

void zeromq_zap_destroy(struct zeromq_zap *zap)
{
  if (zap == NULL)
    return;
  const uint64_t one = 1;
  const ssize_t wrote = write(zap->stop_fd, &one, sizeof one); /* the counter is not full */
  (void)wrote;
  pthread_join(zap->thread, NULL);
  free_zap(zap);
}

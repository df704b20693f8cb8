/*
 * Any frames as a request of ZAP: the handler stays alive, no client without the listed key is admitted, and a right request
 * after them is answered. Each frame is a byte with its length, and that many bytes.
 */
#include "net/zeromq/zeromq_zap.h"

#include "base/curve_keys.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>
#include <zmq.h>

#define LISTED "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"

enum { PATIENCE_MS = 10000, KEY_BYTES = 32, FRAMES_MAX = 32, ANSWER_FRAMES = 7 };

static void *client;
static uint8_t listed[KEY_BYTES];

static void write_principals(char *path)
{
  static const char text[] = "principals: [{name: app, curve-keys: [\"" LISTED "\"]}]\n";
  int file = mkstemp(path); /* with the mode 0600 */
  require(file >= 0 && write(file, text, sizeof text - 1) == (ssize_t)sizeof text - 1);
  close(file);
}

/* Once for all inputs. */
static void start(void)
{
  static struct wrong_evidence wrong;
  static struct zeromq_zap *zap;
  static const struct policy_config policy = {.presets = "deny-unsafe"};
  const int timeout_ms = PATIENCE_MS;
  struct policy_source *base;
  struct principals *principals;
  char path[] = "/tmp/jpeer-fuzz-XXXXXX";
  write_principals(path);
  require(policy_source_create(&policy, &base, NULL) == JP_OK);
  const struct principals_config config = {.file = path, .policy = policy, .base = base};
  require(principals_create(&config, &principals, NULL) == JP_OK);
  unlink(path);
  wrong_evidence_init(&wrong);
  void *context = zmq_ctx_new();
  require(zeromq_zap_create(context, principals, &wrong, NULL, &zap, NULL) == JP_OK);
  client = zmq_socket(context, ZMQ_DEALER);
  require(zmq_setsockopt(client, ZMQ_RCVTIMEO, &timeout_ms, sizeof timeout_ms) == 0 &&
          zmq_connect(client, "inproc://zeromq.zap.01") == 0 && zmq_z85_decode(listed, LISTED) != NULL);
}

static void send_frame(struct text frame, bool is_last)
{
  int sent;
  do
    sent = zmq_send(client, frame.data, frame.len, is_last ? 0 : ZMQ_SNDMORE);
  while (sent < 0 && errno == EINTR); /* libFuzzer has a timer */
  require(sent == (int)frame.len);
}

/* Returns true if the last frame that was sent is the listed key, alone after CURVE. */
static bool send_input(struct text input)
{
  struct text frames[FRAMES_MAX];
  size_t count = 0;
  while (input.len > 0 && count < FRAMES_MAX) {
    size_t length = (uint8_t)input.data[0];
    if (length > input.len - 1)
      length = input.len - 1;
    frames[count++] = text_slice(input, 1, 1 + length);
    input = text_slice(input, 1 + length, input.len);
  }
  for (size_t i = 0; i < count; i++)
    send_frame(frames[i], i + 1 == count);
  return count > 0 && text_equal(frames[count - 1], (struct text){(const char *)listed, sizeof listed});
}

static void ask_rightly(void)
{
  static const struct text frames[] = {TEXT(""),          TEXT("1.0"),       TEXT("the right one"),
                                       TEXT("jpeer-tcp"), TEXT("192.0.2.7"), TEXT(""),
                                       TEXT("CURVE")};
  for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++)
    send_frame(frames[i], false);
  send_frame((struct text){(const char *)listed, sizeof listed}, true);
}

/* Reads one answer; true if it is for the right request. */
static bool read_answer(bool may_admit)
{
  char frames[ANSWER_FRAMES][300];
  struct text texts[ANSWER_FRAMES];
  for (size_t i = 0; i < ANSWER_FRAMES; i++) {
    int length;
    do
      length = zmq_recv(client, frames[i], sizeof frames[i], 0);
    while (length < 0 && errno == EINTR);
    require(length >= 0 && (size_t)length <= sizeof frames[i]);
    texts[i] = (struct text){frames[i], (size_t)length};
  }
  int more = 1;
  size_t size = sizeof more;
  require(zmq_getsockopt(client, ZMQ_RCVMORE, &more, &size) == 0 && more == 0);
  bool is_right = text_equal(texts[2], TEXT("the right one"));
  bool is_admitted = text_equal(texts[3], TEXT("200"));
  require(is_admitted || text_equal(texts[3], TEXT("400")));
  require(!is_admitted || texts[5].len == 0 ||
          (text_equal(texts[5], TEXT(LISTED)) && (is_right || may_admit)));
  require(!is_right || is_admitted || may_admit);
  return is_right && is_admitted;
}

FUZZ_TARGET(input)
{
  if (client == NULL)
    start();
  bool may_admit = send_input(input);
  ask_rightly();
  while (!read_answer(may_admit))
    ;
}

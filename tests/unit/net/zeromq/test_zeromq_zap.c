/* Which keys of CURVE come in, and how soon others are refused: by requests as libzmq sends them (ZAP 1.0). */
#include "net/zeromq/zeromq_zap.h"

#include "base/clock.h"
#include "tests/unit/temporary_file.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#define LISTED "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"

enum { TIMEOUT_MS = 30000, KEY_BYTES = 32 };

struct fixture {
  char path[64];
  struct policy_source *base;
  struct principals *principals;
  struct wrong_evidence wrong;
  void *context;
  void *client;
  struct zeromq_zap *zap;
};

static int set_up(void **state)
{
  struct fixture *f = calloc(1, sizeof *f);
  const struct policy_config policy = {.presets = "deny-unsafe"};
  const int timeout_ms = TIMEOUT_MS;
  struct jp_error error = {0};
  strcpy(f->path, "/tmp/jpeer-zap-XXXXXX");
  close(mkstemp(f->path));
  temporary_file_set(f->path,
                     "principals: [{name: app, curve-keys: [\"" LISTED "\"]}, {name: x, anonymous: true}]\n");
  assert_int_equal(chmod(f->path, 0600), 0);
  assert_int_equal(policy_source_create(&policy, &f->base, NULL), JP_OK);
  const struct principals_config config = {.file = f->path, .policy = policy, .base = f->base};
  if (principals_create(&config, &f->principals, &error) != JP_OK)
    fail_msg("%s", error.text);
  wrong_evidence_init(&f->wrong);
  f->context = zmq_ctx_new();
  assert_int_equal(zeromq_zap_create(f->context, f->principals, &f->wrong, &f->zap, &error), JP_OK);
  f->client = zmq_socket(f->context, ZMQ_DEALER);
  assert_int_equal(zmq_setsockopt(f->client, ZMQ_RCVTIMEO, &timeout_ms, sizeof timeout_ms), 0);
  assert_int_equal(zmq_connect(f->client, "inproc://zeromq.zap.01"), 0);
  *state = f;
  return 0;
}

static int tear_down(void **state)
{
  struct fixture *f = *state;
  zmq_close(f->client);
  zeromq_zap_destroy(f->zap);
  zmq_ctx_term(f->context);
  wrong_evidence_fini(&f->wrong);
  principals_destroy(f->principals);
  policy_source_destroy(f->base);
  unlink(f->path);
  free(f);
  return 0;
}

/* key NULL: the request ends after the mechanism. */
static void ask(struct fixture *f, const char *id, const char *domain, const char *mechanism, const void *key,
                size_t length)
{
  const struct text frames[] = {TEXT(""),          TEXT("1.0"),    text_of(id),        text_of(domain),
                                TEXT("192.0.2.7"), TEXT("client"), text_of(mechanism), {key, length}};
  const size_t count = sizeof frames / sizeof frames[0] - (key == NULL);
  for (size_t i = 0; i < count; i++)
    assert_int_equal(zmq_send(f->client, frames[i].data, frames[i].len, i + 1 < count ? ZMQ_SNDMORE : 0),
                     frames[i].len);
}

static void expect_answer(struct fixture *f, const char *id, const char *status, const char *user)
{
  enum { VERSION = 1, ID, STATUS, TEXT_OF_STATUS, USER, METADATA, FRAMES };
  char frames[FRAMES][128];
  int more = 1;
  size_t size = sizeof more;
  for (size_t i = 0; i < FRAMES; i++) {
    const int length = zmq_recv(f->client, frames[i], sizeof frames[i] - 1, 0);
    if (length < 0)
      fail_msg("no answer to %s", id);
    frames[i][length] = '\0';
  }
  assert_int_equal(zmq_getsockopt(f->client, ZMQ_RCVMORE, &more, &size), 0);
  assert_int_equal(more, 0);
  assert_string_equal(frames[VERSION], "1.0");
  assert_string_equal(frames[ID], id);
  assert_string_equal(frames[STATUS], status);
  assert_string_equal(frames[USER], user);
  assert_string_equal(frames[METADATA], "");
}

UNIT_TEST_WITH(a_listed_key_is_the_user_id_and_another_one_is_refused, set_up, tear_down)
{
  struct fixture *f = *state;
  uint8_t listed[KEY_BYTES];
  const uint8_t unlisted[KEY_BYTES] = {1};
  assert_non_null(zmq_z85_decode(listed, LISTED));
  ask(f, "1", ZEROMQ_ZAP_DOMAIN_TCP, "CURVE", listed, sizeof listed);
  expect_answer(f, "1", "200", LISTED);
  ask(f, "2", ZEROMQ_ZAP_DOMAIN_TCP, "CURVE", unlisted, sizeof unlisted);
  expect_answer(f, "2", "400", "");
  ask(f, "3", ZEROMQ_ZAP_DOMAIN_TCP, "CURVE", listed, sizeof listed - 1);
  expect_answer(f, "3", "400", "");
}

UNIT_TEST_WITH(only_unix_sockets_need_no_curve, set_up, tear_down)
{
  struct fixture *f = *state;
  ask(f, "1", ZEROMQ_ZAP_DOMAIN_IPC, "NULL", NULL, 0);
  expect_answer(f, "1", "200", "");
  ask(f, "2", ZEROMQ_ZAP_DOMAIN_TCP, "NULL", NULL, 0);
  expect_answer(f, "2", "400", "");
  ask(f, "3", ZEROMQ_ZAP_DOMAIN_TCP, "PLAIN", "user", 4);
  expect_answer(f, "3", "400", "");
  ask(f, "4", "other", "NULL", NULL, 0);
  expect_answer(f, "4", "400", "");
}

UNIT_TEST_WITH(delayed_refusals_delay_no_right_key, set_up, tear_down)
{
  struct fixture *f = *state;
  uint8_t listed[KEY_BYTES];
  const uint8_t unlisted[KEY_BYTES] = {1};
  assert_non_null(zmq_z85_decode(listed, LISTED));
  for (int i = 0; i < WRONG_EVIDENCE_MAX; i++) {
    ask(f, "wrong", ZEROMQ_ZAP_DOMAIN_TCP, "CURVE", unlisted, sizeof unlisted);
    expect_answer(f, "wrong", "400", "");
  }
  const int64_t begin_ms = clock_now_ms();
  ask(f, "late", ZEROMQ_ZAP_DOMAIN_TCP, "CURVE", unlisted, sizeof unlisted);
  ask(f, "right", ZEROMQ_ZAP_DOMAIN_TCP, "CURVE", listed, sizeof listed);
  expect_answer(f, "right", "200", LISTED);
  expect_answer(f, "late", "400", "");
  assert_true(clock_now_ms() - begin_ms >= WRONG_EVIDENCE_DELAY_MS);
  ask(f, "dropped", ZEROMQ_ZAP_DOMAIN_TCP, "CURVE", unlisted,
      sizeof unlisted); /* the end does not wait for it */
}

UNIT_MAIN

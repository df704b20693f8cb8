/* Which keys of CURVE come in, and how soon others are refused: by requests as libzmq sends them (ZAP 1.0). */
#include "net/zeromq/zeromq_zap.h"

#include "base/clock.h"
#include "net/admission/client_address.h"
#include "tests/unit/temporary_file.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#define ADDRESS "192.0.2.7"
#define LISTED  "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"

enum { TIMEOUT_MS = 30000, KEY_BYTES = 32, TRIES = 20 };

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
  assert_int_equal(zeromq_zap_create(f->context, f->principals, &f->wrong, NULL, &f->zap, &error), JP_OK);
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
  const struct text frames[] = {TEXT(""),      TEXT("1.0"),    text_of(id),        text_of(domain),
                                TEXT(ADDRESS), TEXT("client"), text_of(mechanism), {key, length}};
  const size_t count = sizeof frames / sizeof frames[0] - (key == NULL);
  for (size_t i = 0; i < count; i++)
    assert_int_equal(zmq_send(f->client, frames[i].data, frames[i].len, i + 1 < count ? ZMQ_SNDMORE : 0),
                     frames[i].len);
}

enum { VERSION = 1, ID, STATUS, TEXT_OF_STATUS, USER, METADATA, FRAMES };

struct answer {
  char frames[FRAMES][128];
};

static struct answer receive(struct fixture *f)
{
  struct answer answer;
  int more = 1;
  size_t size = sizeof more;
  for (size_t i = 0; i < FRAMES; i++) {
    const int length = zmq_recv(f->client, answer.frames[i], sizeof answer.frames[i] - 1, 0);
    if (length < 0)
      fail_msg("no answer in %d ms", TIMEOUT_MS);
    answer.frames[i][length] = '\0';
  }
  assert_int_equal(zmq_getsockopt(f->client, ZMQ_RCVMORE, &more, &size), 0);
  assert_int_equal(more, 0);
  return answer;
}

static void check(const struct answer *answer, const char *id, const char *status, const char *user)
{
  assert_string_equal(answer->frames[VERSION], "1.0");
  assert_string_equal(answer->frames[ID], id);
  assert_string_equal(answer->frames[STATUS], status);
  assert_string_equal(answer->frames[USER], user);
  assert_string_equal(answer->frames[METADATA], "");
}

static void expect_answer(struct fixture *f, const char *id, const char *status, const char *user)
{
  const struct answer answer = receive(f);
  check(&answer, id, status, user);
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
  const struct rpc_address address = client_address_of_text(ADDRESS);
  const int64_t counted_ms = clock_now_ms() + TIMEOUT_MS; /* a second that is not over before the requests */
  for (int i = 0; i < WRONG_EVIDENCE_MAX; i++)
    assert_int_equal(wrong_evidence_count(&f->wrong, &address, true, counted_ms), 0);
  bool is_right_first = false;
  /* Again if a thread did not run during the delay. */
  for (int i = 0; i < TRIES && !is_right_first; i++) {
    const int64_t begin_ms = clock_now_ms();
    ask(f, "late", ZEROMQ_ZAP_DOMAIN_TCP, "CURVE", unlisted, sizeof unlisted);
    ask(f, "right", ZEROMQ_ZAP_DOMAIN_TCP, "CURVE", listed, sizeof listed);
    const struct answer first = receive(f);
    const struct answer second = receive(f);
    assert_true(clock_now_ms() - begin_ms >= WRONG_EVIDENCE_DELAY_MS);
    is_right_first = strcmp(first.frames[ID], "right") == 0;
    check(is_right_first ? &first : &second, "right", "200", LISTED);
    check(is_right_first ? &second : &first, "late", "400", "");
  }
  assert_true(is_right_first);
  ask(f, "dropped", ZEROMQ_ZAP_DOMAIN_TCP, "CURVE", unlisted,
      sizeof unlisted); /* the end does not wait for it */
}

UNIT_TEST_WITH(a_flood_of_wrong_keys_is_not_refused_at_once, set_up, tear_down)
{
  enum { FLOOD = 400, QUIET_MS = WRONG_EVIDENCE_DELAY_MS / 4 };
  struct fixture *f = *state;
  uint8_t listed[KEY_BYTES];
  const uint8_t unlisted[KEY_BYTES] = {1};
  const int quiet_ms = QUIET_MS;
  char frame[1];
  assert_non_null(zmq_z85_decode(listed, LISTED));
  for (int i = 0; i < FLOOD; i++)
    ask(f, "wrong", ZEROMQ_ZAP_DOMAIN_TCP, "CURVE", unlisted, sizeof unlisted);
  for (int i = 0; i < WRONG_EVIDENCE_MAX; i++)
    expect_answer(f, "wrong", "400", "");
  ask(f, "right", ZEROMQ_ZAP_DOMAIN_TCP, "CURVE", listed, sizeof listed);
  expect_answer(f, "right", "200", LISTED);
  assert_int_equal(zmq_setsockopt(f->client, ZMQ_RCVTIMEO, &quiet_ms, sizeof quiet_ms), 0);
  assert_int_equal(zmq_recv(f->client, frame, sizeof frame, 0), -1);
}

UNIT_MAIN

/* The pages that a connection over shared memory keeps. */
#define FAKE_PEER_SCHEME "shm"
#include "../client_fixture.h"
#include "tests/unit/await.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

enum { TIMEOUT_MS = 30000, RING_SIZE = 1 << 20, LENGTH = 500000, SMALL_KIB = 96 };

/* Of all maps of shared memory in this process, including the fake peer's. */
static long count_resident_kib(void)
{
  char line[500];
  bool is_ours = false;
  long sum = 0;
  FILE *maps = fopen("/proc/self/smaps", "re");
  assert_non_null(maps);
  while (fgets(line, sizeof line, maps) != NULL) {
    if (strchr(line, '-') != NULL && strstr(line, " 00:") != NULL)
      is_ours = strstr(line, "jpeer-shm") != NULL;
    else if (strncmp(line, "VmFlags:", 8) == 0)
      is_ours = false;
    else if (is_ours && strncmp(line, "Rss:", 4) == 0)
      sum += strtol(line + 4, NULL, 10);
  }
  fclose(maps);
  return sum;
}

/* Small messages use few pages. The pages that a large message used are released when the client sleeps
 * later. */
UNIT_TEST(test_unused_memory_is_released)
{
  struct jp_client *client = fixture_open(fake_peer_start_shm(RING_SIZE, fake_serve, NULL), NULL);
  assert_true(jp_client_descriptor(client) >= 0);
  for (int i = 0; i < 1000; i++)
    assert_int_equal(fixture_call(client, TIMEOUT_MS, NULL), JP_CLIENT_OK);
  assert_in_range(count_resident_kib(), 1, SMALL_KIB);
  char *letters = fixture_letters(LENGTH);
  const struct jp_argument argument = jp_string(letters);
  const struct jp_request request = jp_build_class_method_call("T", "m", &argument, 1);
  struct jp_answer *answer;
  assert_int_equal(jp_client_call(client, &request, TIMEOUT_MS, &answer, NULL), JP_CLIENT_OK);
  jp_answer_free(answer);
  free(letters);
  const int64_t since_ms = clock_now_ms();
  while (count_resident_kib() > SMALL_KIB) { /* released at once if the call was slow */
    AWAIT_PAUSE(since_ms, "the client to return its memory");
    assert_int_equal(fixture_call(client, TIMEOUT_MS, NULL), JP_CLIENT_OK);
    assert_int_equal(jp_client_process(client, NULL), JP_CLIENT_OK);
  }
  fixture_end(client);
}

static void note_answer(void *context, enum jp_client_status status, struct jp_answer *answer)
{
  bool *is_answered = context;
  assert_int_equal(status, JP_CLIENT_OK);
  jp_answer_free(answer);
  *is_answered = true;
}

/* A program that makes no more calls sleeps only once, and the memory must be released then. */
UNIT_TEST(test_the_last_answer_releases_the_memory)
{
  struct jp_client *client = fixture_open(fake_peer_start_shm(RING_SIZE, fake_serve, NULL), NULL);
  struct pollfd polled = {.fd = jp_client_descriptor(client), .events = POLLIN};
  char *letters = fixture_letters(LENGTH);
  const struct jp_argument argument = jp_string(letters);
  const struct jp_request request = jp_build_class_method_call("T", "m", &argument, 1);
  bool is_answered = false;
  assert_int_equal(jp_client_send(client, &request, TIMEOUT_MS, note_answer, &is_answered, NULL),
                   JP_CLIENT_OK);
  while (!is_answered) {
    assert_true(poll(&polled, 1, TIMEOUT_MS) > 0);
    assert_int_equal(jp_client_process(client, NULL), JP_CLIENT_OK);
  }
  assert_in_range(count_resident_kib(), 1, SMALL_KIB);
  free(letters);
  fixture_end(client);
}

UNIT_MAIN

#include "tests/unit/await.h"
#include "zeromq_fixture.h"

#include <stdio.h>
#include <unistd.h>

ZEROMQ_TEST(every_request_of_a_req_client_is_answered, open_fixture)
{
  void *req = connect_client(f, ZMQ_REQ);
  send_text(req, "note", 0);
  expect_text(req, "");
  send_text(req, "", 0);
  expect_text(req, "unreadable: The message is empty");
  send_text(req, "one", ZMQ_SNDMORE);
  send_text(req, "two", 0);
  expect_text(req, "invalid: The payload has more than one frame: a message is one");
  send_text(req, "!one", ZMQ_SNDMORE);
  send_text(req, "two", ZMQ_SNDMORE);
  send_text(req, "", 0);
  expect_text(req, "other invalid: The payload has more than one frame: a message is one");
  send_text(req, "", ZMQ_SNDMORE);
  send_text(req, "!two", 0);
  expect_text(req, "invalid: The payload has more than one frame: a message is one");
  char large[MESSAGE_MAX + 2];
  memset(large, 'x', sizeof large);
  large[sizeof large - 1] = '\0';
  send_text(req, large, 0);
  expect_text(req, "invalid: The message passes the limit message-max of 1000 bytes");
  send_text(req, "ping", 0);
  expect_text(req, "ping");
  close_client(f, req);
}

UNIT_MAIN

/* What needs no server; tests/integration/test_directory.py has the rest. */
#include "directory/etcd_client.h"

#include "tests/unit/unit.h"

UNIT_TEST(endpoints_are_hosts_with_ports)
{
  static const struct {
    const char *text;
    bool any_tls;
    bool all_tls;
    bool all_loopback;
  } good[] = {{"localhost:2379", false, false, true},
              {"http://127.0.0.1:1", false, false, true},
              {"https://[::1]:65535/", true, true, true},
              {"https://a.example:1, b-2:3", true, false, false},
              {"127.0.0.1:1,10.0.0.1:1", false, false, false},
              {"127.example:1", false, false, false},
              {"[fe80::1]:5", false, false, false}};
  for (size_t i = 0; i < COUNT_OF(good); i++) {
    struct etcd_endpoint_facts facts;
    struct jp_error error = {0};
    if (etcd_endpoints_check(good[i].text, &facts, &error) != JP_OK || facts.any_tls != good[i].any_tls ||
        facts.all_tls != good[i].all_tls || facts.all_loopback != good[i].all_loopback)
      fail_msg("%s: %s", good[i].text, error.text);
  }
}

UNIT_TEST(other_endpoints_are_refused)
{
  static const char *const bad[] = {"",
                                    ",",
                                    "a",
                                    "a:",
                                    ":1",
                                    "a:0",
                                    "a:65536",
                                    "a:-1",
                                    "a:1x",
                                    "a b:1",
                                    "a:1/x",
                                    "ftp://a:1",
                                    "http://u@a:1",
                                    "a:1,",
                                    "a:1,,b:1",
                                    "::1:1",
                                    "[]:1",
                                    "[x]:1",
                                    "a?b:1",
                                    "a#:1",
                                    "a\n:1",
                                    "\xc3\xa4:1",
                                    "a:99999999999999999999"};
  for (size_t i = 0; i < COUNT_OF(bad); i++) {
    struct jp_error error = {0};
    if (etcd_endpoints_check(bad[i], NULL, &error) != JP_INVALID || strncmp(error.text, "takes ", 6) != 0)
      fail_msg("accepted: \"%s\" (%s)", bad[i], error.text);
  }
}

UNIT_MAIN

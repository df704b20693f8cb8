#include "client/launch/command_line.h"

#include "tests/unit/unit.h"

/* The words with a blank between them. */
static void expect(const struct jp_launch_config *config, bool has_policy, const char *line)
{
  struct arena arena;
  char joined[1000] = "";
  arena_init(&arena);
  const char *const *words = launch_command_line(config, "/tmp/s", has_policy, &arena);
  for (size_t i = 0; words[i] != NULL; i++) {
    strcat(joined, i > 0 ? " " : "");
    strcat(joined, words[i]);
  }
  assert_string_equal(joined, line);
  arena_fini(&arena);
}

UNIT_TEST(serves_this_user_alone)
{
  expect(&(struct jp_launch_config){0}, false,
         "jpeer run --json-rpc unix:/tmp/s --stop-on-eof 3 --rpc-default-action ALLOW --as-service");
}

UNIT_TEST(starts_a_program)
{
  static const char *const jvm[] = {"-Xmx1g", "-Dk=v", NULL};
  static const char *const arguments[] = {"--rpc-policy", "x", NULL};
  expect(&(struct jp_launch_config){.program = "/opt/jpeer",
                                    .class_path = "a.jar:b",
                                    .jvm_options = jvm,
                                    .main_class = "a.Main",
                                    .arguments = arguments},
         false,
         "/opt/jpeer run --json-rpc unix:/tmp/s --stop-on-eof 3 --rpc-default-action ALLOW -cp a.jar:b -J "
         "-Xmx1g -J -Dk=v a.Main --rpc-policy x");
}

UNIT_TEST(leaves_the_policy_to_who_names_one)
{
  static const char *const each[][3] = {{"--rpc-policy", "p.yaml", NULL},
                                        {"--rpc-policy=p.yaml", NULL, NULL},
                                        {"--rpc-allow", "a.**", NULL},
                                        {"--rpc-policy-preset=deny-unsafe", NULL, NULL},
                                        {"--rpc-default-action", "DENY", NULL}};
  for (size_t i = 0; i < COUNT_OF(each); i++) {
    struct arena arena;
    arena_init(&arena);
    const struct jp_launch_config config = {.options = each[i]};
    const char *const *words = launch_command_line(&config, "/tmp/s", false, &arena);
    for (size_t k = 0; words[k] != NULL; k++)
      assert_string_not_equal(words[k], "ALLOW");
    arena_fini(&arena);
  }
  static const char *const other[] = {"--rpc-policy-watch-interval", "5", NULL};
  expect(&(struct jp_launch_config){.options = other}, false,
         "jpeer run --json-rpc unix:/tmp/s --stop-on-eof 3 --rpc-default-action ALLOW "
         "--rpc-policy-watch-interval 5 --as-service");
  expect(&(struct jp_launch_config){0}, true,
         "jpeer run --json-rpc unix:/tmp/s --stop-on-eof 3 --as-service");
}

UNIT_TEST(looks_for_policies_in_the_environment)
{
  assert_true(launch_names_policy("JPEER_RPC_POLICY=p.yaml"));
  assert_true(launch_names_policy("JPEER_RPC_ALLOW=a"));
  assert_false(launch_names_policy("JPEER_RPC_POLICY="));
  assert_false(launch_names_policy("JPEER_RPC_POLICY"));
  assert_false(launch_names_policy("JPEER_RPC_POLICY_WATCH_INTERVAL=5"));
  assert_false(launch_names_policy("PATH=/bin"));
}

UNIT_MAIN

#include "policy/value_types.h"
#include "tests/unit/unit.h"

/* From the first of the list to the last: one that is out of order would not be found. */
static const char values[] =
    "java.io.Serializable java.lang.Boolean java.lang.CharSequence java.lang.Class java.lang.Enum "
    "java.lang.Integer java.lang.Object java.lang.String java.lang.constant.ConstantDesc "
    "java.math.BigDecimal java.math.BigInteger java.time.Duration java.time.LocalDate "
    "java.time.ZonedDateTime java.util.AbstractCollection java.util.ArrayList java.util.HashMap "
    "java.util.List java.util.Map java.util.TreeMap java.util.UUID java.util.concurrent.BlockingDeque "
    "java.util.concurrent.ConcurrentHashMap java.util.concurrent.PriorityBlockingQueue";

static const char others[] =
    "java. java.lang java.lang.Strin java.lang.Strings java.lang.Runtime java.lang.Thread "
    "java.net.URL java.util. java.util.Locale java.util.NoSuchThing java.util.concurrent.ForkJoinPool "
    "com.example.String";

UNIT_TEST(test_value_types)
{
  char name[UNIT_WORD_MAX];
  for (const char *at = values; unit_next_word(&at, name);)
    if (!policy_is_value_type(text_of(name)))
      fail_msg("%s is none", name);
  for (const char *at = others; unit_next_word(&at, name);)
    if (policy_is_value_type(text_of(name)))
      fail_msg("%s is one", name);
  assert_false(policy_is_value_type(TEXT("")));
}

UNIT_TEST(test_value_containers)
{
  assert_true(policy_is_value_container(TEXT("java.util.ArrayList")));
  assert_true(policy_is_value_container(TEXT("java.util.concurrent.DelayQueue")));
  assert_false(policy_is_value_container(TEXT("com.example.Tray")));
  assert_false(policy_is_value_container(TEXT("java.utility.Tray")));
}

UNIT_MAIN

#include "base/spin_policy.h"

enum { IN_VAIN_MAX = 8, LATE_MAX = 8 };

static bool is_at_its_end(const struct spin_policy *spin)
{
  return spin->in_vain == IN_VAIN_MAX;
}

bool spin_policy_takes_chance(struct spin_policy *spin)
{
  if (spin->to_skip == 0)
    return true;
  spin->to_skip--;
  return false;
}

int64_t spin_policy_limit_ns(const struct spin_policy *spin, const struct spin_limits *limits)
{
  return is_at_its_end(spin) ? limits->rare_ns : limits->usual_ns;
}

void spin_policy_learn(struct spin_policy *spin, const struct spin_limits *limits, bool found,
                       int64_t took_ns, int64_t longest_pause_ns)
{
  bool is_good = found && longest_pause_ns < limits->pause_ns;
  if (is_good && took_ns < limits->usual_ns) {
    *spin = (struct spin_policy){0};
    return;
  }
  if (is_at_its_end(spin) && is_good && ++spin->late < LATE_MAX)
    return;
  spin->late = 0;
  if (!is_at_its_end(spin))
    spin->in_vain++;
  spin->to_skip = (1u << (spin->in_vain - 1)) - 1;
}

#include "net/workers/spin_policy.h"

enum { IN_VAIN_MAX = 8, LATE_MAX = 8 };

static bool is_at_its_end(const struct patience *patience)
{
  return patience->in_vain == IN_VAIN_MAX;
}

bool patience_takes_chance(struct patience *patience)
{
  if (patience->to_skip == 0)
    return true;
  patience->to_skip--;
  return false;
}

int64_t patience_limit_ns(const struct patience *patience)
{
  return is_at_its_end(patience) ? PATIENCE_LONG_NS : PATIENCE_NS;
}

void patience_learn(struct patience *patience, bool found, int64_t took_ns, int64_t longest_pause_ns)
{
  bool is_good = found && longest_pause_ns < PATIENCE_NS;
  if (is_good && took_ns < PATIENCE_NS) {
    *patience = (struct patience){0};
    return;
  }
  if (is_at_its_end(patience) && is_good && ++patience->late < LATE_MAX)
    return;
  patience->late = 0;
  if (!is_at_its_end(patience))
    patience->in_vain++;
  patience->to_skip = (1u << (patience->in_vain - 1)) - 1;
}

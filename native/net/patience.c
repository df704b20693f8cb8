#include "net/patience.h"

enum { IN_VAIN_MAX = 7, LATE_MAX = 8 };

bool patience_takes_chance(struct patience *patience)
{
  if (patience->to_skip == 0)
    return true;
  patience->to_skip--;
  return false;
}

int64_t patience_limit_ns(const struct patience *patience)
{
  return patience->in_vain == 0 ? PATIENCE_NS : PATIENCE_LONG_NS;
}

void patience_learn(struct patience *patience, bool found, int64_t took_ns, int64_t longest_pause_ns)
{
  bool is_good = found && longest_pause_ns < PATIENCE_NS;
  if (is_good && took_ns < PATIENCE_NS) {
    *patience = (struct patience){0};
    return;
  }
  if (is_good && ++patience->late < LATE_MAX)
    return;
  patience->late = 0;
  if (patience->in_vain < IN_VAIN_MAX)
    patience->in_vain++;
  patience->to_skip = (1u << (patience->in_vain - 1)) - 1;
}

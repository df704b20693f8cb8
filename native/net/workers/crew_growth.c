#include "net/workers/crew_growth.h"

unsigned crew_growth_wanted(const struct crew_load *load)
{
  bool will_move = load->idle > 0 || (load->has_moved && load->busy > 0);
  return will_move ? 0 : 1 + (load->busy + load->waiting) / 4;
}

#ifndef JPEER_BASE_TEXT_ORDER_H
#define JPEER_BASE_TEXT_ORDER_H
/* The order of texts by their bytes, for sorted tables. Pure, any thread. */
#include "base/text.h"

/* Negative, 0 or positive, as memcmp; a text comes before those that begin with it. */
static inline int text_order(struct text a, struct text b)
{
  size_t shorter = a.len < b.len ? a.len : b.len;
  int order = shorter == 0 ? 0 : memcmp(a.data, b.data, shorter);
  return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

#endif

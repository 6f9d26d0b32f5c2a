/* Labels that come from outside: whether they are some. */

#ifndef API_LABEL_H
#define API_LABEL_H

#include "base/err.h"
#include "value/value.h"

/* Whether it is an array of labels; with `all`, or true, which stands for all
 * of them. ARGUMENT. */
MUST_CHECK enum err label_check(struct value labels,
                                bool all,
                                struct err_detail *detail);

#endif

/* The ids of clocks (runtime/clock.h): "clock:" and a number of milliseconds.
 * They are reserved: no other document has such an id. */

#ifndef VALUE_CLOCK_ID_H
#define VALUE_CLOCK_ID_H

#include "value/value.h"

/* The length of the intervals; 0: not the id of a clock. */
int64_t clock_id_read(struct value id);

/* The id of the clock with intervals of that length, from 1 on; new. */
struct value clock_id_new(int64_t ms);

#endif

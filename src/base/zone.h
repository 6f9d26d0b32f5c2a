/* Time zones: how far local time is ahead of UTC, and when that changes.
 *
 * A zone is read from the bytes of a TZif file (RFC 8536) of the tz database;
 * the host finds the file. Nothing here reads a file, a clock or the
 * environment. */

#ifndef BASE_ZONE_H
#define BASE_ZONE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/vec.h"

/* When a rule changes the time, each year. */
enum zone_day_kind {
    ZONE_DAY_JULIAN, /* day 1 to 365; 29 February is never counted */
    ZONE_DAY_ZERO,   /* day 0 to 365; it is */
    ZONE_DAY_MONTH,  /* a weekday of a month */
};

struct zone_day {
    enum zone_day_kind kind;
    unsigned day; /* or the weekday */
    unsigned week;
    unsigned month;
    int32_t seconds; /* of the day */
};

/* The rule after the last change that the file lists. */
struct zone_rule {
    int32_t standard; /* seconds ahead of UTC, */
    int32_t summer;   /* and in summer */
    bool has_summer;
    struct zone_day begin;
    struct zone_day end;
};

struct zone_change {
    int64_t at;     /* UTC, seconds since 1970 */
    int32_t offset; /* from then on */
};

struct zone {
    int32_t first; /* before the first change */
    VEC(struct zone_change) changes;
    bool has_rule;
    struct zone_rule rule;
};

const struct zone *zone_utc(void);

/* ARGUMENT: the bytes are not such a file. */
MUST_CHECK enum err zone_read(const unsigned char *bytes,
                              size_t length,
                              struct zone *out,
                              struct err_detail *detail);
void zone_release(struct zone *zone);

/* Seconds that local time is ahead of UTC at that time. */
int32_t zone_offset(const struct zone *zone, int64_t time);

/* The first change after that time. False: there is none. */
bool zone_next_change(const struct zone *zone,
                      int64_t time,
                      struct zone_change *out);

#endif

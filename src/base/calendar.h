/* The Gregorian calendar, in UTC: seconds since 1970 to dates and back. Leap
 * seconds are not counted, as in POSIX. Pure arithmetic. */

#ifndef BASE_CALENDAR_H
#define BASE_CALENDAR_H

#include <stdbool.h>
#include <stdint.h>

enum {
    CALENDAR_MINUTE = 60,
    CALENDAR_HOUR = 3600,
    CALENDAR_DAY = 86400,
};

struct civil {
    int64_t year;
    unsigned month;   /* from 1 */
    unsigned day;     /* of the month, from 1 */
    unsigned weekday; /* 0: Sunday */
    unsigned hour;
    unsigned minute;
    unsigned second;
};

/* Days from 1 January 1970 to that day; the day may be any number. */
int64_t calendar_days(int64_t year, unsigned month, int64_t day);

unsigned calendar_month_days(int64_t year, unsigned month);

struct civil calendar_civil(int64_t seconds);

/* RFC 3339: "2026-11-18T09:00:00Z", optionally with a fraction of a second and
 * with an offset such as +01:00 for the Z; in ms. False: malformed, or before
 * 1970 or after the year 9999. */
bool calendar_read(const char *text, uint64_t *ms);

#endif

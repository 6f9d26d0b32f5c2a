/* Cron fields: minute, hour, day of the month, month, day of the week.
 *
 * Each is a star or a list of numbers and ranges, optionally with a step:
 * "0 9 * * 1-5", "0,30 8-18/2 1 jan,jul *". Months and days of the week may be
 * names of three letters; 0 and 7 are Sunday. If both days are restricted, a
 * time matches if one of them does.
 *
 *   cron-1  If local clocks skip a matching time, the time of the skip matches
 *           instead, unless the hours are a star: a daily time occurs on each
 *           day.
 *   cron-2  Of a local time that occurs twice, only the first matches, unless
 *           the hours are a star. */

#ifndef BASE_CRON_H
#define BASE_CRON_H

#include "base/err.h"
#include "base/zone.h"

enum {
    CRON_TEXT_MOST = 200,
    CRON_YEARS = 12, /* a leap day occurs within eight years, or never */
};

struct cron {
    uint64_t minutes; /* one bit each */
    uint32_t hours;
    uint32_t days; /* of the month; bit 0 is not used */
    uint32_t months;
    uint32_t weekdays;
    bool every_hour; /* a star */
    bool every_day;
    bool every_weekday;
};

/* ARGUMENT: with the field, and its valid values. Also for a day that no year
 * has. */
MUST_CHECK enum err cron_read(const char *text,
                              struct cron *out,
                              struct err_detail *detail);

/* The first matching time after `time`, in seconds since 1970. False: none
 * within CRON_YEARS. */
bool cron_next(const struct cron *cron,
               const struct zone *zone,
               int64_t time,
               int64_t *out);

#endif

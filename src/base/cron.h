/* Cron fields: minute, hour, day of the month, month, day of the week.
 *
 * Each is a star or a list of numbers and ranges, with a step if it has one:
 * "0 9 * * 1-5", "0,30 8-18/2 1 jan,jul *". Months and days of the week may be
 * names of three letters; 0 and 7 are Sunday. If both days are restricted, a
 * time fits if one of them does.
 *
 *   cron-1  A time at which local clocks go forward over a time that fits is
 *           itself one, unless the hours are a star: each day's time comes each
 *           day.
 *   cron-2  Of a local time that comes twice, only the first fits, unless the
 *           hours are a star. */

#ifndef BASE_CRON_H
#define BASE_CRON_H

#include "base/err.h"
#include "base/zone.h"

enum {
    CRON_TEXT_MOST = 200,
    CRON_YEARS = 12, /* a leap day comes within eight years, or never */
};

struct cron {
    uint64_t minutes; /* a bit each */
    uint32_t hours;
    uint32_t days; /* of the month; bit 0 is not used */
    uint32_t months;
    uint32_t weekdays;
    bool every_hour; /* a star */
    bool every_day;
    bool every_weekday;
};

/* ARGUMENT: with the field, and what it may be. Also for fields that name no
 * day that any year has. */
MUST_CHECK enum err cron_read(const char *text,
                              struct cron *out,
                              struct err_detail *detail);

/* The first time after `time` that fits, in seconds since 1970. False: none
 * within CRON_YEARS. */
bool cron_next(const struct cron *cron,
               const struct zone *zone,
               int64_t time,
               int64_t *out);

#endif

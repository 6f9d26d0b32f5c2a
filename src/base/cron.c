/* Reading cron fields, and finding the next time that fits. */

#include "base/cron.h"

#include <string.h>

#include "base/calendar.h"
#include "base/text.h"

/* -- Reading ------------------------------------------------------------- */

static const char *const month_names[] = {"jan",
                                          "feb",
                                          "mar",
                                          "apr",
                                          "may",
                                          "jun",
                                          "jul",
                                          "aug",
                                          "sep",
                                          "oct",
                                          "nov",
                                          "dec"};
static const char *const weekday_names[] =
    {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

static const struct field {
    const char *name;
    unsigned least;
    unsigned most;
    const char *const *names; /* from `least` on; or NULL */
    unsigned name_count;
} fields[] = {
    {"minute", 0, 59, NULL, 0},
    {"hour", 0, 23, NULL, 0},
    {"day of the month", 1, 31, NULL, 0},
    {"month", 1, 12, month_names, 12},
    {"day of the week", 0, 7, weekday_names, 7},
};

static bool is_name(const char *at, const char *name)
{
    for (size_t i = 0; i < 3; i++) {
        if ((at[i] | 0x20) != name[i]) {
            return false;
        }
    }
    return true;
}

static bool take_value(const char **at,
                       const struct field *field,
                       unsigned *out)
{
    for (unsigned i = 0; i < field->name_count; i++) {
        if (is_name(*at, field->names[i])) {
            *out = field->least + i;
            *at += 3;
            return true;
        }
    }
    bool any = false;
    *out = 0;
    while (**at >= '0' && **at <= '9' && *out < 1000) {
        *out = *out * 10 + (unsigned)(*(*at)++ - '0');
        any = true;
    }
    return any && *out >= field->least && *out <= field->most;
}

/* One element of a list. */
static bool take_range(const char **at,
                       const struct field *field,
                       uint64_t *bits)
{
    unsigned first = field->least;
    unsigned last = field->most;
    unsigned step = 1;
    bool is_range = true;
    if (**at == '*') {
        (*at)++;
    } else {
        if (!take_value(at, field, &first)) {
            return false;
        }
        last = first;
        is_range = **at == '-';
        if (is_range) {
            (*at)++;
            if (!take_value(at, field, &last) || last < first) {
                return false;
            }
        }
    }
    if (**at == '/') {
        (*at)++;
        const struct field steps = {NULL, 1, field->most, NULL, 0};
        if (!is_range || !take_value(at, &steps, &step)) {
            return false;
        }
    }
    for (unsigned i = first; i <= last; i += step) {
        *bits |= UINT64_C(1) << i;
    }
    return true;
}

static bool take_field(const char **at,
                       const struct field *field,
                       uint64_t *bits,
                       bool *is_star)
{
    *bits = 0;
    *is_star = **at == '*';
    do {
        if (!take_range(at, field, bits)) {
            return false;
        }
    } while (**at == ',' && *(*at)++ == ',');
    return **at == ' ' || **at == '\t' || **at == '\0';
}

/* The most days that the month has in any year. */
static unsigned most_days(unsigned month)
{
    return calendar_month_days(2000, month);
}

/* Whether a day of the month is in a month. */
static bool has_day(const struct cron *cron)
{
    for (unsigned month = 1; month <= 12; month++) {
        const uint32_t days =
            (uint32_t)((UINT64_C(1) << (most_days(month) + 1)) - 2);
        if ((cron->months >> month & 1) != 0 && (cron->days & days) != 0) {
            return true;
        }
    }
    return false;
}

static enum err refuse(const char *text,
                       const struct field *field,
                       struct err_detail *detail)
{
    return err_set(detail,
                   ERR_ARGUMENT,
                   "the %s of the cron fields '%.*s' must be *, or numbers "
                   "and ranges from %u to %u%s, such as 1,5 or 1-5 or */2",
                   field->name,
                   text_shown(text, strlen(text), 80),
                   text,
                   field->least,
                   field->most,
                   field->names != NULL ? " or names of three letters" : "");
}

enum err cron_read(const char *text,
                   struct cron *out,
                   struct err_detail *detail)
{
    uint64_t bits[COUNT_OF(fields)] = {0};
    bool stars[COUNT_OF(fields)] = {0};
    const char *at = text;
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        at += strspn(at, " \t");
        if (*at == '\0') {
            return err_set(detail,
                           ERR_ARGUMENT,
                           "cron fields are minute, hour, day of the month, "
                           "month and day of the week: '%.*s' has %zu of them",
                           text_shown(text, strlen(text), 80),
                           text,
                           i);
        }
        if (!take_field(&at, &fields[i], &bits[i], &stars[i])) {
            return refuse(text, &fields[i], detail);
        }
    }
    at += strspn(at, " \t");
    *out = (struct cron){
        .minutes = bits[0],
        .hours = (uint32_t)bits[1],
        .days = (uint32_t)bits[2],
        .months = (uint32_t)bits[3],
        .weekdays = (uint32_t)((bits[4] | bits[4] >> 7) & 127),
        .every_hour = stars[1],
        .every_day = stars[2],
        .every_weekday = stars[4],
    };
    if (*at != '\0') {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "'%.*s' has more than five cron fields",
                       text_shown(text, strlen(text), 80),
                       text);
    }
    if (out->every_weekday && !has_day(out)) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "the cron fields '%.*s' name a day that its month does "
                       "not have",
                       text_shown(text, strlen(text), 80),
                       text);
    }
    return ERR_OK;
}

/* -- The next time ------------------------------------------------------- */

static bool fits_day(const struct cron *cron, const struct civil *civil)
{
    const bool day = (cron->days >> civil->day & 1) != 0;
    const bool weekday = (cron->weekdays >> civil->weekday & 1) != 0;
    if ((cron->months >> civil->month & 1) == 0) {
        return false;
    }
    return cron->every_day || cron->every_weekday ? day && weekday
                                                  : day || weekday;
}

/* The first local time from `local` on that fits, and before `end`. */
static bool find_local(const struct cron *cron,
                       int64_t local,
                       int64_t end,
                       int64_t *out)
{
    const int64_t rest = local % CALENDAR_MINUTE;
    int64_t at = local + (rest > 0 ? CALENDAR_MINUTE - rest : -rest);
    while (at < end) {
        const struct civil civil = calendar_civil(at);
        const int64_t of_hour = civil.minute * CALENDAR_MINUTE;
        if (!fits_day(cron, &civil)) {
            at += CALENDAR_DAY - civil.hour * CALENDAR_HOUR - of_hour;
        } else if ((cron->hours >> civil.hour & 1) == 0) {
            at += CALENDAR_HOUR - of_hour;
        } else if ((cron->minutes >> civil.minute & 1) == 0) {
            at += CALENDAR_MINUTE;
        } else {
            *out = at;
            return true;
        }
    }
    return false;
}

/* cron-2: how long after the last change local times are ones that have been
 * there before. */
static int64_t end_of_repetition(const struct zone *zone, int64_t since)
{
    const int32_t before = zone_offset(zone, since - 1);
    const int32_t after = zone_offset(zone, since);
    return before > after ? since + (before - after) : since;
}

bool cron_next(const struct cron *cron,
               const struct zone *zone,
               int64_t time,
               int64_t *out)
{
    const int64_t most =
        time + (int64_t)CRON_YEARS * 366 * (int64_t)CALENDAR_DAY;
    int64_t at = time;
    /* A change of the clocks may be just before, and its times repeat. */
    if (!cron->every_hour) {
        struct zone_change change;
        int64_t look = at - 2 * (int64_t)CALENDAR_DAY;
        while (zone_next_change(zone, look, &change) && change.at <= at) {
            const int64_t fresh = end_of_repetition(zone, change.at);
            at = at < fresh ? fresh : at;
            look = change.at;
        }
    }
    while (at < most) {
        struct zone_change change;
        const bool changes = zone_next_change(zone, at, &change);
        const int64_t end = changes && change.at < most ? change.at : most;
        const int32_t offset = zone_offset(zone, at);
        const int64_t from = at > time ? at : time + 1;
        int64_t local;
        if (find_local(cron, from + offset, end + offset, &local)) {
            *out = local - offset;
            return true;
        }
        if (end == most) {
            return false;
        }
        /* cron-1 */
        if (!cron->every_hour && change.offset > offset &&
            find_local(cron, end + offset, end + change.offset, &local)) {
            *out = end;
            return true;
        }
        at = cron->every_hour ? end : end_of_repetition(zone, end);
    }
    return false;
}

/* The arithmetic of days, months and years, and times as RFC 3339 writes
 * them. */

#include "base/calendar.h"

/* Years are counted from March on: then the leap day is the last one. */
int64_t calendar_days(int64_t year, unsigned month, int64_t day)
{
    const int64_t from_march = month > 2 ? year : year - 1;
    const int64_t era = (from_march >= 0 ? from_march : from_march - 399) / 400;
    const int64_t of_era = from_march - era * 400;
    const int64_t months = (month + 9) % 12;
    const int64_t of_year = (153 * months + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year -
           719468;
}

unsigned calendar_month_days(int64_t year, unsigned month)
{
    const int64_t next = month == 12 ? calendar_days(year + 1, 1, 1)
                                     : calendar_days(year, month + 1, 1);
    return (unsigned)(next - calendar_days(year, month, 1));
}

static int64_t floor_divide(int64_t a, int64_t b)
{
    return a >= 0 ? a / b : -((-a + b - 1) / b);
}

struct civil calendar_civil(int64_t seconds)
{
    const int64_t days = floor_divide(seconds, CALENDAR_DAY);
    const int64_t of_day = seconds - days * CALENDAR_DAY;
    const int64_t shifted = days + 719468;
    const int64_t era = floor_divide(shifted, 146097);
    const int64_t of_era = shifted - era * 146097;
    const int64_t years =
        (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    const int64_t of_year = of_era - (365 * years + years / 4 - years / 100);
    const int64_t months = (5 * of_year + 2) / 153;
    struct civil civil = {
        .day = (unsigned)(of_year - (153 * months + 2) / 5 + 1),
        .month = (unsigned)(months < 10 ? months + 3 : months - 9),
        .weekday = (unsigned)(days + 4 - floor_divide(days + 4, 7) * 7),
        .hour = (unsigned)(of_day / CALENDAR_HOUR),
        .minute = (unsigned)(of_day / CALENDAR_MINUTE % 60),
        .second = (unsigned)(of_day % CALENDAR_MINUTE),
    };
    civil.year = years + era * 400 + (civil.month <= 2);
    return civil;
}

/* -- Reading ------------------------------------------------------------- */

/* So many digits, and then the character `end`, or anything if it is 0. */
static bool read_part(const char **at,
                      unsigned digits,
                      char end,
                      unsigned most,
                      unsigned *out)
{
    *out = 0;
    for (unsigned i = 0; i < digits; i++) {
        if (**at < '0' || **at > '9') {
            return false;
        }
        *out = *out * 10 + (unsigned)(**at - '0');
        (*at)++;
    }
    if (end != '\0' && **at != end) {
        return false;
    }
    *at += end != '\0';
    return *out <= most;
}

/* ".5" and the like, in ms; what is less than one is left out. */
static bool read_fraction(const char **at, unsigned *ms)
{
    unsigned scale = 100;
    *ms = 0;
    if (**at != '.') {
        return true;
    }
    (*at)++;
    if (**at < '0' || **at > '9') {
        return false;
    }
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        *ms += (unsigned)(**at - '0') * scale;
        scale /= 10;
    }
    return true;
}

static bool read_offset(const char *at, int64_t *seconds)
{
    unsigned hours;
    unsigned minutes;
    const char sign = *at++;
    *seconds = 0;
    if (sign == 'Z' || sign == 'z') {
        return *at == '\0';
    }
    if ((sign != '+' && sign != '-') || !read_part(&at, 2, ':', 23, &hours) ||
        !read_part(&at, 2, '\0', 59, &minutes)) {
        return false;
    }
    *seconds = (int64_t)hours * CALENDAR_HOUR + minutes * CALENDAR_MINUTE;
    *seconds = sign == '-' ? -*seconds : *seconds;
    return *at == '\0';
}

bool calendar_read(const char *text, uint64_t *ms)
{
    unsigned year;
    struct civil civil = {0};
    unsigned fraction;
    int64_t offset;
    const char *at = text;
    if (!read_part(&at, 4, '-', 9999, &year) ||
        !read_part(&at, 2, '-', 12, &civil.month) ||
        !read_part(&at, 2, '\0', 31, &civil.day) ||
        (*at != 'T' && *at != 't' && *at != ' ')) {
        return false;
    }
    at++;
    if (!read_part(&at, 2, ':', 23, &civil.hour) ||
        !read_part(&at, 2, ':', 59, &civil.minute) ||
        !read_part(&at, 2, '\0', 59, &civil.second) ||
        !read_fraction(&at, &fraction) || !read_offset(at, &offset) ||
        civil.month == 0 || civil.day == 0 ||
        civil.day > calendar_month_days(year, civil.month)) {
        return false;
    }
    const int64_t seconds =
        calendar_days(year, civil.month, civil.day) * CALENDAR_DAY +
        civil.hour * CALENDAR_HOUR + civil.minute * CALENDAR_MINUTE +
        civil.second - offset;
    if (seconds < 0) {
        return false;
    }
    *ms = (uint64_t)seconds * 1000 + fraction;
    return true;
}

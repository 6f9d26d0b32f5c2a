/* Reading TZif files, and the rule at their end. */

#include "base/zone.h"

#include <string.h>

#include "base/calendar.h"

static const struct zone utc;

const struct zone *zone_utc(void)
{
    return &utc;
}

void zone_release(struct zone *zone)
{
    vec_release(&zone->changes);
    *zone = (struct zone){0};
}

/* -- The rule ------------------------------------------------------------ */

/* A part of the text at the end of a file: "CET-1CEST,M3.5.0,M10.5.0/3". */
struct rule_text {
    const char *at;
    const char *end;
};

static char peek(const struct rule_text *text)
{
    return text->at < text->end ? *text->at : '\0';
}

static bool take(struct rule_text *text, char wanted)
{
    if (peek(text) != wanted) {
        return false;
    }
    text->at++;
    return true;
}

static bool take_number(struct rule_text *text, unsigned most, unsigned *out)
{
    bool any = false;
    *out = 0;
    while (peek(text) >= '0' && peek(text) <= '9' && *out <= most) {
        *out = *out * 10 + (unsigned)(*text->at++ - '0');
        any = true;
    }
    return any && *out <= most;
}

/* Letters, or anything between < and >. */
static bool take_name(struct rule_text *text)
{
    const bool quoted = take(text, '<');
    size_t length = 0;
    while (text->at < text->end && (quoted ? *text->at != '>'
                                           : ((*text->at | 0x20) >= 'a' &&
                                              (*text->at | 0x20) <= 'z'))) {
        text->at++;
        length++;
    }
    return length > 0 && (!quoted || take(text, '>'));
}

/* Hours, and minutes and seconds if they are given. */
static bool take_time(struct rule_text *text, int32_t *out)
{
    unsigned hours;
    unsigned minutes = 0;
    unsigned seconds = 0;
    const bool is_negative = take(text, '-');
    if (!is_negative) {
        (void)take(text, '+');
    }
    if (!take_number(text, 167, &hours) ||
        (take(text, ':') &&
         (!take_number(text, 59, &minutes) ||
          (take(text, ':') && !take_number(text, 59, &seconds))))) {
        return false;
    }
    *out =
        (int32_t)(hours * CALENDAR_HOUR + minutes * CALENDAR_MINUTE + seconds);
    *out = is_negative ? -*out : *out;
    return true;
}

static bool take_day(struct rule_text *text, struct zone_day *out)
{
    bool is_right = false;
    *out = (struct zone_day){.seconds = 2 * CALENDAR_HOUR};
    if (take(text, 'M')) {
        out->kind = ZONE_DAY_MONTH;
        is_right = take_number(text, 12, &out->month) && out->month > 0 &&
                   take(text, '.') && take_number(text, 5, &out->week) &&
                   out->week > 0 && take(text, '.') &&
                   take_number(text, 6, &out->day);
    } else if (take(text, 'J')) {
        out->kind = ZONE_DAY_JULIAN;
        is_right = take_number(text, 365, &out->day) && out->day > 0;
    } else {
        out->kind = ZONE_DAY_ZERO;
        is_right = take_number(text, 365, &out->day);
    }
    return is_right && (!take(text, '/') || take_time(text, &out->seconds));
}

static bool read_rule(struct rule_text text, struct zone_rule *out)
{
    int32_t behind; /* in the text, what is west is positive */
    if (!take_name(&text) || !take_time(&text, &behind)) {
        return false;
    }
    *out = (struct zone_rule){.standard = -behind};
    if (text.at == text.end) {
        return true;
    }
    out->has_summer = true;
    out->summer = out->standard + CALENDAR_HOUR;
    if (!take_name(&text)) {
        return false;
    }
    if (peek(&text) != ',') {
        if (!take_time(&text, &behind)) {
            return false;
        }
        out->summer = -behind;
    }
    return take(&text, ',') && take_day(&text, &out->begin) &&
           take(&text, ',') && take_day(&text, &out->end) &&
           text.at == text.end;
}

/* The start of that day in a year, in days since 1970. */
static int64_t day_of_year(const struct zone_day *day, int64_t year)
{
    const bool is_leap = calendar_month_days(year, 2) == 29;
    if (day->kind == ZONE_DAY_ZERO) {
        return calendar_days(year, 1, 1) + day->day;
    }
    if (day->kind == ZONE_DAY_JULIAN) {
        return calendar_days(year, 1, 1) + day->day - 1 +
               (is_leap && day->day >= 60);
    }
    const int64_t first = calendar_days(year, day->month, 1);
    const unsigned weekday = calendar_civil(first * CALENDAR_DAY).weekday;
    unsigned at = 1 + (day->day + 7 - weekday) % 7 + (day->week - 1) * 7;
    while (at > calendar_month_days(year, day->month)) {
        at -= 7;
    }
    return first + at - 1;
}

/* The two changes of a year, in UTC. */
static void rule_changes(const struct zone_rule *rule,
                         int64_t year,
                         struct zone_change out[2])
{
    out[0] = (struct zone_change){
        .at = day_of_year(&rule->begin, year) * CALENDAR_DAY +
              rule->begin.seconds - rule->standard,
        .offset = rule->summer,
    };
    out[1] = (struct zone_change){
        .at = day_of_year(&rule->end, year) * CALENDAR_DAY + rule->end.seconds -
              rule->summer,
        .offset = rule->standard,
    };
    if (out[0].at > out[1].at) {
        const struct zone_change first = out[0];
        out[0] = out[1];
        out[1] = first;
    }
}

/* What the rule says: since the last change, and at the next. */
static void ask_rule(const struct zone_rule *rule,
                     int64_t time,
                     int32_t *offset,
                     struct zone_change *next)
{
    const int64_t year = calendar_civil(time).year;
    bool is_found = false;
    *offset = rule->standard;
    for (int64_t at = year - 1; at <= year + 1; at++) {
        struct zone_change changes[2];
        rule_changes(rule, at, changes);
        for (size_t i = 0; i < 2; i++) {
            if (changes[i].at <= time) {
                *offset = changes[i].offset;
            } else if (!is_found) {
                *next = changes[i];
                is_found = true;
            }
        }
    }
}

/* -- Asking -------------------------------------------------------------- */

/* How many of the listed changes are not after that time. */
static size_t changes_up_to(const struct zone *zone, int64_t time)
{
    size_t low = 0;
    size_t high = zone->changes.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (zone->changes.at[middle].at <= time) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

int32_t zone_offset(const struct zone *zone, int64_t time)
{
    const size_t count = changes_up_to(zone, time);
    if (zone->has_rule && count == zone->changes.count) {
        int32_t offset = zone->rule.standard;
        struct zone_change next;
        if (zone->rule.has_summer) {
            ask_rule(&zone->rule, time, &offset, &next);
        }
        return offset;
    }
    return count > 0 ? zone->changes.at[count - 1].offset : zone->first;
}

bool zone_next_change(const struct zone *zone,
                      int64_t time,
                      struct zone_change *out)
{
    const size_t count = changes_up_to(zone, time);
    if (count < zone->changes.count) {
        *out = zone->changes.at[count];
        return true;
    }
    if (!zone->has_rule || !zone->rule.has_summer) {
        return false;
    }
    int32_t offset;
    ask_rule(&zone->rule, time, &offset, out);
    return true;
}

/* -- Files --------------------------------------------------------------- */

struct tzif {
    const unsigned char *at;
    size_t left;
};

struct tzif_header {
    unsigned char version;
    uint32_t ut_count;
    uint32_t standard_count;
    uint32_t leap_count;
    uint32_t time_count;
    uint32_t type_count;
    uint32_t char_count;
};

static uint64_t big_endian(const unsigned char *at, size_t bytes)
{
    uint64_t number = 0;
    for (size_t i = 0; i < bytes; i++) {
        number = number << 8 | at[i];
    }
    return number;
}

static bool read_header(struct tzif *file, struct tzif_header *out)
{
    if (file->left < 44 || memcmp(file->at, "TZif", 4) != 0) {
        return false;
    }
    out->version = file->at[4];
    uint32_t *const counts[] = {
        &out->ut_count,
        &out->standard_count,
        &out->leap_count,
        &out->time_count,
        &out->type_count,
        &out->char_count,
    };
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        *counts[i] = (uint32_t)big_endian(file->at + 20 + i * 4, 4);
        if (*counts[i] > 100000) {
            return false;
        }
    }
    file->at += 44;
    file->left -= 44;
    return true;
}

/* The bytes of what follows a header, with times of that size. */
static size_t body_size(const struct tzif_header *header, size_t time_size)
{
    return header->time_count * (time_size + 1) +
           (size_t)header->type_count * 6 + header->char_count +
           header->leap_count * (time_size + 4) + header->standard_count +
           header->ut_count;
}

static bool read_body(struct tzif *file,
                      const struct tzif_header *header,
                      size_t time_size,
                      struct zone *out)
{
    const size_t size = body_size(header, time_size);
    if (file->left < size || header->type_count == 0) {
        return false;
    }
    const unsigned char *kinds = file->at + header->time_count * time_size;
    const unsigned char *types = kinds + header->time_count;
    out->first = (int32_t)(uint32_t)big_endian(types, 4);
    for (uint32_t i = 0; i < header->time_count; i++) {
        uint64_t at = big_endian(file->at + i * time_size, time_size);
        if (time_size == 4) {
            at = (uint64_t)(int64_t)(int32_t)(uint32_t)at;
        }
        if (kinds[i] >= header->type_count) {
            return false;
        }
        const struct zone_change change = {
            .at = (int64_t)at,
            .offset =
                (int32_t)(uint32_t)big_endian(types + (size_t)kinds[i] * 6, 4),
        };
        if (out->changes.count > 0 &&
            out->changes.at[out->changes.count - 1].at >= change.at) {
            return false;
        }
        vec_push(&out->changes, change);
    }
    file->at += size;
    file->left -= size;
    return true;
}

/* The line between two newlines at the end; it may be empty. */
static bool read_footer(const struct tzif *file, struct zone *out)
{
    const char *text = (const char *)file->at;
    if (file->left < 2 || text[0] != '\n') {
        return false;
    }
    const char *end = memchr(text + 1, '\n', file->left - 1);
    if (end == NULL) {
        return false;
    }
    out->has_rule = end > text + 1;
    return !out->has_rule ||
           read_rule((struct rule_text){text + 1, end}, &out->rule);
}

static bool read_file(struct tzif file, struct zone *out)
{
    struct tzif_header header;
    if (!read_header(&file, &header)) {
        return false;
    }
    if (header.version == 0) {
        return read_body(&file, &header, 4, out);
    }
    const size_t old = body_size(&header, 4);
    if (file.left < old) {
        return false;
    }
    file.at += old;
    file.left -= old;
    return read_header(&file, &header) && read_body(&file, &header, 8, out) &&
           read_footer(&file, out);
}

enum err zone_read(const unsigned char *bytes,
                   size_t length,
                   struct zone *out,
                   struct err_detail *detail)
{
    *out = (struct zone){0};
    if (read_file((struct tzif){bytes, length}, out)) {
        return ERR_OK;
    }
    zone_release(out);
    return err_set(detail, ERR_ARGUMENT, "not a time zone file");
}

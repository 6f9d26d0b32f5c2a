/* Cron fields and time zones, against a walk from minute to minute that asks
 * the C library for local times. */

#include "base/cron.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/calendar.h"
#include "base/random.h"
#include "lib/test.h"

enum {
    ROUNDS = 60,
    TICKS = 3,
};

static const char *const zone_names[] = {
    "Europe/Berlin",
    "America/New_York",
    "UTC",
};

/* The zone of a name, from the files of the tests; and for the C library. */
static void use_zone(const char *name, struct zone *out)
{
    unsigned char bytes[8192];
    char path[200];
    CHECK(setenv("TZDIR", "test/data/zoneinfo", 1) == 0);
    CHECK(setenv("TZ", name, 1) == 0);
    tzset();
    *out = (struct zone){0};
    if (strcmp(name, "UTC") == 0) {
        return;
    }
    (void)snprintf(path, sizeof path, "test/data/zoneinfo/%s", name);
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    const size_t length = fread(bytes, 1, sizeof bytes, file);
    (void)fclose(file);
    struct err_detail detail = {0};
    EXPECT_INT(zone_read(bytes, length, out, &detail), ERR_OK);
}

static struct tm local_of(int64_t time)
{
    const time_t at = (time_t)time;
    struct tm parts = {0};
    CHECK(localtime_r(&at, &parts) != NULL);
    return parts;
}

static bool fits(const struct cron *cron, const struct tm *at)
{
    const bool day = (cron->days >> at->tm_mday & 1) != 0;
    const bool weekday = (cron->weekdays >> at->tm_wday & 1) != 0;
    const bool both = cron->every_day || cron->every_weekday;
    return (cron->months >> (at->tm_mon + 1) & 1) != 0 &&
           (both ? day && weekday : day || weekday) &&
           (cron->hours >> at->tm_hour & 1) != 0 &&
           (cron->minutes >> at->tm_min & 1) != 0;
}

/* Whether the local time at `time` was there before (cron-2). */
static bool comes_again(int64_t time)
{
    const long offset = local_of(time).tm_gmtoff;
    for (int64_t back = 60; back <= 7200; back += 60) {
        if (local_of(time - back).tm_gmtoff - offset == back) {
            return true;
        }
    }
    return false;
}

/* Whether clocks go forward at `time`, over a time that fits (cron-1). */
static bool leaves_out(const struct cron *cron, int64_t time)
{
    const long before = local_of(time - 60).tm_gmtoff;
    const long after = local_of(time).tm_gmtoff;
    for (int64_t local = time + before; local < time + after; local += 60) {
        const time_t at = (time_t)local;
        struct tm parts = {0};
        CHECK(gmtime_r(&at, &parts) != NULL);
        if (fits(cron, &parts)) {
            return true;
        }
    }
    return false;
}

static int64_t walk(const struct cron *cron, int64_t time)
{
    for (int64_t at = time - time % 60 + 60;; at += 60) {
        const struct tm parts = local_of(at);
        if (!cron->every_hour && leaves_out(cron, at)) {
            return at;
        }
        if (fits(cron, &parts) && (cron->every_hour || !comes_again(at))) {
            return at;
        }
    }
}

#define ONE_OF(random, list) ((list)[random_below((random), COUNT_OF(list))])

static void write_fields(struct random *random, char *to, size_t size)
{
    static const char *const minutes[] = {"0", "30", "*/15", "*", "15,45"};
    static const char *const hours[] =
        {"*", "2", "1-3", "*/2", "2,14", "3", "0"};
    static const char *const days[] = {"*", "1", "*/7", "25-31"};
    static const char *const months[] = {"*", "mar,10,11", "*/2"};
    static const char *const weekdays[] = {"*", "0", "1-5", "sat,7"};
    (void)snprintf(to,
                   size,
                   "%s %s %s %s %s",
                   ONE_OF(random, minutes),
                   ONE_OF(random, hours),
                   ONE_OF(random, days),
                   ONE_OF(random, months),
                   ONE_OF(random, weekdays));
}

/* Often just before clocks change. */
static int64_t draw_time(struct random *random, const struct zone *zone)
{
    struct zone_change change;
    const int64_t time =
        (int64_t)random_below(random, 60 * 365) * CALENDAR_DAY +
        (int64_t)random_below(random, CALENDAR_DAY);
    return random_below(random, 2) == 0 && zone_next_change(zone, time, &change)
               ? change.at - (int64_t)random_below(random, 8000)
               : time;
}

static void compare(struct random *random, const char *name, uint64_t seed)
{
    struct zone zone;
    struct cron cron;
    char text[100];
    use_zone(name, &zone);
    write_fields(random, text, sizeof text);
    EXPECT_INT(cron_read(text, &cron, NULL), ERR_OK);
    int64_t time = draw_time(random, &zone);
    for (unsigned i = 0; i < TICKS; i++) {
        int64_t found = 0;
        EXPECT(cron_next(&cron, &zone, time, &found));
        const int64_t expected = walk(&cron, time);
        if (found != expected) {
            (void)test_fail(__FILE__,
                            __LINE__,
                            "seed %llu: '%s' in %s after %lld: %lld, not %lld",
                            (unsigned long long)seed,
                            text,
                            name,
                            (long long)time,
                            (long long)found,
                            (long long)expected);
            break;
        }
        time = found;
    }
    zone_release(&zone);
}

TEST(the_next_time_is_that_of_a_walk)
{
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct random random;
        random_init(&random, seed);
        compare(&random, ONE_OF(&random, zone_names), seed);
    }
}

TEST(offsets_are_those_of_the_c_library)
{
    struct random random;
    random_init(&random, 7);
    for (size_t i = 0; i < COUNT_OF(zone_names); i++) {
        struct zone zone;
        use_zone(zone_names[i], &zone);
        for (unsigned k = 0; k < 500; k++) {
            const int64_t time =
                (int64_t)random_below(&random, 100 * 365) * CALENDAR_DAY +
                (int64_t)random_below(&random, CALENDAR_DAY);
            EXPECT_INT(zone_offset(&zone, time), local_of(time).tm_gmtoff);
        }
        zone_release(&zone);
    }
}

TEST(the_calendar_is_that_of_the_c_library)
{
    struct random random;
    random_init(&random, 8);
    for (unsigned k = 0; k < 1000; k++) {
        const int64_t time =
            (int64_t)random_below(&random, UINT64_C(250000000000));
        const time_t at = (time_t)time;
        const struct civil civil = calendar_civil(time);
        struct tm parts = {0};
        CHECK(gmtime_r(&at, &parts) != NULL);
        EXPECT_INT(civil.year, parts.tm_year + 1900);
        EXPECT_INT(civil.month, (unsigned)parts.tm_mon + 1);
        EXPECT_INT(civil.day, (unsigned)parts.tm_mday);
        EXPECT_INT(civil.weekday, (unsigned)parts.tm_wday);
        EXPECT_INT(calendar_days(civil.year, civil.month, civil.day),
                   time / CALENDAR_DAY);
    }
}

TEST(a_file_that_is_cut_or_changed_is_refused_or_read)
{
    unsigned char bytes[8192];
    FILE *file = fopen("test/data/zoneinfo/Europe/Berlin", "rb");
    CHECK(file != NULL);
    const size_t length = fread(bytes, 1, sizeof bytes, file);
    (void)fclose(file);
    struct random random;
    random_init(&random, 9);
    for (size_t cut = 0; cut < length; cut += 7) {
        struct zone zone;
        EXPECT_INT(zone_read(bytes, cut, &zone, NULL), ERR_ARGUMENT);
    }
    for (unsigned i = 0; i < 2000; i++) {
        const size_t at = (size_t)random_below(&random, length);
        const unsigned char was = bytes[at];
        struct zone zone;
        bytes[at] = (unsigned char)random_below(&random, 256);
        if (zone_read(bytes, length, &zone, NULL) == ERR_OK) {
            struct zone_change change;
            (void)zone_offset(&zone, (int64_t)random_below(&random, 1U << 31));
            (void)zone_next_change(&zone, 4000000000, &change);
            zone_release(&zone);
        }
        bytes[at] = was;
    }
}

TEST(times_are_read_as_rfc_3339_has_them)
{
    static const struct {
        const char *text;
        uint64_t ms;
    } right[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"2026-11-18T09:00:00Z", UINT64_C(1794992400000)},
        {"2026-11-18T10:00:00.25+01:00", UINT64_C(1794992400250)},
        {"2000-02-29 23:59:59-00:30", UINT64_C(951870599000)},
    };
    static const char *const wrong[] = {
        "",
        "2026",
        "2026-02-29T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-01-01T24:00:00Z",
        "2026-01-01T00:00:00",
        "2026-01-01T00:00:00+1:00",
        "2026-01-01T00:00:00.Z",
        "1969-12-31T23:59:59Z",
        "2026-01-01T00:00:00Zx",
    };
    uint64_t ms = 0;
    for (size_t i = 0; i < COUNT_OF(right); i++) {
        EXPECT(calendar_read(right[i].text, &ms));
        EXPECT_EQ(ms, right[i].ms);
    }
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        EXPECT(!calendar_read(wrong[i], &ms));
    }
}

/* Ids of clocks, written and read. */

#include "value/clock_id.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/check.h"

static const char prefix[] = "clock:";

enum {
    DIGITS_MAX = 15, /* the year 9999, in milliseconds */
};

int64_t clock_id_read(struct value id)
{
    if (!value_begins_with(id, prefix)) {
        return 0;
    }
    const struct text text = value_text(&id);
    const size_t begin = sizeof prefix - 1;
    int64_t ms = 0;
    if (text.length == begin || text.length > begin + DIGITS_MAX ||
        text.at[begin] == '0') {
        return 0;
    }
    for (size_t i = begin; i < text.length; i++) {
        if (text.at[i] < '0' || text.at[i] > '9') {
            return 0;
        }
        ms = ms * 10 + (text.at[i] - '0');
    }
    return ms;
}

struct value clock_id_new(int64_t ms)
{
    char text[sizeof prefix + 20];
    CHECK(ms > 0);
    (void)snprintf(text, sizeof text, "%s%" PRId64, prefix, ms);
    return value_text_new(text);
}

/* The edit distance of two names, with three rows of the usual table. */

#include "base/nearest.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static unsigned char lower(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Optimal string alignment: what turns `a` into `b`, where no part is edited
 * twice. */
static size_t distance_of(const char *a, size_t m, const char *b, size_t n)
{
    size_t rows[3][NEAREST_NAME_MAX + 1];
    size_t *before = rows[0];
    size_t *above = rows[1];
    size_t *row = rows[2];
    for (size_t j = 0; j <= n; j++) {
        above[j] = j;
    }
    for (size_t i = 1; i <= m; i++) {
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            const unsigned char x = lower(a[i - 1]);
            const unsigned char y = lower(b[j - 1]);
            row[j] =
                least(least(above[j], row[j - 1]) + 1, above[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == lower(b[j - 2]) &&
                lower(a[i - 2]) == y) {
                row[j] = least(row[j], before[j - 2] + 1);
            }
        }
        size_t *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return above[n];
}

/* One edit per three bytes; of short names one, if something stays the same. */
static size_t most_edits(size_t longer)
{
    return longer < 2 ? 0 : longer < 6 ? 1 : longer / 3;
}

void nearest_begin(struct nearest *nearest, const char *wanted, size_t length)
{
    nearest->wanted_length = length <= NEAREST_NAME_MAX ? length : 0;
    memcpy(nearest->wanted, wanted, nearest->wanted_length);
    nearest->distance = 0;
    nearest->name[0] = '\0';
}

void nearest_offer(struct nearest *nearest, const char *name, size_t length)
{
    const size_t wanted = nearest->wanted_length;
    const size_t longer = wanted > length ? wanted : length;
    if (wanted == 0 || length == 0 || length > NEAREST_NAME_MAX) {
        return;
    }
    const size_t distance = distance_of(nearest->wanted, wanted, name, length);
    if (distance <= most_edits(longer) &&
        (nearest->name[0] == '\0' || distance < nearest->distance)) {
        nearest->distance = distance;
        memcpy(nearest->name, name, length);
        nearest->name[length] = '\0';
    }
}

void nearest_offer_text(struct nearest *nearest, const char *name)
{
    nearest_offer(nearest, name, strlen(name));
}

const char *nearest_hint(struct nearest *nearest)
{
    const size_t length = strlen(nearest->name);
    const bool is_same = length == nearest->wanted_length &&
                         memcmp(nearest->name, nearest->wanted, length) == 0;
    nearest->hint[0] = '\0';
    if (length > 0 && !is_same) {
        (void)snprintf(nearest->hint,
                       sizeof nearest->hint,
                       "; did you mean '%s'?",
                       nearest->name);
    }
    return nearest->hint;
}

/* The matcher. An item of a pattern is what stands for one character: a byte,
 * an escape or a set, from `item` to `item_end`; a quantifier follows it. */

#include "script/match.h"

#include <string.h>

/* Instead of a length: the capture has not ended, or has no text. */
enum {
    CAPTURE_OPEN = -1,
    CAPTURE_POSITION = -2,
};

const char *match_fault_text(enum match_fault fault)
{
    switch (fault) {
    case MATCH_FINE:
        return "no fault";
    case MATCH_OUT_OF_STEPS:
        return "the step budget is used up";
    case MATCH_TOO_COMPLEX:
        return "pattern too complex";
    case MATCH_ENDS_IN_ESCAPE:
        return "malformed pattern (ends with '%')";
    case MATCH_OPEN_SET:
        return "malformed pattern (missing ']')";
    case MATCH_BALANCE_ARGUMENTS:
        return "malformed pattern (missing arguments to '%b')";
    case MATCH_FRONTIER_SET:
        return "missing '[' after '%f' in pattern";
    case MATCH_CAPTURE_INDEX:
        return "invalid capture index in pattern";
    case MATCH_CAPTURE_OPEN:
        return "unfinished capture";
    case MATCH_CAPTURE_CLOSED:
        return "invalid pattern capture";
    case MATCH_CAPTURES:
        return "too many captures";
    }
    return "unknown fault";
}

bool match_is_position(const struct match *match, unsigned index)
{
    return match->capture[index].length == CAPTURE_POSITION;
}

static const char *fail(struct match *match, enum match_fault fault)
{
    if (match->fault == MATCH_FINE) {
        match->fault = fault;
    }
    return NULL;
}

static bool spend(struct match *match, uint64_t steps)
{
    if (match->steps_left < steps) {
        match->steps_left = 0;
        (void)fail(match, MATCH_OUT_OF_STEPS);
        return false;
    }
    match->steps_left -= steps;
    return true;
}

/* -- Items --------------------------------------------------------------- */

static bool is_between(unsigned char c, unsigned char low, unsigned char high)
{
    return c >= low && c <= high;
}

/* Of a letter, the small one. */
static unsigned char lowered(unsigned char c)
{
    return (unsigned char)(c | 0x20U);
}

static bool is_letter(unsigned char c)
{
    return is_between(lowered(c), 'a', 'z');
}

static bool is_digit(unsigned char c)
{
    return is_between(c, '0', '9');
}

static bool is_class(unsigned char c, char class, bool *known)
{
    *known = true;
    switch (class) {
    case 'a':
        return is_letter(c);
    case 'c':
        return c < 0x20 || c == 0x7F;
    case 'd':
        return is_digit(c);
    case 'g':
        return is_between(c, 0x21, 0x7E);
    case 'l':
        return is_between(c, 'a', 'z');
    case 'p':
        return is_between(c, 0x21, 0x7E) && !is_letter(c) && !is_digit(c);
    case 's':
        return c == ' ' || is_between(c, '\t', '\r');
    case 'u':
        return is_between(c, 'A', 'Z');
    case 'w':
        return is_letter(c) || is_digit(c);
    case 'x':
        return is_digit(c) || is_between(lowered(c), 'a', 'f');
    default:
        *known = false;
        return false;
    }
}

/* Whether `c` is what %`escaped` stands for: a class, its complement, or the
 * character itself. */
static bool is_escaped(unsigned char c, char escaped)
{
    bool known = false;
    const bool is_upper = is_between((unsigned char)escaped, 'A', 'Z');
    const char class =
        is_upper ? (char)lowered((unsigned char)escaped) : escaped;
    const bool member = is_class(c, class, &known);
    if (!known) {
        return c == (unsigned char)escaped;
    }
    return member != is_upper;
}

/* Where the item at `item` ends; NULL, and a fault, if it is malformed. */
static const char *end_of_item(struct match *match, const char *item)
{
    const char *end = match->pattern_end;
    const char *at = item + 1;
    if (*item == '%') {
        return at < end ? at + 1 : fail(match, MATCH_ENDS_IN_ESCAPE);
    }
    if (*item != '[') {
        return at;
    }
    if (at < end && *at == '^') {
        at++;
    }
    /* A bracket right at the beginning is a member. */
    bool is_first = true;
    while (at < end && (is_first || *at != ']')) {
        is_first = false;
        at += *at == '%' ? 2 : 1;
    }
    return at < end ? at + 1 : fail(match, MATCH_OPEN_SET);
}

/* A set from '[' to behind its ']'. */
static bool is_in_set(unsigned char c, const char *set, const char *set_end)
{
    const char *last = set_end - 1; /* the ']' */
    const char *at = set + 1;
    const bool is_complement = *at == '^';
    if (is_complement) {
        at++;
    }
    bool found = false;
    while (at < last && !found) {
        if (*at == '%') {
            found = is_escaped(c, at[1]);
            at += 2;
        } else if (last - at > 2 && at[1] == '-') {
            found = is_between(c, (unsigned char)at[0], (unsigned char)at[2]);
            at += 3;
        } else {
            found = c == (unsigned char)*at;
            at++;
        }
    }
    return found != is_complement;
}

static bool is_item(unsigned char c, const char *item, const char *item_end)
{
    switch (*item) {
    case '.':
        return true;
    case '%':
        return is_escaped(c, item[1]);
    case '[':
        return is_in_set(c, item, item_end);
    default:
        return c == (unsigned char)*item;
    }
}

/* Whether the character at `at` is there and is the item. A set costs its
 * length. */
static bool fits(struct match *match,
                 const char *at,
                 const char *item,
                 const char *item_end)
{
    if (!spend(match, (uint64_t)(item_end - item))) {
        return false;
    }
    return at < match->subject_end &&
           is_item((unsigned char)*at, item, item_end);
}

/* -- What is more than an item ------------------------------------------- */

/* Every way round goes through attempt, which counts (match-1).
 * NOLINTBEGIN(misc-no-recursion) */

static const char *match_rest(struct match *match,
                              const char *at,
                              const char *pattern);

/* One level deeper: the rest of the pattern is tried, and something else if
 * that fails. */
static const char *attempt(struct match *match,
                           const char *at,
                           const char *pattern)
{
    if (match->depth >= MATCH_DEPTH_MAX) {
        return fail(match, MATCH_TOO_COMPLEX);
    }
    match->depth++;
    const char *end = match_rest(match, at, pattern);
    match->depth--;
    return end;
}

/* As many as there are, then fewer. */
static const char *match_most(struct match *match,
                              const char *at,
                              const char *item,
                              const char *item_end)
{
    const char *last = at;
    while (fits(match, last, item, item_end)) {
        last++;
    }
    while (match->fault == MATCH_FINE) {
        const char *end = attempt(match, last, item_end + 1);
        if (end != NULL || last == at) {
            return end;
        }
        last--;
    }
    return NULL;
}

/* As few as possible, then more. */
static const char *match_least(struct match *match,
                               const char *at,
                               const char *item,
                               const char *item_end)
{
    for (;;) {
        const char *end = attempt(match, at, item_end + 1);
        if (end != NULL || match->fault != MATCH_FINE ||
            !fits(match, at, item, item_end)) {
            return end;
        }
        at++;
    }
}

static const char *match_open(struct match *match,
                              const char *at,
                              const char *pattern,
                              ptrdiff_t mark)
{
    if (match->captures == MATCH_CAPTURES_MAX) {
        return fail(match, MATCH_CAPTURES);
    }
    match->capture[match->captures++] = (struct match_capture){at, mark};
    const char *end = attempt(match, at, pattern);
    if (end == NULL) {
        match->captures--;
    }
    return end;
}

static const char *match_close(struct match *match,
                               const char *at,
                               const char *pattern)
{
    unsigned index = match->captures;
    while (index > 0 && match->capture[index - 1].length != CAPTURE_OPEN) {
        index--;
    }
    if (index == 0) {
        return fail(match, MATCH_CAPTURE_CLOSED);
    }
    struct match_capture *capture = &match->capture[index - 1];
    capture->length = at - capture->at;
    const char *end = attempt(match, at, pattern);
    if (end == NULL) {
        capture->length = CAPTURE_OPEN;
    }
    return end;
}

/* %b: from an opening character to its closing one. */
static const char *match_balance(struct match *match,
                                 const char *at,
                                 const char *pair)
{
    if (match->pattern_end - pair < 2) {
        return fail(match, MATCH_BALANCE_ARGUMENTS);
    }
    if (at == match->subject_end || *at != pair[0]) {
        return NULL;
    }
    size_t open = 1;
    for (at++; at < match->subject_end && spend(match, 1); at++) {
        if (*at == pair[1]) {
            open--;
            if (open == 0) {
                return at + 1;
            }
        } else if (*at == pair[0]) {
            open++;
        }
    }
    return NULL;
}

/* %f: between a character that is not in the set and one that is; a zero
 * byte stands for the outside. */
static bool is_frontier(const struct match *match,
                        const char *at,
                        const char *set,
                        const char *set_end)
{
    unsigned char before = 0;
    unsigned char after = 0;
    if (at > match->subject) {
        before = (unsigned char)at[-1];
    }
    if (at < match->subject_end) {
        after = (unsigned char)*at;
    }
    return !is_in_set(before, set, set_end) && is_in_set(after, set, set_end);
}

/* %1: the text of a capture once more. */
static const char *match_again(struct match *match, const char *at, char digit)
{
    const unsigned index = (unsigned)(digit - '1');
    if (digit == '0' || index >= match->captures ||
        match->capture[index].length == CAPTURE_OPEN) {
        return fail(match, MATCH_CAPTURE_INDEX);
    }
    /* A position has no text that could come again. */
    const struct match_capture *capture = &match->capture[index];
    if (capture->length < 0) {
        return NULL;
    }
    const size_t length = (size_t)capture->length;
    if (!spend(match, length / 16 + 1) ||
        (size_t)(match->subject_end - at) < length ||
        memcmp(capture->at, at, length) != 0) {
        return NULL;
    }
    return at + length;
}

/* -- Together ------------------------------------------------------------ */

/* An escape that is no item: moves *at and *pattern, and is true; sets *at to
 * NULL where it does not match. */
static bool match_special(struct match *match,
                          const char **at,
                          const char **pattern)
{
    const char *escape = *pattern;
    const char *end = match->pattern_end;
    if (*escape != '%' || escape + 1 == end) {
        return false;
    }
    if (is_digit((unsigned char)escape[1])) {
        *at = match_again(match, *at, escape[1]);
        *pattern = escape + 2;
        return true;
    }
    if (escape[1] == 'b') {
        *at = match_balance(match, *at, escape + 2);
        *pattern = *at != NULL ? escape + 4 : escape;
        return true;
    }
    if (escape[1] != 'f') {
        return false;
    }
    const char *set = escape + 2;
    if (set == end || *set != '[') {
        *at = fail(match, MATCH_FRONTIER_SET);
        return true;
    }
    const char *set_end = end_of_item(match, set);
    if (set_end == NULL || !spend(match, (uint64_t)(set_end - set)) ||
        !is_frontier(match, *at, set, set_end)) {
        *at = NULL;
        return true;
    }
    *pattern = set_end;
    return true;
}

/* An item with what follows it. Moves *at and *pattern and is true if the
 * walk goes on from there; otherwise *at is the result. */
static bool match_item(struct match *match,
                       const char **at,
                       const char **pattern)
{
    const char *item = *pattern;
    const char *item_end = end_of_item(match, item);
    if (item_end == NULL) {
        *at = NULL;
        return false;
    }
    char quantifier = '\0';
    if (item_end < match->pattern_end) {
        quantifier = *item_end;
    }
    if (quantifier == '*') {
        *at = match_most(match, *at, item, item_end);
        return false;
    }
    if (quantifier == '-') {
        *at = match_least(match, *at, item, item_end);
        return false;
    }
    const bool is_there = fits(match, *at, item, item_end);
    if (quantifier == '?') {
        const char *end =
            is_there ? attempt(match, *at + 1, item_end + 1) : NULL;
        if (end != NULL || match->fault != MATCH_FINE) {
            *at = end;
            return false;
        }
        *pattern = item_end + 1;
        return true;
    }
    if (!is_there) {
        *at = NULL;
        return false;
    }
    if (quantifier == '+') {
        *at = match_most(match, *at + 1, item, item_end);
        return false;
    }
    *at += 1;
    *pattern = item_end;
    return true;
}

static const char *match_rest(struct match *match,
                              const char *at,
                              const char *pattern)
{
    while (pattern != match->pattern_end) {
        if (!spend(match, 1)) {
            return NULL;
        }
        const char *next = pattern + 1;
        const bool is_last = next == match->pattern_end;
        if (*pattern == '(') {
            return !is_last && *next == ')'
                       ? match_open(match, at, next + 1, CAPTURE_POSITION)
                       : match_open(match, at, next, CAPTURE_OPEN);
        }
        if (*pattern == ')') {
            return match_close(match, at, next);
        }
        if (*pattern == '$' && is_last) {
            return at == match->subject_end ? at : NULL;
        }
        if (match_special(match, &at, &pattern)) {
            if (at == NULL) {
                return NULL;
            }
        } else if (!match_item(match, &at, &pattern)) {
            return at;
        }
    }
    return at;
}

/* NOLINTEND(misc-no-recursion) */

const char *match_at(struct match *match, const char *at)
{
    match->depth = 0;
    match->captures = 0;
    const char *end = attempt(match, at, match->pattern);
    for (unsigned i = 0; end != NULL && i < match->captures; i++) {
        if (match->capture[i].length == CAPTURE_OPEN) {
            return fail(match, MATCH_CAPTURE_OPEN);
        }
    }
    return match->fault == MATCH_FINE ? end : NULL;
}

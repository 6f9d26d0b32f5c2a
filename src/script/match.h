/* Lua's patterns, with a bound on the work.
 *
 * The patterns are those of the Lua 5.4 manual, 6.4.1: classes, sets, the
 * quantifiers * + - ?, captures, %b and %f. A pattern can make its matcher try
 * every way to divide a text, which takes time beyond any patience; here every
 * comparison takes a step from a budget, and a match that has none left ends.
 *
 *   match-1  A match takes at most as many steps as it is given; a step is one
 *            character compared with one item of the pattern. Recursion is at
 *            most MATCH_DEPTH_MAX calls deep.
 *   match-2  Classes are those of ASCII, whatever the locale.
 *   match-3  Nothing here knows Lua, allocates, or keeps anything. */

#ifndef SCRIPT_MATCH_H
#define SCRIPT_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MATCH_CAPTURES_MAX = 32,
    MATCH_DEPTH_MAX = 200,
};

enum match_fault {
    MATCH_FINE,
    MATCH_OUT_OF_STEPS,
    MATCH_TOO_COMPLEX,       /* nested too deeply */
    MATCH_ENDS_IN_ESCAPE,    /* "abc%" */
    MATCH_OPEN_SET,          /* "[abc" */
    MATCH_BALANCE_ARGUMENTS, /* "%b(" */
    MATCH_FRONTIER_SET,      /* "%fa" */
    MATCH_CAPTURE_INDEX,     /* "%1" before there is a first capture */
    MATCH_CAPTURE_OPEN,      /* "(abc" */
    MATCH_CAPTURE_CLOSED,    /* "abc)" */
    MATCH_CAPTURES,          /* more than MATCH_CAPTURES_MAX */
};

/* For messages: "malformed pattern (missing ']')". */
const char *match_fault_text(enum match_fault fault);

struct match_capture {
    const char *at;
    ptrdiff_t length; /* or one of the marks in match.c */
};

struct match {
    /* Configuration: the subject and the pattern, an anchor '^' already taken
     * off. */
    const char *subject;
    const char *subject_end;
    const char *pattern;
    const char *pattern_end;

    /* State. */
    uint64_t steps_left;
    enum match_fault fault;
    unsigned depth;
    unsigned captures;
    struct match_capture capture[MATCH_CAPTURES_MAX];
};

/* The end of the match that begins exactly at `at`; NULL if there is none, or
 * a fault. */
const char *match_at(struct match *match, const char *at);

/* Whether capture `index` is the position "()", and not a text. */
bool match_is_position(const struct match *match, unsigned index);

#endif

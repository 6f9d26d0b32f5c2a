/* The command line: options, and the operands between them.
 *
 * Options may stand anywhere, before or after operands; "--" ends them. A word
 * that begins with '-' and a digit is a number, not an option, and "-" alone is
 * standard input.
 *
 * The whole line is read before any error is reported, so that an error is JSON
 * wherever --json stands. */

#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/command.h"

/* Options by number; a set of them has one bit per option. */
#define OPTION_HELP       (UINT64_C(1) << 0)
#define OPTION_JSON       (UINT64_C(1) << 1)
#define OPTION_VERSION    (UINT64_C(1) << 2)
#define OPTION_TEXT       (UINT64_C(1) << 3) /* an operand */
#define OPTION_PRETTY     (UINT64_C(1) << 4)
#define OPTION_CANONICAL  (UINT64_C(1) << 5)
#define OPTION_RAW        (UINT64_C(1) << 6)
#define OPTION_EXIT_CODE  (UINT64_C(1) << 7)
#define OPTION_AT         (UINT64_C(1) << 8)
#define OPTION_BRANCH     (UINT64_C(1) << 9)
#define OPTION_SCOPE      (UINT64_C(1) << 10)
#define OPTION_LIMIT      (UINT64_C(1) << 11)
#define OPTION_KEEP_FROM  (UINT64_C(1) << 12)
#define OPTION_PROFILE    (UINT64_C(1) << 13)
#define OPTION_FACT       (UINT64_C(1) << 14) /* many times; kept in `facts` */
#define OPTION_REPAIR     (UINT64_C(1) << 15)
#define OPTION_FILTER     (UINT64_C(1) << 16)
#define OPTION_SEED       (UINT64_C(1) << 17)
#define OPTION_TAP        (UINT64_C(1) << 18)
#define OPTION_DIR        (UINT64_C(1) << 19)
#define OPTION_NAME       (UINT64_C(1) << 20)
#define OPTION_WATCH      (UINT64_C(1) << 21)
#define OPTION_ALLOW      (UINT64_C(1) << 22)
#define OPTION_ID         (UINT64_C(1) << 23)
#define OPTION_SESSION    (UINT64_C(1) << 24)
#define OPTION_STORED     (UINT64_C(1) << 25)
#define OPTION_ARGUMENTS  (UINT64_C(1) << 26)
#define OPTION_TIMEOUT    (UINT64_C(1) << 27)
#define OPTION_APPEND     (UINT64_C(1) << 28)
#define OPTION_ADD_UNIQUE (UINT64_C(1) << 29)
#define OPTION_REMOVE     (UINT64_C(1) << 30)
#define OPTION_INCREMENT  (UINT64_C(1) << 31)
#define OPTION_DELETE     (UINT64_C(1) << 32)
#define OPTION_ONCE       (UINT64_C(1) << 33)
#define OPTION_REPLACE    (UINT64_C(1) << 34)
#define OPTION_PATTERN    (UINT64_C(1) << 35)
#define OPTION_ARGUMENT   (UINT64_C(1) << 48) /* many times, as facts */
#define OPTION_MERMAID    (UINT64_C(1) << 40)
#define OPTION_DOT        (UINT64_C(1) << 41)
#define OPTION_USER       (UINT64_C(1) << 50)
#define OPTION_HOPS       (UINT64_C(1) << 51)
#define OPTION_YES        (UINT64_C(1) << 55)
#define OPTION_SPACE      (UINT64_C(1) << 56)
#define OPTION_ALL        (UINT64_C(1) << 57)
#define OPTION_QUEUE      (UINT64_C(1) << 36)
#define OPTION_AFTER      (UINT64_C(1) << 37)
#define OPTION_EVERY      (UINT64_C(1) << 38)
#define OPTION_ZONE       (UINT64_C(1) << 39)
#define OPTION_MISSED     (UINT64_C(1) << 42)
#define OPTION_CANCEL     (UINT64_C(1) << 43)
#define OPTION_FAILED     (UINT64_C(1) << 60)
#define OPTION_ALLOW_NET  (UINT64_C(1) << 44)
#define OPTION_ALLOW_EXEC (UINT64_C(1) << 45)

#define OPTION_KEEP_COMMITS (UINT64_C(1) << 52)
#define OPTION_KEEP_AGE     (UINT64_C(1) << 53)
#define OPTION_FULL         (UINT64_C(1) << 54)

#define OPTIONS_COMMON (OPTION_HELP | OPTION_JSON)

struct operand {
    const char *word; /* borrowed from the command line */
    bool is_text;     /* from --text: the document itself, not its name */
};

enum {
    OPERANDS_MAX = 256,
    FACTS_MAX = 16,
    ARGUMENTS_MAX = 64,
    COMMAND_NAME_SIZE = 64,
};

struct options {
    uint64_t given; /* OPTION_* */
    struct option_values {
        const char *at;
        const char *branch;
        const char *space;
        const char *scope;
        const char *limit;
        const char *keep_from;
        const char *keep_commits;
        const char *keep_age;
        const char *profile;
        const char *filter;
        const char *seed;
        const char *dir;
        const char *name;
        const char *allow;
        const char *allow_net;
        const char *allow_exec;
        const char *id;
        const char *session;
        const char *arguments;
        const char *timeout;
        const char *user;
        const char *pattern;
        const char *hops;
        const char *after;
        const char *every;
        const char *zone;
        const char *missed;
        const char *cancel;
    } values; /* NULL where the option is not given */
    const char *facts[FACTS_MAX];
    size_t fact_count;
    const char *arguments[ARGUMENTS_MAX]; /* NAME=VALUE each */
    size_t argument_count;
    struct operand operands[OPERANDS_MAX];
    size_t operand_count;
    const struct command *command;
    char name[COMMAND_NAME_SIZE]; /* "value get" */
};

static inline bool option_is_given(const struct options *options,
                                   uint64_t option)
{
    return (options->given & option) != 0;
}

/* Reads the command line and finds its command. CODE_OK, or CODE_BAD after
 * reporting why. */
int options_read(struct options *options, int argc, char **argv);

/* Moves words from the operands to the command: of "value get FILE /a", FILE
 * and /a remain. Stops at the first word that is not a command. */
void options_find_command(struct options *options);

/* Reports that no command was found: none was given, or the first operand is
 * not the name of one. */
int options_refuse_command(const struct options *options);

/* Calls `visit` for each option in `known`, with the word, its operand or NULL,
 * and half a sentence about it. */
void options_visit(uint64_t known,
                   void (*visit)(void *ctx,
                                 const char *word,
                                 const char *value,
                                 const char *manual),
                   void *ctx);

/* Lists the options in `known`, for a help page. */
void options_print(uint64_t known);

#endif

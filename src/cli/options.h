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

/* Options by number; a set of them has one bit per option. Free: 62, 63,
 * 82 to 89, 96 to 127. */
#define OPTION_HELP       ((option_set)1 << 0)
#define OPTION_JSON       ((option_set)1 << 1)
#define OPTION_VERSION    ((option_set)1 << 2)
#define OPTION_TEXT       ((option_set)1 << 3) /* an operand */
#define OPTION_PRETTY     ((option_set)1 << 4)
#define OPTION_CANONICAL  ((option_set)1 << 5)
#define OPTION_RAW        ((option_set)1 << 6)
#define OPTION_EXIT_CODE  ((option_set)1 << 7)
#define OPTION_AT         ((option_set)1 << 8)
#define OPTION_BRANCH     ((option_set)1 << 9)
#define OPTION_SCOPE      ((option_set)1 << 10)
#define OPTION_LIMIT      ((option_set)1 << 11)
#define OPTION_KEEP_FROM  ((option_set)1 << 12)
#define OPTION_PROFILE    ((option_set)1 << 13)
#define OPTION_FACT       ((option_set)1 << 14) /* many times: `facts` */
#define OPTION_REPAIR     ((option_set)1 << 15)
#define OPTION_FILTER     ((option_set)1 << 16)
#define OPTION_SEED       ((option_set)1 << 17)
#define OPTION_TAP        ((option_set)1 << 18)
#define OPTION_DIR        ((option_set)1 << 19)
#define OPTION_NAME       ((option_set)1 << 20)
#define OPTION_WATCH      ((option_set)1 << 21)
#define OPTION_ALLOW      ((option_set)1 << 22)
#define OPTION_ID         ((option_set)1 << 23)
#define OPTION_SESSION    ((option_set)1 << 24)
#define OPTION_STORED     ((option_set)1 << 25)
#define OPTION_ARGUMENTS  ((option_set)1 << 26)
#define OPTION_TIMEOUT    ((option_set)1 << 27)
#define OPTION_APPEND     ((option_set)1 << 28)
#define OPTION_ADD_UNIQUE ((option_set)1 << 29)
#define OPTION_REMOVE     ((option_set)1 << 30)
#define OPTION_INCREMENT  ((option_set)1 << 31)
#define OPTION_DELETE     ((option_set)1 << 32)
#define OPTION_ONCE       ((option_set)1 << 33)
#define OPTION_REPLACE    ((option_set)1 << 34)
#define OPTION_PATTERN    ((option_set)1 << 35)
#define OPTION_ARGUMENT   ((option_set)1 << 48) /* many times, as facts */
#define OPTION_MERMAID    ((option_set)1 << 40)
#define OPTION_DOT        ((option_set)1 << 41)
#define OPTION_USER       ((option_set)1 << 50)
#define OPTION_HOPS       ((option_set)1 << 51)
#define OPTION_YES        ((option_set)1 << 55)
#define OPTION_SPACE      ((option_set)1 << 56)
#define OPTION_ALL        ((option_set)1 << 57)
#define OPTION_QUEUE      ((option_set)1 << 36)
#define OPTION_AFTER      ((option_set)1 << 37)
#define OPTION_EVERY      ((option_set)1 << 38)
#define OPTION_ZONE       ((option_set)1 << 39)
#define OPTION_MISSED     ((option_set)1 << 42)
#define OPTION_CANCEL     ((option_set)1 << 43)
#define OPTION_FAILED     ((option_set)1 << 60)
#define OPTION_ALLOW_NET  ((option_set)1 << 44)
#define OPTION_ALLOW_EXEC ((option_set)1 << 45)

#define OPTION_LISTEN         ((option_set)1 << 46)
#define OPTION_CONFIG         ((option_set)1 << 47)
#define OPTION_INSECURE_LOCAL ((option_set)1 << 49)
#define OPTION_RUN            ((option_set)1 << 58) /* many times: `runs` */
#define OPTION_CHECK          ((option_set)1 << 59)
#define OPTION_SET            ((option_set)1 << 80) /* `settings` */
#define OPTION_ALLOW_ORIGIN   ((option_set)1 << 81) /* `origins` */

#define OPTION_FORCE      ((option_set)1 << 90)
#define OPTION_CAPABILITY ((option_set)1 << 91)
#define OPTION_FOR        ((option_set)1 << 92)
#define OPTION_TO         ((option_set)1 << 93)
#define OPTION_AUDIENCE   ((option_set)1 << 94)
#define OPTION_KEY        ((option_set)1 << 95)

#define OPTION_SERVER ((option_set)1 << 61)

#define OPTION_KEEP_COMMITS ((option_set)1 << 52)
#define OPTION_KEEP_AGE     ((option_set)1 << 53)
#define OPTION_FULL         ((option_set)1 << 54)

#define OPTIONS_COMMON (OPTION_HELP | OPTION_JSON)

struct operand {
    const char *word; /* borrowed from the command line */
    bool is_text;     /* from --text: the document itself, not its name */
};

enum {
    OPERANDS_MAX = 256,
    FACTS_MAX = 16,
    ARGUMENTS_MAX = 64,
    RUNS_MAX = 64,
    ALLOWED_ORIGINS_MAX = 64,
    SETTINGS_MAX = 64,
    COMMAND_NAME_SIZE = 64,
};

struct options {
    option_set given; /* OPTION_* */
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
        const char *server;
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
        const char *listen;
        const char *config;
        const char *capability;
        const char *duration;
        const char *to;
        const char *audience;
        const char *key;
    } values; /* NULL where the option is not given */
    const char *facts[FACTS_MAX];
    size_t fact_count;
    const char *arguments[ARGUMENTS_MAX]; /* NAME=VALUE each */
    size_t argument_count;
    const char *runs[RUNS_MAX];
    size_t run_count;
    const char *origins[ALLOWED_ORIGINS_MAX];
    size_t origin_count;
    const char *settings[SETTINGS_MAX]; /* NAME=VALUE each */
    size_t setting_count;
    struct operand operands[OPERANDS_MAX];
    size_t operand_count;
    const struct command *command;
    char name[COMMAND_NAME_SIZE]; /* "value get" */
};

static inline bool option_is_given(const struct options *options,
                                   option_set option)
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
void options_visit(option_set known,
                   void (*visit)(void *ctx,
                                 const char *word,
                                 const char *value,
                                 const char *manual),
                   void *ctx);

/* Lists the options in `known`, for a help page. */
void options_print(option_set known);

#endif

/* The command line: options, and the operands between them.
 *
 * Options may stand anywhere, before or after operands; "--" ends them. What
 * begins with '-' and a digit is a number, not an option, and "-" alone is
 * standard input.
 *
 * The whole line is read before anything is said about it, so that an error
 * comes as JSON wherever --json stands. */

#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/command.h"

enum option {
    OPTION_HELP = 1 << 0,
    OPTION_JSON = 1 << 1,
    OPTION_VERSION = 1 << 2,
    OPTION_TEXT = 1 << 3, /* takes a value, which stands for an operand */
    OPTION_PRETTY = 1 << 4,
    OPTION_CANONICAL = 1 << 5,
    OPTION_RAW = 1 << 6,
    OPTION_EXIT_CODE = 1 << 7,
    OPTION_AT = 1 << 8, /* these take a value, kept in `values` */
    OPTION_BRANCH = 1 << 9,
    OPTION_SCOPE = 1 << 10,
    OPTION_LIMIT = 1 << 11,
    OPTION_KEEP_FROM = 1 << 12,
    OPTION_PROFILE = 1 << 13,
    OPTION_FACT = 1 << 14, /* may be given many times; kept in `facts` */

    OPTIONS_COMMON = OPTION_HELP | OPTION_JSON,
};

struct operand {
    const char *word; /* borrowed from the command line */
    bool is_text;     /* from --text: the document itself, not its name */
};

enum {
    OPERANDS_MAX = 16,
    FACTS_MAX = 16,
    COMMAND_NAME_SIZE = 64,
};

struct options {
    unsigned given; /* OPTION_* */
    struct option_values {
        const char *at;
        const char *branch;
        const char *scope;
        const char *limit;
        const char *keep_from;
        const char *profile;
    } values; /* NULL where the option is not given */
    const char *facts[FACTS_MAX];
    size_t fact_count;
    struct operand operands[OPERANDS_MAX];
    size_t operand_count;
    const struct command *command;
    char name[COMMAND_NAME_SIZE]; /* "value get" */
};

static inline bool option_is_given(const struct options *options,
                                   enum option option)
{
    return (options->given & (unsigned)option) != 0;
}

/* Reads the command line and finds its command. CODE_OK, or CODE_BAD after
 * having reported why. */
int options_read(struct options *options, int argc, char **argv);

/* Moves words from the operands to the command: of "value get FILE /a", FILE
 * and /a are left. Stops at the first word that is no command. */
void options_find_command(struct options *options);

/* Reports that no command was found: none was given, or there is none with the
 * name that the first operand is. */
int options_refuse_command(const struct options *options);

/* Lists the options in `known`, for a help page. */
void options_print(unsigned known);

#endif

/* Reading the command line: one pass over its words, then the checks that need
 * to know the command. */

#include "cli/options.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "cli/report.h"

static const struct option_row {
    const char *name;
    const char *value; /* what it takes, for the help; NULL: nothing */
    enum option option;
    const char *manual;
} option_rows[] = {
    {"--text", "JSON", OPTION_TEXT, "a document given here, not in a FILE"},
    {"--pretty", NULL, OPTION_PRETTY, "indent the output"},
    {"--canonical",
     NULL,
     OPTION_CANONICAL,
     "sort keys: equal values, one text"},
    {"--raw", NULL, OPTION_RAW, "print a string without quotes and escapes"},
    {"--exit-code", NULL, OPTION_EXIT_CODE, "exit with 1 if they differ"},
    {"--at", "SEQ", OPTION_AT, "as it was at this sequence number"},
    {"--branch", "NAME", OPTION_BRANCH, "on another branch than the main one"},
    {"--scope", "KEY", OPTION_SCOPE, "space, user:NAME or session:NAME:ID"},
    {"--limit", "N", OPTION_LIMIT, "at most so many"},
    {"--keep-from",
     "SEQ",
     OPTION_KEEP_FROM,
     "fold what is before this sequence number"},
    {"--profile", "NAME", OPTION_PROFILE, "strict (unless told) or observed"},
    {"--fact", "NAME", OPTION_FACT, "what holds for the row; many times"},
    {"--json", NULL, OPTION_JSON, "results and errors as JSON"},
    {"--help", NULL, OPTION_HELP, "show this"},
    {"--version", NULL, OPTION_VERSION, "print the version"},
};

void options_print(unsigned known)
{
    for (size_t i = 0; i < COUNT_OF(option_rows); i++) {
        const struct option_row *row = &option_rows[i];
        if ((known & (unsigned)row->option) == 0) {
            continue;
        }
        char label[32];
        (void)snprintf(label,
                       sizeof label,
                       "%s %s",
                       row->name,
                       row->value != NULL ? row->value : "");
        (void)printf("  %-15s %s\n", label, row->manual);
    }
}

/* The row of "--name" or "--name=value", or NULL; *value is what is after the
 * '=', or NULL. */
static const struct option_row *find_row(const char *word, const char **value)
{
    const char *equals = strchr(word, '=');
    const size_t length =
        equals != NULL ? (size_t)(equals - word) : strlen(word);
    *value = equals != NULL ? equals + 1 : NULL;
    for (size_t i = 0; i < COUNT_OF(option_rows); i++) {
        if (strlen(option_rows[i].name) == length &&
            memcmp(option_rows[i].name, word, length) == 0) {
            return &option_rows[i];
        }
    }
    return NULL;
}

static bool is_operand(const char *word)
{
    return word[0] != '-' || word[1] == '\0' ||
           (word[1] >= '0' && word[1] <= '9');
}

/* What is wrong with the line, if anything: the first fault is kept. */
struct fault {
    const char *what;
    const char *word;
};

static void refuse(struct fault *fault, const char *what, const char *word)
{
    if (fault->what == NULL) {
        *fault = (struct fault){what, word};
    }
}

static void add_operand(struct options *options,
                        struct operand operand,
                        struct fault *fault)
{
    if (options->operand_count == OPERANDS_MAX) {
        refuse(fault, "too many operands from", operand.word);
        return;
    }
    options->operands[options->operand_count++] = operand;
}

static void add_fact(struct options *options,
                     const char *word,
                     struct fault *fault)
{
    if (options->fact_count == FACTS_MAX) {
        refuse(fault, "too many facts from", word);
        return;
    }
    options->facts[options->fact_count++] = word;
}

/* Where the value of an option is kept; NULL: in a list, with others. */
static const char **value_of(struct options *options, enum option option)
{
    struct option_values *values = &options->values;
    switch (option) {
    case OPTION_AT:
        return &values->at;
    case OPTION_BRANCH:
        return &values->branch;
    case OPTION_SCOPE:
        return &values->scope;
    case OPTION_LIMIT:
        return &values->limit;
    case OPTION_KEEP_FROM:
        return &values->keep_from;
    case OPTION_PROFILE:
        return &values->profile;
    case OPTION_HELP:
    case OPTION_JSON:
    case OPTION_VERSION:
    case OPTION_TEXT:
    case OPTION_FACT:
    case OPTION_PRETTY:
    case OPTION_CANONICAL:
    case OPTION_RAW:
    case OPTION_EXIT_CODE:
    case OPTIONS_COMMON:
        break;
    }
    return NULL;
}

static void keep_value(struct options *options,
                       const struct option_row *row,
                       const char *value,
                       struct fault *fault)
{
    const char **place = value_of(options, row->option);
    if (row->option == OPTION_FACT) {
        add_fact(options, value, fault);
    } else if (place == NULL) {
        add_operand(options, (struct operand){value, true}, fault);
    } else if (*place != NULL) {
        refuse(fault, "the option is given twice:", row->name);
    } else {
        *place = value;
    }
}

/* An option; `next` is the word after it, or NULL. True if it took `next`. */
static bool read_option(struct options *options,
                        const char *word,
                        const char *next,
                        struct fault *fault)
{
    const char *value = NULL;
    const bool is_short_help = strcmp(word, "-h") == 0;
    const struct option_row *row =
        find_row(is_short_help ? "--help" : word, &value);
    if (row == NULL) {
        refuse(fault, "unknown option", word);
        return false;
    }
    options->given |= (unsigned)row->option;
    if (row->value == NULL) {
        if (value != NULL) {
            refuse(fault, "the option takes no value:", word);
        }
        return false;
    }
    const bool takes_next = value == NULL && next != NULL;
    if (takes_next) {
        value = next;
    }
    if (value == NULL) {
        refuse(fault, "a value is missing after", word);
    } else {
        keep_value(options, row, value, fault);
    }
    return takes_next;
}

static void read_words(struct options *options,
                       int argc,
                       char **argv,
                       struct fault *fault)
{
    bool options_ended = false;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (options_ended || is_operand(word)) {
            add_operand(options, (struct operand){word, false}, fault);
        } else if (strcmp(word, "--") == 0) {
            options_ended = true;
        } else if (read_option(options,
                               word,
                               i + 1 < argc ? argv[i + 1] : NULL,
                               fault)) {
            i++;
        }
    }
}

/* -- The command --------------------------------------------------------- */

/* The option --version is another spelling of the command. */
static void add_first_operand(struct options *options, const char *word)
{
    const size_t count = options->operand_count < OPERANDS_MAX - 1
                             ? options->operand_count
                             : OPERANDS_MAX - 1;
    memmove(&options->operands[1],
            &options->operands[0],
            count * sizeof options->operands[0]);
    options->operands[0] = (struct operand){word, false};
    options->operand_count = count + 1;
}

static void drop_first_operand(struct options *options)
{
    options->operand_count--;
    memmove(&options->operands[0],
            &options->operands[1],
            options->operand_count * sizeof options->operands[0]);
}

void options_find_command(struct options *options)
{
    options->command = &root_command;
    options->name[0] = '\0';
    while (options->operand_count > 0 && !options->operands[0].is_text) {
        const struct command *child =
            command_find(options->command, options->operands[0].word);
        if (child == NULL) {
            break;
        }
        const size_t length = strlen(options->name);
        (void)snprintf(options->name + length,
                       sizeof options->name - length,
                       "%s%s",
                       length > 0 ? " " : "",
                       child->name);
        options->command = child;
        drop_first_operand(options);
    }
}

static int check_operands(const struct options *options)
{
    const struct command *command = options->command;
    const size_t count = options->operand_count;
    size_t from_stdin = 0;
    for (size_t i = 0; i < count; i++) {
        const struct operand operand = options->operands[i];
        from_stdin += !operand.is_text && strcmp(operand.word, "-") == 0;
    }
    if (from_stdin > 1) {
        return report_usage(options, "standard input can be read only once");
    }
    if (count < command->operand_count ||
        (count > command->operand_count && !command->takes_more)) {
        return report_usage(options,
                            "'%s' takes %s",
                            options->name,
                            command->operand_count > 0 ? command->operands
                                                       : "no operands");
    }
    return CODE_OK;
}

static int check_options(const struct options *options)
{
    const unsigned known = options->command->options | OPTIONS_COMMON;
    for (size_t i = 0; i < COUNT_OF(option_rows); i++) {
        const unsigned bit = (unsigned)option_rows[i].option;
        if ((options->given & bit & ~known) != 0) {
            return report_usage(options,
                                "'%s' has no option %s",
                                options->name,
                                option_rows[i].name);
        }
    }
    if (option_is_given(options, OPTION_RAW) &&
        option_is_given(options, OPTION_JSON)) {
        return report_usage(options, "--raw and --json exclude each other");
    }
    return CODE_OK;
}

int options_refuse_command(const struct options *options)
{
    const char *blank = options->name[0] != '\0' ? " " : "";
    if (options->operand_count == 0) {
        return report_usage(options,
                            "'heddle%s%s' needs a command",
                            blank,
                            options->name);
    }
    return report_usage(options,
                        "there is no command '%s%s%s'",
                        options->name,
                        blank,
                        options->operands[0].word);
}

int options_read(struct options *options, int argc, char **argv)
{
    *options = (struct options){.command = &root_command};
    struct fault fault = {NULL, NULL};
    read_words(options, argc, argv, &fault);
    if (option_is_given(options, OPTION_VERSION)) {
        add_first_operand(options, "version");
    }
    options_find_command(options);
    if (fault.what != NULL) {
        return report_usage(options, "%s %s", fault.what, fault.word);
    }
    const bool is_group = options->command->run == NULL;
    if (option_is_given(options, OPTION_HELP)) {
        return is_group && options->operand_count > 0
                   ? options_refuse_command(options)
                   : CODE_OK;
    }
    int code = is_group ? options_refuse_command(options) : CODE_OK;
    if (code == CODE_OK) {
        code = check_options(options);
    }
    return code == CODE_OK ? check_operands(options) : code;
}

/* Reading the command line: one pass over its words, then the checks that need
 * to know the command. */

#include "cli/options.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/check.h"
#include "base/nearest.h"
#include "cli/remote_option.h"
#include "cli/report.h"
#include "value/utf8.h"

/* Where the value of an option is kept; 0: in a list, with others. */
#define KEPT(field) (offsetof(struct options, values.field))

static const struct option_row {
    const char *name;
    const char *value; /* what it takes, for the help; NULL: nothing */
    option_set option;
    size_t kept;
    const char *manual;
} option_rows[] = {
    {"--dir",
     "DIR",
     OPTION_DIR,
     KEPT(dir),
     "the data directory (default ./heddle-data)"},
    {"--server",
     "URL",
     OPTION_SERVER,
     KEPT(server),
     "a server instead of a directory (default $HEDDLE_SERVER)"},
    {"--listen",
     "ADDRESS:PORT",
     OPTION_LISTEN,
     KEPT(listen),
     "where to listen (default 127.0.0.1:8800)"},
    {"--config", "FILE", OPTION_CONFIG, KEPT(config), "settings of the server"},
    {"--set", "NAME=VALUE", OPTION_SET, 0, "one setting; may be repeated"},
    {"--insecure-local",
     NULL,
     OPTION_INSECURE_LOCAL,
     0,
     "no authentication; on loopback only"},
    {"--allow-origin",
     "ORIGIN",
     OPTION_ALLOW_ORIGIN,
     0,
     "whose web pages may use the server; may be repeated"},
    {"--run", "FILE", OPTION_RUN, 0, "also run this pattern; may be repeated"},
    {"--check", NULL, OPTION_CHECK, 0, "check the settings and exit"},
    {"--name",
     "NAME",
     OPTION_NAME,
     KEPT(name),
     "name of the piece (default: that of the file)"},
    {"--pattern",
     "NAME",
     OPTION_PATTERN,
     KEPT(pattern),
     "which pattern of the file; also the default name"},
    {"--watch",
     NULL,
     OPTION_WATCH,
     0,
     "run: reload a changed file; ps: refresh the list"},
    {"--args",
     "JSON",
     OPTION_ARGUMENTS,
     KEPT(arguments),
     "an object with the arguments of the piece"},
    {"--arg",
     "NAME=VALUE",
     OPTION_ARGUMENT,
     0,
     "one argument: JSON, or piece:NAME for a link to a piece"},
    {"--allow",
     "NAME,...",
     OPTION_ALLOW,
     KEPT(allow),
     "functions that effects may call: exec"},
    {"--allow-net",
     "HOST,...",
     OPTION_ALLOW_NET,
     KEPT(allow_net),
     "hosts, or HOST:PORT, that http tasks may reach (default: none)"},
    {"--allow-exec",
     "NAME,...",
     OPTION_ALLOW_EXEC,
     KEPT(allow_exec),
     "programs that exec tasks may start (default: none)"},
    {"--once", NULL, OPTION_ONCE, 0, "exit when everything is up to date"},
    {"--replace",
     NULL,
     OPTION_REPLACE,
     0,
     "replace the existing piece: run hides its data, import removes it"},
    {"--yes", NULL, OPTION_YES, 0, "do not ask for confirmation"},
    {"--all", NULL, OPTION_ALL, 0, "the whole space, not one piece"},
    {"--id",
     "ID",
     OPTION_ID,
     KEPT(id),
     "id of the event; the same id is handled once"},
    {"--user",
     "NAME",
     OPTION_USER,
     KEPT(user),
     "the user whose states are read and written"},
    {"--session", "NAME", OPTION_SESSION, KEPT(session), "session of --id"},
    {"--stored", NULL, OPTION_STORED, 0, "print the stored value; run nothing"},
    {"--append", NULL, OPTION_APPEND, 0, "append the value to a list"},
    {"--add-unique",
     NULL,
     OPTION_ADD_UNIQUE,
     0,
     "append the value unless the list has it"},
    {"--remove", NULL, OPTION_REMOVE, 0, "remove the value from a list"},
    {"--increment", NULL, OPTION_INCREMENT, 0, "add to a number"},
    {"--delete", NULL, OPTION_DELETE, 0, "delete the value (without JSON)"},
    {"--timeout",
     "MS",
     OPTION_TIMEOUT,
     KEPT(timeout),
     "time limit in milliseconds (default 30000)"},
    {"--hops",
     "N",
     OPTION_HOPS,
     KEPT(hops),
     "limit for chains of events (default 10000)"},
    {"--queue",
     NULL,
     OPTION_QUEUE,
     0,
     "store the event; do not wait until it is handled"},
    {"--after",
     "TIME",
     OPTION_AFTER,
     KEPT(after),
     "a timer: deliver after 30s, 5m, 2h or 1d, for example"},
    {"--every",
     "TIME|CRON",
     OPTION_EVERY,
     KEPT(every),
     "a timer that repeats: 30s, or five cron fields"},
    {"--zone",
     "NAME",
     OPTION_ZONE,
     KEPT(zone),
     "the time zone of the cron fields (default UTC)"},
    {"--missed",
     "one|all|none",
     OPTION_MISSED,
     KEPT(missed),
     "which missed ticks to deliver (default one)"},
    {"--cancel",
     "ID",
     OPTION_CANCEL,
     KEPT(cancel),
     "remove the entry with this id; exit 1 if there is none"},
    {"--failed", NULL, OPTION_FAILED, 0, "those whose handler failed"},
    {"--cap",
     "read|write|owner",
     OPTION_CAPABILITY,
     KEPT(capability),
     "what a token allows at most"},
    {"--for",
     "TIME",
     OPTION_FOR,
     KEPT(duration),
     "how long a token is valid: 30m, 1h or 7d, for example"},
    {"--to",
     "PRINCIPAL",
     OPTION_TO,
     KEPT(to),
     "for whom a token is (default: the owner of the key)"},
    {"--audience",
     "NAME",
     OPTION_AUDIENCE,
     KEPT(audience),
     "the server that a token is for (default: one with this key)"},
    {"--key", "FILE", OPTION_KEY, KEPT(key), "the key that signs"},
    {"--force", NULL, OPTION_FORCE, 0, "replace an existing file"},
    {"--text",
     "JSON",
     OPTION_TEXT,
     0,
     "the document itself, instead of a "
     "FILE"},
    {"--pretty", NULL, OPTION_PRETTY, 0, "indent the output"},
    {"--canonical",
     NULL,
     OPTION_CANONICAL,
     0,
     "canonical form: sorted keys, one text per value"},
    {"--raw", NULL, OPTION_RAW, 0, "print a string without quotes and escapes"},
    {"--exit-code",
     NULL,
     OPTION_EXIT_CODE,
     0,
     "exit with 1 if the values "
     "differ"},
    {"--at",
     "WHEN",
     OPTION_AT,
     KEPT(at),
     "a sequence number; of a timer, its time (2026-11-18T09:00:00Z)"},
    {"--space",
     "NAME",
     OPTION_SPACE,
     KEPT(space),
     "space to use (default main)"},
    {"--branch",
     "NAME",
     OPTION_BRANCH,
     KEPT(branch),
     "branch to use (default main)"},
    {"--scope",
     "KEY",
     OPTION_SCOPE,
     KEPT(scope),
     "space, user:NAME or session:NAME:ID"},
    {"--limit", "N", OPTION_LIMIT, KEPT(limit), "maximum number of entries"},
    {"--keep-from",
     "SEQ",
     OPTION_KEEP_FROM,
     KEPT(keep_from),
     "compact history before this sequence number"},
    {"--keep-commits",
     "N",
     OPTION_KEEP_COMMITS,
     KEPT(keep_commits),
     "keep the last N commits and their receipts (default 10000)"},
    {"--keep-age",
     "SECONDS",
     OPTION_KEEP_AGE,
     KEPT(keep_age),
     "seconds to keep receipts of events with ids (default 604800)"},
    {"--full",
     NULL,
     OPTION_FULL,
     0,
     "rewrite the whole file; other writers wait"},
    {"--profile",
     "NAME",
     OPTION_PROFILE,
     KEPT(profile),
     "strict (default) or observed"},
    {"--fact", "NAME", OPTION_FACT, 0, "a fact of the row; may be repeated"},
    {"--repair",
     NULL,
     OPTION_REPAIR,
     0,
     "rebuild or remove derived data that is damaged"},
    {"--filter",
     "TEXT",
     OPTION_FILTER,
     KEPT(filter),
     "run only tests whose names contain TEXT"},
    {"--seed", "N", OPTION_SEED, KEPT(seed), "seed of the first random round"},
    {"--tap", NULL, OPTION_TAP, 0, "print results as TAP"},
    {"--mermaid", NULL, OPTION_MERMAID, 0, "print a Mermaid diagram"},
    {"--dot", NULL, OPTION_DOT, 0, "print a Graphviz graph"},
    {"--json", NULL, OPTION_JSON, 0, "print results and errors as JSON"},
    {"--help", NULL, OPTION_HELP, 0, "show this"},
    {"--version", NULL, OPTION_VERSION, 0, "print the version"},
};

void options_visit(option_set known,
                   void (*visit)(void *ctx,
                                 const char *word,
                                 const char *value,
                                 const char *manual),
                   void *ctx)
{
    for (size_t i = 0; i < COUNT_OF(option_rows); i++) {
        const struct option_row *row = &option_rows[i];
        if ((known & row->option) != 0) {
            visit(ctx, row->name, row->value, row->manual);
        }
    }
}

void options_print(option_set known)
{
    for (size_t i = 0; i < COUNT_OF(option_rows); i++) {
        const struct option_row *row = &option_rows[i];
        if ((known & row->option) == 0) {
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

static const char unknown_option[] = "unknown option";

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

static void add_word(const char **list,
                     size_t *count,
                     size_t most,
                     const char *word,
                     struct fault *fault)
{
    if (*count == most) {
        refuse(fault,
               most == FACTS_MAX ? "too many facts from"
                                 : "too many arguments from",
               word);
        return;
    }
    list[(*count)++] = word;
}

static const char **value_of(struct options *options,
                             const struct option_row *row)
{
    char *at = (char *)options + row->kept;
    return row->kept != 0 ? (const char **)(void *)at : NULL;
}

static void keep_value(struct options *options,
                       const struct option_row *row,
                       const char *value,
                       struct fault *fault)
{
    const char **place = value_of(options, row);
    if (row->option == OPTION_FACT) {
        add_word(options->facts, &options->fact_count, FACTS_MAX, value, fault);
    } else if (row->option == OPTION_ARGUMENT) {
        add_word(options->arguments,
                 &options->argument_count,
                 ARGUMENTS_MAX,
                 value,
                 fault);
    } else if (row->option == OPTION_RUN) {
        add_word(options->runs, &options->run_count, RUNS_MAX, value, fault);
    } else if (row->option == OPTION_ALLOW_ORIGIN) {
        add_word(options->origins,
                 &options->origin_count,
                 ALLOWED_ORIGINS_MAX,
                 value,
                 fault);
    } else if (row->option == OPTION_SET) {
        add_word(options->settings,
                 &options->setting_count,
                 SETTINGS_MAX,
                 value,
                 fault);
    } else if (place == NULL) {
        add_operand(options, (struct operand){value, true}, fault);
    } else if (*place != NULL) {
        refuse(fault, "the option was given twice:", row->name);
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
        refuse(fault, unknown_option, word);
        return false;
    }
    options->given |= row->option;
    if (row->value == NULL) {
        if (value != NULL) {
            refuse(fault, "the option does not take a value:", word);
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
    const option_set known = options->command->options | OPTIONS_COMMON;
    const int code = remote_option_check(options);
    if (code != CODE_OK) {
        return code;
    }
    for (size_t i = 0; i < COUNT_OF(option_rows); i++) {
        const option_set bit = option_rows[i].option;
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

/* -- Text ---------------------------------------------------------------- */

/* A file has any bytes in its name; and what reads JSON says where it is not
 * UTF-8. Whatever else is given becomes part of a document or its id. */
static bool must_be_text(const char *placeholder, size_t length)
{
    static const char *const any_bytes[] = {"FILE",
                                            "DIR",
                                            "FOLDER",
                                            "COPY",
                                            "COMMIT",
                                            "PATCH",
                                            "BEFORE",
                                            "AFTER",
                                            "JSON"};
    for (size_t i = 0; i < COUNT_OF(any_bytes); i++) {
        if (strlen(any_bytes[i]) == length &&
            memcmp(any_bytes[i], placeholder, length) == 0) {
            return false;
        }
    }
    return true;
}

static int check_text(const struct options *options,
                      const char *placeholder,
                      size_t length,
                      const char *word)
{
    if (!must_be_text(placeholder, length) ||
        utf8_is_valid(word, strlen(word))) {
        return CODE_OK;
    }
    struct buf shown = {0};
    utf8_escape(&shown, word, strlen(word));
    const int code = report_usage(options,
                                  "%.*s must be UTF-8, and '%.60s' is not",
                                  (int)length,
                                  placeholder,
                                  buf_text(&shown));
    buf_release(&shown);
    return code;
}

/* The operands, each by its word in the usage; the last word is that of all
 * further ones, too: "PIECE [PATH]", "FILE...". */
static int check_operand_texts(const struct options *options)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const char *at = options->command->operands;
    const char *name = at;
    size_t length = 0;
    int code = CODE_OK;
    for (size_t i = 0; code == CODE_OK && i < options->operand_count; i++) {
        at += strcspn(at, letters);
        if (*at != '\0') {
            name = at;
            length = strspn(at, letters);
            at += length;
        }
        if (!options->operands[i].is_text) {
            code = check_text(options, name, length, options->operands[i].word);
        }
    }
    return code;
}

static int check_texts(struct options *options)
{
    int code = check_operand_texts(options);
    for (size_t i = 0; code == CODE_OK && i < COUNT_OF(option_rows); i++) {
        const struct option_row *row = &option_rows[i];
        const char *const *value = value_of(options, row);
        if (value != NULL && *value != NULL &&
            must_be_text(row->value, strlen(row->value))) {
            code = check_text(options, row->name, strlen(row->name), *value);
        }
    }
    for (size_t i = 0; code == CODE_OK && i < options->fact_count; i++) {
        code = check_text(options, "--fact", 6, options->facts[i]);
    }
    for (size_t i = 0; code == CODE_OK && i < options->argument_count; i++) {
        code = check_text(options, "--arg", 5, options->arguments[i]);
    }
    return code;
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
    const char *word = options->operands[0].word;
    struct nearest nearest;
    nearest_begin(&nearest, word, strlen(word));
    for (const struct command *child = options->command->children;
         child->name != NULL;
         child++) {
        nearest_offer_text(&nearest, child->name);
    }
    return report_usage(options,
                        "there is no command '%s%s%s'%s",
                        options->name,
                        blank,
                        word,
                        nearest_hint(&nearest));
}

/* The nearest option of the command to a word that is none. */
static const char *hint_option(const struct options *options,
                               const char *word,
                               struct nearest *nearest)
{
    const option_set known = options->command->options | OPTIONS_COMMON;
    nearest_begin(nearest, word, strcspn(word, "="));
    for (size_t i = 0; i < COUNT_OF(option_rows); i++) {
        if ((known & option_rows[i].option) != 0) {
            nearest_offer_text(nearest, option_rows[i].name);
        }
    }
    return nearest_hint(nearest);
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
        struct nearest nearest;
        const bool is_unknown = strcmp(fault.what, unknown_option) == 0;
        return report_usage(
            options,
            "%s %s%s",
            fault.what,
            fault.word,
            is_unknown ? hint_option(options, fault.word, &nearest) : "");
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
    if (code == CODE_OK) {
        code = check_operands(options);
    }
    return code == CODE_OK ? check_texts(options) : code;
}

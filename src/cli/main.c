/* The command `heddle`: finds the command, shows help, ends with its code.
 *
 * It uses the public header like any other program; only `heddle store`, which
 * looks into a file, and `heddle lifecycle`, which prints tables, go deeper. */

#include <stdio.h>
#include <string.h>

#include "cli/options.h"
#include "cli/output.h"
#include "cli/report.h"

const struct command *command_find(const struct command *group,
                                   const char *name)
{
    if (group->children == NULL) {
        return NULL;
    }
    const struct command *child = group->children;
    while (child->name != NULL && strcmp(child->name, name) != 0) {
        child++;
    }
    return child->name != NULL ? child : NULL;
}

/* -- Help ---------------------------------------------------------------- */

static void print_usage(const struct options *options)
{
    const struct command *command = options->command;
    (void)printf("usage: heddle%s%s%s%s%s\n\n",
                 options->name[0] != '\0' ? " " : "",
                 options->name,
                 command->children != NULL ? "" : " [OPTION...]",
                 command->operands[0] != '\0' ? " " : "",
                 command->operands);
}

static int print_help(const struct options *options)
{
    const struct command *command = options->command;
    print_usage(options);
    (void)printf("%s", command->manual);
    if (command->children != NULL) {
        (void)printf("\nCommands:\n");
        for (const struct command *child = command->children;
             child->name != NULL;
             child++) {
            (void)printf("  %-10s %s\n", child->name, child->brief);
        }
    }
    (void)printf("\nOptions:\n");
    options_print(command->options | OPTIONS_COMMON);
    if (command->example != NULL) {
        (void)printf("\nExample:\n%s", command->example);
    }
    return CODE_OK;
}

static int run_help(const struct options *options)
{
    struct options about = *options;
    options_find_command(&about);
    return about.operand_count > 0 ? options_refuse_command(&about)
                                   : print_help(&about);
}

static int run_version(const struct options *options)
{
    if (option_is_given(options, OPTION_JSON)) {
        output_word(options, "version", hd_version());
    } else {
        (void)printf("heddle %s\n", hd_version());
    }
    return CODE_OK;
}

/* -- The tree ------------------------------------------------------------ */

static const struct command root_commands[] = {
    {
        .name = "value",
        .operands = "COMMAND ...",
        .brief = "read, compare and change JSON documents",
        .manual =
            "Reads, compares and changes JSON documents. A document is a\n"
            "FILE, '-' for standard input, or the text after --text.\n"
            "'heddle value COMMAND --help' shows more, with an example.\n",
        .children = value_commands,
    },
    {
        .name = "store",
        .operands = "COMMAND ...",
        .brief = "look into a space's file, check it, copy it, compact it",
        .manual =
            "Works on the file of a space, also while others use it. Only\n"
            "'commit' creates a file that does not exist.\n"
            "'heddle store COMMAND --help' shows more, with an example.\n",
        .children = store_commands,
    },
    {
        .name = "lifecycle",
        .operands = "COMMAND ...",
        .brief = "how statuses change: diagrams, and why an event applies",
        .manual =
            "Shows the tables by which the status of a thread, an environment\n"
            "or a piece changes. Nothing is read and nothing is changed.\n"
            "'heddle lifecycle COMMAND --help' shows more, with an example.\n",
        .children = lifecycle_commands,
    },
    {
        .name = "version",
        .operands = "",
        .options = OPTION_VERSION,
        .brief = "print the version",
        .manual = "Prints the version.\n",
        .example = "  $ heddle version --json\n"
                   "  {\"version\":\"" HD_VERSION_TEXT "\"}\n",
        .run = run_version,
    },
    {
        .name = "help",
        .operands = "[COMMAND...]",
        .takes_more = true,
        .brief = "explain a command",
        .manual = "Explains a command, or all of them in a few words.\n",
        .example = "  $ heddle help value get\n",
        .run = run_help,
    },
    {.name = NULL},
};

const struct command root_command = {
    .name = "",
    .operands = "COMMAND ...",
    .options = OPTION_VERSION,
    .manual =
        "Heddle is a durable reactive runtime. This command works with its\n"
        "data.\n",
    .children = root_commands,
};

static int run(const struct options *options)
{
    if (option_is_given(options, OPTION_HELP)) {
        return print_help(options);
    }
    return options->command->run(options);
}

int main(int argc, char **argv)
{
    struct options options;
    int code = options_read(&options, argc, argv);
    if (code == CODE_OK) {
        code = run(&options);
    }
    return output_close(&options, code);
}

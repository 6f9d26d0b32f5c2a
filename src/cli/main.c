/* The command `heddle`: finds the command, shows help, ends with its code.
 *
 * The commands for values use the public header like any other program; those
 * that look into a file, print tables or run Lua go deeper. */

#include <stdio.h>
#include <string.h>

#include "base/size_classes.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/report.h"
#include "cli/timers.h"
#include "store/own_process.h"

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

#define DATA_OPTIONS (OPTION_DIR | OPTION_TIMEOUT | OPTION_USER | OPTION_BRANCH)
#define FORM_OPTIONS (OPTION_PRETTY | OPTION_CANONICAL)
#define LOOK_OPTIONS (OPTION_DIR | OPTION_PRETTY | OPTION_CANONICAL)

static const struct command root_commands[] = {
    {
        .name = "run",
        .operands = "FILE",
        .operand_count = 1,
        .options = DATA_OPTIONS | FORM_OPTIONS | OPTION_NAME | OPTION_PATTERN |
                   OPTION_WATCH | OPTION_ARGUMENTS | OPTION_ARGUMENT |
                   OPTION_ALLOW | OPTION_ALLOW_NET | OPTION_ALLOW_EXEC |
                   OPTION_ONCE | OPTION_REPLACE | OPTION_HOPS,
        .brief = "run a pattern and print its result as it changes",
        .manual =
            "Creates a piece of the pattern in FILE, or takes up the one that\n"
            "is there, and keeps it running. Prints its result whenever it\n"
            "changes, one line of JSON each. Ctrl-C and SIGTERM end it, and\n"
            "nothing is lost; so would kill -9. Its tasks reach no host and\n"
            "start no program unless --allow-net and --allow-exec name them.\n",
        .example = "  $ heddle new list\n"
                   "  list.lua\n"
                   "  list_test.lua\n"
                   "  $ heddle run list.lua --once 2>/dev/null\n"
                   "  {\"items\":[],\"open\":0}\n",
        .run = run_run,
    },
    {
        .name = "send",
        .operands = "PIECE STREAM [JSON]",
        .operand_count = 2,
        .takes_more = true,
        .options = DATA_OPTIONS | FORM_OPTIONS | OPTION_ID | OPTION_SESSION |
                   OPTION_HOPS | OPTION_QUEUE | OPTIONS_TIMER,
        .brief = "send an event to a piece and print the receipt",
        .manual =
            "Delivers one event, whether or not another process runs the\n"
            "piece, and prints what its handler returned. With --id and\n"
            "--session the same event again gives the same receipt, and is\n"
            "written once; another payload with the same id is refused.\n"
            "Exits with 1 if the handler failed.\n"
            "With --queue the event is only stored, and the id under which it\n"
            "waits is printed: the next process that runs the piece handles\n"
            "it, or one that runs it now. 'heddle events' lists what waits.\n"
            "'heddle send PIECE --help' lists the streams of a piece and what\n"
            "each takes; an event that does not fit is refused.\n"
            "PIECE may be the address of a child, as in kanban/cards/3.\n"
            "With --after, --at or --every it is a timer: stored, and handled\n"
            "when it is due. --id names it; the next timer of the piece with\n"
            "that id takes its place. 'heddle timers' lists them.\n",
        .example =
            "  $ heddle send list add '{\"text\": \"water the plants\"}'\n"
            "  {\"count\":1}\n",
        .run = send_run,
        .describe = send_describe,
    },
    {
        .name = "get",
        .operands = "PIECE [PATH]",
        .operand_count = 1,
        .takes_more = true,
        .options = DATA_OPTIONS | FORM_OPTIONS | OPTION_RAW | OPTION_STORED,
        .brief = "print what a piece results in",
        .manual =
            "Brings the result of a piece up to date, running what has to\n"
            "run and nothing else, and prints it, or what is at PATH.\n"
            "Exits with 1 if there is nothing.\n",
        .example = "  $ heddle get list open\n"
                   "  1\n"
                   "  $ heddle get list /items/0/text --raw\n"
                   "  water the plants\n",
        .run = get_run,
    },
    {
        .name = "set",
        .operands = "PIECE PATH [JSON]",
        .operand_count = 2,
        .takes_more = true,
        .options = DATA_OPTIONS | OPTION_APPEND | OPTION_ADD_UNIQUE |
                   OPTION_REMOVE | OPTION_INCREMENT | OPTION_DELETE,
        .brief = "change a state of a piece",
        .manual =
            "Writes JSON at PATH, through the links of the result. Nothing\n"
            "runs here: who runs the piece, or asks, sees the change.\n"
            "--append, --add-unique, --remove and --increment merge with what\n"
            "others do at the same time.\n"
            "'heddle set PIECE --help' lists the states of a piece and what\n"
            "each takes; what does not fit is refused.\n",
        .example = "  $ heddle set list items/0/done true\n"
                   "  $ heddle get list open\n"
                   "  0\n",
        .run = set_run,
        .describe = set_describe,
    },
    {
        .name = "watch",
        .operands = "PIECE [PATH]",
        .operand_count = 1,
        .takes_more = true,
        .options = DATA_OPTIONS | FORM_OPTIONS | OPTION_RAW | OPTION_STORED,
        .brief = "print what a piece results in whenever it changes",
        .manual =
            "Prints the result, or what is at PATH, now and whenever it has\n"
            "changed, one line of JSON each. Effects do not run here.\n"
            "Ctrl-C and SIGTERM end it.\n",
        .example = "  $ heddle watch list open | head -n 1\n"
                   "  0\n",
        .run = watch_run,
    },
    {
        .name = "repl",
        .operands = "[PIECE...]",
        .takes_more = true,
        .options = DATA_OPTIONS,
        .brief = "talk to pieces in Lua",
        .manual =
            "Reads lines of Lua and prints what they give. Each piece is a\n"
            "variable of its name, with get, send, cell and node. At a\n"
            "terminal lines are edited and completed, and 'help' explains.\n",
        .example = "  $ echo 'list:get(\"open\") + 1' | heddle repl list\n"
                   "  1\n",
        .run = repl_run,
    },
    {
        .name = "new",
        .operands = "NAME",
        .operand_count = 1,
        .brief = "write a small pattern and its test",
        .manual =
            "Writes NAME.lua and NAME_test.lua, to start from; and types for\n"
            "the Lua language server: .luarc.json and the files in .heddle,\n"
            "which are replaced. Other files that exist are not touched.\n",
        .example = "  $ heddle new todo\n"
                   "  todo.lua\n"
                   "  todo_test.lua\n",
        .run = new_run,
    },
    {
        .name = "rm",
        .operands = "PIECE",
        .operand_count = 1,
        .options = OPTION_DIR | OPTION_YES,
        .brief = "remove a piece with its data",
        .manual =
            "Removes a piece, its documents and the pieces that its handlers\n"
            "have launched, in one transaction. Asks on a terminal; --yes\n"
            "does not. The history stays: 'heddle show PIECE --at SEQ'.\n"
            "Exits with 1 if there is no such piece, or the answer is no.\n",
        .example = "  $ heddle rm list --yes\n",
        .run = rm_run,
    },
    {
        .name = "rename",
        .operands = "PIECE NAME",
        .operand_count = 2,
        .options = OPTION_DIR,
        .brief = "give a piece another name",
        .manual =
            "Renames a piece, in one transaction; links to it in other\n"
            "documents of the space follow. Its history stays with the old\n"
            "name, and its nodes run again when it is started next.\n",
        .example = "  $ heddle rename list errands\n",
        .run = rename_run,
    },
    {
        .name = "export",
        .operands = "PIECE FILE",
        .operand_count = 1,
        .takes_more = true,
        .options = OPTION_DIR | OPTION_SPACE,
        .brief = "write a piece, or the whole space, to a file",
        .manual =
            "Writes the documents of a piece as they are now, those of each\n"
            "user and of launched pieces included, to a new FILE ('-' for\n"
            "standard output). With --space, all documents of the space.\n"
            "History is not part of it: 'heddle backup' copies that, too.\n",
        .example = "  $ heddle export list list.jsonl\n",
        .run = export_run,
    },
    {
        .name = "import",
        .operands = "FILE",
        .operand_count = 1,
        .options = OPTION_DIR | OPTION_NAME | OPTION_REPLACE,
        .brief = "read a piece, or a space, from a file",
        .manual =
            "Creates the piece that was exported to FILE ('-' for standard\n"
            "input), in one transaction, with the name that it had or that of\n"
            "--name. A piece that is there is refused, unless --replace is\n"
            "given: then it is removed first. A space is imported into an\n"
            "empty one, or with --replace in the place of what is there.\n",
        .example = "  $ heddle import list.jsonl --name copy\n",
        .run = import_run,
    },
    {
        .name = "backup",
        .operands = "DIRECTORY",
        .operand_count = 1,
        .options = OPTION_DIR,
        .brief = "copy a data directory while it is in use",
        .manual =
            "Copies every space of the data directory to a new DIRECTORY,\n"
            "with history, while other processes go on. The copy appears\n"
            "whole, or not at all, and is used like any data directory.\n",
        .example = "  $ heddle backup /backups/monday\n",
        .run = backup_run,
    },
    {
        .name = "branch",
        .operands = "COMMAND ...",
        .brief = "work on a copy of the data, and bring it back",
        .manual =
            "A branch begins with the state of another branch. Later commits\n"
            "to one are not visible in the other. 'run', 'send', 'get',\n"
            "'set', 'watch' and 'repl' work on it with --branch NAME.\n"
            "'heddle branch COMMAND --help' shows more, with an example.\n",
        .children = branch_commands,
    },
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
        .name = "ps",
        .operands = "",
        .options = LOOK_OPTIONS | OPTION_WATCH,
        .brief = "pieces and their nodes: status, runs, last cause",
        .manual =
            "Lists the pieces of a data directory and their nodes: what is up\n"
            "to date, what is looked at, how often each ran and why last.\n"
            "Nothing runs and nothing is changed; --watch keeps the table\n"
            "live.\n",
        .example = "  $ heddle ps --dir heddle-data\n",
        .run = ps_run,
    },
    {
        .name = "why",
        .operands = "PIECE NODE",
        .operand_count = 2,
        .options = LOOK_OPTIONS | OPTION_USER,
        .brief = "why a node ran last, back to the origin",
        .manual =
            "Prints what changed between the last two runs of a node, with\n"
            "old and new values, the commit behind each change, and the node\n"
            "or event behind that, back to where it began. Exits with 1 if no\n"
            "run is recorded.\n",
        .example = "  $ heddle why shopping total\n",
        .run = why_run,
    },
    {
        .name = "why-not",
        .operands = "PIECE NODE",
        .operand_count = 2,
        .options = LOOK_OPTIONS | OPTION_USER,
        .brief = "why a node does not run, and what would make it",
        .manual = "Prints the first condition for a run that is missing, and\n"
                  "what would help.\n",
        .example = "  $ heddle why-not shopping total\n",
        .run = why_not_run,
    },
    {
        .name = "graph",
        .operands = "PIECE",
        .operand_count = 1,
        .options = LOOK_OPTIONS | OPTION_MERMAID | OPTION_DOT,
        .brief = "the nodes of a piece, and what each reads or writes",
        .manual =
            "Prints the graph of a piece as its nodes last ran, and what its\n"
            "handlers wrote: as text, for Mermaid, for Graphviz, or as JSON.\n",
        .example = "  $ heddle graph shopping --mermaid\n",
        .run = graph_run,
    },
    {
        .name = "log",
        .operands = "[PIECE]",
        .takes_more = true,
        .options = LOOK_OPTIONS | OPTION_LIMIT,
        .brief = "what was committed, by which node, event or person",
        .manual =
            "Prints the last commits (100 unless told), the newest last: the\n"
            "sequence number, the node, event or session behind it, and what\n"
            "it wrote. With a PIECE only those that wrote to it.\n",
        .example = "  $ heddle log shopping --limit 10\n",
        .run = log_run,
    },
    {
        .name = "events",
        .operands = "[PIECE]",
        .takes_more = true,
        .options = LOOK_OPTIONS | OPTION_CANCEL,
        .brief = "events that are stored and not handled yet",
        .manual =
            "Lists the events that wait in the store, in the order in which\n"
            "they were sent: what a handler has sent, or 'heddle send\n"
            "--queue', and what each waits for. With a PIECE only those that\n"
            "it will handle. Nothing runs and nothing is changed, unless\n"
            "--cancel is given: then the event with that id is removed.\n",
        .example = "  $ heddle events shopping\n",
        .run = events_run,
    },
    {
        .name = "timers",
        .operands = "[PIECE]",
        .takes_more = true,
        .options = LOOK_OPTIONS | OPTION_CANCEL,
        .brief = "timers that are set, and when each is due",
        .manual =
            "Lists the timers of all pieces, or of one, in the order in which\n"
            "they are due: of which event, with which payload, and how they\n"
            "repeat. A timer that is overdue is handled by the next process\n"
            "that runs its piece; if a user is named, of that user (--user).\n"
            "With --cancel a timer is removed: one of PIECE, or of the only\n"
            "child of PIECE that has one with that id.\n",
        .example = "  $ heddle timers shopping\n"
                   "  $ heddle timers shopping --cancel remind\n",
        .run = timers_run,
    },
    {
        .name = "show",
        .operands = "PIECE [PATH]",
        .operand_count = 1,
        .takes_more = true,
        .options = LOOK_OPTIONS | OPTION_AT,
        .brief = "the result of a piece as it was at any time",
        .manual =
            "Prints what was at PATH in the result of a piece at a sequence\n"
            "number (see 'heddle log'), through the links as they were then.\n"
            "Nothing runs. Exits with 1 if there was nothing.\n",
        .example = "  $ heddle show shopping total --at 12\n",
        .run = show_run,
    },
    {
        .name = "check",
        .operands = "",
        .options = LOOK_OPTIONS | OPTION_REPAIR,
        .brief = "verify every space of a data directory",
        .manual =
            "Folds the history of every space and compares it with heads,\n"
            "snapshots, indexes and what is remembered of runs. Prints each\n"
            "difference and exits with 1 if there is one. Changes nothing,\n"
            "unless --repair is given: then rows of documents that differ\n"
            "from a history that holds are rebuilt from it, snapshots that do\n"
            "are removed, and so is what does not fit together of the\n"
            "remembered runs, which run again. Bytes that are not UTF-8,\n"
            "which earlier versions took, become \\xNN.\n",
        .example = "  $ heddle check --dir heddle-data\n",
        .run = check_run,
    },
    {
        .name = "doctor",
        .operands = "",
        .options = LOOK_OPTIONS,
        .brief = "versions, sizes, locks, sessions and known hazards",
        .manual =
            "Prints what somebody who helps would ask first, and a line for\n"
            "each hazard: a network file system, a full disk, a long WAL, a\n"
            "file that cannot be opened. Exits with 1 if there is one.\n",
        .example = "  $ heddle doctor --dir heddle-data\n",
        .run = doctor_run,
    },
    {
        .name = "completion",
        .operands = "SHELL",
        .operand_count = 1,
        .takes_more = true,
        .options = OPTION_DIR,
        .brief = "completions for bash, zsh or fish",
        .manual =
            "Prints a script that completes commands, options, pieces, and\n"
            "the streams and states of pieces. For such scripts, 'completion\n"
            "pieces', 'completion streams PIECE' and 'completion states\n"
            "PIECE' print names, one per line.\n",
        .example = "  $ heddle completion bash >heddle.bash\n",
        .run = completion_run,
    },
    {
        .name = "test",
        .operands = "FILE...",
        .operand_count = 1,
        .takes_more = true,
        .options = OPTION_FILTER | OPTION_TAP | OPTION_SEED,
        .brief = "run Lua tests",
        .manual =
            "Runs the tests of Lua files, each on a clock that stands still\n"
            "unless the test moves it. A FILE may be '-', standard input.\n"
            "Exits with 1 if a test fails, with 2 if a file cannot be run.\n",
        .example = "  $ echo 'require \"heddle.test\"(\"one is one\", "
                   "function(t) t:eq(1, 1) end)' >one.lua\n"
                   "  $ heddle test one.lua\n"
                   "  ok    one is one\n"
                   "  1 passed, 0 failed\n",
        .run = test_run,
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
        "Heddle is a durable reactive runtime. This command runs patterns,\n"
        "asks them, and works with their data.\n",
    .children = root_commands,
};

static int run(const struct options *options)
{
    if (option_is_given(options, OPTION_HELP)) {
        return options->operand_count > 0 && options->command->describe != NULL
                   ? options->command->describe(options)
                   : print_help(options);
    }
    return options->command->run(options);
}

/* The process is this command's, and has one thread. */
static void own_process(void)
{
    static struct size_classes classes;
    const struct mem_hooks hooks = size_classes_hooks(&classes);
    mem_set_hooks(&hooks);
    store_own_process();
}

int main(int argc, char **argv)
{
    struct options options;
    own_process();
    int code = options_read(&options, argc, argv);
    if (code == CODE_OK) {
        code = run(&options);
    }
    return output_close(&options, code);
}

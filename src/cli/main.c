/* The command `heddle`: finds the command, shows help, ends with its code.
 *
 * The commands for values use the public header like any other program; those
 * that look into a file, print tables or run Lua go deeper. */

#include <stdio.h>
#include <string.h>

#include "base/size_classes.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/remote_option.h"
#include "cli/report.h"
#include "cli/timers.h"
#include "store/sqlite_setup.h"

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

#define PLACE_OPTIONS  (OPTION_DIR | OPTION_SPACE)
#define SERVER_OPTIONS (OPTION_SERVER | OPTION_KEY)
#define DATA_OPTIONS                                                 \
    (PLACE_OPTIONS | SERVER_OPTIONS | OPTION_TIMEOUT | OPTION_USER | \
     OPTION_BRANCH)
#define FORM_OPTIONS (OPTION_PRETTY | OPTION_CANONICAL)
#define LOOK_OPTIONS (PLACE_OPTIONS | SERVER_OPTIONS | FORM_OPTIONS)

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
            "Creates a piece of the pattern in FILE, or resumes it, and keeps\n"
            "it running. Prints its result whenever it changes, one line of\n"
            "JSON each. Ctrl-C, SIGTERM and even kill -9 end it without loss\n"
            "of data. Its tasks reach no host and start no program unless\n"
            "--allow-net and --allow-exec name them.\n",
        .example = "  $ heddle new list\n"
                   "  list.lua\n"
                   "  list_test.lua\n"
                   "  $ heddle run list.lua --once 2>/dev/null\n"
                   "  {\"items\":[],\"open\":0}\n",
        .run = run_run,
    },
    {
        .name = "serve",
        .operands = "",
        .options = OPTION_DIR | OPTION_LISTEN | OPTION_CONFIG | OPTION_SET |
                   OPTION_INSECURE_LOCAL | OPTION_ALLOW_ORIGIN | OPTION_RUN |
                   OPTION_CHECK,
        .brief = "serve the spaces of a data directory over the network",
        .manual =
            "Makes the spaces of the directory reachable for runtimes on\n"
            "other machines, browsers and HTTP clients. A client proves its\n"
            "identity with a key or a token, and the access document of each\n"
            "space says what it may do. Without an entry it may do nothing.\n"
            "With --insecure-local, for development, there is no\n"
            "authentication, and the server listens on loopback only.\n"
            "A commit is acknowledged when it is on disk.\n"
            "SIGTERM and Ctrl-C answer what is in flight and end the server;\n"
            "SIGHUP reads certificates, keys, owners and origins again.\n"
            "Settings come from --config, then from variables\n"
            "(HEDDLE_SERVE_LISTEN), then from options. heddle-serve(1) lists\n"
            "them.\n",
        .example = "  $ heddle serve --insecure-local --check\n"
                   "  valid\n",
        .has_threads = true,
        .run = serve_run,
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
            "Delivers one event and prints its handler's return value,\n"
            "whether or not another process runs the piece. With --id and\n"
            "--session sending is idempotent: the same event again is not\n"
            "handled again and prints the same receipt; another payload with\n"
            "the same id is rejected. Exits with 1 if the handler failed.\n"
            "With --queue the event is only stored, and its id is printed:\n"
            "a process that runs the piece, now or later, handles it.\n"
            "'heddle events' lists the waiting events.\n"
            "'heddle send PIECE --help' lists the streams of a piece and\n"
            "their schemas; an event that does not match is rejected.\n"
            "PIECE may be the address of a child, as in kanban/cards/3.\n"
            "With --after, --at or --every the event is a timer: stored now,\n"
            "handled when it is due. --id names it; a later timer of that\n"
            "stream with this id replaces it. 'heddle timers' lists them.\n",
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
        .brief = "print the result of a piece",
        .manual =
            "Brings the result of a piece up to date, running only the nodes\n"
            "that must run, and prints it, or the value at PATH. Exits with 1\n"
            "if there is no value.\n",
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
            "Writes JSON at PATH, through the links of the result. This\n"
            "command runs no nodes: a process that runs the piece does, and\n"
            "so does the next 'heddle get'. --append, --add-unique, --remove\n"
            "and --increment merge with concurrent changes.\n"
            "'heddle set PIECE --help' lists the states of a piece and their\n"
            "schemas; a value that does not match is rejected.\n",
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
        .brief = "print the result of a piece whenever it changes",
        .manual =
            "Prints the result, or the value at PATH, now and after each\n"
            "change, one line of JSON each. Does not run effects. Ctrl-C and\n"
            "SIGTERM end it.\n",
        .example = "  $ heddle watch list open | head -n 1\n"
                   "  0\n",
        .run = watch_run,
    },
    {
        .name = "repl",
        .operands = "[PIECE...]",
        .takes_more = true,
        .options = DATA_OPTIONS,
        .brief = "use pieces interactively in Lua",
        .manual =
            "Reads lines of Lua and prints their values. Each piece is a\n"
            "variable with its name, with get, send, cell and node. A "
            "terminal\n"
            "offers line editing, completion and 'help'.\n",
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
            "Writes NAME.lua and NAME_test.lua as a starting point, and types\n"
            "for the Lua language server: .luarc.json and the files in\n"
            ".heddle, which it replaces. Other existing files stay as they\n"
            "are.\n",
        .example = "  $ heddle new todo\n"
                   "  todo.lua\n"
                   "  todo_test.lua\n",
        .run = new_run,
    },
    {
        .name = "rm",
        .operands = "PIECE",
        .operand_count = 1,
        .options = PLACE_OPTIONS | OPTION_YES,
        .brief = "remove a piece with its data",
        .manual =
            "Removes a piece, its documents and the pieces that its handlers\n"
            "launched, in one transaction per space; children in other spaces\n"
            "go first. Asks for confirmation on a terminal, unless --yes is\n"
            "given. The history stays: 'heddle show PIECE --at SEQ'. Exits\n"
            "with 1 if the piece does not exist or the answer is no.\n",
        .example = "  $ heddle rm list --yes\n",
        .run = rm_run,
    },
    {
        .name = "rename",
        .operands = "PIECE NAME",
        .operand_count = 2,
        .options = PLACE_OPTIONS,
        .brief = "give a piece another name",
        .manual =
            "Renames a piece and updates the links to it in other documents\n"
            "of the space, in one transaction. Its history stays under the\n"
            "old name, and its nodes run again at its next start.\n",
        .example = "  $ heddle rename list errands\n",
        .run = rename_run,
    },
    {
        .name = "export",
        .operands = "PIECE FILE",
        .operand_count = 1,
        .takes_more = true,
        .options = PLACE_OPTIONS | OPTION_ALL,
        .brief = "write a piece, or the whole space, to a file",
        .manual =
            "Writes the current documents of a piece, including those of\n"
            "users and of launched pieces, to a new FILE ('-' for standard\n"
            "output). With --all, writes all documents of the space.\n"
            "Exports contain no history: 'heddle backup' copies that, too.\n",
        .example = "  $ heddle export list list.jsonl\n",
        .run = export_run,
    },
    {
        .name = "import",
        .operands = "FILE",
        .operand_count = 1,
        .options = PLACE_OPTIONS | OPTION_NAME | OPTION_REPLACE,
        .brief = "read a piece, or a space, from a file",
        .manual =
            "Creates the piece that was exported to FILE ('-' for standard\n"
            "input), in one transaction, with its old name or that of --name.\n"
            "Fails if the piece exists, unless --replace is given: then the\n"
            "existing piece is removed first. A space is imported into an\n"
            "empty space; with --replace it replaces the existing data.\n",
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
            "Copies every space of the data directory with its history to a\n"
            "new DIRECTORY, while other processes continue. The copy is\n"
            "atomic, and is itself a data directory.\n",
        .example = "  $ heddle backup /backups/monday\n",
        .run = backup_run,
    },
    {
        .name = "branch",
        .operands = "COMMAND ...",
        .brief = "work on a branch of the data and merge it",
        .manual =
            "A branch begins with the state of another branch. Later commits\n"
            "to one are not visible in the other. 'run', 'send', 'get',\n"
            "'set', 'watch' and 'repl' work on it with --branch NAME.\n"
            "'heddle branch COMMAND --help' shows more, with an example.\n",
        .children = branch_commands,
    },
    {
        .name = "admin",
        .operands = "COMMAND ...",
        .brief = "spaces, sessions, access and backups of a running server",
        .manual =
            "Asks the server of --server or HEDDLE_SERVER, with your key or\n"
            "the token in HEDDLE_TOKEN, and changes how it runs.\n"
            "'heddle admin COMMAND --help' shows more.\n",
        .children = admin_commands,
    },
    {
        .name = "key",
        .operands = "COMMAND ...",
        .brief = "create and show the key that is your identity",
        .manual =
            "A key proves to a server who you are. Its name is a did:key,\n"
            "which owners enter into the access document of a space.\n"
            "'heddle key COMMAND --help' shows more, with an example.\n",
        .children = key_commands,
    },
    {
        .name = "token",
        .operands = "",
        .options = OPTION_SPACE | OPTION_CAPABILITY | OPTION_FOR | OPTION_TO |
                   OPTION_AUDIENCE | OPTION_KEY,
        .brief = "make a token that lets its bearer use a space",
        .manual =
            "Prints a token, signed with your key, for browsers, scripts and\n"
            "curl. Who has the token can use it until it expires. Signed with\n"
            "the key of the server, or of one of its owners, it grants --cap\n"
            "in --space ('*': every space) to the principal of --to. Signed\n"
            "with another key, it lets its bearer act for that key, with at\n"
            "most --cap.\n",
        .example = "  $ heddle key new robot.key | cut -c 1-12\n"
                   "  did:key:z6Mk\n"
                   "  $ heddle token --key robot.key --cap read --for 1h |\\\n"
                   "    cut -d. -f1\n"
                   "  eyJhbGciOiJFZERTQSIsInR5cCI6IkpXVCJ9\n",
        .run = token_run,
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
        .brief = "inspect, check, copy and compact the file of a space",
        .manual =
            "Works on the file of a space, also while other processes use it.\n"
            "Only 'commit' creates a file that does not exist.\n"
            "'heddle store COMMAND --help' shows more, with an example.\n",
        .children = store_commands,
    },
    {
        .name = "lifecycle",
        .operands = "COMMAND ...",
        .brief = "state machines: diagrams, and why an event applies",
        .manual =
            "Shows the state machines of threads, environments and pieces.\n"
            "Reads and changes no data.\n"
            "'heddle lifecycle COMMAND --help' shows more, with an example.\n",
        .children = lifecycle_commands,
    },
    {
        .name = "ps",
        .operands = "",
        .options = LOOK_OPTIONS | OPTION_WATCH,
        .brief = "pieces and their nodes: status, runs, last cause",
        .manual =
            "Lists the pieces of a space and their nodes: which are clean,\n"
            "which are live, how often each ran, and why it last did; and\n"
            "the children that a piece has in other spaces. Runs and changes\n"
            "nothing; --watch keeps the table live.\n",
        .example = "  $ heddle ps --dir heddle-data\n",
        .run = ps_run,
    },
    {
        .name = "why",
        .operands = "PIECE NODE",
        .operand_count = 2,
        .options = LOOK_OPTIONS | OPTION_USER,
        .brief = "why a node last ran, back to the origin",
        .manual =
            "Prints what changed between the last two runs of a node: old and\n"
            "new values, the commit behind each change, and the node or event\n"
            "behind that commit, back to the origin. Exits with 1 if no run\n"
            "is recorded.\n",
        .example = "  $ heddle why shopping total\n",
        .run = why_run,
    },
    {
        .name = "why-not",
        .operands = "PIECE NODE",
        .operand_count = 2,
        .options = LOOK_OPTIONS | OPTION_USER,
        .brief = "why a node does not run, and what would make it run",
        .manual = "Prints the first condition for a run that is not met, and "
                  "how to\n"
                  "meet it.\n",
        .example = "  $ heddle why-not shopping total\n",
        .run = why_not_run,
    },
    {
        .name = "graph",
        .operands = "PIECE",
        .operand_count = 1,
        .options = LOOK_OPTIONS | OPTION_MERMAID | OPTION_DOT,
        .brief = "the nodes of a piece, and what each reads and writes",
        .manual =
            "Prints the graph of a piece as of the last runs of its nodes,\n"
            "with the writes of its handlers: as text, for Mermaid, for\n"
            "Graphviz, or as JSON.\n",
        .example = "  $ heddle graph shopping --mermaid\n",
        .run = graph_run,
    },
    {
        .name = "log",
        .operands = "[PIECE]",
        .takes_more = true,
        .options = LOOK_OPTIONS | OPTION_LIMIT,
        .brief = "commits, with the node, event or session behind each",
        .manual =
            "Prints the last commits (default: 100), the newest last: the\n"
            "sequence number, the node, event or session behind it, and the\n"
            "documents written. With PIECE, only commits that wrote to it.\n",
        .example = "  $ heddle log shopping --limit 10\n",
        .run = log_run,
    },
    {
        .name = "events",
        .operands = "[PIECE]",
        .takes_more = true,
        .options = LOOK_OPTIONS | OPTION_CANCEL | OPTION_BRANCH |
                   OPTION_FAILED | OPTION_LIMIT | OPTION_ID,
        .brief = "events that are stored and not handled yet",
        .manual =
            "Lists the events that wait in the store, in the order in which\n"
            "handlers, effects or 'heddle send --queue' sent them, and what\n"
            "each waits for. With PIECE, only its events. Runs and changes\n"
            "nothing, unless --cancel is given, which removes the event with\n"
            "that id. --failed lists the last 100 events (or --limit) whose\n"
            "handler failed, with the reason. --id prints what has become of\n"
            "the event with that id: its receipt, or why it has none.\n",
        .example = "  $ heddle events shopping\n"
                   "  $ heddle events shopping --failed\n",
        .run = events_run,
    },
    {
        .name = "timers",
        .operands = "[PIECE]",
        .takes_more = true,
        .options = LOOK_OPTIONS | OPTION_CANCEL | OPTION_BRANCH,
        .brief = "timers that are set, and when each is due",
        .manual =
            "Lists the timers of all pieces, or of PIECE, in order of their\n"
            "due times, with stream, payload and repetition. The next process\n"
            "that runs the piece handles overdue timers; if a user is shown,\n"
            "a process of that user (--user). --cancel removes the timers\n"
            "of PIECE with that id, or of its only child that has any;\n"
            "PIECE/STREAM is the timer of one stream.\n",
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
        .brief = "the result of a piece at any sequence number",
        .manual =
            "Prints the value at PATH in the result of a piece at a sequence\n"
            "number (see 'heddle log'), through the links of that time. Runs\n"
            "nothing. Exits with 1 if there was no value.\n",
        .example = "  $ heddle show shopping total --at 12\n",
        .run = show_run,
    },
    {
        .name = "check",
        .operands = "",
        .options = PLACE_OPTIONS | FORM_OPTIONS | OPTION_REPAIR,
        .brief = "verify every space of a data directory",
        .manual =
            "Replays the history of every space, or of --space, and\n"
            "compares it with heads, snapshots, indexes and recorded runs,\n"
            "and the orderings and counts of collections with their rows.\n"
            "Prints each difference and exits with 1 if there is one. Changes\n"
            "nothing without --repair. With --repair, and if the history is\n"
            "intact, it rebuilds the rows of documents that differ, and\n"
            "orderings and counts of collections, and removes snapshots that\n"
            "differ and inconsistent records of runs; those nodes run again.\n"
            "Bytes that are not UTF-8, which earlier versions accepted,\n"
            "become \\xNN.\n",
        .example = "  $ heddle check --dir heddle-data\n",
        .run = check_run,
    },
    {
        .name = "doctor",
        .operands = "",
        .options = OPTION_DIR | FORM_OPTIONS,
        .brief = "versions, sizes, locks, sessions and known hazards",
        .manual =
            "Prints the facts that a bug report needs, and a line for each\n"
            "hazard: a network file system, a full disk, a long WAL, a file\n"
            "that cannot be opened. Exits with 1 if there is a hazard.\n",
        .example = "  $ heddle doctor --dir heddle-data\n",
        .run = doctor_run,
    },
    {
        .name = "completion",
        .operands = "SHELL",
        .operand_count = 1,
        .takes_more = true,
        .options = PLACE_OPTIONS | SERVER_OPTIONS,
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
            "Runs the tests of Lua files, each on a virtual clock that only\n"
            "the test advances. A FILE may be '-', standard input. Exits with\n"
            "1 if a test fails, with 2 if a file cannot be run.\n",
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
        .manual = "Explains a command, or lists all of them.\n",
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
        "queries them, and works with their data.\n",
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
    store_setup_sqlite();
}

int main(int argc, char **argv)
{
    struct options options;
    int code = options_read(&options, argc, argv);
    if (code == CODE_OK) {
        if (!options.command->has_threads &&
            remote_option_url(&options) == NULL) {
            own_process();
        }
        code = run(&options);
    }
    return output_close(&options, code);
}

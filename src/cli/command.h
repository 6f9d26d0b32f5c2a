/* Commands as data: a tree of tables.
 *
 * A command is one row. Its words select it (`heddle value get`), and the row
 * has everything that commands have in common: operands, options and help. So
 * no command parses arguments or prints its usage, and a new command is a new
 * row and a function. */

#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct options;

/* A set of options, one bit each (cli/options.h). */
__extension__ typedef unsigned __int128 option_set;

/* Does the work and returns an exit code (cli/report.h). The operands have
 * been counted. */
typedef int command_fn(const struct options *options);

struct command {
    const char *name;     /* NULL ends a table */
    const char *operands; /* "FILE POINTER", for the usage line; "" if none */
    size_t operand_count;
    bool takes_more;    /* operand_count is the least, not the exact number */
    option_set options; /* OPTION_* that it takes besides the common ones */
    const char *brief;  /* half a sentence for a list of commands */
    const char *manual; /* the help between the usage and the options */
    const char *example;
    bool has_threads; /* the process is not tuned for one thread */
    command_fn *run;
    command_fn *describe; /* --help with operands: what exists; or NULL */
    const struct command *children; /* of a group, which has no run */
};

/* The whole tree, and its branches `value` (cli/value.c), `store`
 * (cli/store.c), `lifecycle` (cli/lifecycle.c) and `branch`
 * (cli/branch.c), `key` (cli/key.c), `admin` (cli/admin.c), and `test`
 * (cli/test.c). */
extern const struct command root_command;
extern const struct command value_commands[];
extern const struct command store_commands[];
extern const struct command lifecycle_commands[];
extern const struct command branch_commands[];
extern const struct command key_commands[];
extern const struct command admin_commands[];
command_fn test_run;

/* On a data directory: cli/run.c, cli/ask.c, cli/new.c, cli/repl.c. */
command_fn run_run;
command_fn send_run;
command_fn get_run;
command_fn set_run;
command_fn send_describe; /* cli/describe.c */
command_fn set_describe;
command_fn watch_run;
command_fn new_run;
command_fn repl_run;

/* The server: cli/serve.c. */
command_fn serve_run;

/* Pieces and directories as a whole: cli/transfer.c. */
command_fn rm_run;
command_fn rename_run;
command_fn export_run;
command_fn import_run;
command_fn backup_run;

/* Tokens for a server: cli/token.c. */
command_fn token_run;

/* Inspecting a data directory from outside: cli/ps.c, cli/why.c, cli/graph.c,
 * cli/history.c, cli/events.c, cli/timers.c, cli/check.c, cli/doctor.c; and
 * cli/completion.c.
 */
command_fn ps_run;
command_fn why_run;
command_fn why_not_run;
command_fn graph_run;
command_fn log_run;
command_fn events_run;
command_fn timers_run;
command_fn show_run;
command_fn check_run;
command_fn doctor_run;
command_fn completion_run;

/* The child of a group with that name, or NULL. */
const struct command *command_find(const struct command *group,
                                   const char *name);

#endif

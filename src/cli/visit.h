/* A process that works on a data directory: shared by the commands that run
 * pieces, read them and send to them.
 *
 *   struct visit visit;
 *   int code = visit_open(&visit, options, DATA_DIR_EXISTING, hooks);
 *   if (code == CODE_OK) {
 *       code = visit_resume(&visit, "shopping");
 *   }
 *   if (code == CODE_OK) {
 *       ... visit.piece ...
 *   }
 *   return visit_close(&visit, code);
 *
 * Each function that returns an exit code has reported the error, in a sentence
 * that says what to do. A piece keeps the name of its pattern's file as its
 * note, {"file": "/data/shopping.lua"}, so that every command can resume it.
 *
 *   visit-1  Effects run and tasks start in `heddle run` only: other commands
 *            do nothing outside that the next run would repeat.
 *
 *   visit-2  Each wait has a deadline, and Ctrl-C and SIGTERM interrupt it.
 *            Then visit_was_stopped is true, and every wait is over.
 *
 *   visit-3  The failure of a node is reported when the work has come to rest,
 *            and only if the last run of that node has failed.
 *
 *   visit-4  A command that answers once brings its output up to date: no
 *            debounce or throttle applies in its process. A command that
 *            follows changes keeps the debounce and throttle of the pattern.
 *
 *   visit-5  A damaged file, or a server that refuses a space for good, ends
 * the command with CODE_IO, as a signal would: waiting does not help. */

#ifndef CLI_VISIT_H
#define CLI_VISIT_H

#include <signal.h>

#include "base/nearest.h"
#include "cli/options.h"
#include "host/live.h"
#include "runtime/piece.h"
#include "script/program.h"
#include "tasks/host_tasks.h"

enum {
    VISIT_TIMEOUT_MS = 30000,
    VISIT_FLUSH_MS = 5000, /* at the end, for unconfirmed commits */
    VISIT_LATE_MS = 40,    /* the same after a signal, or a timeout */
    VISIT_LOOK_MS = 500,
};

/* A node whose last run has failed (visit-3). */
struct visit_fault {
    uint32_t ordinal;
    bool of_handler;
    struct buf name; /* "piece/node" */
    struct buf message;
    bool told;
};

/* A file of patterns, other than that of the visit: of pieces that are started
 * because of events (runtime/owner.h). Each has a separate program, so that
 * equal names of patterns in two files do not collide. */
struct visit_source {
    struct visit *visit;
    struct buf file; /* from the root; empty: that of the visit */
    struct buf text; /* as it was loaded */
    struct program *program;
};

/* A reported cycle, which is reported once (sched/cycle.h). */
struct visit_cycle {
    struct buf message;
    bool told;
};

/* The contents of files, so that a running piece can be restarted after they
 * have changed. */
struct visit_text {
    struct buf path;
    struct buf text;
};

struct visit_texts {
    VEC(struct visit_text) at;
};

struct visit {
    const struct options *options;
    const char *folder;
    mono_ms timeout; /* of one wait */
    struct live *live;
    struct host_tasks *tasks; /* or NULL */
    struct program *program;  /* or NULL */
    struct piece *piece;      /* with a reference; or NULL */
    struct buf file;          /* of the pattern, from the root; or empty */
    struct visit_texts texts; /* of that file and the modules it required */
    const struct visit_texts *kept;     /* read instead of the files; or NULL */
    struct visit_source source;         /* of its program */
    VEC(struct visit_source *) sources; /* other files */
    bool lost; /* an event that a handler sent was not handled: exit code 1 */
    bool events_failed; /* the same for a failed handler, once reported */
    const struct program_function *functions; /* for effects; or NULL */
    bool with_effects;                        /* visit-1 */
    bool handles_events;                      /* takes up stored events */
    bool immediate;                           /* visit-4 */
    bool interactive;
    bool showed_progress;
    bool goes_on;  /* the process continues after visit_close */
    bool late;     /* a wait has timed out */
    bool troubled; /* a trouble was reported, and is not over */
    bool gave_up;  /* it was reported that changes could not be stored */
    uint64_t runs; /* that were committed, of nodes of the piece */
    VEC(struct visit_fault) faults;
    VEC(struct visit_cycle) cycles;
};

/* -- Life ---------------------------------------------------------------- */

/* `visit` is all zero except for functions, with_effects, handles_events,
 * immediate, interactive and kept, which the caller may set. It must not move.
 */
int visit_open(struct visit *visit,
               const struct options *options,
               enum data_dir_access access);

/* Waits until everything is confirmed, and ends the visit. Returns `code`, or
 * that of a new error. */
int visit_close(struct visit *visit, int code);

void visit_texts_release(struct visit_texts *texts);

/* Whether a signal came (visit-2), and the exit code for it. */
bool visit_was_stopped(void);
enum {
    VISIT_CODE_STOPPED = 130
};

/* -- Pieces -------------------------------------------------------------- */

/* Creates visit->program (Lua). Functions that load a file call this. */
void visit_begin_program(struct visit *visit);

/* The host functions of such code. */
struct program_host visit_host(struct visit *visit);

/* Runs the file of a pattern (program_pattern); visit->file is its name. */
int visit_load(struct visit *visit, const char *file);

/* Selects the pattern of that file for a piece of this name: that of --pattern,
 * the only one, or that of the piece, if it exists. */
int visit_choose(struct visit *visit, const char *name, struct pattern **out);

/* Starts the piece, and waits until it runs. */
int visit_start(struct visit *visit, const struct piece_options *options);

/* Resumes a piece by its name, with the file of its note. */
int visit_resume(struct visit *visit, const char *name);

/* The same for an address, "kanban" or that of a child (visit_child.c):
 * "kanban/cards/3". *document is that of its result; lists on the way are up
 * to date. */
int visit_resume_at(struct visit *visit,
                    const char *address,
                    struct entity **document);

/* The result document of an existing child, by its address. */
int visit_find_child(struct visit *visit,
                     const char *address,
                     struct entity **document);

/* The result document of an existing piece or child, without starting it. */
int visit_find(struct visit *visit, const char *name, struct entity **document);

/* If the piece of that document has states of users or sessions: starts it for
 * the user of this process, and waits until the initial values that are new to
 * this user are stored. */
int visit_start_for_user(struct visit *visit, const struct entity *document);

/* Stops the piece of the visit, if there is one. */
void visit_stop_piece(struct visit *visit);

/* -- Waiting ------------------------------------------------------------- */

/* Reports once that a space is in trouble; or, with NULL, that it is over. */
void visit_tell_trouble(const struct visit *visit,
                        const struct err_detail *trouble);

/* Waits until nothing is left to do and everything is confirmed.
 * CODE_UNSETTLED: the same, except for computations that do not settle, which
 * are reported. */
int visit_settle(struct visit *visit);

/* Waits until there is work, or the deadline has come; at most VISIT_LOOK_MS,
 * so that a closed output is noticed. */
void visit_wait(struct visit *visit, mono_ms deadline);

/* Reports why a wait for `what` has failed: an exit code. */
int visit_report_wait(struct visit *visit, const char *what);

/* Reports failures since the last call; whether there were any. */
bool visit_tell_faults(struct visit *visit);

/* Does not report again what the caller has reported. */
void visit_forget_fault(struct visit *visit, const struct err_detail *told);

/* -- Losses (visit_lost.c) ----------------------------------------------- */

/* Waits until everything is confirmed. `code`, or CODE_IO: it reports how many
 * changes are lost, and of which events. */
int visit_flush(struct visit *visit, int code);

/* Reports the events that wait in this process, which ends. */
void visit_report_waiting(struct visit *visit);

/* -- Looking (visit_look.c) --------------------------------------------- */

/* An effect that reads a place up to date, with everything that it links to
 * (runtime/resolve.h). */
struct visit_look {
    struct visit *visit;
    struct place *place;
    struct node *node;
    struct value seen;       /* or absent */
    bool has_seen;           /* there was a run, */
    bool changed;            /* and another value since this was set to false */
    struct err_detail fault; /* of the last run */
};

void visit_look_begin(struct visit *visit,
                      struct visit_look *look,
                      struct place *place);
void visit_look_end(struct visit_look *look);

/* -- Parts (visit_part.c) ------------------------------------------------ */

/* The role of a document in its piece. */
struct visit_part {
    struct entity *owner; /* the document that declares it; NULL: none does */
    struct value about;   /* the content of "piece" there, borrowed */
    struct value name;    /* among the names there, new; absent: the document
                             is the owner itself */
    struct value kind;    /* of that name, borrowed; absent: not declared */
};

/* The part of a document. The owner is the nearest document above it that
 * declares parts: that of a piece, or of an element of a list
 * (runtime/element.h). */
MUST_CHECK enum err visit_part_of(struct visit *visit,
                                  struct entity *entity,
                                  struct visit_part *out,
                                  struct err_detail *detail);
void visit_part_release(struct visit_part *part);

/* Whether a place may be set from outside: it is in a state, in an argument, or
 * in a document of no piece. Otherwise the detail says what it is, and what to
 * do instead. `path` is the operand, below the result of `document`. */
MUST_CHECK enum err visit_check_set(struct visit *visit,
                                    const struct entity *document,
                                    const struct place *place,
                                    const char *path,
                                    struct err_detail *detail);

/* -- Operands ------------------------------------------------------------ */

/* Reports a failure of the layers below; `source` may be NULL. */
int visit_report(const struct options *options,
                 const char *source,
                 const struct err_detail *detail);

/* The same for a node, by its name "piece/field", or NULL. */
int visit_report_node(const struct options *options,
                      const char *name,
                      const struct err_detail *detail);

/* A path in a result: "/items/0/price", "items/0/price" or "items.0.price";
 * *out is an array of keys, new. */
int visit_read_path(const struct options *options,
                    const char *text,
                    struct value *out);

/* The JSON of an operand, "-" for standard input, or of an option; new. */
int visit_read_json(const struct options *options,
                    size_t index,
                    struct value *out);
int visit_read_text(const struct options *options,
                    const char *name,
                    const char *text,
                    struct value *out);

/* The place of a path in the result of a piece whose document is loaded; new.
 * The path may also begin with the name of a part that the pattern declares and
 * does not return. */
struct place *visit_place_at(const struct visit *visit,
                             struct entity *document,
                             struct value path);

/* Appends a string; nothing of any other value. */
void visit_append(struct buf *to, struct value string);

/* The field of the result, or name that the pattern declares, that is nearest
 * to the first key of a path: base/nearest.h. */
const char *visit_hint_field(const struct entity *document,
                             const char *path,
                             struct nearest *nearest);

/* The place at a path of a result, behind all links, with its document loaded;
 * new. Without `through`, a link at the end is not followed. */
MUST_CHECK enum err visit_place(struct visit *visit,
                                struct entity *document,
                                struct value path,
                                bool through,
                                struct place **out,
                                struct err_detail *detail);

/* One line: a value as JSON, in the form of the options. */
void visit_print(const struct options *options, struct value value);

#endif

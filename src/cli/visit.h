/* One process at work on a data directory: what the commands share that run
 * pieces, ask them and send to them.
 *
 *   struct visit visit;
 *   int code = visit_open(&visit, options, FOLDER_EXISTING, hooks);
 *   if (code == CODE_OK) {
 *       code = visit_resume(&visit, "shopping");
 *   }
 *   if (code == CODE_OK) {
 *       ... visit.piece ...
 *   }
 *   return visit_close(&visit, code);
 *
 * Each function that returns an exit code has reported what went wrong, in a
 * sentence that says what to do. A piece keeps the name of its pattern's file
 * as its note, {"file": "/data/shopping.lua"}, so that every command can
 * take it up.
 *
 *   K1  Effects run and tasks begin in `heddle run` only: other commands do
 *       nothing outside that the next run would do again.
 *
 *   K2  Each wait has a deadline, and Ctrl-C and SIGTERM interrupt it. Then
 *       visit_was_stopped is true, and every wait is over.
 *
 *   K3  The failure of a node is reported when the work has come to rest, and
 *       only if the last run of that node has failed.
 *
 *   K4  A command that answers once brings what it prints up to date: no
 *       debounce or throttle applies in its process. A command that follows
 *       the changes keeps to the pattern's pace.
 *
 *   K5  A damaged file ends the command with CODE_IO, as a signal would:
 *       waiting does not mend it. */

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
    VISIT_FLUSH_MS = 5000, /* at the end, for what is not confirmed */
    VISIT_LATE_MS = 40,    /* the same after a signal, or a wait in vain */
    VISIT_LOOK_MS = 500,
};

/* A node whose last run has failed (K3). */
struct visit_fault {
    uint32_t ordinal;
    bool of_handler;
    struct buf name; /* "piece/node" */
    struct buf message;
    bool told;
};

/* A file of patterns, other than that of the visit: of pieces that events take
 * up (runtime/owner.h). Each has a program of its own, so that equal names of
 * patterns in two files do not meet. */
struct visit_source {
    struct visit *visit;
    struct buf file; /* from the root; empty: that of the visit */
    struct buf text; /* as it was loaded */
    struct program *program;
};

/* What is told of a circle, once (sched/circle.h). */
struct visit_circle {
    struct buf message;
    bool told;
};

/* Files as they were read, so that what runs can be started again after they
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
    struct visit_texts texts; /* of that file and the modules it asked for */
    const struct visit_texts *kept;     /* read instead of the files; or NULL */
    struct visit_source source;         /* what its program runs on */
    VEC(struct visit_source *) sources; /* other files */
    bool lost; /* an event that a handler sent was not handled: exit code 1 */
    bool events_failed; /* the same of one whose handler failed, once told */
    const struct program_function *functions; /* for effects; or NULL */
    bool with_effects;                        /* K1 */
    bool handles_events; /* takes up those that wait in the store */
    bool immediate;      /* K4 */
    bool interactive;
    bool showed_progress;
    bool goes_on;  /* the process does, after visit_close */
    bool late;     /* a wait was in vain, and its time is up */
    bool troubled; /* a trouble was reported, and is not over */
    bool gave_up;  /* changes could not be stored, which was reported */
    uint64_t runs; /* that were committed, of nodes of the piece */
    VEC(struct visit_fault) faults;
    VEC(struct visit_circle) circles;
};

/* -- Life ---------------------------------------------------------------- */

/* `visit` is all zero but for what the caller has set of functions,
 * with_effects, handles_events, immediate, interactive and kept. It stays where
 * it is. */
int visit_open(struct visit *visit,
               const struct options *options,
               enum folder_access access);

/* Waits until everything is confirmed, and ends it. `code`, or what went wrong
 * only now. */
int visit_close(struct visit *visit, int code);

void visit_texts_release(struct visit_texts *texts);

/* Whether a signal came (K2), and the exit code for it. */
bool visit_was_stopped(void);
enum {
    VISIT_CODE_STOPPED = 130
};

/* -- Pieces -------------------------------------------------------------- */

/* Lua is there: visit->program. What loads a file sees to that itself. */
void visit_begin_program(struct visit *visit);

/* What such code sees of the world. */
struct program_host visit_host(struct visit *visit);

/* Runs the file of a pattern (program_pattern); visit->file is its name. */
int visit_load(struct visit *visit, const char *file);

/* Which pattern of that file a piece of this name is to be: the one of
 * --pattern, the only one, or the one that the piece, if it is there, is of. */
int visit_choose(struct visit *visit, const char *name, struct pattern **out);

/* Starts the piece, and waits until it runs. */
int visit_start(struct visit *visit, const struct piece_options *options);

/* Takes up a piece by its name, with the file of its note. */
int visit_resume(struct visit *visit, const char *name);

/* The same for an address, "kanban" or that of a child (visit_child.c):
 * "kanban/cards/3". *document is that of its result; lists on the way are up
 * to date. */
int visit_resume_at(struct visit *visit,
                    const char *address,
                    struct entity **document);

/* The result document of a child, which is there, by its address. */
int visit_find_child(struct visit *visit,
                     const char *address,
                     struct entity **document);

/* The result document of a piece or a child, which is there, without starting
 * it. */
int visit_find(struct visit *visit, const char *name, struct entity **document);

/* If the piece of that document has states of users or sessions: starts it for
 * the user of this process, and waits until the initial values that this user
 * did not have are stored. */
int visit_start_for_user(struct visit *visit, const struct entity *document);

/* Stops the piece of the visit, if there is one. */
void visit_stop_piece(struct visit *visit);

/* -- Waiting ------------------------------------------------------------- */

/* Tells that a space is in trouble, once; or, with NULL, that it is over. */
void visit_tell_trouble(const struct visit *visit,
                        const struct err_detail *trouble);

/* Until nothing is left to do and everything is confirmed. CODE_UNSETTLED: the
 * same, but for computations that do not settle, which are reported. */
int visit_settle(struct visit *visit);

/* Until there is something to do, or the deadline has come; not longer than
 * VISIT_LOOK_MS, so that who has lost his reader finds out. */
void visit_wait(struct visit *visit, mono_ms deadline);

/* Why a wait for that was in vain: an exit code. */
int visit_report_wait(struct visit *visit, const char *what);

/* Tells what has failed since the last time; whether there was anything. */
bool visit_tell_faults(struct visit *visit);

/* What the caller has told itself is not told again. */
void visit_forget_fault(struct visit *visit, const struct err_detail *told);

/* -- Losses (visit_lost.c) ----------------------------------------------- */

/* Waits until everything is confirmed. `code`, or CODE_IO: it reports how many
 * changes are lost, and of which events. */
int visit_flush(struct visit *visit, int code);

/* Reports the events that wait in this process, which ends. */
void visit_report_waiting(struct visit *visit);

/* -- Looking (visit_look.c) --------------------------------------------- */

/* Somebody who looks at a place, and sees it up to date, with everything that
 * it links to (runtime/resolve.h). */
struct visit_look {
    struct visit *visit;
    struct place *place;
    struct node *node;
    struct value seen;       /* absent: nothing is there */
    bool has_seen;           /* there was a run, */
    bool changed;            /* and another value since this was set to false */
    struct err_detail fault; /* of the last run */
};

void visit_look_begin(struct visit *visit,
                      struct visit_look *look,
                      struct place *place);
void visit_look_end(struct visit_look *look);

/* -- Parts (visit_part.c) ------------------------------------------------ */

/* What a document is in the piece that it belongs to. */
struct visit_part {
    struct entity *owner; /* the document that declares it; NULL: none does */
    struct value about;   /* what is at "piece" there, borrowed */
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
 * do instead. `path` is what was given, below the result of `document`. */
MUST_CHECK enum err visit_check_set(struct visit *visit,
                                    const struct entity *document,
                                    const struct place *place,
                                    const char *path,
                                    struct err_detail *detail);

/* -- Operands ------------------------------------------------------------ */

/* A failure of the layers below; `source` may be NULL. */
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

/* The place of a path in the result of a piece, whose document is here; new.
 * The path may also begin with the name of something that the pattern has
 * declared and not returned. */
struct place *visit_place_at(const struct visit *visit,
                             struct entity *document,
                             struct value path);

/* Appends a string; nothing of any other value. */
void visit_append(struct buf *to, struct value string);

/* The nearest field of the result, or name that the pattern has declared, to
 * the first key of a path: base/nearest.h. */
const char *visit_hint_field(const struct entity *document,
                             const char *path,
                             struct nearest *nearest);

/* The place at a path of a result, behind all links, with its document here;
 * new. Without `through`, a link at the end is not followed. */
MUST_CHECK enum err visit_place(struct visit *visit,
                                struct entity *document,
                                struct value path,
                                bool through,
                                struct place **out,
                                struct err_detail *detail);

/* One line: a value as JSON, in the form that the options ask for. */
void visit_print(const struct options *options, struct value value);

#endif

/* Pieces: patterns that live.
 *
 * A piece is an instance of a pattern: a name, a result document, documents and
 * nodes that the pattern has declared (runtime/builder.h), arguments. It is
 * there as long as nobody removes it; a process that has it started runs its
 * nodes.
 *
 *   struct piece_options options = {.name = name, .pattern = pattern};
 *   err = piece_start(runtime, &options, &piece, &detail);
 *   runtime_step(runtime, now);      until piece->state is no longer LOADING
 *   piece_read(piece, path, &value, &detail);
 *   piece_send(piece, stream, &event, &detail);
 *   piece_stop(piece);
 *
 * The result document, "piece:" name, is
 *
 *   {"value": {"total": <link>, ...},            what the pattern returned
 *    "piece": {"pattern": "shopping", "generation": 1, "arguments": {...},
 *              "cells": {"items": "state", ...}, "launched": {...},
 *              "child": ...,
 *              "scopes": ["user"], "note": ...}}
 *
 * and the document "pieces" has a key for each piece of the space that is
 * nobody's child.
 *
 *   R1  Starting needs the result document, and what was asked to be preloaded:
 *       until they have come the piece is LOADING, and nothing of it is there.
 *   R2  If there is none, the piece is made: everything that the pattern
 *       declares is written in one transaction, with the result. If somebody
 *       else makes the same piece at the same time, one of them wins and the
 *       other takes up what is there.
 *   R3  If there is one, it is taken up again: what the runtime's store knows
 * of its nodes is asked for once (runtime->resume), and then all nodes are
 *       registered in one phase (P4 to P7 of sched/persistence.h). Clean nodes
 *       stay clean, nothing of their data is read, and if the pattern declares
 *       what it declared before, nothing is written.
 *   R4  A stopped piece is as it was, for the next one who starts it. A removed
 *       one is gone with all its documents; a new one of its name has another
 *       generation.
 *   R7  A state of a user or a session has its initial value for each of them:
 *       it is made when a process of that user starts the piece for the first
 *       time (piece_scopes.c).
 *   R5  A piece that a handler launched (piece_launch) is started when the
 *       handler's commit has landed, and whenever the piece of the handler is
 *       started.
 *   R8  A child in another space (piece_elsewhere.c) is a piece of its own
 * there. The commit of its parent that declares or launches it says, under
 *       "launched", what it is to be. When that has landed, and at every start
 *       of the parent, the child is started, and made if it is not there. So it
 *       comes to be once, whichever process makes it, also after a kill
 *       between the two commits. A parent that declares such a child anew is
 *       LOADING until its commit has landed.
 *   R6  For who wants to ask or send something only, a runtime can do without
 *       effects (runtime->without_effects): they are declared and do not run
 *       here, and what the store knows of them stays as it is, for the next
 *       one who runs them. The same holds for a piece that was only taken up,
 *       because of an event (runtime/owner.h). */

#ifndef RUNTIME_PIECE_H
#define RUNTIME_PIECE_H

#include "runtime/builder.h"
#include "sched/persistence.h"

enum {
    PIECE_NAME_BYTES_MAX = 256,
};

enum piece_state {
    PIECE_LOADING, /* R1 */
    PIECE_RUNNING,
    PIECE_REMOVING, /* its documents are on their way here, to be deleted */
    PIECE_FAILED,   /* `error` says why; nothing of it is there */
    PIECE_STOPPED,  /* only of interest to who holds a reference */
};

/* One thing that the pattern has declared. */
struct part {
    struct value name; /* from the piece on: "total", "child/total" */
    enum part_kind kind;
    struct place *place; /* output, stream, document; or NULL */
    struct node *node;   /* or NULL */
    struct handler *handler;
    struct spread *list; /* of a list: its coordinator's; or NULL */
};

/* A child in another space that the pattern has declared (R8). */
struct piece_elsewhere {
    struct value key; /* in "launched": "team/board~clock" */
    struct value entry;
    struct pattern *pattern;
};

struct piece {
    struct list_node node;   /* in the runtime's pieces */
    uint32_t refs;           /* the runtime's, and others */
    struct runtime *runtime; /* NULL: stopped */
    struct space *space;
    struct value name;
    struct pattern *pattern;
    enum piece_state state;
    struct err_detail error;
    struct entity *document; /* of the result */
    struct value arguments;  /* that were given; or absent */
    struct value note;       /* likewise */
    struct value about;      /* what is at "piece", as it was written last */
    bool again;              /* is to be started from the beginning */
    bool landing; /* was built, and waits until that has landed (R8) */
    bool resumed; /* was there before (R3) */
    bool made;    /* was not, when it was started here */
    bool fresh;   /* is to be built without what the store knows */
    bool must_exist;
    bool taken_up; /* because of an event: without effects (runtime/owner.h) */
    bool replace;  /* it may have been of another pattern */
    VEC(struct entity *) needs; /* that have to come before it can be built */
    struct value checked;       /* of its document: runtime/migration.h */
    struct buf migrated;        /* what is said when the build has landed */
    uint32_t attempts;
    uint64_t generation;
    struct resume_counts counts; /* of the last start */
    VEC(struct part) parts;
    VEC(struct piece_elsewhere) elsewhere;
    struct value origin; /* of a child whose parent is in another space, and has
                            started it: what its "piece" begins with; or
                            absent */

    /* Of an element of a list only (runtime/element.h). */
    struct piece *whole;      /* whose list it is, a reference; NULL: its own */
    struct value front;       /* of its names in the whole: "cards/3/" */
    struct value result;      /* what its function returned */
    struct node *coordinator; /* of the list */
    unsigned depth;           /* elements in elements */
    bool assumed;             /* to have declared before what it declares now */
};

/* The piece that it is an element of, or itself. */
static inline struct piece *piece_whole(struct piece *piece)
{
    return piece->whole != NULL ? piece->whole : piece;
}

/* A zero field means none or the default. */
struct piece_options {
    struct value name;       /* string, not empty */
    struct pattern *pattern; /* NULL: that of the document, by its name */
    struct space *space;     /* NULL: the runtime's first */
    struct value arguments;  /* an object; absent: those that it has, or none */
    struct value note;       /* for the host: kept with the piece */
    struct value origin;     /* struct piece */
    bool must_exist;         /* otherwise it is made (R2) */
    bool fresh;              /* nothing is taken from the store */
    bool taken_up;           /* without effects, until it is started */
    bool replace;            /* also if it is of another pattern; otherwise that
                                is an error (runtime/change.h) */
};

/* *out is borrowed until the piece is stopped; piece_ref keeps the record. OK:
 * it is running, or is LOADING, and step goes on with it. ARGUMENT: the name,
 * or a piece of that name is started here already; one that was only taken up
 * is stopped first. */
MUST_CHECK enum err piece_start(struct runtime *runtime,
                                const struct piece_options *options,
                                struct piece **out,
                                struct err_detail *detail);

/* Whether a piece can have that name: ARGUMENT. */
MUST_CHECK enum err piece_check_name(struct value name,
                                     struct err_detail *detail);

/* Its nodes and handlers go; what they have committed stays. */
void piece_stop(struct piece *piece);

/* The same, and its documents are deleted (R4), in one transaction, as soon as
 * they have come: until then it is REMOVING, and then STOPPED. What it has
 * launched is removed, too, as far as it is started here. */
void piece_remove(struct piece *piece);

struct piece *piece_ref(struct piece *piece);
void piece_unref(struct piece *piece);

/* -- Asking -------------------------------------------------------------- */

/* A started one, or NULL. `space` NULL: the runtime's first. */
struct piece *piece_find(const struct runtime *runtime,
                         const struct space *space,
                         struct value name);

/* A part by its name, or NULL. */
const struct part *piece_part(const struct piece *piece, struct value name);

/* Why there is no stream at a name from the piece on, and will be none in any
 * version of its pattern (O4 of runtime/owner.h); NULL: there is one, or may
 * be. */
const char *piece_no_stream(const struct piece *piece, struct value name);

/* The node of that name; or NULL. */
struct node *piece_node(const struct piece *piece, struct value name);

/* The payload of the result document; new. */
struct place *piece_result(const struct piece *piece);

/* The place behind a path in the result, through links on the way and at the
 * end; new. `path` is an array of keys. */
MUST_CHECK enum err piece_place(const struct piece *piece,
                                struct value path,
                                struct place **out,
                                struct err_detail *detail);

/* The stream behind a field of the result, or of that name; NOT_FOUND. */
MUST_CHECK enum err piece_stream(const struct piece *piece,
                                 struct value name,
                                 struct stream **out,
                                 struct err_detail *detail);

/* The same for a child, whose document this is. */
MUST_CHECK enum err piece_stream_at(const struct piece *piece,
                                    struct entity *document,
                                    struct value name,
                                    struct stream **out,
                                    struct err_detail *detail);

/* -- Launching ----------------------------------------------------------- */

struct piece_launch_options {
    struct pattern *pattern;
    struct value arguments; /* an object, or absent */
    struct value name;      /* absent: one of the piece of the handler and of
                               the event, so a retry makes the same one */
    struct value space;     /* absent: that of the handler's piece (R8) */
};

/* From inside a handler: another piece comes to be with this attempt's commit
 * (R5). *link is a link to its result, new: for the receipt. ARGUMENT: the name
 * is malformed, or another piece has it. STALE: whether it has cannot be known
 * before a document has come, which the transaction waits for. */
MUST_CHECK enum err piece_launch(struct piece *piece,
                                 struct handling *handling,
                                 const struct piece_launch_options *options,
                                 struct value *link,
                                 struct err_detail *detail);

/* -- For the runtime ----------------------------------------------------- */

/* Goes on with those that are LOADING, REMOVING or to be started again. Whether
 * anything was done, or asked for. */
bool pieces_step(struct runtime *runtime);

/* Whether there is nothing to go on with. */
bool pieces_are_idle(const struct runtime *runtime);

/* All are stopped. */
void pieces_release(struct runtime *runtime);

/* -- For the files of this folder ---------------------------------------- */

/* Builds it, from the document as it is; its state afterwards is RUNNING or
 * FAILED, or LOADING if that has to be tried again. (piece_build.c) */
void piece_build(struct piece *piece);

/* What it had launched is started, if it is not. (piece_launch.c) */
void piece_start_launched(struct piece *piece);

/* The same for one piece: unless it runs, with the arguments that are given. */
void piece_start_as(struct runtime *runtime, const struct piece_options *given);
void launches_release(struct runtime *runtime);

/* Whether a piece of that name is to be started as soon as the store has
 * answered. */
bool piece_is_launching(const struct runtime *runtime,
                        const struct space *space,
                        struct value name);

/* The piece of that name is started when the transaction has landed. `origin`
 * as in struct piece; absent: it is of the space of its parent. */
struct piece_launching {
    struct space *space;
    struct value name;
    struct pattern *pattern;
    struct value origin;
};
void piece_launch_later(const struct piece *by,
                        struct transaction *transaction,
                        const struct piece_launching *launching);

/* The line of a piece in the document of the one that launched it, new; writes
 * it, and adopts it. */
struct place *piece_launched_at(const struct piece *piece, struct value key);
MUST_CHECK enum err piece_note_launched(const struct piece *piece,
                                        struct transaction *transaction,
                                        struct value key,
                                        struct value line,
                                        struct err_detail *detail);

/* -- Children in other spaces (piece_elsewhere.c) ------------------------ */

/* Declares one; *out is a link to its result, new. */
MUST_CHECK enum err elsewhere_declare(struct builder *builder,
                                      const struct builder_child *child,
                                      const struct part *part,
                                      struct value *out,
                                      struct err_detail *detail);

/* From inside a handler: as piece_launch. */
MUST_CHECK enum err elsewhere_launch(struct piece *piece,
                                     struct transaction *transaction,
                                     const struct piece_launch_options *options,
                                     struct value name,
                                     struct value *link,
                                     struct err_detail *detail);

/* What is at "launched" after a build, new. */
struct value elsewhere_launched(const struct piece *piece);

/* Whether the pattern has declared one of which the document of the piece, as
 * it was before the build, does not say what it says now. */
bool elsewhere_has_new(const struct piece *piece);

/* An entry of "launched": whether it is of another space, and if so starts the
 * child unless it is no longer declared. */
bool elsewhere_start(struct piece *piece, struct value key, struct value entry);

/* Whether the children in other spaces are removed, and that has landed;
 * otherwise, their removal begins or goes on. */
bool elsewhere_are_removed(struct piece *piece);

/* The declared ones stop with their parent; then they are declared no more. */
void elsewhere_stop(const struct piece *piece);
void elsewhere_undo(struct piece *piece);

/* Of a child: whether the piece in the document is that of this parent. If not,
 * *detail says so. */
MUST_CHECK enum err elsewhere_check_parent(const struct piece *piece,
                                           struct err_detail *detail);

/* What is told of a child that cannot be started. */
void elsewhere_report(const struct runtime *runtime,
                      struct value name,
                      const struct err_detail *why);

/* Begins the removal of a piece that is not started here. */
MUST_CHECK enum err piece_remove_stored(struct runtime *runtime,
                                        const struct piece_options *options,
                                        struct err_detail *detail);

/* It has come to nothing; adopts nothing. */
void piece_fail(struct piece *piece, const struct err_detail *detail);

/* The id of a document of a piece: "piece:" piece, and "/" name unless that is
 * absent; new. */
struct value piece_document_id(struct value piece, struct value name);

/* The id of the document of a name that its pattern declares, new; absent if
 * there is no such name. `about` is what is at "piece" (runtime/change.h). */
struct value piece_part_document(struct value piece,
                                 struct value about,
                                 struct value name);

/* The document that lists the pieces of a space; borrowed. */
MUST_CHECK enum err piece_index(struct space *space,
                                struct entity **out,
                                struct err_detail *detail);

#endif

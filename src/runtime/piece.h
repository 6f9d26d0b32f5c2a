/* Pieces: instances of patterns.
 *
 * A piece has a name, a result document, arguments, and the documents and nodes
 * that its pattern declares (runtime/builder.h). It exists until it is removed.
 * A process that has started it runs its nodes.
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
 * and the document "pieces" has one key per piece of the space that is not a
 * child.
 *
 *   piece-1  A start needs the result document and the preloaded documents.
 *            Until they have arrived, the piece is LOADING, and none of its
 *            parts exists.
 *   piece-2  If there is no result document, the piece is created: everything
 *            that the pattern declares is written in one transaction, with the
 *            result. If two runtimes create the same piece at the same time,
 *            one of them wins and the other resumes what is stored.
 *   piece-3  If there is one, the piece is resumed: what the store knows of its
 *            nodes is fetched once (runtime->resume), and then all nodes are
 *            registered in one phase (persistence-4 to persistence-7 of
 *            sched/persistence.h). Clean nodes stay clean, and none of their
 *            data is read. If the declarations are unchanged, nothing is
 *            written.
 *   piece-4  A stopped piece stays as it is until its next start. A removed
 *            piece is gone with all its documents; a new piece of its name has
 *            another generation.
 *   piece-7  A state of a user or a session has its initial value for each of
 *            them: it is created when a process of that user starts the piece
 *            for the first time (piece_scopes.c).
 *   piece-5  A piece that a handler launched (piece_launch) is started when the
 *            handler's commit has landed, and whenever the piece of the handler
 *            is started.
 *   piece-8  A child in another space (piece_elsewhere.c) is a separate piece
 *            there. The commit of its parent that declares or launches it
 *            describes the child under "launched". When that commit has landed,
 *            and at every start of the parent, the child is started, and
 *            created if it does not exist. So it is created once, whichever
 *            process does it, even if a process is killed between the two
 *            commits. A parent that declares a new child of this kind is
 *            LOADING until its commit has landed.
 *   piece-6  A runtime that only reads or sends can do without effects
 *            (runtime->without_effects): they are declared but do not run here,
 *            and what the store knows of them stays, for the next runtime that
 *            runs them. The same holds for a piece that was started because of
 *            an event (runtime/owner.h). */

#ifndef RUNTIME_PIECE_H
#define RUNTIME_PIECE_H

#include "runtime/builder.h"
#include "sched/persistence.h"

enum {
    PIECE_NAME_BYTES_MAX = 256,
};

enum piece_state {
    PIECE_LOADING, /* piece-1 */
    PIECE_RUNNING,
    PIECE_REMOVING, /* its documents are being loaded, to be deleted */
    PIECE_FAILED,   /* `error` says why; none of its parts exists */
    PIECE_STOPPED,  /* seen only by holders of a reference */
};

/* One declaration of the pattern. */
struct part {
    struct value name; /* relative to the piece: "total", "child/total" */
    enum part_kind kind;
    struct place *place; /* output, stream, document; or NULL */
    struct node *node;   /* or NULL */
    struct handler *handler;
    struct keyed_list *list; /* of a list: its coordinator's; or NULL */
};

/* A child in another space that the pattern declares (piece-8). */
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
    struct value arguments;  /* as passed; or absent */
    struct value note;       /* likewise */
    struct value about;      /* the content of "piece", as last written */
    bool again;              /* to be started from the beginning */
    bool landing; /* built, and waiting for its commit to land (piece-8) */
    bool resumed; /* existed before (piece-3) */
    bool made;    /* created by this start */
    bool fresh;   /* to be built without what the store knows */
    bool must_exist;
    bool taken_up; /* because of an event: without effects (runtime/owner.h) */
    bool replace;  /* the stored piece may be of another pattern */
    VEC(struct entity *) needs; /* to be loaded before it can be built */
    struct value checked;       /* of its document: runtime/migration.h */
    struct buf migrated;        /* notices to give when the build has landed */
    uint32_t attempts;
    uint64_t generation;
    struct resume_counts counts; /* of the last start */
    VEC(struct part) parts;
    VEC(struct piece_elsewhere) elsewhere;
    struct value origin; /* of a child that its parent in another space has
                            started: what its "piece" begins with; or
                            absent */

    /* Of an element of a list only (runtime/element.h). */
    struct piece *whole;      /* with the list, a reference; NULL: itself */
    struct value front;       /* of its names in the whole: "cards/3/" */
    struct value result;      /* what its function returned */
    struct node *coordinator; /* of the list */
    unsigned depth;           /* elements in elements */
    bool assumed;             /* the declarations are assumed unchanged */
};

/* The piece with its list, if it is an element; otherwise itself. */
static inline struct piece *piece_whole(struct piece *piece)
{
    return piece->whole != NULL ? piece->whole : piece;
}

/* A zero field means none or the default. */
struct piece_options {
    struct value name;       /* string, not empty */
    struct pattern *pattern; /* NULL: that of the document, by its name */
    struct space *space;     /* NULL: the runtime's first */
    struct value arguments;  /* an object; absent: those it has, or none */
    struct value note;       /* for the host: stored with the piece */
    struct value origin;     /* struct piece */
    bool must_exist;         /* otherwise it is created (piece-2) */
    bool fresh;              /* ignore what the store knows of its nodes */
    bool taken_up;           /* without effects, until it is started */
    bool replace;            /* a stored piece of another pattern; otherwise an
                                error (runtime/change.h) */
};

/* *out is borrowed until the piece is stopped; piece_ref keeps the record. OK:
 * it is running, or it is LOADING and step continues the start. ARGUMENT: the
 * name, or a piece of that name is already started here. A piece that was
 * started because of an event is stopped first. */
MUST_CHECK enum err piece_start(struct runtime *runtime,
                                const struct piece_options *options,
                                struct piece **out,
                                struct err_detail *detail);

/* Whether a piece can have that name: ARGUMENT. */
MUST_CHECK enum err piece_check_name(struct value name,
                                     struct err_detail *detail);

/* Stops its nodes and handlers; what they have committed stays. */
void piece_stop(struct piece *piece);

/* Stops it and deletes its documents (piece-4) in one transaction, as soon as
 * they are loaded: it is REMOVING until then, and then STOPPED. Pieces that it
 * launched are removed, too, if they are started here. */
void piece_remove(struct piece *piece);

struct piece *piece_ref(struct piece *piece);
void piece_unref(struct piece *piece);

/* -- Queries ------------------------------------------------------------- */

/* A started piece, or NULL. `space` NULL: the runtime's first. */
struct piece *piece_find(const struct runtime *runtime,
                         const struct space *space,
                         struct value name);

/* A part by its name, or NULL. */
const struct part *piece_part(const struct piece *piece, struct value name);

/* Why a name in the piece is not a stream, and never will be in any version of
 * its pattern (owner-4 of runtime/owner.h). NULL: it is a stream, or may become
 * one.
 */
const char *piece_no_stream(const struct piece *piece, struct value name);

/* The node of that name; or NULL. */
struct node *piece_node(const struct piece *piece, struct value name);

/* The payload of the result document; new. */
struct place *piece_result(const struct piece *piece);

/* The place of a path in the result, behind all links; new. `path` is an array
 * of keys. */
MUST_CHECK enum err piece_place(const struct piece *piece,
                                struct value path,
                                struct place **out,
                                struct err_detail *detail);

/* The stream behind a field of the result, or of that name; NOT_FOUND. */
MUST_CHECK enum err piece_stream(const struct piece *piece,
                                 struct value name,
                                 struct stream **out,
                                 struct err_detail *detail);

/* The same for a child with this document. */
MUST_CHECK enum err piece_stream_at(const struct piece *piece,
                                    struct entity *document,
                                    struct value name,
                                    struct stream **out,
                                    struct err_detail *detail);

/* -- Launching ----------------------------------------------------------- */

struct piece_launch_options {
    struct pattern *pattern;
    struct value arguments; /* an object, or absent */
    struct value name;      /* absent: derived from the handler's piece and the
                               event, so a retry makes the same one */
    struct value space;     /* absent: that of the handler's piece (piece-8) */
};

/* Inside a handler: creates another piece with the commit of this attempt
 * (piece-5). *link is a link to its result, new: for the receipt. ARGUMENT: the
 * name is malformed, or in use. STALE: a document is needed to decide that; the
 * transaction waits for it. */
MUST_CHECK enum err piece_launch(struct piece *piece,
                                 struct handling *handling,
                                 const struct piece_launch_options *options,
                                 struct value *link,
                                 struct err_detail *detail);

/* -- For the runtime ----------------------------------------------------- */

/* Continues with pieces that are LOADING, REMOVING or to be started again.
 * Whether anything was done or requested. */
bool pieces_step(struct runtime *runtime);

/* Whether no piece has anything left to do. */
bool pieces_are_idle(const struct runtime *runtime);

/* Stops all pieces. */
void pieces_release(struct runtime *runtime);

/* -- For the files of this folder ---------------------------------------- */

/* Builds it from its current document. Its state afterwards is RUNNING or
 * FAILED, or LOADING if the build has to be repeated. (piece_build.c) */
void piece_build(struct piece *piece);

/* Starts the pieces that it launched, unless they run. (piece_launch.c) */
void piece_start_launched(struct piece *piece);

/* The same for one piece, with the given arguments. */
void piece_start_as(struct runtime *runtime, const struct piece_options *given);
void launches_release(struct runtime *runtime);

/* Whether a piece of that name is to be started when a verdict has arrived. */
bool piece_is_launching(const struct runtime *runtime,
                        const struct space *space,
                        struct value name);

/* Starts the piece of that name when the transaction has landed. `origin` as in
 * struct piece; absent: it is in the space of its parent. */
struct piece_launching {
    struct space *space;
    struct value name;
    struct pattern *pattern;
    struct value origin;
};
void piece_launch_later(const struct piece *by,
                        struct transaction *transaction,
                        const struct piece_launching *launching);

/* The place of a piece's entry in the document of its launcher, new; the second
 * function writes the entry and adopts it. */
struct place *piece_launched_at(const struct piece *piece, struct value key);
MUST_CHECK enum err piece_note_launched(const struct piece *piece,
                                        struct transaction *transaction,
                                        struct value key,
                                        struct value line,
                                        struct err_detail *detail);

/* -- Children in other spaces (piece_elsewhere.c) ------------------------ */

/* Declares a child; *out is a link to its result, new. */
MUST_CHECK enum err elsewhere_declare(struct builder *builder,
                                      const struct builder_child *child,
                                      const struct part *part,
                                      struct value *out,
                                      struct err_detail *detail);

/* Inside a handler: like piece_launch. */
MUST_CHECK enum err elsewhere_launch(struct piece *piece,
                                     struct transaction *transaction,
                                     const struct piece_launch_options *options,
                                     struct value name,
                                     struct value *link,
                                     struct err_detail *detail);

/* The content of "launched" after a build, new. */
struct value elsewhere_launched(const struct piece *piece);

/* Whether the pattern declares a child whose entry differs from that in the
 * document of the piece before the build. */
bool elsewhere_has_new(const struct piece *piece);

/* Whether an entry of "launched" is of another space. If so, starts the child
 * unless it is no longer declared. */
bool elsewhere_start(struct piece *piece, struct value key, struct value entry);

/* Whether the removal of all children in other spaces has landed. If not,
 * begins or continues it. */
bool elsewhere_are_removed(struct piece *piece);

/* Stops the declared children with their parent, and clears the declarations.
 */
void elsewhere_stop(const struct piece *piece);
void elsewhere_undo(struct piece *piece);

/* For a child: whether the stored piece belongs to this parent. If not, *detail
 * says so. */
MUST_CHECK enum err elsewhere_check_parent(const struct piece *piece,
                                           struct err_detail *detail);

/* Reports a child that cannot be started. */
void elsewhere_report(const struct runtime *runtime,
                      struct value name,
                      const struct err_detail *why);

/* Begins the removal of a piece that is not started here. */
MUST_CHECK enum err piece_remove_stored(struct runtime *runtime,
                                        const struct piece_options *options,
                                        struct err_detail *detail);

/* The start has failed; adopts nothing. */
void piece_fail(struct piece *piece, const struct err_detail *detail);

/* The id of a document of a piece: "piece:" piece, and "/" name unless that is
 * absent; new. */
struct value piece_document_id(struct value piece, struct value name);

/* The id of the document of a declared name, new; absent if the name is not
 * declared. `about` is the content of "piece" (runtime/change.h). */
struct value piece_part_document(struct value piece,
                                 struct value about,
                                 struct value name);

/* The document that lists the pieces of a space; borrowed. */
MUST_CHECK enum err piece_index(struct space *space,
                                struct entity **out,
                                struct err_detail *detail);

#endif

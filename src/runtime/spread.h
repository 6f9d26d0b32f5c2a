/* A list that is spread over children: the node that coordinates them.
 *
 * The coordinator reads the list and keeps two documents,
 *
 *   order      [<link to the output of a child>, ...]   as the list has it
 *   elements   {"0": <element>, "1": ...}                by the child's key
 *
 * and a child for each key. A child reads elements/KEY and writes the document
 * KEY below the name of the list. Nothing else is needed to go on after a
 * restart: the two documents say which children there are, and what the list
 * was.
 *
 *   S1  A key is the smallest number that is free when its element comes. It is
 *       used again after the element has gone: what is kept of a list is
 *       bounded by the longest that it was.
 *   S2  The children that are registered are those of the documents, as the
 *       last run has left or found them.
 *   S3  Where a child reads parts of its element, an edit is written part by
 *       part: what it did not read is not in its way, also after a restart.
 *   S4  The documents have one writer, whatever runs it: two runtimes that do
 *       the same write the same.
 *   S5  The scope of the list is that of both documents and of the children's
 *       (sched/scopes.h): each user has elements, keys and children of its own.
 *       `order` and `elements` of the space then are scope links, through which
 *       the elements are read: so who reads them reads from the coordinator. If
 *       the list gets another scope, all children are made anew.
 *   S6  Where the body declares (runtime/element.h), a key is never used again:
 *       what was sent to an element that has gone reaches no other. The
 *       document `order` then has, beside its value, the next key and what the
 *       elements have declared: {"elements": {"next": 4, "shape": "..."}}.
 *
 * For the files of this folder; runtime/list.h has the rules. */

#ifndef RUNTIME_SPREAD_H
#define RUNTIME_SPREAD_H

#include "runtime/building.h"
#include "runtime/list.h"
#include "runtime/list_match.h"

/* How an element is built whose body declares (runtime/element.h). */
enum element_origin {
    ELEMENT_NEW,
    ELEMENT_KEPT,    /* its document is here */
    ELEMENT_ASSUMED, /* it has declared what it declares now (element-2) */
};

/* For spread_child_add; of interest to lists whose body declares, but for
 * `detail`. */
struct spread_adding {
    enum element_origin origin;
    struct transaction *transaction;
    struct err_detail *detail;
};

typedef VEC(struct entity *) element_documents_list;
typedef VEC(struct digest) element_actions_list;

struct spread_child {
    struct spread *spread; /* a reference */
    struct node *node;     /* NULL: is gone, or the body declares */
    struct piece *piece;   /* what it has declared; or NULL */
    uint32_t key;
    struct place *element; /* behind scope links: where it is read */
    struct place *stored;  /* the same: where it is written */
    struct place *output;
    struct value link; /* to the element, once somebody wanted it */
};

struct spread {
    uint32_t refs; /* the coordinator, the children, who gathers from them */
    struct piece *piece;
    struct runtime *runtime;
    struct sched *sched;
    struct node *node;   /* the coordinator */
    struct value prefix; /* of the names of the children: "list/" */
    struct place *list;
    struct place *order;
    struct place *elements;
    struct place *order_at;    /* S5: the instances that are in use */
    struct place *elements_at; /* likewise */
    struct entity *holder;     /* where the list was found last */
    struct element_body body;
    struct digest fingerprint; /* what the children are, if they have an */
    bool persistent;           /* identity */
    bool truth;                /* of what a body gives only this is kept */

    /* What the last run has left: good as long as the documents say so. */
    bool known;
    struct value seen; /* the list */
    struct value order_seen;
    struct value elements_seen;
    VEC(uint32_t) keys; /* by index */

    VEC(struct spread_child *) children; /* by key; NULL: free */
    uint32_t lowest;                     /* no key below it is free */
    VEC(struct place *) doomed; /* outputs of who has gone, to be deleted */
    element_actions_list gone;  /* S6: the actions of those, likewise */
    struct list_match match;
    struct value key;    /* of the match */
    VEC(uint32_t) moved; /* keys of what the match has moved */
    bool unfinished;     /* the run has given way when it had added those */

    /* If the body declares: S6. */
    struct node *keeper; /* an effect that looks, so that children come; or
                            NULL */
    struct value shape;  /* what a child has declared here; absent: no child
                            has been built */
    uint32_t next;       /* key */
};

/* Declares the documents and the coordinator; `order_name` is that of its
 * output in `builder`. Takes the body, also if it fails. *out is borrowed from
 * the coordinator: spread_ref. */
MUST_CHECK enum err spread_declare(struct builder *builder,
                                   const struct builder_list *list,
                                   struct value order_name,
                                   bool truth,
                                   struct spread **out,
                                   struct err_detail *detail);

struct spread *spread_ref(struct spread *spread);
void spread_unref(struct spread *spread);

/* -- Children (spread_children.c) ----------------------------------------- */

/* Without a node; *name is that of its node and document, new. NULL if there
 * can be no document of that name. */
struct spread_child *spread_child_new(struct spread *spread,
                                      uint32_t key,
                                      struct value *name);
enum run_result spread_run_child(struct run *run, void *ctx);

/* A child of that key, which is free. */
MUST_CHECK enum err spread_child_add(struct spread *spread,
                                     uint32_t key,
                                     const struct spread_adding *adding);

/* What it has goes; and its documents will, too, with the next run. */
void spread_child_stop(struct spread_child *child);
void spread_child_remove(struct spread *spread, uint32_t key);

/* Its key is free; the caller stops it. */
struct spread_child *spread_child_take(struct spread *spread, uint32_t key);

/* The store is to forget the actions that have gone, once this has landed. */
void spread_forget_actions(struct spread *spread,
                           struct transaction *transaction);
void spreads_release(struct runtime *runtime);

/* S1, S6. */
uint32_t spread_free_key(struct spread *spread);

/* The child that a link in `order` leads to, or NULL. */
struct spread_child *spread_child_of(const struct spread *spread,
                                     struct value link);

/* The same for the key of the link without a registered child, new: for a list
 * on the view of a transaction. NULL if the link is not one of the list. */
struct spread_child *spread_child_apart(struct spread *spread,
                                        struct value link);
void spread_child_free(struct spread_child *child);

/* What a child has declared, by the name from the piece of the list on:
 * "cards/3/card1/view". NULL if there is no such part. */
const struct part *spread_part(const struct spread *spread, struct value name);

/* piece_no_stream for such a name: what has gone is known from the documents,
 * as they are in the store (S6). */
const char *spread_no_stream(const struct spread *spread, struct value name);

/* A link to its element, borrowed. */
struct value spread_element_link(struct spread_child *child);

/* -- Its scope (spread_scopes.c): S5 ------------------------------------- */

/* From now on the instances of the documents in that scope are in use. */
MUST_CHECK enum err spread_use_instances(struct spread *spread,
                                         enum scope scope,
                                         struct err_detail *detail);

/* The scope is that of what the run has read to find the list; the wider
 * instances lead to those in use. */
MUST_CHECK enum err spread_choose_scope(struct spread *spread,
                                        struct run *run,
                                        struct err_detail *detail);

/* All children go. Their documents stay: they belong to another scope. */
void spread_drop_children(struct spread *spread);

/* -- Whose body declares (spread_pieces.c): S6 ---------------------------- */

/* What the document says of the elements, new; or absent. */
MUST_CHECK enum err spread_read_record(struct spread *spread,
                                       struct run *run,
                                       struct value *out,
                                       struct err_detail *detail);
MUST_CHECK enum err spread_write_record(const struct spread *spread,
                                        struct transaction *transaction,
                                        struct value before,
                                        bool was_empty,
                                        struct err_detail *detail);

/* How a child that another process has added is to be built. It may have to be
 * waited for. */
MUST_CHECK enum err spread_origin_in_run(struct spread *spread,
                                         struct run *run,
                                         struct value record,
                                         uint32_t key,
                                         struct spread_adding *adding);

/* The elements of before, when the whole piece is started. If they were
 * declared otherwise, their documents are awaited first (piece->needs). */
MUST_CHECK enum err spread_restore_pieces(struct builder *builder,
                                          struct spread *spread,
                                          struct err_detail *detail);

/* The coordinator is to run, unless effects do not. */
void spread_keep(const struct builder *builder, struct spread *spread);

/* For both kinds (spread.c): the keys in the document become `keys`; and the
 * children of them. */
void spread_read_keys(struct spread *spread, struct value order);
MUST_CHECK enum err spread_restore_children(struct spread *spread,
                                            struct value order,
                                            const struct spread_adding *adding);

/* -- Names (spread_names.c) ---------------------------------------------- */

/* The name of a key below the list, new; and the key in a link to the output of
 * a child, false if it is none. */
struct value spread_key_name(uint32_t key);
bool spread_key_of_link(const struct spread *spread,
                        struct value link,
                        uint32_t *key);

/* One text after the other, new. */
struct value spread_joined(struct value before, struct value after);

/* A builder whose names are below `name`; release its prefix. */
struct builder spread_below(struct builder *builder, struct value name);

/* What a built-in node is for the store: its purpose, and the places that it
 * captures. */
struct digest spread_fingerprint(const char *purpose,
                                 struct place *const *places,
                                 size_t count,
                                 const struct digest *body);

#endif

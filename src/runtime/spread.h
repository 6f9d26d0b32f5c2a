/* The coordinator of a list: the node that maintains one child per element.
 *
 * The coordinator reads the list and keeps two documents,
 *
 *   order      [<link to the output of a child>, ...]   in the list's order
 *   elements   {"0": <element>, "1": ...}                by the child's key
 *
 * and one child per key. A child reads elements/KEY and writes the document KEY
 * below the name of the list. A restart needs nothing else: the two documents
 * hold the children and the former value of the list.
 *
 *   S1  A key is the smallest number that is free when its element is added. It
 *       is reused after the element is removed, so the stored size is bounded
 *       by the greatest length of the list.
 *   S2  The registered children are those in the documents, as the last run
 *       left or found them.
 *   S3  If a child reads parts of its element, an edit is written part by part:
 *       parts that the child did not read do not invalidate it, also after a
 *       restart.
 *   S4  The documents have one writer in each runtime: two runtimes with the
 *       same inputs write the same.
 *   S5  Both documents and those of the children have the scope of the list
 *       (sched/scopes.h): each user has separate elements, keys and children.
 *       Then `order` and `elements` of the space are scope links. Elements are
 *       read through them, so a reader depends on the coordinator. If the scope
 *       of the list changes, all children are created again.
 *   S6  If the body declares (runtime/element.h), a key is never reused: an
 *       event that was sent to a removed element reaches no other. The
 *       document `order` then has, beside its value, the next key and a digest
 *       of the declarations: {"elements": {"next": 4, "shape": "..."}}.
 *
 * For the files of this folder; runtime/list.h has the rules. */

#ifndef RUNTIME_SPREAD_H
#define RUNTIME_SPREAD_H

#include "runtime/building.h"
#include "runtime/list.h"
#include "runtime/list_match.h"

/* How an element of a body that declares is built (runtime/element.h). */
enum element_origin {
    ELEMENT_NEW,
    ELEMENT_KEPT,    /* its document is loaded */
    ELEMENT_ASSUMED, /* its declarations are unchanged (element-2) */
};

/* For spread_child_add. All fields but `detail` are for lists whose body
 * declares. */
struct spread_adding {
    enum element_origin origin;
    struct transaction *transaction;
    struct err_detail *detail;
};

typedef VEC(struct entity *) element_documents_list;
typedef VEC(struct digest) element_actions_list;

struct spread_child {
    struct spread *spread; /* a reference */
    struct node *node;     /* NULL: removed, or the body declares */
    struct piece *piece;   /* what it has declared; or NULL */
    uint32_t key;
    struct place *element; /* behind scope links: where it is read */
    struct place *stored;  /* the same: where it is written */
    struct place *output;
    struct value link; /* to the element, created on demand */
};

struct spread {
    uint32_t refs; /* the coordinator, the children, nodes that gather them */
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
    struct entity *holder;     /* where the list was last found */
    struct element_body body;
    struct digest fingerprint; /* of the children, if they have an */
    bool persistent;           /* identity */
    bool truth;                /* only the truth of a result is kept */

    /* From the last run: valid while it matches the documents. */
    bool known;
    struct value seen; /* the list */
    struct value order_seen;
    struct value elements_seen;
    VEC(uint32_t) keys; /* by index */

    VEC(struct spread_child *) children; /* by key; NULL: free */
    uint32_t lowest;                     /* no key below it is free */
    VEC(struct place *) doomed; /* outputs of removed children, to delete */
    element_actions_list gone;  /* S6: their actions, likewise */
    struct list_match match;
    struct value key;    /* of the match */
    VEC(uint32_t) moved; /* keys of the elements that the match has moved */
    bool unfinished;     /* the run has given way when it had added those */

    /* If the body declares: S6. */
    struct node *keeper; /* an effect that demands the coordinator, so that
                            children are created; or NULL */
    struct value shape;  /* what a child has declared here; absent: no child
                            has been built */
    uint32_t next;       /* key */
};

/* Declares the documents and the coordinator; `order_name` is the name of its
 * output in `builder`. Takes the body, also on failure. *out is borrowed from
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

/* Without a node; *name is that of its node and document, new. NULL if that is
 * not a valid name. */
struct spread_child *spread_child_new(struct spread *spread,
                                      uint32_t key,
                                      struct value *name);
enum run_result spread_run_child(struct run *run, void *ctx);

/* Adds a child with that key, which must be free. */
MUST_CHECK enum err spread_child_add(struct spread *spread,
                                     uint32_t key,
                                     const struct spread_adding *adding);

/* Stops what it has declared; the next run deletes its documents. */
void spread_child_stop(struct spread_child *child);
void spread_child_remove(struct spread *spread, uint32_t key);

/* Its key is free; the caller stops it. */
struct spread_child *spread_child_take(struct spread *spread, uint32_t key);

/* Asks the store to forget the removed actions once the transaction landed. */
void spread_forget_actions(struct spread *spread,
                           struct transaction *transaction);
void spreads_release(struct runtime *runtime);

/* S1, S6. */
uint32_t spread_free_key(struct spread *spread);

/* The child that a link in `order` points to, or NULL. */
struct spread_child *spread_child_of(const struct spread *spread,
                                     struct value link);

/* The same by the key in the link, without a registered child, new: for a list
 * in the view of a transaction. NULL if the link is not one of the list. */
struct spread_child *spread_child_apart(struct spread *spread,
                                        struct value link);
void spread_child_free(struct spread_child *child);

/* What a child has declared, by its name in the piece of the list:
 * "cards/3/card1/view". NULL if there is no such part. */
const struct part *spread_part(const struct spread *spread, struct value name);

/* piece_no_stream for such a name: the stored documents tell which elements are
 * removed (S6). */
const char *spread_no_stream(const struct spread *spread, struct value name);

/* A link to its element, borrowed. */
struct value spread_element_link(struct spread_child *child);

/* -- Its scope (spread_scopes.c): S5 ------------------------------------- */

/* Uses the instances of the documents in that scope from now on. */
MUST_CHECK enum err spread_use_instances(struct spread *spread,
                                         enum scope scope,
                                         struct err_detail *detail);

/* Takes the scope from what the run has read to find the list. The wider
 * instances link to those in use. */
MUST_CHECK enum err spread_choose_scope(struct spread *spread,
                                        struct run *run,
                                        struct err_detail *detail);

/* Removes all children. Their documents stay: they belong to another scope. */
void spread_drop_children(struct spread *spread);

/* -- Bodies that declare (spread_pieces.c): S6 ---------------------------- */

/* The record of the elements in the document, new; or absent. */
MUST_CHECK enum err spread_read_record(struct spread *spread,
                                       struct run *run,
                                       struct value *out,
                                       struct err_detail *detail);
MUST_CHECK enum err spread_write_record(const struct spread *spread,
                                        struct transaction *transaction,
                                        struct value before,
                                        bool was_empty,
                                        struct err_detail *detail);

/* How to build a child that another process has added. The run may have to
 * wait for that. */
MUST_CHECK enum err spread_origin_in_run(struct spread *spread,
                                         struct run *run,
                                         struct value record,
                                         uint32_t key,
                                         struct spread_adding *adding);

/* Restores the elements when the whole piece is started. If their declarations
 * have changed, their documents are loaded first (piece->needs). */
MUST_CHECK enum err spread_restore_pieces(struct builder *builder,
                                          struct spread *spread,
                                          struct err_detail *detail);

/* Keeps the coordinator in demand, unless the piece is without effects. */
void spread_keep(const struct builder *builder, struct spread *spread);

/* For both kinds (spread.c): sets `keys` from the document; and the children of
 * those keys. */
void spread_read_keys(struct spread *spread, struct value order);
MUST_CHECK enum err spread_restore_children(struct spread *spread,
                                            struct value order,
                                            const struct spread_adding *adding);

/* -- Names (spread_names.c) ---------------------------------------------- */

/* The name of a key below the list, new; and the key in a link to the output of
 * a child, false if the link is not one. */
struct value spread_key_name(uint32_t key);
bool spread_key_of_link(const struct spread *spread,
                        struct value link,
                        uint32_t *key);

/* Two texts, concatenated; new. */
struct value spread_joined(struct value before, struct value after);

/* A builder with names below `name`; the caller releases its prefix. */
struct builder spread_below(struct builder *builder, struct value name);

/* The fingerprint of a built-in node: its purpose, and the places that it
 * captures. */
struct digest spread_fingerprint(const char *purpose,
                                 struct place *const *places,
                                 size_t count,
                                 const struct digest *body);

#endif

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
 *   keyed-list-1  A key is the smallest number that is free when its element is
 *                 added. It is reused after the element is removed, so the
 *                 stored size is bounded by the greatest length of the list.
 *   keyed-list-2  The registered children are those in the documents, as the
 *                 last run left or found them.
 *   keyed-list-3  If a child reads parts of its element, an edit is written
 *                 part by part: parts that the child did not read do not
 *                 invalidate it, also after a restart.
 *   keyed-list-4  The documents have one writer in each runtime: two runtimes
 *                 with the same inputs write the same.
 *   keyed-list-5  Both documents and those of the children have the scope of
 *                 the list (sched/scopes.h): each user has separate elements,
 *                 keys and children. Then `order` and `elements` of the space
 *                 are scope links. Elements are read through them, so a reader
 *                 depends on the coordinator. If the scope of the list changes,
 *                 all children are created again.
 *   keyed-list-6  If the body declares (runtime/element.h), a key is never
 *                 reused: an event that was sent to a removed element reaches
 *                 no other. The document `order` then has, beside its value,
 *                 the next key and a digest of the declarations: {"elements":
 *                 {"next": 4, "shape": "..."}}.
 *
 * For the files of this folder; runtime/list.h has the rules. */

#ifndef RUNTIME_KEYED_LIST_H
#define RUNTIME_KEYED_LIST_H

#include "runtime/building.h"
#include "runtime/list.h"
#include "runtime/list_match.h"

/* How an element of a body that declares is built (runtime/element.h). */
enum element_origin {
    ELEMENT_NEW,
    ELEMENT_KEPT,    /* its document is loaded */
    ELEMENT_ASSUMED, /* its declarations are unchanged (element-2) */
};

/* For keyed_child_add. All fields but `detail` are for lists whose body
 * declares. */
struct keyed_adding {
    enum element_origin origin;
    struct transaction *transaction;
    struct err_detail *detail;
};

typedef VEC(struct entity *) element_documents_list;
typedef VEC(struct digest) element_actions_list;

struct keyed_child {
    struct keyed_list *keyed; /* a reference */
    struct node *node;        /* NULL: removed, or the body declares */
    struct piece *piece;      /* what it has declared; or NULL */
    uint32_t key;
    struct place *element; /* behind scope links: where it is read */
    struct place *stored;  /* the same: where it is written */
    struct place *output;
    struct value link; /* to the element, created on demand */
};

struct keyed_list {
    uint32_t refs; /* the coordinator, the children, nodes that gather them */
    struct piece *piece;
    struct runtime *runtime;
    struct sched *sched;
    struct node *node;   /* the coordinator */
    struct value prefix; /* of the names of the children: "list/" */
    struct place *list;
    struct place *order;
    struct place *elements;
    struct place *order_at;    /* keyed-list-5: the instances that are in use */
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

    VEC(struct keyed_child *) children; /* by key; NULL: free */
    uint32_t lowest;                    /* no key below it is free */
    VEC(struct place *) doomed; /* outputs of removed children, to delete */
    element_actions_list gone;  /* keyed-list-6: their actions, likewise */
    struct list_match match;
    struct value key;    /* of the match */
    VEC(uint32_t) moved; /* keys of the elements that the match has moved */
    bool unfinished;     /* the run has given way when it had added those */

    /* If the body declares: keyed-list-6. */
    struct node *keeper; /* an effect that demands the coordinator, so that
                            children are created; or NULL */
    struct value shape;  /* what a child has declared here; absent: no child
                            has been built */
    uint32_t next;       /* key */
};

/* Declares the documents and the coordinator; `order_name` is the name of its
 * output in `builder`. Takes the body, also on failure. *out is borrowed from
 * the coordinator: keyed_list_ref. */
MUST_CHECK enum err keyed_list_declare(struct builder *builder,
                                       const struct builder_list *list,
                                       struct value order_name,
                                       bool truth,
                                       struct keyed_list **out,
                                       struct err_detail *detail);

struct keyed_list *keyed_list_ref(struct keyed_list *keyed);
void keyed_list_unref(struct keyed_list *keyed);

/* -- Children (keyed_list_children.c) ------------------------------------ */

/* Without a node; *name is that of its node and document, new. NULL if that is
 * not a valid name. */
struct keyed_child *keyed_child_new(struct keyed_list *keyed,
                                    uint32_t key,
                                    struct value *name);
enum run_result keyed_list_run_child(struct run *run, void *ctx);

/* Adds a child with that key, which must be free. */
MUST_CHECK enum err keyed_child_add(struct keyed_list *keyed,
                                    uint32_t key,
                                    const struct keyed_adding *adding);

/* Stops what it has declared; the next run deletes its documents. */
void keyed_child_stop(struct keyed_child *child);
void keyed_child_remove(struct keyed_list *keyed, uint32_t key);

/* Its key is free; the caller stops it. */
struct keyed_child *keyed_child_take(struct keyed_list *keyed, uint32_t key);

/* Asks the store to forget the removed actions once the transaction landed. */
void keyed_list_forget_actions(struct keyed_list *keyed,
                               struct transaction *transaction);
void keyed_lists_release(struct runtime *runtime);

/* keyed-list-1, keyed-list-6. */
uint32_t keyed_list_free_key(struct keyed_list *keyed);

/* The child that a link in `order` points to, or NULL. */
struct keyed_child *keyed_child_of(const struct keyed_list *keyed,
                                   struct value link);

/* The same by the key in the link, without a registered child, new: for a list
 * in the view of a transaction. NULL if the link is not one of the list. */
struct keyed_child *keyed_child_apart(struct keyed_list *keyed,
                                      struct value link);
void keyed_child_free(struct keyed_child *child);

/* What a child has declared, by its name in the piece of the list:
 * "cards/3/card1/view". NULL if there is no such part. */
const struct part *keyed_list_part(const struct keyed_list *keyed,
                                   struct value name);

/* piece_no_stream for such a name: the stored documents tell which elements are
 * removed (keyed-list-6). */
const char *keyed_list_no_stream(const struct keyed_list *keyed,
                                 struct value name);

/* A link to its element, borrowed. */
struct value keyed_list_element_link(struct keyed_child *child);

/* -- Its scope (keyed_list_scopes.c): keyed-list-5 ----------------------- */

/* Uses the instances of the documents in that scope from now on. */
MUST_CHECK enum err keyed_use_instances(struct keyed_list *keyed,
                                        enum scope scope,
                                        struct err_detail *detail);

/* Takes the scope from what the run has read to find the list. The wider
 * instances link to those in use. */
MUST_CHECK enum err keyed_list_choose_scope(struct keyed_list *keyed,
                                            struct run *run,
                                            struct err_detail *detail);

/* Removes all children. Their documents stay: they belong to another scope. */
void keyed_list_drop_children(struct keyed_list *keyed);

/* -- Bodies that declare (keyed_list_pieces.c): keyed-list-6 ------------- */

/* The record of the elements in the document, new; or absent. */
MUST_CHECK enum err keyed_list_read_record(struct keyed_list *keyed,
                                           struct run *run,
                                           struct value *out,
                                           struct err_detail *detail);
MUST_CHECK enum err keyed_list_write_record(const struct keyed_list *keyed,
                                            struct transaction *transaction,
                                            struct value before,
                                            bool was_empty,
                                            struct err_detail *detail);

/* How to build a child that another process has added. The run may have to
 * wait for that. */
MUST_CHECK enum err keyed_list_origin_in_run(struct keyed_list *keyed,
                                             struct run *run,
                                             struct value record,
                                             uint32_t key,
                                             struct keyed_adding *adding);

/* Restores the elements when the whole piece is started. If their declarations
 * have changed, their documents are loaded first (piece->needs). */
MUST_CHECK enum err keyed_list_restore_pieces(struct builder *builder,
                                              struct keyed_list *keyed,
                                              struct err_detail *detail);

/* Keeps the coordinator in demand, unless the piece is without effects. */
void keyed_list_keep(const struct builder *builder, struct keyed_list *keyed);

/* For both kinds (keyed_list.c): sets `keys` from the document; and the
 * children of those keys. */
void keyed_list_read_keys(struct keyed_list *keyed, struct value order);
MUST_CHECK enum err keyed_list_restore_children(
    struct keyed_list *keyed,
    struct value order,
    const struct keyed_adding *adding);

/* -- Names (keyed_list_names.c) ------------------------------------------ */

/* The name of a key below the list, new; and the key in a link to the output of
 * a child, false if the link is not one. */
struct value keyed_list_key_name(uint32_t key);
bool keyed_list_key_of_link(const struct keyed_list *keyed,
                            struct value link,
                            uint32_t *key);

/* Two texts, concatenated; new. */
struct value keyed_joined(struct value before, struct value after);

/* A builder with names below `name`; the caller releases its prefix. */
struct builder keyed_list_below(struct builder *builder, struct value name);

/* The fingerprint of a built-in node: its purpose, and the places that it
 * captures. */
struct digest keyed_list_fingerprint(const char *purpose,
                                     struct place *const *places,
                                     size_t count,
                                     const struct digest *body);

#endif

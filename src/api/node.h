/* Functions of the program, and the handles of the nodes that call them.
 *
 *   api-node-1  A callback is a function with its context. It is there as long
 *               as something inside the runtime can call it, or a handle asks
 *               for it.
 *   api-node-2  The context is released once, when nothing can call the
 *               function any more, also if it was never registered. */

#ifndef API_NODE_H
#define API_NODE_H

#include "api/frame.h"
#include "api/object.h"

struct build_scope;
struct handler;
struct piece;

struct callback {
    uint32_t refs;
    hd_runtime *runtime;
    hd_run_fn *run;
    hd_sink_fn *sink; /* of hd_sink_new, instead; with */
    struct place *place;
    hd_element_fn *element;          /* of a list, instead */
    hd_reduce_fn *reduce;            /* likewise */
    hd_element_build_fn *build;      /* of a list of pieces, instead; with */
    const struct wrap *wrap;         /* the pattern that declared it */
    hd_task_fn *start;               /* of a task, instead; with */
    hd_task_cancelled_fn *cancelled; /* or NULL */
    void *context;
    void (*release)(void *context);
    struct build_scope *scope; /* of a function that a pattern declared, */
    struct piece *piece;       /* and whose; borrowed; or NULL */
    struct node *node;         /* or */
    struct handler *handler;   /* as long as it is there */
    bool gone;                 /* api-node-2 has happened */
    uint64_t runs;
};

struct callback *callback_new(hd_runtime *runtime,
                              hd_run_fn *run,
                              void *context,
                              void (*release)(void *context));
void callback_unref(struct callback *callback);

/* api-node-2, and the reference of who could call it. For a `release`
 * inside. */
void callback_gone(void *ctx);

struct call_context {
    struct run *run;
    struct handling *handling; /* or NULL */
    struct piece *piece;       /* or NULL */
    struct value *result;      /* where it goes; NULL: there is none */
    struct place *element;    /* of a list: what the function is called with; */
    struct value accumulator; /* or these two */
    struct value item;
};

/* Calls the function, in a frame. */
enum run_result callback_call(struct callback *callback,
                              const struct call_context *call_context);

struct hd_node {
    struct object object;
    struct callback *callback; /* a reference; or */
    struct piece *piece;       /* a reference, and */
    struct value name;         /* of its part */
};

/* A handle; takes references of its own. */
hd_node *node_handle(hd_runtime *runtime, struct callback *callback);
hd_node *node_handle_of_piece(hd_runtime *runtime,
                              struct piece *piece,
                              struct value name);

/* What a handle is about, handlers included; NULL: it was removed. */
const struct node *node_core(const hd_node *node);

/* Brings what is at a place up to date, and reads it, new. At the top level. */
MUST_CHECK enum err node_pull(hd_runtime *runtime,
                              struct place *place,
                              struct value *out,
                              struct err_detail *detail);

#endif

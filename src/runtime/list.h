/* Lists: one node per element.
 *
 *   builder_map(builder, &(struct builder_list){name, items, body}, &out, d);
 *
 * A list is the array at a place, behind links. Each element has a child: a
 * computation with its own output document. A child runs when its element is
 * edited or when something else that it read has changed; never because other
 * elements were added, removed or moved.
 *
 *   list-1  An element keeps its identity if it is a link to the same target,
 *           or else if it has the same value, wherever it is now. Each
 *           remaining element counts as an edit of the one that it replaces
 *           (runtime/list_match.h). Equal elements have one child each. If the
 *           list has a key, the name of a field, the value of that field
 *           identifies each object that has it.
 *   list-2  So a move runs no child, an edit runs one, and an insertion runs
 *           the new ones. A deletion removes the child and its output. Each
 *           change also runs one more node, which compares the list with its
 *           former value: O(log n) for an edit in place.
 *   list-3  A child reads its element at a separate place, in the document
 *           "elements" below the name of the list, so it does not know its
 *           index. It must not write there. Its reads of the element are
 *           compared part by part, like all reads.
 *   list-4  The results are links: of map to the outputs of the children, of
 *           filter to the accepted elements. So an edit of an element affects
 *           only what is computed from it.
 *   list-5  Children run on demand, one by one.
 *   list-6  A restart keeps the children, and a clean list runs nothing. If the
 *           list has changed meanwhile, it is compared with its former value in
 *           the documents: list-1 holds across restarts.
 *   list-7  An absent value is an empty list; any other value that is not an
 *           array is an error of the run.
 *   list-8  If the body declares, an element has its declarations instead of a
 *           computation: child pieces, states, handlers (runtime/element.h).
 *           They appear when the coordinator finds the element, even without
 *           demand, and disappear with it. A key is not reused. */

#ifndef RUNTIME_LIST_H
#define RUNTIME_LIST_H

#include "runtime/builder.h"

/* Computes a value from the element at a place; cell_read follows it if it is a
 * link. Otherwise like body_fn. */
typedef enum run_result element_fn(struct run *run,
                                   void *ctx,
                                   struct place *element,
                                   struct value *result);

/* Declares the parts of one element. Its place can be passed as an argument and
 * read by nodes, but not here (runtime/element.h). builder_result_adopt sets
 * the list's value for the element. Otherwise like pattern_build_fn. */
typedef enum err element_declare_fn(struct builder *builder,
                                    void *ctx,
                                    struct place *element,
                                    struct err_detail *detail);

/* Like struct body; shared by all children. It has one of the two functions. */
struct element_body {
    element_fn *run;
    void *ctx;
    void (*release)(void *ctx);
    const struct digest *fingerprint;
    element_declare_fn *declare; /* builder_map only: list-8 */
};

struct builder_list {
    struct value name;
    struct place *list;
    struct element_body body;
    struct value key; /* list-1: a string; or absent */
};

/* *out is an array of links to the outputs of the children, one per element. */
MUST_CHECK enum err builder_map(struct builder *builder,
                                const struct builder_list *list,
                                struct place **out,
                                struct err_detail *detail);

/* An array of links to the elements for which the body returned a true value
 * (runtime/choice.h). */
MUST_CHECK enum err builder_filter(struct builder *builder,
                                   const struct builder_list *list,
                                   struct place **out,
                                   struct err_detail *detail);

/* The concatenated arrays that the children returned. Any other value counts as
 * an array with one element, absent as an empty one. */
MUST_CHECK enum err builder_flat_map(struct builder *builder,
                                     const struct builder_list *list,
                                     struct place **out,
                                     struct err_detail *detail);

/* -- Without children ---------------------------------------------------- */

/* The next value of an accumulator, from the former one and an element; both
 * borrowed, *result is new. An element that is a link has been followed. */
typedef enum run_result reduce_fn(struct run *run,
                                  void *ctx,
                                  struct value accumulator,
                                  struct value element,
                                  struct value *result);

struct builder_reduce {
    struct value name;
    struct place *list;
    struct value initial; /* not absent */
    reduce_fn *run;
    void *ctx;
    void (*release)(void *ctx);
    const struct digest *fingerprint;
};

/* One node that iterates over the whole list: each step needs the previous one,
 * so children would not save a run. list-7 holds. */
MUST_CHECK enum err builder_reduce(struct builder *builder,
                                   const struct builder_reduce *reduce,
                                   struct place **out,
                                   struct err_detail *detail);

#endif

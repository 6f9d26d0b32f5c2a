/* Lists: one node an element.
 *
 *   builder_map(builder, &(struct builder_list){name, items, body}, &out, d);
 *
 * A list is whatever array is at a place, behind links. Each of its elements
 * has a child: a computation with a document of its own for its output, that
 * runs when this element is edited and when what it read besides has changed;
 * never because other elements came, went or moved.
 *
 *   L1  An element is the same one as before if it is a link to the same
 *       target, or else if it has the same value, wherever it is now. What is
 *       left over is taken for an edit of what stood in its place
 *       (runtime/list_match.h). Equal elements have a child each. If the list
 *       has a key, the name of a field, objects with that field are known by
 *       what is there.
 *   L2  So a move runs no child, an edit runs one, an insertion the new ones,
 *       and a deletion takes its child and the output of that away. With it
 *       runs one node more, which compares the list with what it was: O(log n)
 *       for an edit in place.
 *   L3  A child reads its element at a place of its own, in the document
 *       "elements" below the name of the list: it does not know its index. It
 *       must not write there. What it reads of its element is compared part by
 *       part, like anything else.
 *   L4  The results are links: of map to the outputs of the children, of
 *       filter to the elements that were accepted. So an edit of an element
 *       changes nothing but what is computed from it.
 *   L5  Children run when somebody looks, one by one.
 *   L6  After a restart the children are what they were, and a clean list runs
 *       nothing. If the list is another one by then, it is compared with what
 *       the documents say that it was: L1 holds across restarts.
 *   L7  Nothing at the place is an empty list; what is no array is an error of
 *       the run.
 *   L8  Where the body declares, an element has what it declares instead of a
 *       computation: child pieces, states, handlers (runtime/element.h). They
 *       come when the coordinator finds the element, also if nobody looks, and
 *       go with it. A key is not used again. */

#ifndef RUNTIME_LIST_H
#define RUNTIME_LIST_H

#include "runtime/builder.h"

/* Computes something from one element, which is at a place: cell_read follows
 * it if it is a link. Otherwise like body_fn. */
typedef enum run_result element_fn(struct run *run,
                                   void *ctx,
                                   struct place *element,
                                   struct value *result);

/* Declares what belongs to one element, whose place can be given as an argument
 * and read by nodes, and not here (runtime/element.h). builder_result_adopt
 * says what the list has for the element. Otherwise like pattern_build_fn. */
typedef enum err element_declare_fn(struct builder *builder,
                                    void *ctx,
                                    struct place *element,
                                    struct err_detail *detail);

/* Like struct body; one for all children. It has one of the two functions. */
struct element_body {
    element_fn *run;
    void *ctx;
    void (*release)(void *ctx);
    const struct digest *fingerprint;
    element_declare_fn *declare; /* builder_map only: L8 */
};

struct builder_list {
    struct value name;
    struct place *list;
    struct element_body body;
    struct value key; /* L1: a string; or absent */
};

/* *out is an array of links, one an element, to the outputs of the children. */
MUST_CHECK enum err builder_map(struct builder *builder,
                                const struct builder_list *list,
                                struct place **out,
                                struct err_detail *detail);

/* An array of links to the elements for which the body has given something true
 * (runtime/choice.h). */
MUST_CHECK enum err builder_filter(struct builder *builder,
                                   const struct builder_list *list,
                                   struct place **out,
                                   struct err_detail *detail);

/* The arrays that the children have given, one after the other; what is no
 * array counts as its only element, and nothing as none. */
MUST_CHECK enum err builder_flat_map(struct builder *builder,
                                     const struct builder_list *list,
                                     struct place **out,
                                     struct err_detail *detail);

/* -- Without children ---------------------------------------------------- */

/* The next value of an accumulator, from that of before and an element; both
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

/* One node that goes over the whole list: each step needs the one before it, so
 * children would not save a run. L7 holds. */
MUST_CHECK enum err builder_reduce(struct builder *builder,
                                   const struct builder_reduce *reduce,
                                   struct place **out,
                                   struct err_detail *detail);

#endif

/* Choices: one of two places, or one or nothing.
 *
 * What comes out is a link to the place that was chosen. So only the condition
 * is read here; who looks reads through the link, and what nobody looks at does
 * not run.
 *
 *   V1  True is everything but false, null and nothing: 0 and "" are true, as
 *       they are in Lua. */

#ifndef RUNTIME_CHOICE_H
#define RUNTIME_CHOICE_H

#include "runtime/builder.h"

/* V1. */
bool choice_is_true(struct value value);

struct builder_choice {
    struct value name;
    struct place *condition;
    struct place *then;
    struct place *otherwise; /* not of builder_when */
};

/* *out leads to `then` or to `otherwise`. */
MUST_CHECK enum err builder_if_else(struct builder *builder,
                                    const struct builder_choice *choice,
                                    struct place **out,
                                    struct err_detail *detail);

/* *out leads to `then`, or there is nothing. */
MUST_CHECK enum err builder_when(struct builder *builder,
                                 const struct builder_choice *choice,
                                 struct place **out,
                                 struct err_detail *detail);

#endif

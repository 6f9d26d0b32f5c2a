/* Choices: a link to one of two places, or to one place or nothing.
 *
 * The output is a link to the chosen place. So the choice reads only the
 * condition. A reader follows the link, and a place that is not read does not
 * run.
 *
 *   choice-1  Everything but false, null and absent is true: 0 and "" are true,
 *             as in Lua. */

#ifndef RUNTIME_CHOICE_H
#define RUNTIME_CHOICE_H

#include "runtime/builder.h"

/* choice-1. */
bool choice_is_true(struct value value);

struct builder_choice {
    struct value name;
    struct place *condition;
    struct place *then;
    struct place *otherwise; /* not for builder_when */
};

/* *out is a link to `then` or to `otherwise`. */
MUST_CHECK enum err builder_if_else(struct builder *builder,
                                    const struct builder_choice *choice,
                                    struct place **out,
                                    struct err_detail *detail);

/* *out is a link to `then`, or absent. */
MUST_CHECK enum err builder_when(struct builder *builder,
                                 const struct builder_choice *choice,
                                 struct place **out,
                                 struct err_detail *detail);

#endif

/* One node per choice, whose output is a link. */

#include "runtime/choice.h"

#include "base/mem.h"
#include "runtime/cell.h"
#include "runtime/keyed_list.h"

struct choice {
    struct runtime *runtime;
    struct space *space;
    struct place *condition;
    struct place *branches[2]; /* for true and for false; NULL: nothing */
};

bool choice_is_true(struct value value)
{
    const enum value_kind kind = value_kind(value);
    return kind != VALUE_ABSENT && kind != VALUE_NULL &&
           !value_is_same(value, value_bool(false));
}

static void choice_release(void *ctx)
{
    struct choice *choice = ctx;
    place_unref(choice->condition);
    for (size_t i = 0; i < COUNT_OF(choice->branches); i++) {
        if (choice->branches[i] != NULL) {
            place_unref(choice->branches[i]);
        }
    }
    mem_free(choice, sizeof *choice);
}

static enum run_result run_choice(struct run *run,
                                  void *ctx,
                                  struct value *result)
{
    const struct choice *choice = ctx;
    const struct cell_access access = {choice->runtime, run, run->transaction};
    struct value condition;
    struct err_detail detail = {0};
    const enum err err = cell_read(&access,
                                   choice->condition,
                                   READ_DEEP,
                                   READ_FOR_BOTH,
                                   &condition,
                                   NULL,
                                   &detail);
    if (err != ERR_OK) {
        return err == ERR_STALE ? RUN_AGAIN : run_fail(run, &detail);
    }
    const struct place *chosen =
        choice->branches[choice_is_true(condition) ? 0 : 1];
    value_unref(condition);
    *result = chosen != NULL ? cell_link(chosen, choice->space) : VALUE_NONE;
    return RUN_DONE;
}

static enum err declare(struct builder *builder,
                        const struct builder_choice *given,
                        struct place *otherwise,
                        struct place **out,
                        struct err_detail *detail)
{
    struct choice *choice = mem_alloc_zero(sizeof *choice);
    choice->runtime = builder_runtime(builder);
    choice->space = builder_space(builder);
    choice->condition = place_ref(given->condition);
    choice->branches[0] = place_ref(given->then);
    choice->branches[1] = otherwise != NULL ? place_ref(otherwise) : NULL;
    struct place *const places[] = {given->condition, given->then, otherwise};
    const struct digest fingerprint =
        keyed_list_fingerprint("heddle choice 1",
                               places,
                               otherwise != NULL ? 3 : 2,
                               NULL);
    const struct builder_node node = {
        .name = given->name,
        .body = {run_choice, choice, choice_release, &fingerprint},
        .reads = &given->condition,
        .read_count = 1,
    };
    return builder_computed(builder, &node, out, detail);
}

enum err builder_if_else(struct builder *builder,
                         const struct builder_choice *choice,
                         struct place **out,
                         struct err_detail *detail)
{
    if (choice->otherwise == NULL) {
        return err_set(detail, ERR_ARGUMENT, "a condition is missing");
    }
    return declare(builder, choice, choice->otherwise, out, detail);
}

enum err builder_when(struct builder *builder,
                      const struct builder_choice *choice,
                      struct place **out,
                      struct err_detail *detail)
{
    return declare(builder, choice, NULL, out, detail);
}

/* How many requests per second one principal may make in a space.
 *
 *   route-budget-1  Seconds are those of the space: all budgets are new when
 *                   one is over. So what is kept is bounded by the requests of
 *                   a second.
 *   route-budget-2  Callers that have not proven who they are share one
 *                   budget. */

#include "server/routes_internal.h"
#include "value/compare.h"
#include "value/object.h"

enum {
    SECOND_MS = 1000
};

struct route_budget {
    struct value principal; /* "": nobody */
    uint32_t spent;
};

static bool is_of(const void *item, const void *principal)
{
    const struct route_budget *budget = item;
    return key_equal(budget->principal, *(const struct value *)principal);
}

void route_budgets_clear(struct route_space *space)
{
    MAP_FOREACH (&space->budgets, slot) {
        struct route_budget *budget = slot->item;
        value_unref(budget->principal);
        mem_free(budget, sizeof *budget);
    }
    map_clear(&space->budgets);
}

bool route_budget_spend(struct route_space *space,
                        struct value principal,
                        mono_ms now)
{
    if (space->requests_per_second == 0) {
        return true;
    }
    if (now >= space->second + SECOND_MS) {
        route_budgets_clear(space);
        space->second = now;
    }
    const struct value name =
        value_is_absent(principal) ? value_text_new("") : value_ref(principal);
    struct route_budget *budget =
        map_find(&space->budgets, value_hash(name), is_of, &name);
    if (budget == NULL) {
        budget = mem_alloc_zero(sizeof *budget);
        budget->principal = value_ref(name);
        map_insert(&space->budgets, value_hash(name), budget);
    }
    value_unref(name);
    const bool is_left = budget->spent < space->requests_per_second;
    budget->spent += is_left ? 1 : 0;
    return is_left;
}

/* D16: no write is lost silently. Sixteen runtimes on one store and one
 * document; the full size is in `./dev sim events`. */

#include "lib/contention.h"
#include "lib/test.h"

enum {
    EACH = 25,
};

static void contend(struct random *random, enum contention_kind kind)
{
    struct contention_report report;
    if (EXPECT(contention_run(kind, EACH, random_u64(random), &report))) {
        contention_print(kind, &report);
    }
}

PROPERTY(increments_of_one_counter_all_land_at_once, 2)
{
    contend(random, CONTEND_INCREMENT);
}

PROPERTY(appends_to_one_list_all_land_at_once, 2)
{
    contend(random, CONTEND_APPEND);
}

PROPERTY(a_counter_that_is_read_and_written_is_exact, 2)
{
    contend(random, CONTEND_COUNT);
}

PROPERTY(a_list_that_is_read_and_written_is_exact, 2)
{
    contend(random, CONTEND_LIST);
}

PROPERTY(keys_of_their_own_never_conflict, 2)
{
    contend(random, CONTEND_KEYS);
}

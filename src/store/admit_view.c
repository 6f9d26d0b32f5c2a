/* The check of a view: a commit that depends on computations claims that its
 * author had everything in view that has landed.
 *
 * If only the author has committed since, two numbers that the engine keeps are
 * enough. If others have, the view still holds if the author had received every
 * change of what it watches (`unchanged_seq`), which includes the reads of its
 * computations. Otherwise the commit is refused, and its author sends it again
 * with all reads of its computations. */

#include "store/admit.h"
#include "store/admit_internal.h"

/* Whether the author made all commits above `after`. */
static bool is_alone_above(const struct admission *admission, uint64_t after)
{
    const struct engine *engine = admission->engine;
    return engine->seq <= after ||
           (admission->session != 0 && engine->author == admission->session &&
            engine->author_since <= after);
}

/* How many commits of the author have landed above `after`. */
static enum err count_own(struct admission *admission,
                          uint64_t after,
                          uint64_t *count)
{
    struct query query =
        query_begin(&admission->engine->database, STATEMENT_COMMIT_COUNT_OF);
    query_int(&query, 1, after);
    query_int(&query, 2, admission->session);
    *count = query_step(&query) ? query_get_int(&query, 0) : 0;
    return query_end(&query, admission->detail);
}

static enum outcome refuse_view(struct admission *admission)
{
    const struct commit_view *view = &admission->commit->view;
    struct verdict *verdict = admission->verdict;
    const uint64_t head = admission->engine->seq;
    verdict->read_seq = view->seq;
    verdict->conflict_seq = head;
    verdict->by = admit_author_of(admission->engine, head);
    return admit_refuse(admission,
                        ERR_CONFLICT,
                        "stale view: computed values that were read are from "
                        "seq %llu and %llu own commits, and the head is %llu",
                        (unsigned long long)view->seq,
                        (unsigned long long)view->commits,
                        (unsigned long long)head);
}

enum outcome admit_view(struct admission *admission)
{
    const struct commit_view *view = &admission->commit->view;
    const uint64_t head = admission->engine->seq;
    if (!view->given) {
        return PASSED;
    }
    if (view->seq > head) {
        return admit_refuse(admission,
                            ERR_PROTOCOL,
                            "view.seq %llu is beyond the head %llu",
                            (unsigned long long)view->seq,
                            (unsigned long long)head);
    }
    uint64_t own = head - view->seq;
    if (!is_alone_above(admission, view->seq)) {
        if (admission->unchanged_seq <= view->seq ||
            !is_alone_above(admission, admission->unchanged_seq)) {
            return refuse_view(admission);
        }
        if (count_own(admission, view->seq, &own) != ERR_OK) {
            return FAULT;
        }
    }
    return own == view->commits ? PASSED : refuse_view(admission);
}

/* The checks of observations: whether the author may have them, and the batches
 * that come without a commit. */

#include "store/admit.h"
#include "store/admit_internal.h"
#include "store/observations.h"

/* Whether the author may have rows of that scope. */
static enum outcome check_observer(struct admission *admission,
                                   const struct observation *observation)
{
    struct value key = VALUE_NONE;
    struct err_detail why = {0};
    if (observation == NULL || observation->scope == SCOPE_SPACE) {
        return PASSED;
    }
    const enum err err =
        scope_key_new(observation->scope, admission->identity, &key, &why);
    value_unref(key);
    return err == ERR_OK
               ? PASSED
               : admit_refuse(admission, ERR_PROTOCOL, "%s", why.text);
}

enum outcome admit_observers(struct admission *admission)
{
    const struct commit *commit = admission->commit;
    enum outcome outcome = check_observer(admission, commit->observation);
    for (size_t i = 0; outcome == PASSED && i < commit->batch.count; i++) {
        outcome = check_observer(admission, commit->batch.at[i]);
    }
    return outcome;
}

/* -- Bases --------------------------------------------------------------- */

/* A basis never existed if one of its commits did not land, or if they landed
 * in another order, as for pending reads. That each of them was in view is the
 * author's claim, like all that it says about its reads. */
static enum err check_layers(struct admission *admission,
                             const struct observation *observation,
                             enum observation_outcome *outcome)
{
    const struct layer_list *layers = &observation->basis.layers;
    uint64_t last = observation->basis.seq;
    *outcome = OBSERVATION_KEPT;
    for (size_t i = 0; i < layers->at.count; i++) {
        uint64_t seq = 0;
        const enum err err =
            admit_find_commit(admission, layers->at.at[i], &seq);
        if (err != ERR_OK || seq == 0) {
            *outcome = OBSERVATION_LAYER_MISSING;
            return err;
        }
        if (seq > observation->basis.seq && seq < last) {
            *outcome = OBSERVATION_STALE;
            return ERR_OK;
        }
        last = seq > last ? seq : last;
    }
    return ERR_OK;
}

/* An observation with a commit is dropped in the same cases, and the commit
 * lands. An observation recorded as failed claims nothing that could be
 * wrong. */
enum outcome admit_basis(struct admission *admission)
{
    const struct observation *observation = admission->commit->observation;
    enum observation_outcome outcome = OBSERVATION_KEPT;
    if (observation == NULL || !observation->basis.given ||
        observation->failed) {
        return PASSED;
    }
    const enum err err = check_layers(admission, observation, &outcome);
    if (err == ERR_OK && outcome != OBSERVATION_KEPT) {
        const struct dropped_observation dropped = {0, outcome};
        vec_push(&admission->verdict->dropped, dropped);
    }
    return admit_passed(err);
}

/* -- Batches ------------------------------------------------------------- */

static enum outcome take_batch(struct admission *admission)
{
    const struct commit *commit = admission->commit;
    struct verdict *verdict = admission->verdict;
    enum err err = ERR_OK;
    for (uint32_t i = 0; err == ERR_OK && i < commit->batch.count; i++) {
        const struct observation *observation = commit->batch.at[i];
        enum observation_outcome outcome = OBSERVATION_KEPT;
        err = check_layers(admission, observation, &outcome);
        if (err == ERR_OK && outcome == OBSERVATION_KEPT) {
            err = observations_take_alone(admission->engine,
                                          commit,
                                          observation,
                                          admission->identity.principal,
                                          admission->session,
                                          &outcome,
                                          admission->detail);
        }
        if (err == ERR_OK && outcome != OBSERVATION_KEPT) {
            const struct dropped_observation dropped = {i, outcome};
            vec_push(&verdict->dropped, dropped);
        }
    }
    return admit_passed(err);
}

/* A history that this store does not have. */
static enum outcome check_bases(struct admission *admission)
{
    const struct commit *commit = admission->commit;
    for (size_t i = 0; i < commit->batch.count; i++) {
        if (commit->batch.at[i]->basis.seq > admission->engine->seq) {
            return admit_refuse(
                admission,
                ERR_PROTOCOL,
                "observations[%zu].basis.seq %llu is beyond the head %llu",
                i,
                (unsigned long long)commit->batch.at[i]->basis.seq,
                (unsigned long long)admission->engine->seq);
        }
    }
    return PASSED;
}

/* The number of a batch is not that of a commit. */
static enum outcome check_number(struct admission *admission)
{
    uint64_t seq = 0;
    if (!commit_numbers_fit(admission->commit)) {
        return admit_refuse(admission,
                            ERR_PROTOCOL,
                            "a number is out of range");
    }
    if (admit_find_commit(admission, admission->commit->local_seq, &seq) !=
        ERR_OK) {
        return FAULT;
    }
    return seq == 0 ? PASSED
                    : admit_refuse(
                          admission,
                          ERR_REPLAY_MISMATCH,
                          "commit replay mismatch: localSeq %llu was a commit",
                          (unsigned long long)admission->commit->local_seq);
}

enum err admit_batch(struct engine *engine,
                     const struct commit *commit,
                     struct value principal,
                     struct verdict *verdict,
                     struct err_detail *detail)
{
    struct admission admission = {
        .engine = engine,
        .commit = commit,
        .identity = {principal, commit->session},
        .verdict = verdict,
        .detail = detail,
    };
    *verdict = (struct verdict){0};
    typedef enum outcome check_fn(struct admission * admission);
    static check_fn *const checks[] = {
        admit_shape,
        admit_session,
        check_number,
        admit_observers,
        admit_branch,
        check_bases,
        take_batch,
    };
    enum outcome outcome = PASSED;
    for (size_t i = 0; outcome == PASSED && i < COUNT_OF(checks); i++) {
        outcome = checks[i](&admission);
    }
    admission_release(&admission);
    if (outcome == PASSED) {
        verdict->seq = engine->seq;
    }
    if (outcome == FAULT) {
        return detail->err != ERR_OK
                   ? detail->err
                   : err_set(detail, ERR_CORRUPT, "a row is damaged");
    }
    return ERR_OK;
}

/* Catching up with the log, and landing in it. */

#include "store/sequence.h"

#include <string.h>

#include "store/log.h"

/* -- Records of others --------------------------------------------------- */

static enum err bind_writes(struct engine *engine,
                            struct effects *effects,
                            struct branch *branch,
                            struct err_detail *detail)
{
    enum err err = ERR_OK;
    VEC_FOREACH (&effects->writes, write) {
        if (err == ERR_OK) {
            err = document_find(engine,
                                branch,
                                write->scope_key,
                                write->id,
                                &write->document,
                                detail);
        }
    }
    return err;
}

enum err sequence_bind(struct engine *engine,
                       struct effects *effects,
                       struct err_detail *detail)
{
    if (effects->record != engine->record + 1 ||
        (effects->kind == EFFECTS_COMMIT && effects->seq != engine->seq + 1)) {
        return err_set(detail,
                       ERR_SEQUENCE,
                       "record %llu is not the one after %llu",
                       (unsigned long long)effects->record,
                       (unsigned long long)engine->record);
    }
    effects_complete(effects);
    struct branch *branch = engine_branch(engine, effects->branch);
    if (effects->kind == EFFECTS_FORK) {
        if (branch != NULL) {
            return err_set(detail, ERR_SEQUENCE, "the branch is there already");
        }
        return engine_branch(engine, effects->parent) != NULL
                   ? ERR_OK
                   : engine_unknown_branch(effects->parent, detail);
    }
    return branch != NULL ? bind_writes(engine, effects, branch, detail)
                          : engine_unknown_branch(effects->branch, detail);
}

struct catch_up {
    struct engine *engine;
    struct err_detail *detail;
};

static enum err apply_record(void *ctx, const struct log_record *record)
{
    struct catch_up *catch_up = ctx;
    struct engine *engine = catch_up->engine;
    struct effects effects;
    enum err err = effects_read(record->record, &effects, catch_up->detail);
    if (err != ERR_OK) {
        return err;
    }
    err = sequence_bind(engine, &effects, catch_up->detail);
    if (err == ERR_OK) {
        err = effects_apply(engine, &effects, catch_up->detail);
    }
    effects_release(&effects);
    if (err == ERR_OK &&
        memcmp(record->chain, engine->chain.bytes, sizeof record->chain) != 0) {
        err = err_set(catch_up->detail,
                      ERR_CORRUPT,
                      "the file and the log have different histories at "
                      "record %llu",
                      (unsigned long long)record->number);
    }
    return err;
}

enum err sequence_catch_up(struct engine *engine, struct err_detail *detail)
{
    struct log *log = engine->options.log;
    if (log == NULL) {
        return ERR_OK;
    }
    struct catch_up catch_up = {engine, detail};
    return log->read(log, engine->record, apply_record, &catch_up, detail);
}

/* -- Our own ------------------------------------------------------------- */

/* What is in the log at the place of a record that had no answer. */
struct lookup {
    uint64_t number;
    const unsigned char *chain;
    bool found;
    bool ours;
};

static enum err look_at_record(void *ctx, const struct log_record *record)
{
    struct lookup *lookup = ctx;
    if (record->number == lookup->number) {
        lookup->found = true;
        lookup->ours =
            memcmp(record->chain, lookup->chain, sizeof record->chain) == 0;
    }
    return ERR_OK;
}

/* An append without an answer: it counts iff our record is there. Every chain
 * is different, because it is over the whole history and names the author. */
static enum err resolve_unknown(struct engine *engine,
                                const struct log_record *record,
                                enum log_outcome *outcome,
                                struct err_detail *detail)
{
    struct lookup lookup = {.number = record->number, .chain = record->chain};
    struct log *log = engine->options.log;
    const enum err err =
        log->read(log, record->number - 1, look_at_record, &lookup, detail);
    if (err == ERR_OK) {
        *outcome = !lookup.found ? LOG_FAILED
                   : lookup.ours ? LOG_APPENDED
                                 : LOG_CONFLICT;
    }
    if (err == ERR_OK && *outcome == LOG_FAILED) {
        (void)err_set(detail, ERR_IO, "the log did not take the record");
    }
    return err;
}

static enum err append_record(struct engine *engine,
                              const struct effects *effects,
                              enum log_outcome *outcome,
                              struct err_detail *detail)
{
    struct log *log = engine->options.log;
    struct log_record record = {.number = effects->record};
    record.record = effects_write(effects);
    const struct digest chain = effects_chain(engine->chain, effects);
    memcpy(record.chain, chain.bytes, sizeof record.chain);
    *outcome = log->append(log, &record, detail);
    enum err err = ERR_OK;
    if (*outcome == LOG_UNKNOWN) {
        err = resolve_unknown(engine, &record, outcome, detail);
    }
    value_unref(record.record);
    return err;
}

enum err sequence_land(struct engine *engine,
                       const struct effects *effects,
                       bool *landed,
                       struct err_detail *detail)
{
    enum log_outcome outcome = LOG_APPENDED;
    *landed = false;
    if (engine->options.log != NULL) {
        const enum err err = append_record(engine, effects, &outcome, detail);
        if (err != ERR_OK) {
            return err;
        }
    }
    switch (outcome) {
    case LOG_APPENDED:
        *landed = true;
        return effects_apply(engine, effects, detail);
    case LOG_CONFLICT:
        return sequence_catch_up(engine, detail);
    case LOG_FENCED:
        return err_set(detail,
                       ERR_FENCED,
                       "another server has taken over this space");
    case LOG_FAILED:
    case LOG_UNKNOWN:
        break;
    }
    return detail->err != ERR_OK
               ? detail->err
               : err_set(detail, ERR_IO, "the log did not answer");
}

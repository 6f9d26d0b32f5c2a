/* The preconditions of a commit: what must hold beside its reads. */

#include "proto/event.h"
#include "store/admit_internal.h"
#include "value/id.h"
#include "value/object.h"

static enum outcome check_origin(struct admission *admission,
                                 const struct commit_precondition *one)
{
    uint64_t seq = 0;
    if (admit_find_commit(admission, one->origin_local_seq, &seq) != ERR_OK) {
        return FAULT;
    }
    if (seq == 0) {
        return admit_refuse(admission,
                            ERR_ORIGIN_FAILED,
                            "origin-committed: localSeq %llu did not land",
                            (unsigned long long)one->origin_local_seq);
    }
    return PASSED;
}

/* The document of a precondition; and, unless `head` is NULL, its value,
 * borrowed. */
static enum outcome find_document(struct admission *admission,
                                  const struct commit_precondition *one,
                                  struct document **document,
                                  struct value *head)
{
    const enum outcome outcome =
        admit_find_target(admission, admission->branch, &one->target, document);
    if (outcome != PASSED || head == NULL) {
        return outcome;
    }
    CHECK(*document != NULL);
    return document_head(admission->engine,
                         *document,
                         head,
                         admission->detail) == ERR_OK
               ? PASSED
               : FAULT;
}

/* The event of that id has failed, or was cancelled. What cannot be read counts
 * as a receipt. */
static bool is_given_up(struct admission *admission, struct document *document)
{
    struct value head = VALUE_NONE;
    return document_head(admission->engine,
                         document,
                         &head,
                         admission->detail) == ERR_OK &&
           event_is_given_up(head);
}

static enum outcome check_absent(struct admission *admission,
                                 const struct commit_precondition *one)
{
    struct document *document = NULL;
    const enum outcome outcome = find_document(admission, one, &document, NULL);
    if (outcome != PASSED) {
        return outcome;
    }
    bool existed = false;
    if (document_ever_existed(admission->engine,
                              document,
                              &existed,
                              admission->detail) != ERR_OK) {
        return FAULT;
    }
    if (!existed || (event_is_document_id(one->target.id) &&
                     is_given_up(admission, document))) {
        return PASSED;
    }
    return admit_refuse_document(admission,
                                 ERR_RECEIPT_EXISTS,
                                 one->target.id,
                                 "receipt-exists");
}

static bool has_digest(struct value value, struct value hash)
{
    char text[DIGEST_TEXT_LENGTH + 1];
    digest_write(value_digest(value), text);
    return value_is_text(hash, text);
}

/* Whether the document holds the event that the condition names. */
static bool holds_event(struct value document,
                        const struct commit_precondition *one)
{
    return event_is_waiting(document) &&
           (value_is_absent(one->hash) ||
            has_digest(object_field(document, "event"), one->hash));
}

static enum outcome check_waiting(struct admission *admission,
                                  const struct commit_precondition *one)
{
    struct document *document = NULL;
    struct value head = VALUE_NONE;
    const enum outcome outcome =
        find_document(admission, one, &document, &head);
    if (outcome != PASSED) {
        return outcome;
    }
    if (holds_event(head, one)) {
        return PASSED;
    }
    bool existed = false;
    if (document_ever_existed(admission->engine,
                              document,
                              &existed,
                              admission->detail) != ERR_OK) {
        return FAULT;
    }
    return existed ? admit_refuse_document(
                         admission,
                         ERR_RECEIPT_EXISTS,
                         one->target.id,
                         "the event was already handled, replaced or cancelled")
                   : admit_refuse_document(admission,
                                           ERR_ORIGIN_FAILED,
                                           one->target.id,
                                           "the commit that sent the event was "
                                           "rejected");
}

/* Whether the document's `value` has that digest; null is "no value". */
static bool has_hash(struct value document, struct value hash)
{
    struct value payload = value_is_absent(document)
                               ? VALUE_NONE
                               : object_field(document, "value");
    if (value_is_absent(payload) || value_kind(hash) == VALUE_NULL) {
        return value_is_absent(payload) && value_kind(hash) == VALUE_NULL;
    }
    return has_digest(payload, hash);
}

static enum outcome check_hash(struct admission *admission,
                               const struct commit_precondition *one)
{
    struct document *document = NULL;
    struct value head = VALUE_NONE;
    const enum outcome outcome =
        find_document(admission, one, &document, &head);
    if (outcome != PASSED) {
        return outcome;
    }
    if (has_hash(head, one->hash)) {
        return PASSED;
    }
    admission->verdict->conflict_seq = document->head_seq;
    return admit_refuse_document(admission,
                                 ERR_CONFLICT,
                                 one->target.id,
                                 "entity-value-hash differs");
}

enum outcome admit_preconditions(struct admission *admission)
{
    const struct commit *commit = admission->commit;
    enum outcome outcome = PASSED;
    for (size_t i = 0; outcome == PASSED && i < commit->preconditions.count;
         i++) {
        const struct commit_precondition *one = &commit->preconditions.at[i];
        switch (one->kind) {
        case PRECONDITION_ORIGIN_COMMITTED:
            outcome = check_origin(admission, one);
            break;
        case PRECONDITION_ENTITY_ABSENT:
            outcome = check_absent(admission, one);
            break;
        case PRECONDITION_EVENT_WAITING:
            outcome = check_waiting(admission, one);
            break;
        case PRECONDITION_VALUE_HASH:
            outcome = check_hash(admission, one);
            break;
        }
    }
    return outcome;
}

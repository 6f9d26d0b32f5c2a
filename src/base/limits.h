/* Every limit on external input, in one place.
 *
 * Inside the core an allocation does not fail, so the edge must refuse input
 * that is too large, before anything changes, each with its own status code
 * (D13). The numbers are defaults: where a function takes a limits structure, a
 * zero field means the number here. */

#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

enum {
    /* Text of one document, and of one string in it. */
    LIMIT_TEXT_BYTES = 64 * 1024 * 1024,
    LIMIT_STRING_BYTES = 16 * 1024 * 1024,

    /* Shape of one value. */
    LIMIT_DEPTH = 1000,
    LIMIT_WRAPPING = 16, /* more, for what wraps a stored or sent document */
    LIMIT_OBJECT_KEYS = 4 * 1000 * 1000,
    LIMIT_ARRAY_ELEMENTS = 16 * 1000 * 1000,

    /* A path and its text, an id, a list of operations. */
    LIMIT_PATH_SEGMENTS = 1000,
    LIMIT_POINTER_BYTES = 64 * 1024,
    LIMIT_ID_BYTES = 1024,
    LIMIT_PATCH_OPERATIONS = 100 * 1000,

    /* A schema: how deep it describes a value, and its parts. */
    LIMIT_SCHEMA_DEPTH = 64,
    LIMIT_SCHEMA_NODES = 10 * 1000,

    /* Labels that one runtime knows, and the length of one. */
    LIMIT_LABELS = 4096,
    LIMIT_LABEL_BYTES = 256,

    /* Parts of one commit. */
    LIMIT_COMMIT_READS = 200 * 1000,
    LIMIT_COMMIT_LAYERS = 10 * 1000,
    LIMIT_COMMIT_OPERATIONS = 100 * 1000,
    LIMIT_COMMIT_PRECONDITIONS = 100 * 1000,
    LIMIT_COMMIT_OBSERVATIONS = 10 * 1000,

    /* Parts of one observation. */
    LIMIT_OBSERVATION_PLACES = 100 * 1000,
    LIMIT_OBSERVATION_SPACES = 1000,

    /* Parts of one message between a replica and a store. */
    LIMIT_MESSAGE_COMMITS = 10 * 1000,
    LIMIT_MESSAGE_DOCUMENTS = 1000 * 1000,

    /* Watches with a selector: per session, how many there are and how many
     * documents they reach; per selector, how many links it follows one after
     * the other, if it gives a depth. */
    LIMIT_REACH_SELECTORS = 1000,
    LIMIT_REACH_DOCUMENTS = 100 * 1000,
    LIMIT_REACH_DEPTH = 1000,
    LIMIT_REACH_PLACES = 1000 * 1000, /* that links lead to */
};

#endif

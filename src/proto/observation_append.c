/* The text of an observation, without a value in between (append-1). */

#include "proto/append.h"
#include "proto/observation.h"

static void append_digest(struct buf *out, struct digest digest)
{
    char text[DIGEST_TEXT_LENGTH + 1];
    digest_write(digest, text);
    append_name(out, text);
}

static void append_place(struct buf *out, const struct observed_place *place)
{
    buf_append_char(out, '{');
    if (!value_is_absent(place->space)) {
        APPEND(out, "\"space\":");
        append_string(out, place->space);
        buf_append_char(out, ',');
    }
    append_target(out, &place->target);
    APPEND(out, ",\"path\":");
    append_path(out, place->path);
    if (place->kind == PLACE_SHAPE) {
        APPEND(out, ",\"nonRecursive\":true");
    } else if (place->kind == PLACE_ENVELOPE) {
        APPEND(out, ",\"envelope\":true");
    }
    buf_append_char(out, '}');
}

/* The places of one of the two lists; how many there are. */
static size_t append_some_places(struct buf *out,
                                 const struct observation *observation,
                                 bool reads)
{
    size_t count = 0;
    for (size_t i = 0; i < observation->places.count; i++) {
        const struct observed_place *place = &observation->places.at[i];
        if (place_is_read(place->kind) == reads) {
            append_comma(out, count++);
            append_place(out, place);
        }
    }
    buf_append_char(out, ']');
    return count;
}

static void append_places(struct buf *out,
                          const struct observation *observation)
{
    APPEND(out, ",\"reads\":[");
    const size_t reads = append_some_places(out, observation, true);
    if (reads < observation->places.count) {
        APPEND(out, ",\"writes\":[");
        (void)append_some_places(out, observation, false);
    }
}

static void append_elsewhere(struct buf *out,
                             const struct observation *observation)
{
    if (observation->elsewhere.count == 0) {
        return;
    }
    APPEND(out, ",\"elsewhere\":[");
    for (size_t i = 0; i < observation->elsewhere.count; i++) {
        const struct observed_space *one = &observation->elsewhere.at[i];
        append_comma(out, i);
        APPEND(out, "{\"space\":");
        append_string(out, one->space);
        if (value_text(&one->branch).length > 0) {
            APPEND(out, ",\"branch\":");
            append_string(out, one->branch);
        }
        APPEND(out, ",\"seq\":");
        append_number(out, one->seq);
        buf_append_char(out, '}');
    }
    buf_append_char(out, ']');
}

static void append_basis(struct buf *out, const struct observed_basis *basis)
{
    if (!basis->given) {
        return;
    }
    APPEND(out, ",\"basis\":{\"seq\":");
    append_number(out, basis->seq);
    if (basis->layers.at.count > 0) {
        APPEND(out, ",\"localSeq\":");
        append_layers(out, &basis->layers);
    }
    buf_append_char(out, '}');
}

static void append_digests(struct buf *out,
                           const struct observation *observation)
{
    const struct fingerprints *fingerprints = &observation->fingerprints;
    APPEND(out, ",\"implementation\":");
    append_digest(out, fingerprints->implementation);
    APPEND(out, ",\"runtime\":");
    append_digest(out, fingerprints->runtime);
    APPEND(out, ",\"schema\":");
    append_digest(out, fingerprints->schema);
    APPEND(out, ",\"surface\":");
    append_digest(out, fingerprints->surface);
    APPEND(out, ",\"readSet\":");
    append_digest(out, observation->read_set);
    if (observation->failed) {
        APPEND(out, ",\"error\":");
        append_digest(out, observation->error);
    }
}

static void append_gates(struct buf *out, const struct gate_config *gates)
{
    if (gates->debounce_ms != 0) {
        APPEND(out, ",\"debounceMs\":");
        append_number(out, gates->debounce_ms);
    }
    if (gates->throttle_ms != 0) {
        APPEND(out, ",\"throttleMs\":");
        append_number(out, gates->throttle_ms);
    }
    if (gates->no_auto_debounce) {
        APPEND(out, ",\"noAutoDebounce\":true");
    }
}

void observation_append(struct buf *out, const struct observation *observation)
{
    APPEND(out, "{\"piece\":");
    append_string(out, observation->piece);
    APPEND(out, ",\"generation\":");
    append_number(out, observation->generation);
    APPEND(out, ",\"action\":");
    append_digest(out, observation->action);
    APPEND(out, ",\"kind\":");
    append_name(out, action_kind_name(observation->kind));
    if (observation->scope != SCOPE_SPACE) {
        APPEND(out, ",\"scope\":");
        append_name(out, scope_name(observation->scope));
    }
    append_digests(out, observation);
    append_gates(out, &observation->gates);
    if (observation->has_places) {
        append_places(out, observation);
    }
    append_elsewhere(out, observation);
    append_basis(out, &observation->basis);
    buf_append_char(out, '}');
}

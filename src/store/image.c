/* The bytes of an image: a header, then arrays of fixed-size records, then the
 * texts that the records name. */

#include "store/image.h"

#include <string.h>

#include "base/mem.h"
#include "value/compare.h"
#include "value/object.h"

/* Changes with the layout, and with the meaning of the texts. */
#define IMAGE_FORM 0x48644d6167650001U

struct image_header {
    uint64_t sum; /* over all that follows it */
    uint64_t form;
    struct image_key key;
    uint32_t actions;
    uint32_t places;
    uint32_t indexes;
    uint32_t paths;
    uint32_t spaces;
    uint32_t codes;
    uint32_t gates;
    uint32_t texts; /* bytes */
};

struct image_action {
    uint64_t number;
    struct digest action;
    struct digest surface;
    struct digest read_set;
    uint32_t code;
    uint32_t gates;  /* RESUME_NONE: none */
    uint32_t places; /* how many; they follow those of the action before */
    uint32_t kind;
};

struct image_place {
    uint32_t id; /* in the texts */
    uint32_t length;
    uint32_t path;  /* which */
    uint32_t space; /* which; RESUME_NONE: the piece's own */
};

struct image_text {
    uint32_t at;
    uint32_t length;
};

struct image_gates {
    uint64_t debounce_ms;
    uint64_t throttle_ms;
    uint64_t no_auto_debounce;
};

/* -- The checksum -------------------------------------------------------- */

/* One step is a bijection of the word, and of the previous state: a change of
 * any single word always changes the checksum. Four lanes, so that neighbouring
 * steps do not wait for each other. */
static uint64_t sum_step(uint64_t lane, uint64_t word)
{
    lane = (lane ^ word) * 0x9FB21C651E98DF25U;
    return lane ^ (lane >> 29);
}

static uint64_t image_sum(const unsigned char *bytes, size_t size)
{
    uint64_t lanes[4] = {1, 2, 3, 4};
    size_t at = 0;
    for (; at + sizeof lanes <= size; at += sizeof lanes) {
        uint64_t words[4];
        memcpy(words, bytes + at, sizeof words);
        lanes[0] = sum_step(lanes[0], words[0]);
        lanes[1] = sum_step(lanes[1], words[1]);
        lanes[2] = sum_step(lanes[2], words[2]);
        lanes[3] = sum_step(lanes[3], words[3]);
    }
    uint64_t rest[4] = {0};
    memcpy(rest, bytes + at, size - at);
    uint64_t sum = size;
    for (unsigned i = 0; i < 4; i++) {
        sum = sum_step(sum, sum_step(lanes[i], rest[i]));
    }
    return sum_step(sum, sum >> 32);
}

static uint64_t sum_of(const void *bytes, size_t size)
{
    const size_t start = sizeof(uint64_t);
    return image_sum((const unsigned char *)bytes + start, size - start);
}

/* -- Reading ------------------------------------------------------------- */

/* The records are where they are, aligned or not. */
static struct image_action action_at(const struct image *image, size_t index)
{
    struct image_action action;
    memcpy(&action, image->actions + index * sizeof action, sizeof action);
    return action;
}

static struct image_place place_at(const struct image *image, size_t index)
{
    struct image_place place;
    memcpy(&place, image->places + index * sizeof place, sizeof place);
    return place;
}

static uint32_t index_at(const struct image *image, size_t index)
{
    uint32_t number;
    memcpy(&number, image->indexes + index * sizeof number, sizeof number);
    return number;
}

static bool is_text(const struct image *image, uint32_t at, uint32_t length)
{
    return at <= image->text_bytes && length <= image->text_bytes - at;
}

static bool actions_fit(const struct image *image, const struct image_key *key)
{
    uint64_t places = 0;
    uint64_t before = key->first > 0 ? key->first - 1 : 0;
    for (uint32_t i = 0; i < image->action_count; i++) {
        const struct image_action action = action_at(image, i);
        if (action.number <= before || action.number > key->last ||
            action.code >= image->code_count ||
            (action.gates != RESUME_NONE &&
             action.gates >= image->gate_count) ||
            action.kind > ACTION_HANDLER) {
            return false;
        }
        before = action.number;
        places += action.places;
    }
    return places == image->index_count;
}

static bool places_fit(const struct image *image)
{
    for (uint32_t i = 0; i < image->place_count; i++) {
        const struct image_place place = place_at(image, i);
        if (!is_text(image, place.id, place.length) ||
            place.path >= image->paths.count ||
            (place.space != RESUME_NONE &&
             place.space >= image->spaces.count)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < image->index_count; i++) {
        if (resume_index_place(index_at(image, i)) >= image->place_count) {
            return false;
        }
    }
    return true;
}

static bool read_names(struct image *image,
                       const unsigned char *names,
                       const struct image_header *header,
                       struct path_table *paths)
{
    for (uint32_t i = 0; i < header->paths + header->spaces; i++) {
        struct image_text text;
        memcpy(&text, names + i * sizeof text, sizeof text);
        if (!is_text(image, text.at, text.length)) {
            return false;
        }
        const char *at = image->texts + text.at;
        struct path *path = NULL;
        if (i >= header->paths) {
            vec_push(&image->spaces, value_string_new(at, text.length));
        } else if (path_read_stored(paths, at, text.length, &path, NULL) ==
                   ERR_OK) {
            vec_push(&image->paths, path);
        } else {
            return false;
        }
    }
    return true;
}

/* Finds the arrays; false if they do not cover all bytes. No count exceeds the
 * number of bytes, so nothing overflows. */
static bool find_arrays(struct image *image,
                        const unsigned char *bytes,
                        size_t size,
                        const struct image_header *header,
                        const unsigned char **names)
{
    const struct {
        uint32_t count;
        size_t size;
        const unsigned char **at;
    } arrays[] = {
        {header->actions, sizeof(struct image_action), &image->actions},
        {header->places, sizeof(struct image_place), &image->places},
        {header->codes, sizeof(struct resume_code), &image->codes},
        {header->gates, sizeof(struct image_gates), &image->gates},
        {header->paths, sizeof(struct image_text), names},
        {header->spaces, sizeof(struct image_text), NULL},
        {header->indexes, sizeof(uint32_t), &image->indexes},
    };
    size_t at = sizeof *header;
    for (size_t i = 0; i < COUNT_OF(arrays); i++) {
        if (arrays[i].count > (size - at) / arrays[i].size) {
            return false;
        }
        if (arrays[i].at != NULL) {
            *arrays[i].at = bytes + at;
        }
        at += arrays[i].count * arrays[i].size;
    }
    image->texts = (const char *)bytes + at;
    image->action_count = header->actions;
    image->place_count = header->places;
    image->index_count = header->indexes;
    image->code_count = header->codes;
    image->gate_count = header->gates;
    image->text_bytes = header->texts;
    return header->texts == size - at;
}

bool image_open(struct image *image,
                const void *bytes,
                size_t size,
                const struct image_key *key,
                struct path_table *paths)
{
    struct image_header header;
    const unsigned char *names = NULL;
    *image = (struct image){0};
    if (size < sizeof header) {
        return false;
    }
    memcpy(&header, bytes, sizeof header);
    return header.form == IMAGE_FORM &&
           memcmp(&header.key, key, sizeof *key) == 0 &&
           header.sum == sum_of(bytes, size) &&
           find_arrays(image, bytes, size, &header, &names) &&
           read_names(image, names, &header, paths) &&
           actions_fit(image, key) && places_fit(image);
}

void image_release(struct image *image)
{
    VEC_FOREACH (&image->paths, path) {
        path_unref(*path);
    }
    VEC_FOREACH (&image->spaces, space) {
        value_unref(*space);
    }
    vec_release(&image->paths);
    vec_release(&image->spaces);
}

/* -- Into a page --------------------------------------------------------- */

static void add_codes(const struct image *image, struct resume_page *page)
{
    for (uint32_t i = 0; i < image->code_count; i++) {
        struct resume_code code;
        memcpy(&code, image->codes + i * sizeof code, sizeof code);
        vec_push(&page->codes, code);
    }
    for (uint32_t i = 0; i < image->gate_count; i++) {
        struct image_gates gates;
        memcpy(&gates, image->gates + i * sizeof gates, sizeof gates);
        const struct gate_config config = {
            gates.debounce_ms,
            gates.throttle_ms,
            gates.no_auto_debounce != 0,
        };
        vec_push(&page->gates, config);
    }
}

static void add_places(const struct image *image, struct resume_page *page)
{
    vec_make_room(&page->places, page->places.count + image->place_count);
    for (uint32_t i = 0; i < image->place_count; i++) {
        const struct image_place from = place_at(image, i);
        struct resume_place *place = vec_add(&page->places);
        *place = (struct resume_place){
            .space = from.space != RESUME_NONE
                         ? value_ref(image->spaces.at[from.space])
                         : VALUE_NONE,
            .target = {value_string_new(image->texts + from.id, from.length),
                       SCOPE_SPACE},
            .path = path_ref(image->paths.at[from.path]),
        };
    }
}

/* The places of an action, which are those of the image from `first` on. */
static void add_indexes(const struct image *image,
                        uint32_t first,
                        uint32_t count,
                        uint32_t place,
                        struct resume_page *page)
{
    vec_reserve(&page->indexes, page->indexes.count + count);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t index = index_at(image, first + i);
        page->indexes.at[page->indexes.count++] = index + place * 4;
    }
}

bool image_add(const struct image *image,
               uint64_t after,
               uint32_t limit,
               struct resume_page *page)
{
    const uint32_t place = (uint32_t)page->places.count;
    const uint32_t code = (uint32_t)page->codes.count;
    const uint32_t gates = (uint32_t)page->gates.count;
    uint32_t next = 0;
    add_codes(image, page);
    add_places(image, page);
    for (uint32_t i = 0; i < image->action_count; i++) {
        const struct image_action from = action_at(image, i);
        const uint32_t first = next;
        next += from.places;
        if (from.number <= after) {
            continue;
        }
        if (page->actions.count == limit) {
            return false;
        }
        struct resume_action *action = vec_add(&page->actions);
        *action = (struct resume_action){
            .number = from.number,
            .action = from.action,
            .surface = from.surface,
            .read_set = from.read_set,
            .kind = (uint8_t)from.kind,
            .scope = SCOPE_SPACE,
            .state = RESUME_CLEAN,
            .code = code + from.code,
            .gates =
                from.gates != RESUME_NONE ? gates + from.gates : RESUME_NONE,
            .error = RESUME_NONE,
            .places = (uint32_t)page->indexes.count,
            .place_count = from.places,
        };
        add_indexes(image, first, from.places, place, page);
    }
    return true;
}

/* -- Writing ------------------------------------------------------------- */

typedef VEC(uint32_t) number_list;

/* What of a page is in the image, and where there. */
struct packing {
    const struct resume_page *page;
    uint32_t *places; /* one per place of the page: 1 + its index in `used` */
    number_list used;
    number_list codes;
    number_list gates;
    VEC(struct path *) paths; /* borrowed */
    VEC(struct value) spaces; /* likewise */
    struct buf texts;
};

/* Where a number is in a list of few, appended if it is new. */
static uint32_t find_number(number_list *numbers, uint32_t number)
{
    for (size_t i = numbers->count; i > 0; i--) {
        if (numbers->at[i - 1] == number) {
            return (uint32_t)i - 1;
        }
    }
    vec_push(numbers, number);
    return (uint32_t)numbers->count - 1;
}

static uint32_t find_path(struct packing *packing, struct path *path)
{
    for (size_t i = packing->paths.count; i > 0; i--) {
        if (packing->paths.at[i - 1] == path) {
            return (uint32_t)i - 1;
        }
    }
    vec_push(&packing->paths, path);
    return (uint32_t)packing->paths.count - 1;
}

static uint32_t find_space(struct packing *packing, struct value space)
{
    if (value_is_absent(space)) {
        return RESUME_NONE;
    }
    for (size_t i = packing->spaces.count; i > 0; i--) {
        if (key_equal(packing->spaces.at[i - 1], space)) {
            return (uint32_t)i - 1;
        }
    }
    vec_push(&packing->spaces, space);
    return (uint32_t)packing->spaces.count - 1;
}

static void write_actions(struct packing *packing,
                          struct buf *to,
                          size_t from,
                          size_t count)
{
    const struct resume_page *page = packing->page;
    for (size_t i = from; i < from + count; i++) {
        const struct resume_action *action = &page->actions.at[i];
        const struct image_action record = {
            .number = action->number,
            .action = action->action,
            .surface = action->surface,
            .read_set = action->read_set,
            .code = find_number(&packing->codes, action->code),
            .gates = action->gates != RESUME_NONE
                         ? find_number(&packing->gates, action->gates)
                         : RESUME_NONE,
            .places = action->place_count,
            .kind = action->kind,
        };
        buf_append(to, &record, sizeof record);
        for (uint32_t j = 0; j < action->place_count; j++) {
            const uint32_t place =
                resume_index_place(page->indexes.at[action->places + j]);
            if (packing->places[place] == 0) {
                vec_push(&packing->used, place);
                packing->places[place] = (uint32_t)packing->used.count;
            }
        }
    }
}

static void write_places(struct packing *packing, struct buf *to)
{
    VEC_FOREACH (&packing->used, index) {
        const struct resume_place *place = &packing->page->places.at[*index];
        const struct text id = value_text(&place->target.id);
        CHECK(place->path != NULL && place->target.scope == SCOPE_SPACE);
        const struct image_place record = {
            .id = (uint32_t)packing->texts.length,
            .length = (uint32_t)id.length,
            .path = find_path(packing, place->path),
            .space = find_space(packing, place->space),
        };
        buf_append(&packing->texts, id.at, id.length);
        buf_append(to, &record, sizeof record);
    }
}

static void write_codes(const struct packing *packing, struct buf *to)
{
    VEC_FOREACH (&packing->codes, code) {
        buf_append(to,
                   &packing->page->codes.at[*code],
                   sizeof packing->page->codes.at[*code]);
    }
    VEC_FOREACH (&packing->gates, index) {
        const struct gate_config *gates = &packing->page->gates.at[*index];
        const struct image_gates record = {
            gates->debounce_ms,
            gates->throttle_ms,
            gates->no_auto_debounce ? 1 : 0,
        };
        buf_append(to, &record, sizeof record);
    }
}

/* A text that is at the end of the others from `at` on. */
static void write_name(const struct packing *packing, struct buf *to, size_t at)
{
    const struct image_text text = {
        (uint32_t)at,
        (uint32_t)(packing->texts.length - at),
    };
    buf_append(to, &text, sizeof text);
}

static void write_names(struct packing *packing, struct buf *to)
{
    VEC_FOREACH (&packing->paths, path) {
        const size_t at = packing->texts.length;
        path_write(&packing->texts, *path);
        write_name(packing, to, at);
    }
    VEC_FOREACH (&packing->spaces, space) {
        const size_t at = packing->texts.length;
        const struct text text = value_text(space);
        buf_append(&packing->texts, text.at, text.length);
        write_name(packing, to, at);
    }
}

static uint32_t write_indexes(const struct packing *packing,
                              struct buf *to,
                              size_t from,
                              size_t count)
{
    const struct resume_page *page = packing->page;
    uint32_t written = 0;
    for (size_t i = from; i < from + count; i++) {
        const struct resume_action *action = &page->actions.at[i];
        for (uint32_t j = 0; j < action->place_count; j++) {
            const uint32_t index = page->indexes.at[action->places + j];
            const uint32_t own = packing->places[resume_index_place(index)] - 1;
            const uint32_t number =
                own * 4 + (uint32_t)resume_index_kind(index);
            buf_append(to, &number, sizeof number);
            written++;
        }
    }
    return written;
}

static void packing_release(struct packing *packing)
{
    mem_free(packing->places,
             mem_array_size(packing->page->places.count + 1,
                            sizeof *packing->places));
    vec_release(&packing->used);
    vec_release(&packing->codes);
    vec_release(&packing->gates);
    vec_release(&packing->paths);
    vec_release(&packing->spaces);
    buf_release(&packing->texts);
}

void image_seal(struct buf *image, size_t start)
{
    const uint64_t sum = sum_of(image->at + start, image->length - start);
    memcpy(image->at + start, &sum, sizeof sum);
}

void image_write(struct buf *to,
                 const struct image_key *key,
                 const struct resume_page *page,
                 size_t from,
                 size_t count)
{
    struct packing packing = {
        .page = page,
        .places = mem_alloc_zero(
            mem_array_size(page->places.count + 1, sizeof *packing.places)),
    };
    struct image_header header = {.form = IMAGE_FORM, .key = *key};
    const size_t start = to->length;
    buf_append(to, &header, sizeof header);
    write_actions(&packing, to, from, count);
    write_places(&packing, to);
    write_codes(&packing, to);
    write_names(&packing, to);
    header.indexes = write_indexes(&packing, to, from, count);
    buf_append(to, buf_text(&packing.texts), packing.texts.length);
    header.actions = (uint32_t)count;
    header.places = (uint32_t)packing.used.count;
    header.paths = (uint32_t)packing.paths.count;
    header.spaces = (uint32_t)packing.spaces.count;
    header.codes = (uint32_t)packing.codes.count;
    header.gates = (uint32_t)packing.gates.count;
    header.texts = (uint32_t)packing.texts.length;
    memcpy(to->at + start, &header, sizeof header);
    image_seal(to, start);
    packing_release(&packing);
}

/* Links between nodes and places. */

#include "sched/graph.h"

#include <string.h>

#include "base/mem.h"
#include "sched/liveness.h"
#include "sched/order.h"

#define READ_OF(chain_link) \
    CONTAINER_OF((chain_link), struct read_link, in_place)
#define WRITE_OF(chain_link) \
    CONTAINER_OF((chain_link), struct write_link, in_place)
#define PLACE_OF(chain_link) CONTAINER_OF((chain_link), struct place, sibling)

/* -- Places below a place ------------------------------------------------ */

/* The payload comes after the root's other children, because it has no parent
 * pointer. */
struct place *graph_next_below(const struct place *top, struct place *place)
{
    struct place *payload = top->entity->payload;
    if (place->children.first != NULL) {
        return PLACE_OF(place->children.first);
    }
    while (place != top && place != payload) {
        if (place->sibling.next != NULL) {
            return PLACE_OF(place->sibling.next);
        }
        place = place->parent;
    }
    return top == top->entity->root && place == top ? payload : NULL;
}

/* -- Writers of a read --------------------------------------------------- */

struct writer_walk graph_writers(const struct read_link *read)
{
    return (struct writer_walk){
        .read = read,
        .place = read->place,
        .next = read->place->writers.first,
    };
}

static bool has_writers_below(const struct place *place)
{
    if (place->writers_below > 0) {
        return true;
    }
    const struct place *payload = place->entity->payload;
    return place == place->entity->root && payload != NULL &&
           (payload->writers_below > 0 || payload->writers.first != NULL);
}

/* Moves to the next place with writers that the read could see; NULL at the
 * end. First up to the root, then below the read. */
static struct place *next_writer_place(struct writer_walk *walk)
{
    struct place *top = walk->read->place;
    if (!walk->below) {
        struct place *up = place_parent(walk->place);
        if (up != NULL) {
            return up;
        }
        walk->below = true;
        walk->place = top;
        if (!has_writers_below(top)) {
            return NULL;
        }
    }
    struct place *place = walk->place;
    do {
        place = graph_next_below(top, place);
    } while (place != NULL && walk->read->kind == READ_SHAPE &&
             place->path->length > top->path->length + 1); /* graph-2 */
    return place;
}

struct node *graph_next_writer(struct writer_walk *walk)
{
    while (walk->place != NULL) {
        while (walk->next != NULL) {
            const struct write_link *write = WRITE_OF(walk->next);
            walk->next = walk->next->next;
            if (write->node != walk->read->node && /* graph-3 */
                (walk->envelopes || !graph_is_envelope(write))) {
                return write->node;
            }
        }
        walk->place = next_writer_place(walk);
        walk->next = walk->place != NULL ? walk->place->writers.first : NULL;
    }
    return NULL;
}

/* -- Readers of an output ------------------------------------------------ */

static void enter_output(struct reader_walk *walk)
{
    const struct node *writer = walk->writer;
    while (walk->output < writer->write_count &&
           graph_is_envelope(&writer->writes[walk->output])) {
        walk->output++;
    }
    walk->below = true;
    walk->kind = 0;
    walk->place = walk->output < writer->write_count
                      ? writer->writes[walk->output].place
                      : NULL;
    walk->next =
        walk->place != NULL ? walk->place->readers[READ_DEEP].first : NULL;
}

struct reader_walk graph_readers(const struct node *writer)
{
    struct reader_walk walk = {.writer = writer};
    enter_output(&walk);
    return walk;
}

/* The next place: below the output, then above it, then another output. */
static void next_reader_place(struct reader_walk *walk)
{
    struct place *output = walk->writer->writes[walk->output].place;
    struct place *place = NULL;
    if (walk->below) {
        place = graph_next_below(output, walk->place);
        if (place == NULL) {
            walk->below = false;
            place = place_parent(output);
        }
    } else {
        place = place_parent(walk->place);
    }
    if (place == NULL) {
        walk->output++;
        enter_output(walk);
        return;
    }
    walk->place = place;
    walk->kind = 0;
    walk->next = place->readers[READ_DEEP].first;
}

/* graph-2: from above, only the direct parent's shape can have changed. */
static bool sees_shape(const struct reader_walk *walk)
{
    const struct place *output = walk->writer->writes[walk->output].place;
    return walk->below || output->path->length <= walk->place->path->length + 1;
}

struct read_link *graph_next_reader(struct reader_walk *walk)
{
    while (walk->place != NULL) {
        while (walk->next != NULL) {
            struct read_link *read = READ_OF(walk->next);
            walk->next = walk->next->next;
            if (read->node != walk->writer) { /* graph-3 */
                return read;
            }
        }
        if (walk->kind == 0 && sees_shape(walk)) {
            walk->kind = 1;
            walk->next = walk->place->readers[READ_SHAPE].first;
        } else {
            next_reader_place(walk);
        }
    }
    return NULL;
}

/* -- Outputs ------------------------------------------------------------- */

static void count_writer(struct place *place, int by)
{
    for (place = place->parent; place != NULL; place = place->parent) {
        place->writers_below += (uint32_t)by;
    }
}

/* A new writer meets existing readers. Nodes that become live because of it may
 * become readers meanwhile: liveness counts those itself. */
static void meet_readers(struct sched *sched, struct node *node)
{
    size_t live = 0;
    struct reader_walk walk = graph_readers(node);
    for (struct read_link *read = graph_next_reader(&walk); read != NULL;
         read = graph_next_reader(&walk)) {
        order_join(sched, node, read->node);
        live += read->node->counted;
    }
    walk = graph_readers(node);
    for (struct read_link *read = graph_next_reader(&walk); read != NULL;
         read = graph_next_reader(&walk)) {
        order_raise(sched, node, read->node);
    }
    for (; live > 0; live--) {
        liveness_grant(sched, node);
    }
}

/* With room for `output_count` behind them if there are envelopes. */
static size_t writes_bytes(const struct node *node)
{
    return mem_array_size(node->write_count, sizeof *node->writes) +
           (node->has_envelopes ? sizeof(size_t) : 0);
}

static bool has_pooled_writes(const struct node *node)
{
    return node->write_count == 1 && !node->has_envelopes;
}

/* How many of the writes are outputs. */
static size_t output_count(const struct node *node)
{
    size_t count = node->write_count;
    if (node->has_envelopes) {
        memcpy(&count, node->writes + node->write_count, sizeof count);
    }
    return count;
}

bool graph_is_envelope(const struct write_link *write)
{
    const struct node *node = write->node;
    return UNLIKELY(node->has_envelopes) &&
           (size_t)(write - node->writes) >= output_count(node);
}

void graph_add_writes(struct sched *sched,
                      struct node *node,
                      const struct node_spec *spec)
{
    const size_t count = spec->output_count + spec->envelope_count;
    if (count == 0) {
        return;
    }
    node->write_count = (uint32_t)count;
    node->has_envelopes = spec->envelope_count > 0;
    if (LIKELY(has_pooled_writes(node))) {
        node->writes = pool_new(&sched->write_pool, sizeof *node->writes);
    } else {
        node->writes = mem_alloc_zero(writes_bytes(node));
    }
    if (node->has_envelopes) {
        memcpy(node->writes + count,
               &spec->output_count,
               sizeof spec->output_count);
    }
    for (size_t i = 0; i < count; i++) {
        struct write_link *write = &node->writes[i];
        write->node = node;
        write->place = place_ref(i < spec->output_count
                                     ? spec->outputs[i]
                                     : spec->envelopes[i - spec->output_count]);
        chain_push(&write->place->writers, &write->in_place);
        count_writer(write->place, 1);
    }
    meet_readers(sched, node);
}

void graph_remove_writes(struct sched *sched, struct node *node)
{
    for (uint32_t i = 0; i < node->write_count; i++) {
        struct write_link *write = &node->writes[i];
        count_writer(write->place, -1);
        chain_remove(&write->in_place);
        place_unref(write->place);
    }
    if (has_pooled_writes(node)) {
        pool_free(&sched->write_pool, node->writes, sizeof *node->writes);
    } else if (node->write_count > 0) {
        mem_free(node->writes, writes_bytes(node));
    }
    node->writes = NULL;
    node->write_count = 0;
}

/* -- Single reads -------------------------------------------------------- */

/* Whether it is known at once that what is read there has no writer. */
static inline bool has_no_writer(const struct place *place)
{
    return place == place->entity->payload && place->entity->root == NULL &&
           place->writers.first == NULL && place->writers_below == 0;
}

/* Puts a link of an attached node into the graph. */
static void link_read(struct sched *sched, struct read_link *read)
{
    struct node *node = read->node;
    chain_push(&read->place->readers[read->kind], &read->in_place);
    if (has_no_writer(read->place)) {
        return;
    }
    struct writer_walk walk = graph_writers(read);
    for (struct node *writer = graph_next_writer(&walk); writer != NULL;
         writer = graph_next_writer(&walk)) {
        order_join(sched, writer, node);
    }
    walk = graph_writers(read);
    for (struct node *writer = graph_next_writer(&walk); writer != NULL;
         writer = graph_next_writer(&walk)) {
        order_raise(sched, writer, node);
    }
    if (!node->counted) {
        return;
    }
    walk = graph_writers(read);
    for (struct node *writer = graph_next_writer(&walk); writer != NULL;
         writer = graph_next_writer(&walk)) {
        liveness_grant(sched, writer);
    }
}

/* Updates the order after edges inside a component were removed. */
static void settle_component(struct sched *sched, struct component *component)
{
    VEC(struct node *) members = {0};
    VEC_FOREACH (&component->members, member) {
        vec_push(&members, *member);
    }
    order_split(sched, component);
    VEC_FOREACH (&members, member) {
        liveness_reconsider(sched, *member);
    }
    vec_release(&members);
}

/* Updates demand and order after a link of an attached node was removed from
 * its place. */
static void forget_read(struct sched *sched, const struct read_link *read)
{
    struct node *node = read->node;
    bool in_cycle = false;
    struct writer_walk walk = graph_writers(read);
    for (struct node *writer = graph_next_writer(&walk); writer != NULL;
         writer = graph_next_writer(&walk)) {
        in_cycle = in_cycle || (node->component != NULL &&
                                node->component == writer->component);
        if (node->counted) {
            liveness_withdraw(sched, writer);
        }
    }
    if (in_cycle && node->component != NULL) {
        settle_component(sched, node->component);
    }
}

void graph_attach(struct sched *sched, struct node *node)
{
    if (node->attached) {
        return;
    }
    node->attached = true;
    chain_remove(&node->asleep);
    VEC_FOREACH (&node->reads, read) {
        link_read(sched, read);
    }
}

void graph_detach(struct sched *sched, struct node *node)
{
    if (!node->attached) {
        return;
    }
    CHECK(!node->counted);
    node->attached = false;
    chain_push(&sched->sleepers, &node->asleep);
    VEC_FOREACH (&node->reads, read) {
        chain_remove(&read->in_place);
    }
    if (node->component != NULL) {
        settle_component(sched, node->component);
    }
}

/* -- The read delta ------------------------------------------------------ */

static bool counts(const struct read_entry *entry)
{
    return (entry->flags & READ_NOT_FOR_SCHEDULING) == 0;
}

enum {
    TAKEN = 1 /* the mark of a link that stays */
};

/* The link of the node for that read, or NULL. `scratch` of a place is the
 * index where its link was seen last, only a hint. */
static struct read_link *find_link(struct read_link *links,
                                   size_t count,
                                   const struct place *place,
                                   uint8_t kind,
                                   uint32_t hint)
{
    if (hint < count && links[hint].place == place &&
        links[hint].kind == kind) {
        return &links[hint];
    }
    if (hint >= count || links[hint].place != place) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) { /* both kinds of read */
        if (links[i].place == place && links[i].kind == kind) {
            return &links[i];
        }
    }
    return NULL;
}

void graph_declare_reads(struct node *node,
                         struct place *const *places,
                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (find_link(node->reads.at,
                      node->reads.count,
                      places[i],
                      READ_DEEP,
                      places[i]->scratch) != NULL) {
            continue; /* declared twice */
        }
        places[i]->scratch = node->reads.count;
        const struct read_link read = {
            .node = node,
            .place = place_ref(places[i]),
            .kind = READ_DEEP,
            .unread = LINK_DECLARED,
        };
        vec_push(&node->reads, read);
    }
}

void graph_reserve_reads(struct node *node, uint32_t count)
{
    CHECK(node->reads.capacity == 0);
    if (count == 1) {
        node->reads.at = &node->only_read;
        node->reads.capacity = 1;
    } else {
        vec_reserve(&node->reads, count);
    }
}

void graph_restore_read(struct node *node,
                        struct place *place,
                        enum read_kind kind,
                        uint64_t seq)
{
    CHECK(!node->attached && node->reads.count < node->reads.capacity);
    const struct read_link read = {
        .node = node,
        .place = place_ref(place),
        .version = seq,
        .kind = (uint8_t)kind,
        .unread = LINK_RESTORED,
    };
    vec_push(&node->reads, read);
}

/* Builds the new list of links in sched->links: those of the node that stay,
 * and new ones that are in no place yet. Links that stay are marked as
 * taken. */
static void collect_links(struct sched *sched,
                          struct node *node,
                          const struct transaction *transaction)
{
    vec_clear(&sched->links);
    for (uint32_t i = 0; i < node->reads.count; i++) {
        node->reads.at[i].mark = 0;
        node->reads.at[i].place->scratch = i;
    }
    VEC_FOREACH (&transaction->reads, entry) {
        struct place *place = entry->place;
        if (!counts(entry)) {
            continue;
        }
        struct read_link *old = find_link(node->reads.at,
                                          node->reads.count,
                                          place,
                                          (uint8_t)entry->kind,
                                          place->scratch);
        if (old != NULL && old->mark == TAKEN) {
            continue; /* logged twice */
        }
        struct read_link *link = vec_add(&sched->links);
        if (old != NULL) {
            old->mark = TAKEN;
            *link = *old;
        } else {
            *link = (struct read_link){
                .node = node,
                .place = place_ref(place),
                .kind = (uint8_t)entry->kind,
            };
        }
        link->mark = old != NULL ? TAKEN : 0;
        link->unread = LINK_READ;
        link->caused = false;
        link->version = entry->version;
    }
}

/* A transaction logs a place once per kind (transaction-1), unless transactions
 * interleave: then a new read may occur twice. */
static void drop_repetitions(struct sched *sched)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < sched->links.count; i++) {
        struct read_link *link = &sched->links.at[i];
        const struct read_link *earlier = find_link(sched->links.at,
                                                    kept,
                                                    link->place,
                                                    link->kind,
                                                    link->place->scratch);
        if (earlier != NULL) {
            place_unref(link->place);
            continue;
        }
        link->place->scratch = kept;
        if (kept != i) {
            sched->links.at[kept] = *link;
        }
        kept++;
    }
    sched->links.count = kept;
}

/* The chain must point to the new address of a link. */
static void follow_moved(struct read_link *link)
{
    if (chain_link_is_in(&link->in_place)) {
        *link->in_place.back = &link->in_place;
        if (link->in_place.next != NULL) {
            link->in_place.next->back = &link->in_place.next;
        }
    }
}

/* Most nodes read the same from their first run on: they get exactly the memory
 * that they need. A node that reads something else later may keep what it
 * got. */
static void fit_links(struct node *node)
{
    const uint32_t count = node->reads.count;
    if (node->runs > 0 || node->reads.capacity == count || count == 0) {
        return;
    }
    node->reads.at =
        mem_resize(node->reads.at,
                   mem_array_size(node->reads.capacity, sizeof *node->reads.at),
                   mem_array_size(count, sizeof *node->reads.at));
    node->reads.capacity = count;
}

/* The first links of a node: allocates exactly what they need, and keeps the
 * buffer in which they were collected. None of them is in a place yet, and
 * there are no old ones. */
static void take_first_links(struct sched *sched, struct node *node)
{
    const uint32_t count = sched->links.count;
    const size_t size = mem_array_size(count, sizeof *node->reads.at);
    node->reads.at = count == 1 ? &node->only_read : mem_alloc(size);
    memcpy(node->reads.at, sched->links.at, size);
    node->reads.count = count;
    node->reads.capacity = count;
    vec_clear(&sched->links);
}

/* Moves the only read out of the node, to memory that can grow. */
static void leave_own_room(struct node *node)
{
    struct read_link *at = mem_alloc(sizeof *at);
    *at = node->only_read;
    node->reads.at = at;
    VEC_FOREACH (&node->reads, link) {
        follow_moved(link);
    }
}

/* Exchanges the node's links for the collected ones; the old ones are in
 * sched->links afterwards, and those that stayed are marked. */
static void exchange_links(struct sched *sched, struct node *node)
{
    struct read_link *at = node->reads.at;
    const uint32_t count = node->reads.count;
    const uint32_t capacity = node->reads.capacity;
    node->reads.at = sched->links.at;
    node->reads.count = sched->links.count;
    node->reads.capacity = sched->links.capacity;
    sched->links.at = at;
    sched->links.count = count;
    sched->links.capacity = capacity;
    fit_links(node);
    VEC_FOREACH (&node->reads, link) {
        follow_moved(link);
    }
}

/* Removes the links that do not stay from their places: from here on they are
 * not edges. */
static void unlink_old(struct sched *sched)
{
    VEC_FOREACH (&sched->links, old) {
        if (old->mark != TAKEN) {
            follow_moved(old);
            chain_remove(&old->in_place);
        }
    }
}

/* Updates demand and order after the new links are in the graph, so that no
 * node becomes dormant in between. */
static void drop_old(struct sched *sched, struct node *node)
{
    while (sched->links.count > 0) {
        const struct read_link link = vec_pop(&sched->links);
        if (link.mark == TAKEN) {
            continue;
        }
        sched->counters.delta_links++;
        if (node->attached) {
            forget_read(sched, &link);
        }
        place_unref(link.place);
    }
}

static void keep_old(struct sched *sched,
                     struct node *node,
                     enum reads_kept keep)
{
    VEC_FOREACH (&sched->links, old) {
        if (old->mark != TAKEN &&
            (old->unread != LINK_DECLARED || keep == READS_KEPT_ALL)) {
            old->caused = false; /* the run has taken the causes */
            if (old->unread == LINK_RESTORED) {
                /* It is not known any more whether the value is unchanged. */
                old->unread = LINK_READ;
                old->version = 0;
            }
            vec_push(&node->reads, *old);
            old->mark = TAKEN;
        }
    }
    VEC_FOREACH (&node->reads, link) {
        follow_moved(link);
    }
}

void graph_change_reads(struct sched *sched,
                        struct node *node,
                        const struct transaction *transaction,
                        enum reads_kept keep)
{
    node->reads_changed = true;
    if (node->reads.at == &node->only_read) {
        leave_own_room(node);
    }
    collect_links(sched, node, transaction);
    drop_repetitions(sched);
    if (node->reads.capacity == 0 && sched->links.count > 0) {
        take_first_links(sched, node);
    } else {
        exchange_links(sched, node);
    }
    const size_t fresh = node->reads.count;
    if (keep != READS_KEPT_NONE) {
        keep_old(sched, node, keep);
    }
    unlink_old(sched);
    for (size_t i = 0; i < fresh && node->attached; i++) {
        struct read_link *link = &node->reads.at[i];
        if (!chain_link_is_in(&link->in_place)) {
            sched->counters.delta_links++;
            link_read(sched, link);
        }
    }
    drop_old(sched, node);
}

bool graph_take_first_reads(struct sched *sched,
                            struct node *node,
                            const struct transaction *transaction)
{
    const size_t count = transaction->reads.count;
    CHECK(node->reads.capacity == 0 && node->attached);
    if (count == 0) {
        return true;
    }
    for (size_t i = 0; i < count; i++) {
        if (UNLIKELY(!counts(&transaction->reads.at[i]))) {
            return false;
        }
    }
    struct read_link *links =
        count == 1 ? &node->only_read
                   : mem_alloc(mem_array_size(count, sizeof *links));
    node->reads.at = links;
    node->reads.count = (uint32_t)count;
    node->reads.capacity = (uint32_t)count;
    node->reads_changed = true;
    sched->counters.delta_links += count;
    const struct read_entry *entry = transaction->reads.at;
    for (struct read_link *link = links; link < links + count; link++) {
        link->in_place.next = NULL;
        link->in_place.back = NULL;
        link->node = node;
        link->place = place_ref(entry->place);
        link->version = entry->version;
        link->mark = 0;
        link->kind = (uint8_t)entry->kind;
        link->unread = LINK_READ;
        link->caused = false;
        entry++;
    }
    for (size_t i = 0; i < count; i++) {
        link_read(sched, &links[i]);
    }
    return true;
}

void graph_remove_reads(struct sched *sched, struct node *node)
{
    while (node->reads.count > 0) {
        struct read_link link = *vec_last(&node->reads);
        node->reads.count--;
        if (node->attached) {
            follow_moved(&link);
            chain_remove(&link.in_place);
            forget_read(sched, &link);
        }
        place_unref(link.place);
    }
    if (node->reads.at == &node->only_read) {
        node->reads.at = NULL;
        node->reads.capacity = 0;
    }
    vec_release(&node->reads);
    node->attached = false;
    chain_remove(&node->asleep);
}

bool graph_check(const struct node *node)
{
    if (!node->registered) {
        return true;
    }
    VEC_FOREACH (&node->reads, read) {
        if (read->node != node ||
            chain_link_is_in(&read->in_place) != node->attached) {
            return false;
        }
    }
    return (node->attached || !node->counted) &&
           chain_link_is_in(&node->asleep) != node->attached;
}

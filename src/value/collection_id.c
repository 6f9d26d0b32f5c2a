/* Ids of the documents of collections. */

#include "value/collection_id.h"

#include <string.h>

static bool begins_with(struct text text, size_t from, const char *mark)
{
    const size_t length = strlen(mark);
    return text.length - from > length &&
           memcmp(text.at + from, mark, length) == 0;
}

enum collection_part collection_part_of(struct text id, size_t *root_length)
{
    for (size_t i = 1; i < id.length; i++) {
        if (id.at[i] != '/') {
            continue;
        }
        *root_length = i;
        if (begins_with(id, i, COLLECTION_ROW_MARK)) {
            return COLLECTION_ROW;
        }
        if (begins_with(id, i, COLLECTION_ORDER_MARK)) {
            return COLLECTION_PAGE;
        }
    }
    *root_length = 0;
    return COLLECTION_NO_PART;
}

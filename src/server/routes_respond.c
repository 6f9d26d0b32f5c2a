/* An answer as the network takes it. Apart, so that all else can be tested
 * without one. */

#include "server/routes.h"

void route_answer_respond(struct net *net,
                          net_id id,
                          struct route_answer *answer)
{
    _Static_assert((int)ROUTE_HEADERS < (int)NET_HEADERS_MAX,
                   "one for the end");
    struct net_response response = {
        .status = answer->http_status,
        .content_type = answer->content_type,
        .is_stream = answer->is_stream,
    };
    for (size_t i = 0; i < answer->header_count; i++) {
        response.headers[i] = (struct net_header){
            answer->headers[i].name,
            answer->headers[i].value,
        };
    }
    if (answer->body.length > 0) {
        response.body = net_bytes_new(answer->body.at, answer->body.length);
    }
    net_respond(net, id, &response);
    route_answer_release(answer);
}

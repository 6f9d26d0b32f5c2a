/* Every SQL statement of the store, for X(name, sql). Prepared once per
 * connection, on first use. */

X(BEGIN, "BEGIN IMMEDIATE")
X(BEGIN_READ, "BEGIN")
X(COMMIT, "COMMIT")
X(ROLLBACK, "ROLLBACK")
X(DATA_VERSION, "PRAGMA data_version")

/* The space. */
X(HORIZON_GET, "SELECT value FROM space WHERE name = 'horizon'")
X(HORIZON_SET, "UPDATE space SET value = ?1 WHERE name = 'horizon'")

/* Branches. The main one has the number 0. */
X(BRANCH_ALL,
  "SELECT branch, name, parent, fork_seq, status FROM branch ORDER BY branch")
X(BRANCH_INSERT,
  "INSERT INTO branch(branch, name, parent, fork_seq, status, record, chain)"
  " VALUES(?1, ?2, ?3, ?4, 'active', ?5, ?6)")
X(BRANCH_DELETE,
  "UPDATE branch SET status = 'deleted', closed_record = ?2,"
  " closed_chain = ?3 WHERE branch = ?1")
X(BRANCH_LAST_RECORD,
  "SELECT record, chain FROM branch UNION ALL SELECT closed_record,"
  " closed_chain FROM branch WHERE closed_record IS NOT NULL"
  " ORDER BY record DESC LIMIT 1")
X(BRANCH_RECORDS,
  "SELECT record, branch, chain, 0 FROM branch WHERE branch > 0 UNION ALL"
  " SELECT closed_record, branch, closed_chain, 1 FROM branch"
  " WHERE closed_record IS NOT NULL ORDER BY record")
X(BRANCH_CHAIN, "UPDATE branch SET chain = ?2 WHERE record = ?1")
X(BRANCH_CLOSED_CHAIN,
  "UPDATE branch SET closed_chain = ?2 WHERE closed_record = ?1")
X(MAIN_HEAD,
  "SELECT seq FROM \"commit\" WHERE branch = 0 ORDER BY seq DESC LIMIT 1")
X(BRANCH_HEAD,
  "SELECT max(seq) FROM \"commit\" WHERE branch = ?1"
  " AND branch > 0")

/* Sessions. */
X(SESSION_FIND,
  "SELECT session, (SELECT local_seq FROM \"commit\" c"
  " WHERE c.session = s.session ORDER BY local_seq DESC LIMIT 1)"
  " FROM session s WHERE key = ?1")
X(SESSION_LAST, "SELECT max(session) FROM session")
X(SESSION_STEP,
  "SELECT max(session) FROM (SELECT session FROM session WHERE session > ?1"
  " ORDER BY session LIMIT ?2)")
X(SESSION_REMOVE,
  "DELETE FROM session WHERE session > ?1 AND session <= ?2"
  " AND session < (SELECT max(session) FROM session)"
  " AND NOT EXISTS(SELECT 1 FROM \"commit\" c"
  "  WHERE c.session = session.session)")
X(SESSION_INSERT, "INSERT INTO session(key) VALUES(?1)")

/* Commits. */
X(COMMIT_LAST,
  "SELECT seq, record, chain FROM \"commit\" ORDER BY seq DESC LIMIT 1")
X(COMMIT_AT, "SELECT record, chain FROM \"commit\" WHERE seq = ?1")
X(COMMIT_AUTHOR,
  "SELECT s.key FROM \"commit\" c JOIN session s USING(session)"
  " WHERE c.seq = ?1")
X(COMMIT_FIND,
  "SELECT seq, digest, resolution, documents FROM \"commit\""
  " WHERE session = ?1 AND local_seq = ?2")
X(COMMIT_COUNT_OF,
  "SELECT count(*) FROM \"commit\" WHERE seq > ?1 AND session = ?2")
X(COMMIT_INSERT,
  "INSERT INTO \"commit\"(seq, record, branch, session, local_seq, digest, at,"
  " context, resolution, documents, chain)"
  " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)")
X(COMMIT_TIME,
  "SELECT seq, at FROM \"commit\" WHERE seq <= ?1 ORDER BY seq DESC LIMIT 1")
X(COMMIT_NUMBER, "SELECT session, local_seq FROM \"commit\" WHERE seq = ?1")
X(COMMIT_NTH,
  "SELECT local_seq FROM \"commit\" WHERE session = ?1"
  " ORDER BY local_seq DESC LIMIT 1 OFFSET ?2")
X(COMMIT_RANGE,
  "SELECT seq, session, local_seq FROM \"commit\" WHERE seq > ?1"
  " AND seq <= ?2 ORDER BY seq LIMIT ?3")
X(COMMIT_REMOVE, "DELETE FROM \"commit\" WHERE seq = ?1")
X(COMMIT_CHAIN, "UPDATE \"commit\" SET chain = ?2 WHERE seq = ?1")
X(COMMIT_SEEN,
  "SELECT c.seq, s.key, b.name, c.at,"
  " iif(json_valid(c.context), json_extract(c.context, '$.effect'), NULL)"
  " FROM \"commit\" c"
  " JOIN session s USING(session) JOIN branch b USING(branch)"
  " WHERE c.seq > ?1 AND c.seq <= ?2 ORDER BY c.seq DESC")
X(COMMIT_WRITES,
  "SELECT d.scope, d.id, r.op, r.data FROM \"commit\" c"
  " CROSS JOIN json_each(c.documents) o"
  " CROSS JOIN document d ON d.document = o.value"
  " CROSS JOIN revision r ON r.document = d.document AND r.seq = c.seq"
  " AND r.op_index = o.key WHERE c.seq = ?1 ORDER BY o.key")
X(COMMIT_LIST,
  "SELECT c.seq, c.record, b.name, s.key, c.local_seq, c.digest, c.at,"
  " c.context, c.resolution, c.documents, c.chain FROM \"commit\" c"
  " JOIN branch b USING(branch) JOIN session s USING(session)"
  " WHERE c.seq > ?1 ORDER BY c.seq")

X(COMMIT_CHANGES,
  "SELECT c.seq, d.branch, d.scope, d.id FROM \"commit\" c"
  " CROSS JOIN json_each(c.documents) o"
  " CROSS JOIN document d ON d.document = o.value"
  " WHERE c.seq > ?1 AND c.seq <= ?2 ORDER BY c.seq")

X(FOLDED_CHANGES,
  "SELECT last, branch, scope, id FROM (SELECT (SELECT max(r.seq)"
  "  FROM revision r WHERE r.document = d.document AND r.seq > ?1"
  "  AND r.seq <= ?2) AS last, d.document, d.branch, d.scope, d.id"
  "  FROM document d WHERE d.head_seq > ?1)"
  " WHERE last IS NOT NULL ORDER BY last, document")

/* Documents: one row per branch, scope and id, with the end of its history. */
X(DOCUMENT_FIND,
  "SELECT document, head_seq, head_index, op, base_seq, tail_count,"
  " tail_bytes, base_bytes FROM document"
  " WHERE branch = ?1 AND scope = ?2 AND id = ?3")
X(DOCUMENT_INSERT,
  "INSERT INTO document(branch, scope, id, head_seq, head_index, op, base_seq,"
  " tail_count, tail_bytes, base_bytes)"
  " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")
X(DOCUMENT_UPDATE,
  "UPDATE document SET head_seq = ?2, head_index = ?3, op = ?4, base_seq = ?5,"
  " tail_count = ?6, tail_bytes = ?7, base_bytes = ?8 WHERE document = ?1")
X(DOCUMENT_ALL,
  "SELECT document, branch, scope, id FROM document WHERE document > ?1"
  " ORDER BY document LIMIT ?2")
X(DOCUMENT_HEADS,
  "SELECT scope, id, head_seq FROM document WHERE head_seq > ?1")
X(DOCUMENT_LAST, "SELECT max(document) FROM document")
X(DOCUMENT_STEP,
  "SELECT max(document) FROM (SELECT document FROM document"
  " WHERE document > ?1 ORDER BY document LIMIT ?2)")
X(DOCUMENT_TAIL,
  "SELECT count(*), coalesce(sum(length(data)), 0) FROM revision"
  " WHERE document = ?1 AND op = 'patch' AND seq > max("
  " (SELECT coalesce(max(seq), 0) FROM snapshot WHERE document = ?1),"
  " (SELECT coalesce(max(seq), 0) FROM revision WHERE document = ?1"
  "  AND op <> 'patch'))")
X(DOCUMENT_REBUILD,
  "UPDATE document SET (head_seq, head_index, op) ="
  " (SELECT seq, op_index, op FROM revision WHERE document = ?1"
  "  ORDER BY seq DESC, op_index DESC LIMIT 1),"
  " base_seq = coalesce((SELECT max(seq) FROM revision"
  "  WHERE document = ?1 AND op <> 'patch'), 0),"
  " (tail_count, tail_bytes) ="
  " (SELECT count(*), coalesce(sum(length(CAST(data AS BLOB))), 0)"
  "  FROM revision WHERE document = ?1 AND op = 'patch' AND seq > max("
  "  (SELECT coalesce(max(seq), 0) FROM snapshot WHERE document = ?1),"
  "  (SELECT coalesce(max(seq), 0) FROM revision WHERE document = ?1"
  "   AND op <> 'patch'))),"
  " base_bytes = coalesce("
  "  (SELECT length(CAST(value AS BLOB)) FROM snapshot WHERE document = ?1"
  "   ORDER BY seq DESC LIMIT 1),"
  "  (SELECT length(CAST(data AS BLOB)) FROM revision WHERE document = ?1"
  "   AND op <> 'patch' ORDER BY seq DESC, op_index DESC LIMIT 1), 0)"
  " WHERE document = ?1"
  " AND EXISTS(SELECT 1 FROM revision WHERE document = ?1)")
X(DOCUMENT_REMOVE,
  "DELETE FROM document WHERE document = ?1"
  " AND NOT EXISTS(SELECT 1 FROM revision WHERE document = ?1)")

/* Receipts: documents by their ids, unless they hold an event that waits
 * (proto/event.h). Those of events without an id have more than one colon
 * (sched/event_id.c); one that came from another space is like one with an id
 * (sched/durable.c). The last document stays, or its number would be given
 * again. */
X(RECEIPT_RANGE,
  "SELECT d.document, d.head_seq, instr(substr(d.id, 9), ':') = 0"
  "  OR r.data GLOB '{\"fromSpace\":*'"
  " FROM document d JOIN revision r ON r.document = d.document"
  "  AND r.seq = d.head_seq AND r.op_index = d.head_index"
  " WHERE d.document > ?1 AND d.document <= ?2 AND d.id >= 'receipt:'"
  " AND d.id < 'receipt;' AND d.head_seq <= ?3 AND r.op = 'set'"
  " AND r.data NOT GLOB '{\"event\":*'"
  " AND NOT EXISTS(SELECT 1 FROM waiting w WHERE w.document = d.document)"
  " AND NOT EXISTS(SELECT 1 FROM timer t WHERE t.document = d.document)"
  " AND d.document < (SELECT max(document) FROM document)"
  " ORDER BY d.document")
X(DOCUMENT_COUNT, "SELECT count(*) FROM document")
X(DOCUMENT_RANGE,
  "SELECT scope, id FROM document WHERE branch = 0 AND id >= ?1"
  " AND (?2 = '' OR id < ?2) AND op <> 'delete' ORDER BY scope, id")
X(DOCUMENT_LIST,
  "SELECT id FROM document WHERE branch = ?1 AND scope = ?2 AND id > ?3"
  " AND op <> 'delete' ORDER BY id LIMIT ?4")

/* Events that wait (waiting.h). */
X(WAITING_INSERT,
  "INSERT INTO waiting(document, number) VALUES(?1, ?2)"
  " ON CONFLICT(document) DO UPDATE SET number = excluded.number")
X(WAITING_REMOVE, "DELETE FROM waiting WHERE document = ?1")
X(WAITING_HAS, "SELECT number FROM waiting WHERE document = ?1")
X(WAITING_LIST,
  "SELECT w.number, d.scope, d.id FROM waiting w"
  " CROSS JOIN document d USING(document)"
  " WHERE w.number > ?1 AND d.branch = ?2 ORDER BY w.number LIMIT ?3")
X(WAITING_STRAY,
  "SELECT document FROM (SELECT document FROM waiting"
  " UNION SELECT document FROM timer)"
  " WHERE document NOT IN (SELECT document FROM document)")
X(TIMER_INSERT,
  "INSERT INTO timer(document, branch, due) VALUES(?1, ?2, ?3)"
  " ON CONFLICT(document) DO UPDATE SET due = excluded.due")
X(TIMER_REMOVE, "DELETE FROM timer WHERE document = ?1")
X(TIMER_HAS, "SELECT due FROM timer WHERE document = ?1")
X(TIMER_LIST,
  "SELECT t.document, d.scope, d.id, t.due FROM timer t"
  " CROSS JOIN document d USING(document)"
  " WHERE t.branch = ?1 AND (t.due, t.document) > (?2, ?3) AND t.due <= ?4"
  " ORDER BY t.due, t.document LIMIT ?5")
X(TIMER_NAMED,
  "SELECT d.document, d.scope, d.id FROM document d"
  " JOIN timer t ON t.document = d.document"
  " WHERE d.branch = ?1 AND d.scope = ?2 AND d.id > ?3 AND d.id < ?4")
X(TIMER_NEXT,
  "SELECT due FROM timer WHERE branch = ?1 AND due > ?2 ORDER BY due LIMIT 1")

/* Revisions and snapshots. */
X(REVISION_INSERT,
  "INSERT INTO revision(document, seq, op_index, op, data, trace)"
  " VALUES(?1, ?2, ?3, ?4, ?5, ?6)")
X(REVISION_LAST,
  "SELECT seq, op_index, op FROM revision"
  " WHERE document = ?1 AND seq <= ?2"
  " ORDER BY seq DESC, op_index DESC LIMIT 1")
X(REVISION_BASE,
  "SELECT seq, op_index, op, data FROM revision"
  " WHERE document = ?1 AND seq <= ?2 AND op <> 'patch'"
  " ORDER BY seq DESC, op_index DESC LIMIT 1")
X(REVISION_FROM,
  "SELECT op, data FROM revision WHERE document = ?1 AND seq >= ?2"
  " ORDER BY seq, op_index LIMIT ?3")
X(REVISION_PATCHES,
  "SELECT data FROM revision WHERE document = ?1 AND"
  " (seq, op_index) > (?2, ?3) AND seq <= ?4 AND op = 'patch'"
  " ORDER BY seq, op_index")
X(REVISION_COUNT_BEHIND,
  "SELECT count(*) FROM (SELECT 1 FROM revision WHERE document = ?1 AND"
  " (seq, op_index) > (?2, ?3) LIMIT ?4)")
X(REVISION_AFTER,
  "SELECT r.seq, r.op, r.op_index, c.session, c.local_seq"
  " FROM revision r LEFT JOIN \"commit\" c ON c.seq = r.seq"
  " WHERE r.document = ?1 AND r.seq > ?2 AND r.seq <= ?3"
  " ORDER BY r.seq DESC, r.op_index DESC")
X(REVISION_BASES_AFTER,
  "SELECT r.seq, c.session, c.local_seq"
  " FROM revision r LEFT JOIN \"commit\" c ON c.seq = r.seq"
  " WHERE r.document = ?1 AND r.seq > ?2 AND r.seq <= ?3"
  " AND r.op <> 'patch' ORDER BY r.seq DESC, r.op_index DESC")
X(REVISION_GET,
  "SELECT d.id, d.scope, r.op, r.data, r.trace FROM revision r"
  " JOIN document d USING(document)"
  " WHERE r.document = ?1 AND r.seq = ?2 AND r.op_index = ?3")
X(REVISION_COUNT, "SELECT count(*) FROM revision WHERE seq > ?1")
X(REVISION_WHOLE,
  "UPDATE revision SET op = 'set', data = ?4, trace = NULL"
  " WHERE document = ?1 AND seq = ?2 AND op_index = ?3")
X(REVISION_FORGET,
  "DELETE FROM revision WHERE document = ?1"
  " AND (seq, op_index) < (?2, ?3)")
X(REVISION_NTH,
  "SELECT seq, op_index FROM revision WHERE document = ?1"
  " ORDER BY seq, op_index LIMIT 1 OFFSET ?2")
X(REVISION_REMOVE, "DELETE FROM revision WHERE document = ?1")
X(SNAPSHOT_CLEAR, "DELETE FROM snapshot WHERE document = ?1")
X(SNAPSHOT_ALL,
  "SELECT seq, value FROM snapshot WHERE document = ?1 ORDER BY seq")
X(SNAPSHOT_LAST,
  "SELECT seq, value FROM snapshot WHERE document = ?1 AND seq <= ?2"
  " ORDER BY seq DESC LIMIT 1")
X(SNAPSHOT_INSERT,
  "INSERT OR REPLACE INTO snapshot(document, seq, value) VALUES(?1, ?2, ?3)")
X(SNAPSHOT_FORGET, "DELETE FROM snapshot WHERE document = ?1 AND seq <= ?2")
X(SNAPSHOT_REMOVE, "DELETE FROM snapshot WHERE document = ?1 AND seq = ?2")
X(SNAPSHOT_PRUNE,
  "DELETE FROM snapshot WHERE document = ?1 AND seq NOT IN"
  " (SELECT seq FROM snapshot WHERE document = ?1"
  "  ORDER BY seq DESC LIMIT ?2)")

/* Observations (observations.h). */
X(FINGERPRINT_FIND,
  "SELECT fingerprint FROM fingerprint WHERE implementation = ?1"
  " AND runtime = ?2 AND schema = ?3")
X(FINGERPRINT_GET,
  "SELECT implementation, runtime, schema FROM fingerprint"
  " WHERE fingerprint = ?1")
X(FINGERPRINT_INSERT,
  "INSERT INTO fingerprint(implementation, runtime, schema)"
  " VALUES(?1, ?2, ?3)")
X(FINGERPRINT_SWEEP,
  "DELETE FROM fingerprint"
  " WHERE fingerprint NOT IN (SELECT fingerprint FROM action)")
X(PIECE_FIND,
  "SELECT piece, generation FROM piece WHERE branch = ?1 AND id = ?2")
X(PIECE_INSERT, "INSERT INTO piece(branch, id, generation) VALUES(?1, ?2, ?3)")
X(PIECE_GENERATION, "UPDATE piece SET generation = ?2 WHERE piece = ?1")
X(PIECE_FORGET, "UPDATE piece SET id = NULL WHERE branch = ?1 AND id = ?2")
X(PIECE_ALL,
  "SELECT p.piece, p.branch, p.id, p.generation FROM piece p"
  " WHERE p.piece > ?1 ORDER BY p.piece LIMIT 1")
X(PIECE_NAMES,
  "SELECT id FROM piece WHERE branch = ?1 AND id IS NOT NULL ORDER BY id")
X(PIECE_SWEEP,
  "DELETE FROM piece WHERE (id IS NULL OR branch IN (SELECT branch FROM branch"
  " WHERE status <> 'active')) AND NOT EXISTS(SELECT 1 FROM action a"
  " WHERE a.piece = piece.piece)")
X(ACTION_FIND,
  "SELECT action, generation, kind, fingerprint, sets, gates, sum FROM action"
  " WHERE piece = ?1 AND name = ?2 AND scope = ?3")
X(ACTION_NAMED, "SELECT action FROM action WHERE piece = ?1 AND name = ?2")
X(ACTION_INSERT,
  "INSERT INTO action(piece, action, generation, name, scope, kind,"
  " fingerprint, sets, gates, sum)"
  " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")
X(ACTION_UPDATE,
  "UPDATE action SET generation = ?3, kind = ?6, fingerprint = ?7, sets = ?8,"
  " gates = ?9, sum = ?10 WHERE piece = ?1 AND action = ?2 AND name = ?4"
  " AND scope = ?5")
X(ACTION_REMOVE, "DELETE FROM action WHERE piece = ?1 AND action = ?2")
X(ACTION_OF_SESSIONS,
  "SELECT a.piece, a.action FROM action a LEFT JOIN run r USING(action)"
  " WHERE a.piece = ?1 AND a.name = ?2 AND a.scope > ?3 AND a.scope < ?4"
  " ORDER BY r.seq DESC LIMIT -1 OFFSET ?5")
X(ACTION_SWEEP,
  "SELECT a.piece, a.action, p.id IS NULL OR a.generation <> p.generation"
  " OR b.status IS NOT 'active' FROM action a LEFT JOIN piece p USING(piece)"
  " LEFT JOIN branch b ON b.branch = p.branch"
  " WHERE (a.piece, a.action) > (?1, ?2) ORDER BY a.piece, a.action LIMIT ?3")
X(ACTION_COUNT, "SELECT count(*) FROM action")
X(ACTION_ROWS,
  "SELECT action, generation, name, scope, kind, fingerprint, sets, gates, sum"
  " FROM action WHERE piece = ?1 AND action > ?2 AND action <= ?3"
  " ORDER BY action")
X(ACTION_SCOPES,
  "SELECT DISTINCT scope FROM action WHERE piece = ?1 AND generation = ?2"
  " ORDER BY scope")
X(ACTION_COUNT_LISTED,
  "SELECT count(*) FROM action WHERE piece = ?1 AND action > ?2"
  " AND generation = ?3 AND scope IN (?4, ?5, ?6)")
X(ACTION_BOUNDS,
  "SELECT (SELECT action FROM action WHERE piece = ?1 AND action > ?2"
  "  ORDER BY action LIMIT 1), (SELECT action FROM action WHERE piece = ?1"
  "  ORDER BY action DESC LIMIT 1)")
X(RUN_LAST,
  "SELECT max(ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'run'), 0),"
  " ifnull((SELECT max(action) FROM run), 0))")
X(RUN_INSERT,
  "INSERT INTO run(action, seq, mark, error, elsewhere, runs, landed)"
  " VALUES(?1, ?2, ?3, ?4, ?5, 1, ?6)")
X(RUN_UPDATE,
  "UPDATE run SET seq = ?2, mark = ?3, error = ?4, elsewhere = ?5,"
  "  runs = runs + (?6 > 0 OR error IS NULL AND seq IS NOT ?2),"
  "  before = iif(?6 > 0 OR error IS NULL AND seq IS NOT ?2,"
  "    ifnull(seq, 0), before),"
  "  landed = iif(?6 > 0 OR error IS NULL AND seq IS NOT ?2, ?6, landed)"
  " WHERE action = ?1")
X(RUN_LANDED,
  "UPDATE run SET seq = ?2, mark = ?3, error = ?4, elsewhere = ?5,"
  "  runs = runs + 1, before = ifnull(seq, 0), landed = ?6 WHERE action = ?1")
X(RUN_PAST, "SELECT before, landed, runs FROM run WHERE action = ?1")
X(RUN_REMOVE, "DELETE FROM run WHERE action = ?1")
X(RUN_TOLD,
  "SELECT p.branch, p.id, a.generation, a.name, a.scope, a.kind,"
  " a.fingerprint, a.sets, a.gates, a.sum, r.seq, r.mark, r.error, r.elsewhere"
  " FROM action a CROSS JOIN piece p ON p.piece = a.piece"
  " AND p.id IS NOT NULL AND p.generation = a.generation"
  " CROSS JOIN run r ON r.action = a.action"
  " WHERE a.piece = ?1 AND a.action = ?2")
X(RUN_SINCE,
  "SELECT a.piece, a.action FROM action a"
  " CROSS JOIN run r ON r.action = a.action"
  " WHERE r.seq >= ?1 AND a.scope = 'space'")
X(RUN_GET,
  "SELECT seq, mark, error, elsewhere, action FROM run WHERE action = ?1")
X(RUN_ROWS,
  "SELECT seq, mark, error, elsewhere, action FROM run WHERE action >= ?1"
  " AND action <= ?2 ORDER BY action")
X(PLACE_FIND,
  "SELECT place FROM place WHERE space = ?1 AND scope = ?2 AND id = ?3"
  " AND path = ?4")
X(PLACE_INSERT,
  "INSERT INTO place(space, scope, id, path) VALUES(?1, ?2, ?3, ?4)"
  " ON CONFLICT DO NOTHING")
X(PLACE_GET, "SELECT space, scope, id, path, place FROM place WHERE place = ?1")
X(PLACE_RANGE,
  "SELECT space, scope, id, path, place FROM place"
  " WHERE place >= ?1 AND place <= ?2 ORDER BY place")
X(PLACE_OF_DOCUMENT,
  "SELECT place, path FROM place WHERE space = '' AND scope = ?1 AND id = ?2")
X(PLACE_SWEEP,
  "SELECT place, EXISTS(SELECT 1 FROM edge WHERE edge >= place * 4"
  " AND edge <= place * 4 + 3) OR EXISTS(SELECT 1 FROM mirror_edge"
  " WHERE edge >= place * 4 AND edge <= place * 4 + 3) FROM place"
  " WHERE place > ?1 ORDER BY place LIMIT ?2")
X(PLACE_REMOVE, "DELETE FROM place WHERE place = ?1")
X(EDGE_OF_ACTION,
  "SELECT edge FROM edge WHERE piece = ?1 AND action = ?2 ORDER BY edge")
X(EDGE_ROWS,
  "SELECT action, edge FROM edge WHERE piece = ?1 AND action > ?2"
  " AND action <= ?3 ORDER BY action, edge")
X(EDGE_INSERT, "INSERT INTO edge(piece, action, edge) VALUES(?1, ?2, ?3)")
X(EDGE_INSERT_TWO,
  "INSERT OR IGNORE INTO edge(piece, action, edge)"
  " VALUES(?1, ?2, ?3), (?1, ?2, ?4)")
X(EDGE_REMOVE,
  "DELETE FROM edge WHERE piece = ?1 AND action = ?2 AND edge = ?3")
X(EDGE_REMOVE_ALL, "DELETE FROM edge WHERE piece = ?1 AND action = ?2")
X(EDGE_READERS,
  "SELECT p.branch, p.id, a.action, a.name, a.scope, r.seq FROM edge e"
  " CROSS JOIN action a ON a.piece = e.piece AND a.action = e.action"
  " CROSS JOIN piece p ON p.piece = a.piece AND p.id IS NOT NULL"
  " AND p.generation = a.generation LEFT JOIN run r ON r.action = a.action"
  " WHERE e.edge = ?1")
X(IMAGE_OF_PIECE,
  "SELECT first, last, generation, data FROM image WHERE piece = ?1"
  " AND last > ?2 ORDER BY last")
X(IMAGE_RANGES,
  "SELECT first, last, generation, actions FROM image WHERE piece = ?1"
  " AND last > ?2 ORDER BY last")
X(IMAGE_BOUNDS,
  "SELECT (SELECT first FROM image WHERE piece = ?1 ORDER BY last LIMIT 1),"
  " (SELECT last FROM image WHERE piece = ?1 ORDER BY last DESC LIMIT 1)")
X(IMAGE_INSERT,
  "INSERT INTO image(piece, last, first, generation, actions, data)"
  " VALUES(?1, ?2, ?3, ?4, ?5, ?6)")
X(IMAGE_REMOVE, "DELETE FROM image WHERE piece = ?1 AND last = ?2")
X(IMAGE_DROP,
  "DELETE FROM image WHERE piece = ?1 AND first <= ?2 AND last = (SELECT last"
  " FROM image WHERE piece = ?1 AND last >= ?2 ORDER BY last LIMIT 1)")
X(IMAGE_ALL,
  "SELECT piece, last, first, generation, actions, data FROM image"
  " WHERE (piece, last) > (?1, ?2) ORDER BY piece, last LIMIT 1")
X(IMAGE_FORGET,
  "DELETE FROM image WHERE piece = (SELECT piece FROM piece WHERE branch = ?1"
  " AND id = ?2)")
X(IMAGE_SWEEP, "DELETE FROM image WHERE piece NOT IN (SELECT piece FROM piece)")
X(MIRROR_READERS,
  "SELECT m.space, m.branch, m.piece, m.here, m.seq FROM mirror_edge e"
  " CROSS JOIN mirror m USING(mirror) WHERE e.edge = ?1")
X(MIRROR_FIND,
  "SELECT mirror, seq FROM mirror WHERE space = ?1 AND branch = ?2"
  " AND piece = ?3")
X(MIRROR_INSERT,
  "INSERT INTO mirror(space, branch, piece, here, seq)"
  " VALUES(?1, ?2, ?3, ?4, ?5)")
X(MIRROR_UPDATE, "UPDATE mirror SET here = ?2, seq = ?3 WHERE mirror = ?1")
X(MIRROR_REMOVE, "DELETE FROM mirror WHERE mirror = ?1")
X(MIRROR_EDGES_REMOVE, "DELETE FROM mirror_edge WHERE mirror = ?1")
X(MIRROR_EDGE_INSERT,
  "INSERT OR IGNORE INTO mirror_edge(mirror, edge) VALUES(?1, ?2)")
X(MIRROR_LIST,
  "SELECT space, branch, piece, here, seq FROM mirror"
  " ORDER BY space, branch, piece")
X(OBSERVED_ORPHANS,
  "SELECT (SELECT count(*) FROM run) - (SELECT count(*) FROM action"
  " JOIN run USING(action)),"
  " (SELECT count(*) FROM edge e WHERE NOT EXISTS(SELECT 1 FROM action a"
  "  WHERE a.piece = e.piece AND a.action = e.action)),"
  " (SELECT count(*) FROM action a WHERE NOT EXISTS(SELECT 1 FROM run r"
  "  WHERE r.action = a.action)),"
  " (SELECT count(*) FROM action a WHERE NOT EXISTS(SELECT 1 FROM piece p"
  "  WHERE p.piece = a.piece)),"
  " (SELECT count(*) FROM mirror_edge e WHERE NOT EXISTS(SELECT 1"
  "  FROM mirror m WHERE m.mirror = e.mirror) OR NOT EXISTS(SELECT 1"
  "  FROM place p WHERE p.place = e.edge / 4))")

/* Counts, for reports. */
X(SNAPSHOT_COUNT, "SELECT count(*) FROM snapshot")
X(SESSION_COUNT, "SELECT count(*) FROM session")
X(PAGE_COUNT, "PRAGMA page_count")
X(FREE_PAGES, "PRAGMA freelist_count")
X(FILE_BYTES,
  "SELECT page_count * page_size, freelist_count * page_size"
  " FROM pragma_page_count, pragma_freelist_count, pragma_page_size")
X(FREE_BYTES,
  "SELECT freelist_count * page_size FROM pragma_freelist_count,"
  " pragma_page_size")
X(AUTO_VACUUM, "PRAGMA auto_vacuum")

/* What a compaction would remove: rows, and bytes of one on average, from some
 * of them (retention.h). */
X(RECLAIM_COMMITS,
  "SELECT count(*), (SELECT avg(length(ifnull(context, ''))"
  "  + length(documents) + 90) FROM (SELECT context, documents"
  "  FROM \"commit\" WHERE seq <= ?1 LIMIT 200))"
  " FROM \"commit\" INDEXED BY commit_by_session WHERE seq <= ?1"
  " AND (seq % ?3 <> 0 OR seq <= ?2)")
X(RECLAIM_RECEIPTS,
  "SELECT count(*), avg(length(id)) * 2 + 150 FROM document"
  " WHERE id >= 'receipt:' AND id < 'receipt;'"
  " AND head_seq <= iif(instr(substr(id, 9), ':') > 0, ?1, ?2)"
  " AND document NOT IN (SELECT document FROM waiting)"
  " AND document NOT IN (SELECT document FROM timer)")
X(RECLAIM_REVISIONS,
  "SELECT max(0, (SELECT count(*) FROM revision)"
  "  - (SELECT count(*) FROM document)), (SELECT avg(length(ifnull(data, ''))"
  "  + length(ifnull(trace, '')) + 20) FROM (SELECT data, trace FROM revision"
  "  WHERE seq > (SELECT value FROM space WHERE name = 'horizon') LIMIT 200))")
X(RECLAIM_SESSIONS,
  "SELECT count(*), 90 FROM session s WHERE NOT EXISTS(SELECT 1"
  " FROM \"commit\" c WHERE c.session = s.session AND (c.seq > ?1"
  " OR c.seq % ?3 = 0 AND c.seq > ?2))")

/* SQLite's own check. */
X(INTEGRITY, "PRAGMA integrity_check(20)")

/* The registry: threads, environments, messages and schedules. Only the two
 * SET_STATUS write the status of a row that exists, and only store/lifecycle.c
 * uses them; tools/tidy sees to both. */
X(ENVIRONMENT_GET,
  "SELECT status, since, managed, kept, workspace, attempt, provision"
  " FROM environment WHERE id = ?1")
X(ENVIRONMENT_INSERT,
  "INSERT INTO environment(id, status, since, managed, kept, workspace,"
  " provision, updated_at) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?3)")
X(ENVIRONMENT_SET_STATUS,
  "UPDATE environment SET status = ?3, since = ?4, updated_at = ?4,"
  " attempt = CASE WHEN ?5 THEN ?6 ELSE attempt END,"
  " workspace = CASE WHEN ?7 THEN ?8 ELSE workspace END"
  " WHERE id = ?1 AND status = ?2 AND (NOT ?9 OR NOT EXISTS(SELECT 1"
  " FROM thread WHERE environment = ?1 AND ((archived_at IS NULL"
  " AND deleted_at IS NULL) OR status NOT IN ('idle', 'error'))))"
  " RETURNING 1")
X(ENVIRONMENT_PROVISION,
  "UPDATE environment SET provision = ?2, updated_at = ?3 WHERE id = ?1")
X(ENVIRONMENT_KEEP,
  "UPDATE environment SET kept = ?2, updated_at = ?3 WHERE id = ?1")
X(ENVIRONMENT_UNSETTLED,
  "SELECT id FROM environment WHERE status NOT IN ('ready', 'destroyed')"
  " ORDER BY id")
X(ENVIRONMENT_COUNTS, "SELECT status, count(*) FROM environment GROUP BY 1")
X(THREAD_GET,
  "SELECT status, since, environment, parent, run, input, archived_at,"
  " deleted_at, attention_at, holds,"
  " (SELECT count(*) FROM message WHERE thread = ?1) FROM thread WHERE id = ?1")
X(THREAD_INSERT,
  "INSERT INTO thread(id, status, since, environment, parent, run, input,"
  " attention_at, holds, updated_at)"
  " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?3, 0, ?3)")
X(THREAD_SET_STATUS,
  "UPDATE thread SET status = ?3, since = ?4, updated_at = ?4,"
  " run = CASE WHEN ?5 THEN ?6 ELSE run END,"
  " attention_at = CASE WHEN ?7 THEN ?4 ELSE attention_at END"
  " WHERE id = ?1 AND status = ?2 RETURNING 1")
X(THREAD_INPUT, "UPDATE thread SET input = ?2, updated_at = ?3 WHERE id = ?1")
X(THREAD_HOLD, "UPDATE thread SET holds = ?2, updated_at = ?3 WHERE id = ?1")
X(THREAD_ARCHIVE,
  "UPDATE thread SET archived_at = ?2, updated_at = ?3 WHERE id = ?1")
X(THREAD_DELETE,
  "UPDATE thread SET deleted_at = ?2, updated_at = ?2 WHERE id = ?1")
X(THREAD_REMOVE, "DELETE FROM thread WHERE id = ?1")
X(THREAD_UNSETTLED,
  "SELECT id FROM thread WHERE status NOT IN ('idle', 'error') ORDER BY id")
X(THREAD_OF_ENVIRONMENT,
  "SELECT id FROM thread WHERE environment = ?1 ORDER BY id")
X(THREAD_WITH_MESSAGE,
  "SELECT id FROM thread WHERE status = 'idle' AND holds = 0"
  " AND archived_at IS NULL AND deleted_at IS NULL"
  " AND EXISTS(SELECT 1 FROM message WHERE thread = id) ORDER BY id")
X(THREAD_COUNTS, "SELECT status, count(*) FROM thread GROUP BY 1")
X(MESSAGE_ADD,
  "INSERT INTO message(thread, number, text) SELECT ?1,"
  " coalesce(max(number), 0) + 1, ?2 FROM message WHERE thread = ?1")
X(MESSAGE_TAKE,
  "DELETE FROM message WHERE thread = ?1 AND number ="
  " (SELECT min(number) FROM message WHERE thread = ?1) RETURNING text")
X(MESSAGE_FORGET, "DELETE FROM message WHERE thread = ?1")
X(SCHEDULE_PUT,
  "INSERT OR REPLACE INTO schedule(thread, name, next_at, every_ms, text)"
  " VALUES(?1, ?2, ?3, ?4, ?5)")
X(SCHEDULE_DUE,
  "SELECT thread, name, next_at, every_ms, text FROM schedule"
  " WHERE next_at <= ?1 ORDER BY next_at, thread, name")
X(SCHEDULE_MOVE,
  "UPDATE schedule SET next_at = ?4"
  " WHERE thread = ?1 AND name = ?2 AND next_at = ?3 RETURNING 1")
X(SCHEDULE_FORGET, "DELETE FROM schedule WHERE thread = ?1")

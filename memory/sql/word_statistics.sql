-- In how many of the newest memories of a scope each word of a question occurs, and who made them;
-- beside it, what else recall asks before it reads a question: one statement costs less than three.
-- A sample says what is common about as well as a full count would (0.15 of 500 rows: give or
-- take 0.03), and its cost does not grow with the scope. Each part is read in index order.
WITH sample AS MATERIALIZED (
    SELECT part.lexemes, part.author_name
    FROM unnest(%(namespace_ids)s::uuid[]) AS namespace (id)
    CROSS JOIN LATERAL (
        (
            SELECT newest.lexemes, newest.author_name
            FROM memory_memory AS newest
            WHERE newest.state = 'active'
                AND newest.namespace_id = namespace.id
                AND (newest.visibility <> 'private' OR newest.author_id = %(user_id)s)
                AND %(repository_id)s::uuid IS NULL
            ORDER BY newest.id DESC
            LIMIT %(rows_each)s
        )
        UNION ALL
        (
            SELECT newest.lexemes, newest.author_name
            FROM memory_memory AS newest
            WHERE newest.state = 'active'
                AND newest.namespace_id = namespace.id
                AND (newest.visibility <> 'private' OR newest.author_id = %(user_id)s)
                AND newest.repository_id = %(repository_id)s::uuid
            ORDER BY newest.id DESC
            LIMIT %(rows_each)s
        )
        UNION ALL
        (
            SELECT newest.lexemes, newest.author_name
            FROM memory_memory AS newest
            WHERE newest.state = 'active'
                AND newest.namespace_id = namespace.id
                AND (newest.visibility <> 'private' OR newest.author_id = %(user_id)s)
                AND newest.repository_id IS NULL
                AND %(repository_id)s::uuid IS NOT NULL
            ORDER BY newest.id DESC
            LIMIT %(rows_each)s
        )
    ) AS part
)
SELECT
    (SELECT count(*) FROM sample),
    array(
        SELECT (SELECT count(*) FROM sample WHERE sample.lexemes @@ word.query)
        FROM unnest(%(words)s::tsquery[]) WITH ORDINALITY AS word (query, place)
        ORDER BY word.place
    ),
    array(SELECT DISTINCT sample.author_name FROM sample),
    array(
        SELECT id FROM accounts_namespace WHERE id = ANY (%(namespace_ids)s::uuid[]) ORDER BY id
    ),
    array(
        SELECT settings::text FROM accounts_namespace
        WHERE id = ANY (%(namespace_ids)s::uuid[])
        ORDER BY id
    ),
    array(
        SELECT relname::text FROM pg_class JOIN pg_index ON indexrelid = pg_class.oid
        WHERE relname = ANY ((SELECT %(indexes)s::name[])::name[]) AND indisvalid
    )

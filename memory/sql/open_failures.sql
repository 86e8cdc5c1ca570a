-- The open failures that a tool use may be about to repeat, newest first: of one repository, seen
-- by the caller, with since when their code is another and how often this session was told of them.
SELECT failure.memory_id, failure.signature, failure.command_prefix, failure.command,
       failure.message, failure.paths, failure.symbols, failure.occurrences, failure.last_seen_at,
       failure.last_session_id, memory.confidence,
       coalesce(failure.fades_from, (
           SELECT min(anchor.checked_at) FROM memory_anchor AS anchor
           WHERE anchor.memory_id = failure.memory_id AND anchor.state IN ('drifted', 'missing')
       )) AS fading,
       told.times, told.last,
       coalesce(tried.attempts, '[]') AS attempts
FROM memory_failure AS failure
JOIN memory_memory AS memory ON memory.id = failure.memory_id
LEFT JOIN LATERAL (
    SELECT count(*) AS times, max(injection.shown_at) AS last FROM memory_injection AS injection
    WHERE injection.session_id = %(session)s AND injection.memory_id = failure.memory_id
) AS told ON true
LEFT JOIN LATERAL (
    SELECT jsonb_agg(jsonb_build_object('summary', newest.summary, 'outcome', newest.outcome)
                     ORDER BY newest.started_at DESC) AS attempts
    FROM (
        SELECT attempt.summary, attempt.outcome, attempt.started_at
        FROM memory_fixattempt AS attempt
        WHERE attempt.failure_id = failure.memory_id
        ORDER BY attempt.started_at DESC
        LIMIT 5
    ) AS newest
) AS tried ON true
WHERE failure.namespace_id = %(namespace)s
  AND memory.repository_id = %(repository)s
  AND memory.state = 'active'
  AND (memory.expires_at IS NULL OR memory.expires_at > %(now)s)
  AND (memory.visibility <> 'private' OR memory.author_id = %(user)s)
  AND memory.branch IN ('', %(branch)s)
  AND (failure.paths && %(paths)s::varchar[]
       OR failure.symbols && %(names)s::varchar[]
       OR failure.command_prefix = %(prefix)s)
  AND (told.last IS NULL OR told.last <= %(quiet)s)
ORDER BY failure.last_seen_at DESC
LIMIT 30

-- Reads of graph.queries that are clearer as SQL. Each begins with a line "-- name: ...".

-- name: important_nodes
-- The highest ranks whose nodes are live: scores of what is gone stay until the next ranking. Each
-- repository is read from its best node downwards, until enough are found; a scalar subquery where
-- `exists` would read better, because PostgreSQL answers that one for every symbol at once.
select best.node, repository.namespace_id
from graph_repository repository
cross join lateral (
    select score.node, score.rank from graph_nodescore score
    where score.repository_id = repository.id
        and case score.node >> 48
            when %(symbol_label)s then (
                select true from graph_symbol symbol
                join graph_symbolversion version on version.symbol_id = symbol.id
                where symbol.id = score.node & (1::bigint << 48) - 1 and symbol.kind = any (%(kinds)s)
                    and {seen}
                limit 1)
            when %(file_label)s then %(with_files)s and (
                select true from graph_fileversion version
                where version.file_id = score.node & (1::bigint << 48) - 1 and not version.is_removed and {seen}
                limit 1)
            else false end
    order by score.rank desc
    limit %(limit)s
) best
where repository.id = any (%(repositories)s)
order by best.rank desc, best.node
limit %(limit)s

-- name: important_in_namespace
-- The same over the ranks of a whole namespace, in the repositories that were asked about.
select score.node from graph_namespacescore score
where score.namespace_id = %(namespace)s and score.repository_id = any (%(repositories)s)
    and case score.node >> 48
        when %(symbol_label)s then (
            select true from graph_symbol symbol
            join graph_symbolversion version on version.symbol_id = symbol.id
            where symbol.id = score.node & (1::bigint << 48) - 1 and symbol.kind = any (%(kinds)s)
                and version.layer = %(layer)s and version.valid_to is null
            limit 1)
        when %(file_label)s then %(with_files)s and (
            select true from graph_fileversion version
            where version.file_id = score.node & (1::bigint << 48) - 1
                and version.layer = %(layer)s and version.valid_to is null
            limit 1)
        else false end
order by score.rank desc
limit %(limit)s

-- name: files_below
-- The live files below a directory (a prefix that ends in a slash, or nothing), how many symbols
-- each has and what their ranks and its own sum to.
select file.path, coalesce(symbols.number, 0), coalesce(symbols.rank, 0) + coalesce(score.rank, 0)
from graph_fileversion version
join graph_sourcefile file on file.id = version.file_id
left join graph_nodescore score on score.node = %(file_label)s::bigint << 48 | file.id
left join (
    select symbol.file_id, count(*) as number, sum(own.rank) as rank
    from graph_symbolversion symbol
    left join graph_nodescore own on own.node = %(symbol_label)s::bigint << 48 | symbol.symbol_id
    where symbol.repository_id = %(repository)s and {symbol_seen}
    group by symbol.file_id
) symbols on symbols.file_id = file.id
where version.repository_id = %(repository)s and not version.is_removed and {file_seen}
    and starts_with(file.path, %(prefix)s)

-- name: vertices_by_id
-- What text ids of a repository mean in a view; each id comes with all its readings.
with wanted as (
    select * from unnest(%(uids)s::text[], %(paths)s::text[], %(local_names)s::text[], %(ordinals)s::int[])
        as reading (uid, path, local_name, ordinal)
)
select wanted.uid, %(symbol_label)s::bigint << 48 | symbol.id, symbol.kind::text, symbol.path
from wanted
join graph_symbol symbol
    on symbol.repository_id = %(repository)s and symbol.path = wanted.path
        and symbol.local_name = wanted.local_name and symbol.ordinal = wanted.ordinal
join graph_symbolversion version on version.symbol_id = symbol.id and {symbol_is_seen}
where wanted.local_name is not null
union all
select wanted.uid, %(file_label)s::bigint << 48 | file.id, 'file', file.path
from wanted
join graph_sourcefile file on file.repository_id = %(repository)s and file.path = wanted.path
join graph_fileversion version on version.file_id = file.id and not version.is_removed and {file_is_seen}
where wanted.local_name is null
union all
select entity.key, entity.label::bigint << 48 | entity.id, '', null
from graph_entity entity
join graph_repository repository on repository.namespace_id = entity.namespace_id
where repository.id = %(repository)s and entity.label between 5 and 8 and entity.key = any (%(keys)s)

-- name: nodes_of
-- Files and symbols of a namespace by their keys; what a file has not is null.
select version.symbol_id, version.repository_id, symbol.path, version.language, version.end_line, symbol.kind,
    symbol.name, symbol.local_name, symbol.ordinal, version.qualified_name, version.start_line, version.signature,
    version.doc, version.visibility, version.is_test, version.parameters, version.decorators, version.cyclomatic,
    version.cognitive
from graph_symbolversion version
join graph_symbol symbol on symbol.id = version.symbol_id
where version.symbol_id = any ((select %(symbols)s::bigint[])::bigint[]) and {seen}
    and version.repository_id in (select id from graph_repository where namespace_id = %(namespace)s)
union all
select version.file_id, version.repository_id, file.path, version.language, version.lines, null, null, null, null,
    null, null, null, null, null, null, null, null, null, null
from graph_fileversion version
join graph_sourcefile file on file.id = version.file_id
where version.file_id = any ((select %(files)s::bigint[])::bigint[]) and not version.is_removed and {seen}
    and version.repository_id in (select id from graph_repository where namespace_id = %(namespace)s)

-- name: nodes_named
-- What a text id names in a repository, as nodes_of shows it; a file when there are no local names.
select version.symbol_id, version.repository_id, symbol.path, version.language, version.end_line, symbol.kind,
    symbol.name, symbol.local_name, symbol.ordinal, version.qualified_name, version.start_line, version.signature,
    version.doc, version.visibility, version.is_test, version.parameters, version.decorators, version.cyclomatic,
    version.cognitive
from unnest((select %(paths)s::text[]), (select %(local_names)s::text[]), (select %(ordinals)s::int[]))
    as wanted (path, local_name, ordinal)
join graph_symbol symbol
    on symbol.repository_id = %(repository)s and symbol.path = wanted.path
        and symbol.local_name = wanted.local_name and symbol.ordinal = wanted.ordinal
join graph_symbolversion version on version.symbol_id = symbol.id and {seen}
where wanted.local_name is not null
union all
select version.file_id, version.repository_id, file.path, version.language, version.lines, null, null, null, null,
    null, null, null, null, null, null, null, null, null, null
from unnest((select %(paths)s::text[]), (select %(local_names)s::text[])) as wanted (path, local_name)
join graph_sourcefile file on file.repository_id = %(repository)s and file.path = wanted.path
join graph_fileversion version on version.file_id = file.id and not version.is_removed and {seen}
where wanted.local_name is null

-- name: nodes_meant
-- What names mean in a repository, as nodes_of shows it, with the name and the reading in front: of
-- every name the nodes of its most exact reading, the most important first. Ends of paths are the
-- sixth reading (`files_ending`): they take reading every path.
with meant as (
    select wanted.text, 1 as reading, null::bigint as symbol_version, version.id as file_version,
        %(file_label)s::bigint << 48 | file.id as vertex
    from unnest((select %(texts)s::text[]), (select %(paths)s::text[])) as wanted (text, path)
    join graph_sourcefile file on file.repository_id = %(repository)s and file.path = wanted.path
    join graph_fileversion version on version.file_id = file.id and not version.is_removed and {seen}
    union all
    select wanted.text, 2, version.id, null, %(symbol_label)s::bigint << 48 | symbol.id
    from unnest((select %(id_texts)s::text[]), (select %(id_paths)s::text[]), (select %(local_names)s::text[]),
        (select %(ordinals)s::int[])) as wanted (text, path, local_name, ordinal)
    join graph_symbol symbol
        on symbol.repository_id = %(repository)s and symbol.path = wanted.path
            and symbol.local_name = wanted.local_name and symbol.ordinal = wanted.ordinal
    join graph_symbolversion version on version.symbol_id = symbol.id and {seen}
    union all
    select wanted.text, 3, version.id, null, %(symbol_label)s::bigint << 48 | version.symbol_id
    from unnest((select %(whole_texts)s::text[]), (select %(wholes)s::text[])) as wanted (text, whole)
    join graph_symbolversion version
        on version.repository_id = %(repository)s and version.qualified_name = wanted.whole and {seen}
    union all
    select named.text, named.reading, named.version, null, %(symbol_label)s::bigint << 48 | named.symbol
    from (
        select wanted.text, version.id as version, symbol.id as symbol, case
            when symbol.local_name = wanted.dotted then 4
            when right(version.qualified_name, length(wanted.dotted) + 1) = '.' || wanted.dotted then 5
            when symbol.name = wanted.dotted then 7
        end as reading
        from unnest((select %(name_texts)s::text[]), (select %(names)s::text[]), (select %(dotted)s::text[]))
            as wanted (text, name, dotted)
        join graph_symbol symbol on symbol.repository_id = %(repository)s and symbol.name = wanted.name
        join graph_symbolversion version on version.symbol_id = symbol.id and {seen}
    ) named
    where named.reading is not null
),
exact as (
    select *, min(reading) over (partition by text) as best from meant
),
ranked as (
    select exact.*, row_number() over (
        partition by exact.text
        order by score.rank desc nulls last, coalesce(exact.symbol_version, exact.file_version)
    ) as place
    from exact
    left join graph_nodescore score on score.node = exact.vertex
    where exact.reading = exact.best
)
select ranked.text, ranked.reading, ranked.place, version.symbol_id, version.repository_id, symbol.path, version.language,
    version.end_line, symbol.kind, symbol.name, symbol.local_name, symbol.ordinal, version.qualified_name,
    version.start_line, version.signature, version.doc, version.visibility, version.is_test, version.parameters,
    version.decorators, version.cyclomatic, version.cognitive
from ranked
join graph_symbolversion version on version.id = ranked.symbol_version
join graph_symbol symbol on symbol.id = version.symbol_id
where ranked.place <= %(limit)s
union all
select ranked.text, ranked.reading, ranked.place, version.file_id, version.repository_id, file.path, version.language,
    version.lines, null, null, null, null, null, null, null, null, null, null, null, null, null, null
from ranked
join graph_fileversion version on version.id = ranked.file_version
join graph_sourcefile file on file.id = version.file_id
where ranked.place <= %(limit)s
order by 1, 3

-- name: files_ending
-- The files whose paths end like this, the most important first for each; reads every path of the
-- repository, once (4 ms for 7,000).
select ranked.text, 6, ranked.place, ranked.file_id, ranked.repository_id, ranked.path, ranked.language,
    ranked.lines, null, null, null, null, null, null, null, null, null, null, null, null, null, null
from (
    select wanted.text, version.file_id, version.repository_id, file.path, version.language, version.lines,
        row_number() over (
            partition by wanted.text order by score.rank desc nulls last, version.id
        ) as place
    from graph_sourcefile file
    join unnest((select %(texts)s::text[]), (select %(ends)s::text[])) as wanted (text, ending)
        on right(file.path, length(wanted.ending)) = wanted.ending
    join graph_fileversion version on version.file_id = file.id and not version.is_removed and {seen}
    left join graph_nodescore score on score.node = (%(file_label)s::bigint << 48 | file.id)
    where file.repository_id = %(repository)s
) ranked
where ranked.place <= %(limit)s
order by 1, 3

-- name: ref_state
-- What is known of a ref, or of the default branch when none is named; only its name when it was
-- never seen. A layer that is gone shows as none.
select coalesce(ref.name, nullif(%(ref)s::text, ''), repository.default_branch), ref.head_commit, ref.indexed_commit,
    ref.commits_behind, ref.indexed_at, layer.id, layer.base_revision_id
from graph_repository repository
left join graph_ref ref
    on ref.repository_id = repository.id and ref.name = coalesce(%(ref)s::text, repository.default_branch)
left join graph_layer layer on layer.id = ref.layer and ref.layer > 0
where repository.id = %(repository)s

-- name: ref_states
-- What ref_state says, of as many refs as are asked for.
select coalesce(ref.name, nullif(asked.name, ''), repository.default_branch), ref.head_commit, ref.indexed_commit,
    ref.commits_behind, ref.indexed_at, layer.id, layer.base_revision_id, repository.id, asked.name
from unnest(%(repositories)s::uuid[], %(refs)s::text[]) asked (repository_id, name)
join graph_repository repository on repository.id = asked.repository_id
left join graph_ref ref
    on ref.repository_id = repository.id and ref.name = coalesce(asked.name, repository.default_branch)
left join graph_layer layer on layer.id = ref.layer and ref.layer > 0

-- name: repositories_named
-- The repositories of some namespaces with an id or, when there is none, a name.
select id, namespace_id, name, url, default_branch from graph_repository
where namespace_id = any (%(namespaces)s::uuid[])
    and (id = %(id)s::uuid or %(id)s::uuid is null and name = %(name)s::text)
order by name

-- name: scores_of
-- What the last ranking says of some vertices.
select node, rank, percentile, in_degree from graph_nodescore
where node = any ((select %(vertices)s::bigint[])::bigint[])

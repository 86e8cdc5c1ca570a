-- The generators of graph.search: each returns symbol keys and scores, best first, and applies the
-- same filters; {seen} is the condition that the view shows the version. What is equally good comes in the
-- order of paths and names, not of ids: a branch answers what a fresh index of it would. Each begins with a
-- line "-- name: ...".

-- name: by_name
-- Symbols called so: bare name, name in the file, whole qualified name. More of the name is better.
with named as (
    select id from graph_symbol symbol
    where symbol.repository_id = any (%(repositories)s)
        and (symbol.name = any (%(names)s)
            or symbol.name = any (select substring(n from '[^.]*$') from unnest(%(names)s::text[]) n)
                and symbol.local_name = any (%(names)s))
    union
    select symbol_id from graph_symbolversion version
    where version.repository_id = any (%(repositories)s) and version.qualified_name = any (%(names)s)
)
select symbol.id,
    case when version.qualified_name = any (%(names)s) then 3 when symbol.local_name = any (%(names)s) then 2 else 1 end
    as score
from named
join graph_symbol symbol on symbol.id = named.id
join graph_symbolversion version on version.symbol_id = symbol.id and {seen}
left join graph_nodescore rank on rank.node = 3::bigint << 48 | symbol.id
where (%(kind)s::text is null or symbol.kind = %(kind)s)
    and (%(language)s::text is null or version.language = %(language)s)
    and starts_with(symbol.path, %(prefix)s)
order by score desc, rank.rank desc nulls last,
    symbol.path, symbol.local_name, symbol.kind, symbol.ordinal
limit %(limit)s

-- name: by_words_bm25
-- The index yields its rows in order and goes on until enough of them pass the filters.
select symbol.id, symbol.score
from (
    select symbol.*, -(version.tokens <@> to_bm25query(%(words)s, %(index)s)) as score
    from graph_symbolversion version
    join graph_symbol symbol on symbol.id = version.symbol_id
    where version.repository_id = any (%(repositories)s) and {seen}
        and (%(kind)s::text is null or symbol.kind = %(kind)s)
        and (%(language)s::text is null or version.language = %(language)s)
        and starts_with(symbol.path, %(prefix)s)
    order by version.tokens <@> to_bm25query(%(words)s, %(index)s)
    limit %(limit)s
) symbol
order by score desc, symbol.path, symbol.local_name, symbol.kind, symbol.ordinal

-- name: by_words
-- Without BM25: any of the words, ranked by stock full-text search over all that match.
select symbol.id, ts_rank(to_tsvector('simple', version.tokens), to_tsquery('simple', %(question)s)) as score
from graph_symbolversion version
join graph_symbol symbol on symbol.id = version.symbol_id
where to_tsvector('simple', version.tokens) @@ to_tsquery('simple', %(question)s)
    and version.repository_id = any (%(repositories)s) and {seen}
    and (%(kind)s::text is null or symbol.kind = %(kind)s)
    and (%(language)s::text is null or version.language = %(language)s)
    and starts_with(symbol.path, %(prefix)s)
order by score desc, symbol.path, symbol.local_name, symbol.kind, symbol.ordinal
limit %(limit)s

-- name: by_meaning_indexed
-- The same through one large repository's index of the model: id and length are literals, as the index's
-- own are. The index yields nearest rows, and goes on until enough of them pass the filters.
select symbol.id, 1 - (version.embedding::halfvec({dimensions}) <=> %(vector)s::halfvec) as score
from graph_symbolversion version
join graph_symbol symbol on symbol.id = version.symbol_id
where version.repository_id = {repository} and version.layer = 0 and version.valid_to is null
    and version.embedding_fingerprint = %(fingerprint)s
    and (%(kind)s::text is null or symbol.kind = %(kind)s)
    and (%(language)s::text is null or version.language = %(language)s)
    and starts_with(symbol.path, %(prefix)s)
order by version.embedding::halfvec({dimensions}) <=> %(vector)s::halfvec
limit %(limit)s

-- name: by_meaning
-- Cosine similarity to vectors of the same model, exact.
select symbol.id, 1 - (version.embedding <=> %(vector)s::halfvec) as score
from graph_symbolversion version
join graph_symbol symbol on symbol.id = version.symbol_id
where version.repository_id = any (%(repositories)s) and {seen}
    and version.embedding is not null and version.embedding_fingerprint = %(fingerprint)s
    and (%(kind)s::text is null or symbol.kind = %(kind)s)
    and (%(language)s::text is null or version.language = %(language)s)
    and starts_with(symbol.path, %(prefix)s)
order by version.embedding <=> %(vector)s::halfvec, symbol.path, symbol.local_name, symbol.kind, symbol.ordinal
limit %(limit)s

-- name: files_of
-- The files of some symbols, with which of these are theirs, and some other files, by their keys; of a
-- repository of few files, all.
with found as (
    select version.file_id, array_agg(version.symbol_id) as symbols
    from graph_symbolversion version
    where version.symbol_id = any (%(symbols)s) and {seen}
    group by version.file_id
)
select source.path, source.id, file_version.blob, coalesce(found.symbols, '{{}}')
from graph_fileversion file_version
join graph_sourcefile source on source.id = file_version.file_id
left join found on found.file_id = source.id
where {shown}
    and (found.file_id is not null or source.id = any (%(files)s)
        or %(few)s >= (
            select count(*) from graph_fileversion file_version
            where file_version.repository_id = any (%(repositories)s) and {shown}))
    and not file_version.is_removed and file_version.repository_id = any (%(repositories)s)
    and (%(language)s::text is null or file_version.language = %(language)s)
    and starts_with(source.path, %(prefix)s)

-- name: texts_of
-- What the symbols of some files say; of classes, whose members speak for themselves, the head.
select version.file_id, symbol.id, symbol.kind, version.is_test, version.end_line - version.start_line + 1,
    case when symbol.kind in ('class', 'interface', 'module', 'enum')
        then version.signature || ' ' || version.doc else version.source_text end
from graph_symbolversion version
join graph_symbol symbol on symbol.id = version.symbol_id
where version.file_id = any (%(files)s) and {seen}
order by version.start_line, symbol.local_name, symbol.ordinal

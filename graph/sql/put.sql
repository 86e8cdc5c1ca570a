-- The statements of graph.services.writer, in the order in which they run. Each begins with a line
-- "-- name: ..." and a sentence; {graph} and {label} are identifiers, {live} and {own} are the
-- conditions that an edge lives on the default branch and that it is of an overlay, {f} {c} {r} {o}
-- {s} {l} are properties of the edge e (see schema.sql). Rows are opened and closed, never corrected:
-- what an overlay over an older revision shows must stay. In overlays they are dropped, not closed.
-- Identities are inserted in one order everywhere, so that two writers never wait for each other.

-- name: make_staging
-- Empty tables for what differs, gone with the transaction; a transaction may put more than once.
create temp table if not exists put_file (
    path text not null, is_gone bool not null, is_removed bool not null, symbols_changed bool not null,
    edges_changed bool not null, blob text, size bigint, lines int, language text, skipped text,
    symbols_digest bytea, edges_digest bytea, file_id bigint
) on commit drop;
create temp table if not exists put_symbol (
    path text not null, local_name text not null, kind text not null, ordinal int not null,
    qualified_name text not null, name text not null
) on commit drop;
create temp table if not exists put_version (
    symbol_id bigint not null, file_id bigint not null, qualified_name text not null, start_line int not null,
    end_line int not null, language text not null, visibility text not null, is_test bool not null,
    signature text not null, doc text not null, source_text text not null, parameters text[] not null,
    decorators text[] not null, cyclomatic int not null, cognitive int not null, body_hash text not null,
    tokens text not null, embedding_digest bytea not null
) on commit drop;
create temp table if not exists put_node (
    uid text not null, path text not null, local_name text, kind text, ordinal int
) on commit drop;
create temp table if not exists put_edge (
    label text not null, source bigint not null, target bigint not null, file_id bigint not null,
    confidence float8 not null, rule text not null, line_offset int not null, sources int not null
) on commit drop;
create temp table if not exists put_vertex (
    id bigint not null, properties ag_catalog.agtype not null
) on commit drop;
truncate put_file, put_symbol, put_version, put_node, put_edge, put_vertex;
-- The planner cannot know how many rows of a file are live, and mistakes them for one: with these
-- its nested loops are cheap even so.
create index if not exists put_version_symbol on put_version (symbol_id);
create index if not exists put_edge_ends on put_edge (label, source, target)

-- name: add_source_files
-- Paths never seen before get an identity.
insert into graph_sourcefile (repository_id, path)
select %(repository)s, path from put_file staged
where not is_gone and not is_removed and not exists (
    select from graph_sourcefile file where file.repository_id = %(repository)s and file.path = staged.path)
order by path
on conflict do nothing

-- name: identify_files
update put_file staged set file_id = file.id
from graph_sourcefile file where file.repository_id = %(repository)s and file.path = staged.path

-- name: close_file_versions
update graph_fileversion version set valid_to = %(at)s
from put_file staged
where version.file_id = staged.file_id and version.layer = %(layer)s and version.valid_to is null

-- name: drop_file_versions
delete from graph_fileversion version using put_file staged
where version.file_id = staged.file_id and version.layer = %(layer)s

-- name: open_file_versions
insert into graph_fileversion (
    file_id, repository_id, layer, is_removed, blob, size, lines, language, skipped, symbols_digest, edges_digest,
    valid_from)
select file_id, %(repository)s, %(layer)s, is_removed, blob, size, lines, language, skipped, symbols_digest,
    edges_digest, %(at)s
from put_file where not is_gone and file_id is not null

-- name: add_symbols
-- Definitions never seen before get an identity.
insert into graph_symbol (repository_id, path, local_name, kind, ordinal, qualified_name, name)
select %(repository)s, path, local_name, kind, ordinal, qualified_name, name from put_symbol staged
where not exists (
    select from graph_symbol symbol
    where symbol.repository_id = %(repository)s and symbol.path = staged.path
        and symbol.local_name = staged.local_name and symbol.kind = staged.kind and symbol.ordinal = staged.ordinal)
order by path, local_name, kind, ordinal
on conflict do nothing

-- name: rename_symbols
-- The module path in front of a name follows from more than its file (Go: the module's own name).
update graph_symbol symbol set qualified_name = staged.qualified_name, name = staged.name
from put_symbol staged
where symbol.repository_id = %(repository)s and symbol.path = staged.path
    and symbol.local_name = staged.local_name and symbol.kind = staged.kind and symbol.ordinal = staged.ordinal
    and (symbol.qualified_name, symbol.name) is distinct from (staged.qualified_name, staged.name)

-- name: identify_symbols
select symbol.path, symbol.local_name, symbol.ordinal, symbol.id, file.file_id
from put_symbol staged
join put_file file on file.path = staged.path
join graph_symbol symbol
    on symbol.repository_id = %(repository)s and symbol.path = staged.path
        and symbol.local_name = staged.local_name and symbol.kind = staged.kind and symbol.ordinal = staged.ordinal

-- name: fill_words_index_in_bulk
-- Until the end of the transaction BM25 gathers 32 MB of new words, not half a megabyte, before it sorts
-- them into its index: a fifth of the time. A server may lack the extension, or this grant of provision.sql.
select set_config('pg_textsearch.memtable_pages_threshold', '4096', true)
where has_parameter_privilege('pg_textsearch.memtable_pages_threshold', 'set')

-- name: close_symbol_versions
-- A version ends when the symbol is gone, says something else, or stands elsewhere.
update graph_symbolversion version set valid_to = %(at)s
from put_file file
where version.file_id = file.file_id and file.symbols_changed
    and version.layer = %(layer)s and version.valid_to is null
    and not exists (
        select from put_version staged
        where staged.symbol_id = version.symbol_id
            and (staged.qualified_name, staged.start_line, staged.end_line, staged.language, staged.visibility,
                staged.is_test, staged.signature, staged.doc, staged.source_text, staged.parameters,
                staged.decorators, staged.cyclomatic, staged.cognitive, staged.body_hash, staged.tokens,
                staged.embedding_digest)
            = (version.qualified_name, version.start_line, version.end_line, version.language, version.visibility,
                version.is_test, version.signature, version.doc, version.source_text, version.parameters,
                version.decorators, version.cyclomatic, version.cognitive, version.body_hash, version.tokens,
                version.embedding_digest))

-- name: drop_symbol_versions
delete from graph_symbolversion version using put_file file
where version.file_id = file.file_id and file.symbols_changed and version.layer = %(layer)s

-- name: open_symbol_versions
-- What was embedded before (the symbol moved, or was copied) brings its newest vector along.
insert into graph_symbolversion (
    symbol_id, repository_id, file_id, layer, qualified_name, start_line, end_line, language, visibility, is_test,
    signature, doc, source_text, parameters, decorators, cyclomatic, cognitive, body_hash, tokens, embedding_digest,
    embedding, embedding_fingerprint, valid_from)
select staged.symbol_id, %(repository)s, staged.file_id, %(layer)s, staged.qualified_name, staged.start_line,
    staged.end_line, staged.language, staged.visibility, staged.is_test, staged.signature, staged.doc,
    staged.source_text, staged.parameters, staged.decorators, staged.cyclomatic, staged.cognitive, staged.body_hash,
    staged.tokens, staged.embedding_digest,
    known.embedding, coalesce(known.embedding_fingerprint, ''), %(at)s
from put_version staged
left join (
    select distinct on (embedding_digest) embedding_digest, embedding, embedding_fingerprint
    from graph_symbolversion
    where embedding is not null and embedding_digest in (select embedding_digest from put_version)
    order by embedding_digest, id desc
) known on known.embedding_digest = staged.embedding_digest
where not exists (
    select from graph_symbolversion version
    where version.symbol_id = staged.symbol_id and version.layer = %(layer)s and version.valid_to is null)

-- name: stage_symbol_vertices
-- Vertices as they should be, of all symbols that the changed files have now or had until now.
insert into put_vertex
select %(symbol_label)s::bigint << 48 | symbol.id,
    ag_catalog.agtype_build_map(
        'head'::text, version.valid_to is null,
        'uid'::text, 'sym:' || symbol.path || '#' || symbol.local_name
            || case when symbol.ordinal > 0 then '~' || symbol.ordinal else '' end,
        'name'::text, symbol.name, 'qname'::text, symbol.qualified_name, 'kind'::text, symbol.kind::text,
        'path'::text, symbol.path, 'repo'::text, symbol.repository_id::text, 'lang'::text, version.language::text,
        'vf'::text, %(at)s::bigint, 'vt'::text, coalesce(version.valid_to, %(open)s))
from (
    select distinct on (version.symbol_id) version.symbol_id, version.language, version.valid_to
    from put_file file
    join graph_symbolversion version on version.file_id = file.file_id
    where file.symbols_changed and version.layer = %(layer)s
        and (version.valid_to is null or version.valid_to = %(at)s)
    order by version.symbol_id, version.valid_to desc nulls first
) version
join graph_symbol symbol on symbol.id = version.symbol_id

-- name: stage_file_vertices
insert into put_vertex
select %(file_label)s::bigint << 48 | file.file_id,
    ag_catalog.agtype_build_map(
        'head'::text, version.valid_to is null,
        'uid'::text, 'file:' || file.path, 'name'::text, regexp_replace(file.path, '^.*/', ''),
        'qname'::text, file.path, 'kind'::text, 'file'::text, 'path'::text, file.path,
        'repo'::text, %(repository)s::uuid::text, 'lang'::text, version.language::text,
        'vf'::text, %(at)s::bigint, 'vt'::text, coalesce(version.valid_to, %(open)s))
from (
    select distinct on (version.file_id) version.file_id, file.path, version.language, version.valid_to
    from put_file file
    join graph_fileversion version on version.file_id = file.file_id
    where version.layer = %(layer)s and (version.valid_to is null or version.valid_to = %(at)s)
    order by version.file_id, version.valid_to desc nulls first
) version
join put_file file on file.file_id = version.file_id

-- name: stage_overlay_vertices
-- What only an overlay has says nothing to those who read the graph by Cypher: it may be private.
insert into put_vertex
select vertex, ag_catalog.agtype_build_map('head'::text, false)
from (
    select %(symbol_label)s::bigint << 48 | symbol_id as vertex from put_version
    union all
    select %(file_label)s::bigint << 48 | file_id from put_file where not is_gone and not is_removed
) staged

-- name: add_overlay_vertices
insert into {graph}.{label} (id, properties)
select staged.id::ag_catalog.graphid, staged.properties from put_vertex staged
where staged.id >> 48 = %(label_id)s
order by staged.id
on conflict (id) do nothing

-- name: put_vertices
-- A vertex that was there before keeps the revision that it is there since.
insert into {graph}.{label} as vertex (id, properties)
select staged.id::ag_catalog.graphid, staged.properties from put_vertex staged
where staged.id >> 48 = %(label_id)s
order by staged.id
on conflict (id) do update
set properties = excluded.properties operator(ag_catalog.||)
    ag_catalog.agtype_build_map('vf'::text, coalesce({since}::bigint, %(at)s))
where vertex.properties operator(ag_catalog.<>) (
    excluded.properties operator(ag_catalog.||)
    ag_catalog.agtype_build_map('vf'::text, coalesce({since}::bigint, %(at)s)))

-- name: resolve_nodes
-- The vertices that staged edges begin and end at.
select node.uid, %(file_label)s::bigint << 48 | file.id
from put_node node
join graph_sourcefile file on file.repository_id = %(repository)s and file.path = node.path
where node.local_name is null
union all
select node.uid, %(symbol_label)s::bigint << 48 | symbol.id
from put_node node
join graph_symbol symbol
    on symbol.repository_id = %(repository)s and symbol.path = node.path
        and symbol.local_name = node.local_name and symbol.kind = node.kind and symbol.ordinal = node.ordinal

-- name: close_edges
-- Edges that end, or that are known better or mentioned on another line: those begin anew.
update {graph}.{label} e
set properties = e.properties operator(ag_catalog.||) ag_catalog.agtype_build_map(
    'head'::text, false, 'vt'::text, %(at)s::bigint)
from put_file file
where {live} and {f}::bigint = file.file_id and file.edges_changed and {s}::bigint < %(crossing)s
    and not exists (
        select from put_edge staged
        where staged.label = %(label)s and staged.source = e.start_id::bigint and staged.target = e.end_id::bigint
            and (staged.confidence, staged.rule, staged.line_offset::bigint, staged.sources::bigint)
            = ({c}::float8, {r}::text, {o}::bigint, {s}::bigint))

-- name: drop_edges
delete from {graph}.{label} e using put_file file
where {own} and {l}::bigint = %(layer)s and {f}::bigint = file.file_id and file.edges_changed

-- name: open_edges
insert into {graph}.{label} (start_id, end_id, properties)
select staged.source::ag_catalog.graphid, staged.target::ag_catalog.graphid,
    ag_catalog.agtype_build_map(
        'head'::text, %(layer)s = 0, 'l'::text, %(layer)s::bigint, 'f'::text, staged.file_id,
        'vf'::text, %(at)s::bigint, 'vt'::text, %(open)s::bigint, 'c'::text, staged.confidence,
        'r'::text, staged.rule, 'o'::text, staged.line_offset, 's'::text, staged.sources)
from put_edge staged
where staged.label = %(label)s and not exists (
    select from {graph}.{label} e
    where {live} and %(layer)s = 0 and {s}::bigint < %(crossing)s
        and e.start_id = staged.source::ag_catalog.graphid and e.end_id = staged.target::ag_catalog.graphid)

-- name: ended_nodes
-- Of the files that changed: what they had at any time and that is not seen now.
select %(symbol_label)s::bigint << 48 | symbol.id
from put_file file
join graph_symbol symbol on symbol.repository_id = %(repository)s and symbol.path = file.path
where not exists (select from graph_symbolversion version where version.symbol_id = symbol.id and {seen})
union all
select %(file_label)s::bigint << 48 | file.file_id
from put_file file
where file.file_id is not null and not exists (
    select from graph_fileversion version
    where version.file_id = file.file_id and not version.is_removed and {seen})

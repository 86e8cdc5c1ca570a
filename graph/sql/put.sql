-- The statements of graph.services.snapshots.put, in the order in which they run. Each begins with
-- a line "-- name: ..." and a sentence; {graph} and {label} are identifiers, {live} is the condition
-- that an edge lives, {f} {c} {r} {o} are properties of the edge e (see schema.sql).

-- name: make_staging
-- Empty tables for what differs, gone with the transaction; a transaction may put more than once.
create temp table if not exists put_file (
    path text not null, is_removed bool not null, symbols_changed bool not null, edges_changed bool not null,
    blob text, size bigint, lines int, language text, skipped text, symbols_digest bytea, edges_digest bytea,
    file_id bigint
) on commit drop;
create temp table if not exists put_symbol (
    path text not null, local_name text not null, kind text not null, ordinal int not null,
    qualified_name text not null, name text not null
) on commit drop;
create temp table if not exists put_version (
    symbol_id bigint not null, file_id bigint not null, start_line int not null, end_line int not null,
    language text not null, visibility text not null, is_test bool not null, signature text not null,
    doc text not null, source_text text not null, body_hash text not null, tokens text not null,
    embedding_digest bytea not null
) on commit drop;
create temp table if not exists put_node (
    uid text not null, path text not null, local_name text, kind text, ordinal int
) on commit drop;
create temp table if not exists put_edge (
    label text not null, source bigint not null, target bigint not null, file_id bigint not null,
    confidence float8 not null, rule text not null, line_offset int not null
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
where not is_removed and not exists (
    select from graph_sourcefile file where file.repository_id = %(repository)s and file.path = staged.path)

-- name: identify_files
update put_file staged set file_id = file.id
from graph_sourcefile file where file.repository_id = %(repository)s and file.path = staged.path

-- name: close_file_versions
-- Other contents end a version; other digests alone (a cleverer parser, another target) do not.
update graph_fileversion version set valid_to = greatest(version.valid_from, %(at)s)
from put_file staged
where version.file_id = staged.file_id and version.layer = %(layer)s and version.valid_to is null
    and (staged.is_removed or version.blob <> staged.blob)

-- name: update_file_versions
update graph_fileversion version
set size = staged.size, lines = staged.lines, language = staged.language, skipped = staged.skipped,
    symbols_digest = staged.symbols_digest, edges_digest = staged.edges_digest
from put_file staged
where version.file_id = staged.file_id and version.layer = %(layer)s and version.valid_to is null

-- name: open_file_versions
insert into graph_fileversion (
    file_id, repository_id, layer, blob, size, lines, language, skipped, symbols_digest, edges_digest, valid_from)
select file_id, %(repository)s, %(layer)s, blob, size, lines, language, skipped, symbols_digest, edges_digest, %(at)s
from put_file staged
where not is_removed and not exists (
    select from graph_fileversion version
    where version.file_id = staged.file_id and version.layer = %(layer)s and version.valid_to is null)

-- name: add_symbols
-- Definitions never seen before get an identity.
insert into graph_symbol (repository_id, path, local_name, kind, ordinal, qualified_name, name)
select %(repository)s, path, local_name, kind, ordinal, qualified_name, name from put_symbol staged
where not exists (
    select from graph_symbol symbol
    where symbol.repository_id = %(repository)s and symbol.path = staged.path
        and symbol.local_name = staged.local_name and symbol.kind = staged.kind and symbol.ordinal = staged.ordinal)

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

-- name: close_symbol_versions
-- A version ends when the symbol is gone or says something else; that it moved is no such thing.
update graph_symbolversion version set valid_to = greatest(version.valid_from, %(at)s)
from put_file file
where version.file_id = file.file_id and file.symbols_changed
    and version.layer = %(layer)s and version.valid_to is null
    and not exists (
        select from put_version staged
        where staged.symbol_id = version.symbol_id and staged.body_hash = version.body_hash
            and staged.signature = version.signature and staged.doc = version.doc)

-- name: update_symbol_versions
-- The vector goes when another text is to be embedded.
update graph_symbolversion version
set start_line = staged.start_line, end_line = staged.end_line, language = staged.language,
    visibility = staged.visibility, is_test = staged.is_test, source_text = staged.source_text,
    tokens = staged.tokens, embedding_digest = staged.embedding_digest,
    embedding = case when version.embedding_digest = staged.embedding_digest then version.embedding end,
    embedding_fingerprint =
        case when version.embedding_digest = staged.embedding_digest then version.embedding_fingerprint else '' end
from put_version staged
where version.symbol_id = staged.symbol_id and version.layer = %(layer)s and version.valid_to is null
    and (version.start_line, version.end_line, version.language, version.visibility, version.is_test,
        version.source_text, version.tokens, version.embedding_digest)
    is distinct from (staged.start_line, staged.end_line, staged.language, staged.visibility, staged.is_test,
        staged.source_text, staged.tokens, staged.embedding_digest)

-- name: open_symbol_versions
-- What was embedded before (the symbol moved, or was copied) brings its newest vector along.
insert into graph_symbolversion (
    symbol_id, repository_id, file_id, layer, start_line, end_line, language, visibility, is_test, signature, doc,
    source_text, body_hash, tokens, embedding_digest, embedding, embedding_fingerprint, valid_from)
select staged.symbol_id, %(repository)s, staged.file_id, %(layer)s, staged.start_line, staged.end_line,
    staged.language, staged.visibility, staged.is_test, staged.signature, staged.doc, staged.source_text,
    staged.body_hash, staged.tokens, staged.embedding_digest,
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
-- Vertices as they should be, of all symbols that the changed files ever had.
insert into put_vertex
select %(symbol_label)s::bigint << 48 | symbol.id,
    ag_catalog.agtype_build_map(
        'uid'::text, 'sym:' || symbol.path || '#' || symbol.local_name
            || case when symbol.ordinal > 0 then '~' || symbol.ordinal else '' end,
        'name'::text, symbol.name, 'qname'::text, symbol.qualified_name, 'kind'::text, symbol.kind::text,
        'path'::text, symbol.path, 'repo'::text, symbol.repository_id::text, 'lang'::text, span.language,
        'vf'::text, span.valid_from, 'vt'::text, span.valid_to)
from put_file file
join graph_symbol symbol on symbol.repository_id = %(repository)s and symbol.path = file.path
join lateral (
    select min(valid_from) as valid_from, max(coalesce(valid_to, %(open)s)) as valid_to,
        (array_agg(language::text order by id desc))[1] as language
    from graph_symbolversion version where version.symbol_id = symbol.id and version.layer = %(layer)s
) span on span.valid_from is not null
where file.symbols_changed

-- name: stage_file_vertices
insert into put_vertex
select %(file_label)s::bigint << 48 | file.file_id,
    ag_catalog.agtype_build_map(
        'uid'::text, 'file:' || file.path, 'name'::text, regexp_replace(file.path, '^.*/', ''),
        'qname'::text, file.path, 'kind'::text, 'file'::text, 'path'::text, file.path,
        'repo'::text, %(repository)s::uuid::text, 'lang'::text, span.language,
        'vf'::text, span.valid_from, 'vt'::text, span.valid_to)
from put_file file
join lateral (
    select min(valid_from) as valid_from, max(coalesce(valid_to, %(open)s)) as valid_to,
        (array_agg(language::text order by id desc))[1] as language
    from graph_fileversion version where version.file_id = file.file_id and version.layer = %(layer)s
) span on span.valid_from is not null

-- name: update_vertices
update {graph}.{label} vertex set properties = staged.properties
from put_vertex staged
where vertex.id = staged.id::ag_catalog.graphid and vertex.properties operator(ag_catalog.<>) staged.properties

-- name: add_vertices
insert into {graph}.{label} (id, properties)
select staged.id::ag_catalog.graphid, staged.properties from put_vertex staged
where staged.id >> 48 = %(label_id)s and not exists (
    select from {graph}.{label} vertex where vertex.id = staged.id::ag_catalog.graphid)

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
update {graph}.{label} e
set properties = e.properties operator(ag_catalog.||) ag_catalog.agtype_build_map(
    'head'::text, false, 'vt'::text, greatest({vf}::bigint, %(at)s::bigint))
from put_file file
where {live} and {f}::bigint = file.file_id and file.edges_changed
    and not exists (
        select from put_edge staged
        where staged.label = %(label)s and staged.source = e.start_id::bigint and staged.target = e.end_id::bigint)

-- name: update_edges
-- Known better, or mentioned on another line: still the same edge.
update {graph}.{label} e
set properties = e.properties operator(ag_catalog.||) ag_catalog.agtype_build_map(
    'c'::text, staged.confidence, 'r'::text, staged.rule, 'o'::text, staged.line_offset)
from put_edge staged
where staged.label = %(label)s and {live} and {f}::bigint = staged.file_id
    and e.start_id = staged.source::ag_catalog.graphid and e.end_id = staged.target::ag_catalog.graphid
    and ({c}::float8, {r}::text, {o}::bigint)
    is distinct from (staged.confidence, staged.rule, staged.line_offset::bigint)

-- name: open_edges
insert into {graph}.{label} (start_id, end_id, properties)
select staged.source::ag_catalog.graphid, staged.target::ag_catalog.graphid,
    ag_catalog.agtype_build_map(
        'head'::text, true, 'l'::text, %(layer)s::bigint, 'f'::text, staged.file_id, 'vf'::text, %(at)s::bigint,
        'vt'::text, %(open)s::bigint, 'c'::text, staged.confidence, 'r'::text, staged.rule,
        'o'::text, staged.line_offset)
from put_edge staged
where staged.label = %(label)s and not exists (
    select from {graph}.{label} e
    where {live} and e.start_id = staged.source::ag_catalog.graphid
        and e.end_id = staged.target::ag_catalog.graphid)

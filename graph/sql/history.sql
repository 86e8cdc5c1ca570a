-- The statements of graph.services.history. {graph} and {label} are identifiers.

-- name: stage_commits
create temp table if not exists history_commit (
    sha text not null, parents text[] not null, author_name text not null, author_email text not null,
    authored_at timestamptz not null, committed_at timestamptz not null, subject text not null, body text not null,
    is_bot bool not null, position int, landed int not null
) on commit drop;
truncate history_commit

-- name: leave_line
-- What came to the default branch after a position is not on it any more, unless it is found again.
update graph_commit set position = null, landed = null
where repository_id = %(repository)s and landed > %(position)s

-- name: add_commits
insert into graph_commit (
    repository_id, sha, parents, author_name, author_email, authored_at, committed_at, subject, body, is_bot,
    position, landed)
select %(repository)s, sha, parents, author_name, author_email, authored_at, committed_at, subject, body, is_bot,
    position, landed
from history_commit
on conflict (repository_id, sha) do update
set position = excluded.position, landed = excluded.landed, body = excluded.body, is_bot = excluded.is_bot

-- name: add_commit_vertices
insert into {graph}."Commit" (id, properties)
select (%(label)s::bigint << 48 | commit.id)::ag_catalog.graphid,
    ag_catalog.agtype_build_map(
        'uid'::text, 'commit:' || commit.sha, 'name'::text, left(commit.sha, 12), 'kind'::text, 'commit'::text,
        'subject'::text, commit.subject::text, 'author'::text, commit.author_name::text,
        'at'::text, extract(epoch from commit.committed_at)::bigint, 'repo'::text, commit.repository_id::text)
from graph_commit commit join history_commit staged on staged.sha = commit.sha
where commit.repository_id = %(repository)s
on conflict (id) do nothing

-- name: add_request_vertices
insert into {graph}."PullRequest" (id, properties)
select (%(label)s::bigint << 48 | request.id)::ag_catalog.graphid,
    ag_catalog.agtype_build_map(
        'uid'::text, 'pr:' || request.number, 'name'::text, '#' || request.number, 'kind'::text, 'pull_request'::text,
        'title'::text, request.title::text, 'at'::text, extract(epoch from request.merged_at)::bigint,
        'repo'::text, request.repository_id::text)
from graph_pullrequest request
where request.repository_id = %(repository)s and request.id = any (%(requests)s)
on conflict (id) do nothing

-- name: forget_parts
-- The same commits again: what they are part of is said anew.
delete from {graph}."PART_OF" where start_id = any (%(commits)s::bigint[]::ag_catalog.graphid[])

-- name: stage_events
create temp table if not exists history_symbol (
    path text not null, local_name text not null, kind text not null, ordinal int not null,
    qualified_name text not null, name text not null, language text not null
) on commit drop;
create temp table if not exists history_file (path text not null) on commit drop;
truncate history_symbol, history_file

-- name: add_symbols
-- Definitions that no indexed commit had get an identity, too.
insert into graph_symbol (repository_id, path, local_name, kind, ordinal, qualified_name, name)
select %(repository)s, path, local_name, kind, ordinal, qualified_name, name from history_symbol
on conflict do nothing

-- name: add_files
insert into graph_sourcefile (repository_id, path) select %(repository)s, path from history_file on conflict do nothing

-- name: identify_symbols
select symbol.path, symbol.local_name, symbol.kind, symbol.ordinal, symbol.id
from history_symbol staged
join graph_symbol symbol
    on symbol.repository_id = %(repository)s and symbol.path = staged.path
        and symbol.local_name = staged.local_name and symbol.kind = staged.kind and symbol.ordinal = staged.ordinal

-- name: identify_files
select file.path, file.id from history_file staged
join graph_sourcefile file on file.repository_id = %(repository)s and file.path = staged.path

-- name: add_symbol_vertices
-- Those that are live have theirs already; these say that they are not.
insert into {graph}."Symbol" (id, properties)
select (%(symbol_label)s::bigint << 48 | symbol.id)::ag_catalog.graphid,
    ag_catalog.agtype_build_map(
        'uid'::text, 'sym:' || symbol.path || '#' || symbol.local_name
            || case when symbol.ordinal > 0 then '~' || symbol.ordinal else '' end,
        'name'::text, symbol.name, 'qname'::text, symbol.qualified_name, 'kind'::text, symbol.kind::text,
        'path'::text, symbol.path, 'repo'::text, symbol.repository_id::text, 'lang'::text, staged.language,
        'head'::text, false)
from history_symbol staged
join graph_symbol symbol
    on symbol.repository_id = %(repository)s and symbol.path = staged.path
        and symbol.local_name = staged.local_name and symbol.kind = staged.kind and symbol.ordinal = staged.ordinal
on conflict (id) do nothing

-- name: add_file_vertices
insert into {graph}."File" (id, properties)
select (%(file_label)s::bigint << 48 | file.id)::ag_catalog.graphid,
    ag_catalog.agtype_build_map(
        'uid'::text, 'file:' || file.path, 'name'::text, regexp_replace(file.path, '^.*/', ''),
        'qname'::text, file.path, 'kind'::text, 'file'::text, 'path'::text, file.path,
        'repo'::text, file.repository_id::text, 'head'::text, false)
from history_file staged
join graph_sourcefile file on file.repository_id = %(repository)s and file.path = staged.path
on conflict (id) do nothing

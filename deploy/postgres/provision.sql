-- What one database needs before codemem's own role can use it. A superuser runs it on template1,
-- so that databases made later (test databases too) have it from birth, and on the application's
-- database. Running it again is safe; run it again after an extension was installed or updated,
-- and after a restore (deploy/restore.sh does).
\set ON_ERROR_STOP on
set client_min_messages = warning;

create extension if not exists vector;
create extension if not exists pg_trgm;
create extension if not exists age;

-- Served when the server has them: BM25 text search and query statistics.
do $$
declare
    wanted text;
begin
    foreach wanted in array array['pg_textsearch', 'pg_stat_statements'] loop
        if exists (select from pg_available_extensions where name = wanted)
            and wanted = any (string_to_array(replace(current_setting('shared_preload_libraries'), ' ', ''), ','))
        then
            execute format('create extension if not exists %I', wanted);
        end if;
    end loop;
    -- Whoever writes a whole repository may let its words be indexed in larger portions.
    if exists (select from pg_extension where extname = 'pg_textsearch') then
        grant set on parameter pg_textsearch.memtable_pages_threshold to public;
    end if;
end
$$;

grant usage on schema ag_catalog to public;
grant select on ag_catalog.ag_graph, ag_catalog.ag_label to public;

-- A graphid is an int8 with another name. AGE ships no cast; only a superuser may add one without
-- a function.
do $$
begin
    if not exists (
        select from pg_cast where castsource = 'bigint'::regtype and casttarget = 'ag_catalog.graphid'::regtype
    ) then
        create cast (bigint as ag_catalog.graphid) without function;
    end if;
    if not exists (
        select from pg_cast where castsource = 'ag_catalog.graphid'::regtype and casttarget = 'bigint'::regtype
    ) then
        create cast (ag_catalog.graphid as bigint) without function;
    end if;
end
$$;

-- AGE (1.5 to 1.8) registers > as ">=" and >= as ">" in its b-tree operator class, so a property
-- index loses the boundary row of ">=", and a partial index for "> 0" answers "= 0" with nothing.
-- Swap them back.
do $$
declare
    family constant oid := (select opcfamily from pg_opclass where opcname = 'agtype_ops_btree');
    greater constant oid := 'ag_catalog.>(ag_catalog.agtype,ag_catalog.agtype)'::regoperator;
    greater_or_equal constant oid := 'ag_catalog.>=(ag_catalog.agtype,ag_catalog.agtype)'::regoperator;
    greater_or_equal_strategy constant int := 4;
    greater_strategy constant int := 5;
    unused_strategy constant int := 104;
begin
    if exists (
        select from pg_amop
        where amopfamily = family and amopopr = greater and amopstrategy = greater_or_equal_strategy
    ) then
        -- Strategy numbers are unique within the family: go through a free one.
        update pg_amop set amopstrategy = unused_strategy where amopfamily = family and amopopr = greater;
        update pg_amop set amopstrategy = greater_or_equal_strategy
        where amopfamily = family and amopopr = greater_or_equal;
        update pg_amop set amopstrategy = greater_strategy where amopfamily = family and amopopr = greater;
    end if;
end
$$;

-- People's own Cypher (the tool graph_query) runs as a role that can read one graph and nothing else;
-- one role for each graph, which only a superuser may make. codemem asks for it with these functions.
create schema if not exists codemem_readers;
grant usage on schema codemem_readers to public;

create or replace function codemem_readers.role_of(graph text) returns text language sql stable
set search_path = pg_catalog as
$$
    -- Roles belong to the whole server, graphs to one database.
    select 'cm_' || left(md5(current_database()), 8) || '_' || graph
$$;

-- Make the reader of a graph, or give it another password, sent as a SCRAM verifier. Only for those
-- who own the graph.
create or replace function codemem_readers.admit(graph text, verifier text, mark text) returns text
language plpgsql security definer set search_path = pg_catalog as
$$
declare
    reader constant text := codemem_readers.role_of(graph);
    owner constant oid := (select nspowner from pg_namespace where nspname = graph);
begin
    if graph !~ '^ns_[0-9a-f]{32}$' or verifier !~ '^SCRAM-SHA-256\$' or owner is null
        or not pg_has_role(session_user, owner, 'usage')
    then
        raise insufficient_privilege using message = 'only the owner of a graph admits its reader';
    end if;
    if to_regrole(quote_ident(reader)) is null then
        execute format('create role %I', reader);
    end if;
    execute format('alter role %I with login password %L connection limit 12 noinherit nosuperuser'
        ' nocreatedb nocreaterole noreplication nobypassrls', reader, verifier);
    execute format('alter role %I set default_transaction_read_only = on', reader);
    execute format('alter role %I set statement_timeout = %L', reader, '10s');
    execute format('alter role %I set idle_session_timeout = %L', reader, '30s');
    execute format('alter role %I set temp_file_limit = %L', reader, '128MB');
    execute format('alter role %I set work_mem = %L', reader, '8MB');
    -- By the mark codemem knows which of its keys the password is from.
    execute format('comment on role %I is %L', reader, mark);
    return reader;
end
$$;

-- Take the reader of a graph away that is gone.
create or replace function codemem_readers.dismiss(graph text) returns void
language plpgsql security definer set search_path = pg_catalog as
$$
declare
    owner constant oid := (select nspowner from pg_namespace where nspname = 'codegraph');
begin
    if graph !~ '^ns_[0-9a-f]{32}$' or owner is null or not pg_has_role(session_user, owner, 'usage')
        or to_regnamespace(quote_ident(graph)) is not null
    then
        raise insufficient_privilege using message = 'only codemem dismisses readers, of graphs that are gone';
    end if;
    execute format('drop role if exists %I', codemem_readers.role_of(graph));
end
$$;

do $$
declare
    risky regprocedure;
begin
    -- Variable-length paths load a whole graph into memory, past row security and without a limit, and
    -- the others read files or nodes past row security: codemem uses none of them, nor shall readers.
    for risky in
        select oid::regprocedure from pg_proc
        where pronamespace = 'ag_catalog'::regnamespace and proname in (
            'age_vle', 'age_shortest_path', 'age_all_shortest_paths', 'age_startnode', 'age_endnode',
            'age_vertex_stats', 'age_graph_stats', 'load_labels_from_file', 'load_edges_from_file')
    loop
        execute format('revoke execute on function %s from public', risky);
    end loop;
    -- These compare, and tell nobody what: so indexes serve behind row security, too.
    for risky in
        select oid::regprocedure from pg_proc
        where pronamespace = 'ag_catalog'::regnamespace
            and proname in ('graphid_eq', 'agtype_eq', 'agtype_access_operator')
    loop
        execute format('alter function %s leakproof', risky);
    end loop;
end
$$;

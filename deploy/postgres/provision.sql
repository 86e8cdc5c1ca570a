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

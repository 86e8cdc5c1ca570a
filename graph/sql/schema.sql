-- What every AGE graph of a namespace is made of. Called as:
--
--   select codegraph.create_graph('ns_0190...')           labels, indexes, functions
--   select codegraph.upgrade_graph('ns_0190...')          what a graph lacks of all this
--
-- Everything here may be run again over what an earlier version of it made.
--
-- Label tables keep AGE's stock columns (added or generated ones break its variable-length paths);
-- all speed comes from partial and expression indexes over the properties.
--
-- Properties of a code edge:
--   head  true while the edge is live on the default branch; false once it ended, and in overlays
--   l     layer: 0 is the default branch, others are overlays of branches (graph_layer)
--   f     primary key of the source's file, so that a file's edges are found together
--   vf vt valid from, valid to: revisions (graph_revision); vt is 9999999999 while the edge lives
--   c r   confidence 0..1 and the rule that resolved the target
--   o     line of the first mention, counted from the source's first line: a function that moves
--         down its file changes no edge
--   s     layers of analysis that agree on it, bits (graph.values.EdgeSource)
-- Edges of lineage (MODIFIED_BY, PART_OF, CO_CHANGED) are permanent: of these they have c and r at
-- most, and indexes for both ends only.
-- Properties of RELATES_TO, which ties memories to code and to each other:
--   kind  the relation (RELATES_TO, SUPERSEDES, ...)
--   w     weight 0..1
--   by at who made it, and when (seconds)
-- Properties of a Symbol and a File:
--   head  true while the default branch has it; a vertex that only overlays have says nothing else
--   uid name qname kind path repo lang
--   vf vt the revisions from and to which the default branch had it
create schema if not exists codegraph;

-- The label ids follow from this order and are part of every stored graph id: only ever append.
create or replace function codegraph.vertex_labels() returns text[] language sql immutable as
$$
    select array['Symbol', 'File', 'Package', 'External', 'Endpoint', 'Topic', 'Commit', 'PullRequest', 'Memory']
$$;

create or replace function codegraph.code_edge_labels() returns text[] language sql immutable as
$$
    select array['CALLS', 'MAY_CALL', 'REFERENCES', 'IMPORTS', 'INHERITS', 'IMPLEMENTS', 'CONTAINS',
        'OVERRIDES', 'TYPE_OF', 'DEPENDS_ON', 'HANDLES', 'HTTP_CALLS', 'PUBLISHES_TO', 'SUBSCRIBES_TO']
$$;

-- The first of them are what snapshots say, in layers and by revision.
create or replace function codegraph.snapshot_edge_labels() returns text[] language sql immutable as
$$
    select (codegraph.code_edge_labels())[1:9]
$$;

create or replace function codegraph.lineage_edge_labels() returns text[] language sql immutable as
$$
    select array['MODIFIED_BY', 'PART_OF', 'CO_CHANGED']
$$;

-- Whoever has one of these edges to a node depends on that node. Candidates (MAY_CALL) are left out
-- so that facts stay few and index-only, CONTAINS because a folder depends on nothing.
create or replace function codegraph.dependency_labels() returns text[] language sql immutable as
$$
    select array['CALLS', 'REFERENCES', 'IMPORTS', 'INHERITS', 'IMPLEMENTS', 'OVERRIDES']
$$;

-- The text of an expression over a label table: a property, and a property as a number. Numbers are
-- compared as bigint because AGE's own b-tree operators for agtype have been wrong (provision.sql).
create or replace function codegraph.property(key text) returns text language sql immutable as
$$
    select format(
        'ag_catalog.agtype_access_operator(variadic array[properties, ''"%s"''::ag_catalog.agtype])', key)
$$;

create or replace function codegraph.number_property(key text) returns text language sql immutable as
$$
    select '(' || codegraph.property(key) || ')::bigint'
$$;

create or replace function codegraph.is_head() returns text language sql immutable as
$$
    select codegraph.property('head') || ' operator(ag_catalog.=) ''true''::ag_catalog.agtype'
$$;

create or replace function codegraph.is_aside() returns text language sql immutable as
$$
    select codegraph.property('head') || ' operator(ag_catalog.=) ''false''::ag_catalog.agtype'
$$;

create or replace function codegraph.create_graph(graph_name text) returns void language plpgsql
set search_path = ag_catalog, public set client_min_messages = warning as
$$
declare
    label text;
    number int := 2; -- AGE's own two labels come first
begin
    perform ag_catalog.create_graph(graph_name::name);
    foreach label in array codegraph.vertex_labels() loop
        number := number + 1;
        perform ag_catalog.create_vlabel(graph_name::cstring, label::cstring);
        if number <> ag_catalog._label_id(graph_name::name, label::name) then
            raise exception 'AGE gave label % the id %, not %', label,
                ag_catalog._label_id(graph_name::name, label::name), number;
        end if;
    end loop;
    execute format('create index on %I."Symbol" ((%s))', graph_name, codegraph.property('uid'));
    execute format('create index on %I."Symbol" ((%s))', graph_name, codegraph.property('name'));
    execute format('create index on %I."File" ((%s))', graph_name, codegraph.property('uid'));
    perform codegraph.upgrade_graph(graph_name);
end
$$;

create or replace function codegraph.upgrade_graph(graph_name text) returns void language plpgsql
set search_path = ag_catalog, public set client_min_messages = warning as
$$
declare
    label text;
begin
    foreach label in array codegraph.code_edge_labels() loop
        perform codegraph.create_edge_label(graph_name, label);
    end loop;
    foreach label in array codegraph.lineage_edge_labels() loop
        perform codegraph.ensure_label(graph_name, label);
    end loop;
    perform codegraph.create_link_label(graph_name, 'RELATES_TO');
    perform codegraph.install_functions(graph_name);
end
$$;

create or replace function codegraph.ensure_label(graph_name text, label text) returns void language plpgsql
set search_path = ag_catalog, public set client_min_messages = warning as
$$
begin
    if to_regclass(format('%I.%I', graph_name, label)) is null then
        perform ag_catalog.create_elabel(graph_name::cstring, label::cstring);
    end if;
end
$$;

-- The first three serve the live default branch, the others what stands aside of it: overlays, by
-- layer, and edges that ended but that an overlay over an older revision still shows. They take the
-- place of AGE's own indexes on start_id and end_id, which only a pattern in Cypher that says nothing
-- of `head` would use: those of readers say it by row security. Filling them was a third of a write.
create or replace function codegraph.create_edge_label(graph_name text, label text) returns void language plpgsql
set search_path = ag_catalog, public set client_min_messages = warning as
$$
declare
    is_head constant text := codegraph.is_head();
    is_aside constant text := codegraph.is_aside();
    file constant text := codegraph.number_property('f');
    layer constant text := codegraph.number_property('l');
begin
    perform codegraph.ensure_label(graph_name, label);
    execute format('drop index if exists %I.%I, %I.%I',
        graph_name, label || '_start_id_idx', graph_name, label || '_end_id_idx');
    execute format('create index if not exists %I on %I.%I (end_id) include (start_id) where %s',
        label || '_head_in', graph_name, label, is_head);
    execute format('create index if not exists %I on %I.%I (start_id) include (end_id) where %s',
        label || '_head_out', graph_name, label, is_head);
    execute format('create index if not exists %I on %I.%I ((%s)) where %s',
        label || '_head_file', graph_name, label, file, is_head);
    execute format('create index if not exists %I on %I.%I ((%s), end_id) where %s',
        label || '_aside_in', graph_name, label, layer, is_aside);
    execute format('create index if not exists %I on %I.%I ((%s), start_id) where %s',
        label || '_aside_out', graph_name, label, layer, is_aside);
    execute format('create index if not exists %I on %I.%I ((%s), (%s)) where %s',
        label || '_aside_file', graph_name, label, layer, file, is_aside);
    -- Without statistics on the expression PostgreSQL 18 may read a partial index as a whole; those on
    -- files are there as soon as `put` counted the rows, which leaves out what indexes are made of.
    execute format('create statistics if not exists %I.%I on (%s) from %I.%I',
        graph_name, label || '_head_share', codegraph.property('head'), graph_name, label);
    execute format('create statistics if not exists %I.%I on (%s) from %I.%I',
        graph_name, label || '_file_share', file, graph_name, label);
end
$$;

create or replace function codegraph.create_link_label(graph_name text, label text) returns void language plpgsql
set search_path = ag_catalog, public set client_min_messages = warning as
$$
begin
    perform codegraph.ensure_label(graph_name, label);
    execute format('create unique index if not exists %I on %I.%I (start_id, end_id, (%s))',
        label || '_once', graph_name, label, codegraph.property('kind'));
end
$$;

create or replace function codegraph.install_functions(graph_name text) returns void language plpgsql as
$$
begin
    perform codegraph.install_traversal(graph_name, 'dependents', 'end_id', 'start_id');
    perform codegraph.install_traversal(graph_name, 'dependencies', 'start_id', 'end_id');
    perform codegraph.install_edges(graph_name, 'edges_out', 'start_id');
    perform codegraph.install_edges(graph_name, 'edges_in', 'end_id');
end
$$;

-- Functions of the graph that return the edges at some vertices, of some labels of code; live, and as
-- seen through an overlay:
--
--   edges_out(vertices, labels, minimum_confidence, read_limit)
--   edges_out(vertices, labels, minimum_confidence, read_limit, layer, revision)
--
-- Of each label no more than read_limit are read. Planning this costs more than running it: functions
-- keep their plans for as long as a connection lasts.
create or replace function codegraph.install_edges(graph_name text, function_name text, near text)
returns void language plpgsql as
$install$
declare
    is_near constant text := format('%I = any (near)', near);
    shown constant text := format($select$
        (select %%1$L::text, start_id::bigint, end_id::bigint, coalesce(%1$s::float8, 1), coalesce(%2$s::text, ''),
            %3$s, coalesce(%4$s, 0), %5$I::bigint
        from (%%2$s) edge
        where %%1$L = any (labels) and coalesce(%1$s::float8, 1) >= minimum
        limit read_limit) $select$,
        codegraph.property('c'), codegraph.property('r'), codegraph.number_property('o'),
        codegraph.number_property('s'), near);
    live constant text := (
        select string_agg(
            format(shown, label, format('select * from %I.%I where %s and %s',
                graph_name, label, is_near, codegraph.is_head())),
            ' union all ')
        from unnest(codegraph.code_edge_labels()) label
    );
    seen constant text := (
        select string_agg(
            format(shown, label,
                case when label = any (codegraph.snapshot_edge_labels())
                    then codegraph.edges_through(graph_name, label, is_near, '$5')
                    else format('select * from %I.%I where %s and %s',
                        graph_name, label, is_near, codegraph.is_head())
                end),
            ' union all ')
        from unnest(codegraph.code_edge_labels()) label
    );
    head constant text := $head$
create or replace function %1$I.%2$I(
    vertices bigint[], labels text[], minimum float8, read_limit bigint%3$s)
returns table (label text, source bigint, target bigint, confidence float8, rule text, line_offset bigint,
    sources bigint, origin bigint) language plpgsql stable
set search_path = ag_catalog, public set plan_cache_mode = force_generic_plan as %4$L $head$;
    body constant text := 'declare near graphid[] := vertices::graphid[]; begin return query %s; end';
begin
    execute format(head, graph_name, function_name, '', format(body, live));
    execute format(head, graph_name, function_name, ', layer int, revision bigint', format(body, seen));
end
$install$;

-- Functions of the graph that walk facts from the seeds, level by level, nearest first, without the
-- seeds; the first over the live graph, the second through an overlay (see graph.values.View):
--
--   dependents(seeds, max_depth, node_limit) -> (id, depth)
--   dependents(seeds, max_depth, node_limit, layer, revision) -> (id, depth)
--
-- A file that is reached is returned but not walked on from: whoever imports that file need not care
-- about the symbol that the file merely mentions. When node_limit cuts the answer, a last row
-- without an id says at which depth.
create or replace function codegraph.install_traversal(graph_name text, function_name text, near text, far text)
returns void language plpgsql as
$install$
declare
    -- Index-only: nothing but the two ends is read.
    live_edges constant text := (
        select string_agg(
            format('select %1$s as far from %2$I.%3$I where %4$s = any (frontier) and %5$s',
                far, graph_name, label, near, codegraph.is_head()),
            ' union all ')
        from unnest(codegraph.dependency_labels()) label
    );
    seen_edges constant text := (
        select string_agg(
            format('select %1$s as far from (%2$s) edge', far,
                codegraph.edges_through(graph_name, label, near || ' = any (frontier)', '$4')),
            ' union all ')
        from unnest(codegraph.dependency_labels()) label
    );
    body constant text := $body$
declare
    file_label constant int := 4;
    -- A hub has the same neighbor by several edges and among the nodes seen before; more edges than
    -- this are not read in one level, whatever they lead to.
    edge_limit constant int := 10 * (node_limit + 1);
    frontier graphid[] := seeds::graphid[];
    seen graphid[] := frontier;
    reached graphid[];
    found graphid[];
    room int := node_limit;
begin
    for level in 1 .. max_depth loop
        exit when cardinality(frontier) = 0;
        reached := array(select edge.far from (%1$s) edge limit edge_limit);
        found := array(
            select distinct node from unnest(reached) node
            where not exists (select from unnest(seen) old where old = node));
        return query select node::bigint, level from unnest(found[1:room]) node;
        if cardinality(found) > room or cardinality(reached) = edge_limit then
            return query select null::bigint, level;
            exit;
        end if;
        room := room - cardinality(found);
        seen := seen || found;
        frontier := array(select node from unnest(found) node where node::bigint >> 48 <> file_label);
    end loop;
end
$body$;
begin
    execute format($create$
create or replace function %1$I.%2$I(seeds bigint[], max_depth int, node_limit int)
returns table (id bigint, depth int) language plpgsql stable
set search_path = ag_catalog, public set plan_cache_mode = force_generic_plan as %3$L $create$,
        graph_name, function_name, format(body, live_edges));
    execute format($create$
create or replace function %1$I.%2$I(seeds bigint[], max_depth int, node_limit int, layer int, revision bigint)
returns table (id bigint, depth int) language plpgsql stable
set search_path = ag_catalog, public set plan_cache_mode = force_generic_plan as %3$L $create$,
        graph_name, function_name, format(body, seen_edges));
end
$install$;

-- The text of a query for the edges of a label that are seen through a view and that meet a
-- condition: `layer` (also as a parameter, which cannot be mistaken for a column) and `revision` are
-- names where it is put in. Those of the base that are live, those that ended since, and the overlay's
-- own; graph.queries.seen reads them alike.
create or replace function codegraph.edges_through(graph_name text, label text, condition text, layer text)
returns text language sql stable as
$$
    select format(
        'select * from %1$I.%2$I where %3$s and %4$s and %6$s <= revision and %8$s'
        ' union all select * from %1$I.%2$I where %3$s and %5$s and %9$s = 0 and %6$s <= revision'
            ' and %7$s > revision and %8$s'
        ' union all select * from %1$I.%2$I where %3$s and %5$s and %9$s = layer and layer > 0',
        graph_name, label, condition, codegraph.is_head(), codegraph.is_aside(),
        codegraph.number_property('vf'), codegraph.number_property('vt'),
        format('not exists (select from public.graph_fileversion shadow where shadow.file_id = %s'
            ' and shadow.layer = %s and shadow.layer > 0 and shadow.valid_to is null)',
            codegraph.number_property('f'), layer),
        codegraph.number_property('l'))
$$;

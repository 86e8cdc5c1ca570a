-- Bring AGE graphs back to life after pg_restore, in the same transaction or later, as a
-- superuser; safe to run again. Sessions that were connected before must reconnect.
-- deploy/restore.sh runs it.

-- AGE names a graph by the oid of its schema. The restored schema has another oid, but pg_dump
-- wrote the old one as a plain number: most of MATCH then fails with "graph with oid N does not
-- exist".
do $$
declare
    moved record;
begin
    alter table ag_catalog.ag_label drop constraint if exists fk_graph_oid;
    for moved in
        select graphid as dumped, namespace::oid as actual
        from ag_catalog.ag_graph
        where graphid <> namespace::oid
    loop
        update ag_catalog.ag_label set graph = moved.actual where graph = moved.dumped;
        update ag_catalog.ag_graph set graphid = moved.actual where graphid = moved.dumped;
    end loop;
    alter table ag_catalog.ag_label
        add constraint fk_graph_oid foreign key (graph) references ag_catalog.ag_graph (graphid);
end
$$;

-- Label tables made by AGE before 1.8 lack the trigger that tells sessions to forget their copy of
-- a changed graph; a variable-length path would answer from the old one.
do $$
declare
    label record;
begin
    for label in
        select relation
        from ag_catalog.ag_label
        where not exists (
            select from pg_trigger where tgrelid = relation and tgname = '_age_cache_invalidate'
        )
    loop
        execute format(
            'create trigger _age_cache_invalidate after insert or update or delete or truncate on %s '
            'for each statement execute function ag_catalog.age_invalidate_graph_cache()',
            label.relation
        );
    end loop;
end
$$;

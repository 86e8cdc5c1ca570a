-- What indexing.dependencies reads of a kept tree. "At the revision" is: valid_from <= revision, and
-- not ended by then. The numbers of keys have their repository in them.

-- name: offering
-- The files that offer a key.
select file.path
from indexing_filedependencies kept
join graph_sourcefile file on file.id = kept.file_id
where kept.offered @> %(number)s::bigint[] and kept.repository_id = %(repository)s
    and kept.valid_from <= %(revision)s and (kept.valid_to is null or kept.valid_to > %(revision)s)

-- name: consulting
-- The files that consulted one of some keys.
select file.path
from indexing_filedependencies kept
join graph_sourcefile file on file.id = kept.file_id
where kept.consulted && %(numbers)s::bigint[] and kept.repository_id = %(repository)s
    and kept.valid_from <= %(revision)s and (kept.valid_to is null or kept.valid_to > %(revision)s)

-- name: derived
select file.path, kept.derived
from graph_sourcefile file
join indexing_filedependencies kept on kept.file_id = file.id
where file.repository_id = %(repository)s and file.path = any (%(paths)s)
    and kept.valid_from <= %(revision)s and (kept.valid_to is null or kept.valid_to > %(revision)s)

-- name: offered_to
-- Of every number that some files consulted, who offers it. The first row has all these numbers and no
-- path, so that it is also known which nobody offers.
with wanted as (
    select array_agg(distinct number) as numbers
    from graph_sourcefile file
    join indexing_filedependencies kept on kept.file_id = file.id,
        unnest(kept.consulted) number
    where file.repository_id = %(repository)s and file.path = any (%(paths)s)
        and kept.valid_from <= %(revision)s
        and (kept.valid_to is null or kept.valid_to > %(revision)s)
)
select null::text, numbers from wanted where numbers is not null
union all
select file.path, array(
    select number from unnest(kept.offered) number where number = any (wanted.numbers))
from wanted
join indexing_filedependencies kept on kept.offered && wanted.numbers
join graph_sourcefile file on file.id = kept.file_id
where kept.repository_id = %(repository)s
    and kept.valid_from <= %(revision)s and (kept.valid_to is null or kept.valid_to > %(revision)s)

-- name: files
select file.path, version.blob, version.size, version.lines, version.language, version.skipped
from graph_sourcefile file
join graph_fileversion version on version.file_id = file.id
where file.repository_id = %(repository)s and file.path = any (%(paths)s) and version.layer = 0
    and version.valid_from <= %(revision)s
    and (version.valid_to is null or version.valid_to > %(revision)s)

-- name: facts
-- The facts of files that have some; null where they are not kept any more.
select file.path, version.blob, facts.facts
from graph_sourcefile file
join graph_fileversion version on version.file_id = file.id
left join indexing_blobfacts facts on facts.blob = version.blob
    and facts.language = version.language and facts.extractor_version = %(extractor)s
where file.repository_id = %(repository)s and file.path = any (%(paths)s) and version.layer = 0
    and version.valid_from <= %(revision)s
    and (version.valid_to is null or version.valid_to > %(revision)s)
    and version.language <> '' and version.skipped = ''

-- name: prune
-- What ended before the oldest revision that is whole: overlays rest on whole ones only.
delete from indexing_filedependencies kept
using (
    select repository_id, min(id) as oldest from graph_revision
    where layer = 0 and is_whole group by repository_id
) revision
where kept.repository_id = revision.repository_id and kept.valid_to <= revision.oldest

-- codemem's own role and database, for a server of its own. A superuser runs it on the database
-- postgres, with CODEMEM_DATABASE_PASSWORD in psql's environment, between provision.sql on template1
-- and provision.sql on codemem. Running it again is safe and sets the password anew.
\set ON_ERROR_STOP on
\getenv password CODEMEM_DATABASE_PASSWORD

select 'create role codemem'
where not exists (select from pg_roles where rolname = 'codemem') \gexec
-- Databases of its own for tests and restores; nothing else beyond its own tables.
alter role codemem with login createdb nosuperuser nocreaterole nobypassrls noreplication
    password :'password';
-- Public first, or the application's tables land in AGE's schema; AGE's last, or comparisons of agtype
-- do not plan. On the role, not the database: databases made later need it too.
alter role codemem set search_path = public, ag_catalog;

select 'create database codemem owner codemem'
where not exists (select from pg_database where datname = 'codemem') \gexec

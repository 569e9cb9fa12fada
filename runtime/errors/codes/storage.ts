import { caller, family, internal, ofInstallation, tenant, upstreamLater } from '../code-row';

/** Postgres and Redis. */
export const STORAGE_CODES = family('Postgres and Redis', {
  DB_UNREACHABLE: ofInstallation(
    upstreamLater(
      'The database cannot be reached: {reason}.',
      'Check host, port and network of the Postgres credential.',
    ),
  ),
  DB_CERTIFICATE_UNTRUSTED: ofInstallation(
    caller(
      "The database's certificate is not trusted: {reason}.",
      'Name the certificate of its provider: ?sslmode=verify-full&sslrootcert=FILE in the address, or NODE_EXTRA_CA_CERTS=FILE for the process; sslmode=require encrypts without checking. In n8n: Ignore SSL Issues in the credential.',
    ),
  ),
  DB_UNAVAILABLE: ofInstallation(
    upstreamLater(
      'The database is refusing requests for now: {reason}.',
      'Check the server: it may be a standby, out of disk, overloaded, or held up by a lock. Queued tasks wait for it.',
    ),
  ),
  DB_AUTH_FAILED: ofInstallation(
    caller(
      'The database refused user "{user}": {reason}.',
      'Check user, password and database name of the Postgres credential.',
    ),
  ),
  DB_SCHEMA_MISSING: ofInstallation(
    tenant(
      'The database is not set up yet, or not for this version: {reason}.',
      'Add the node Universal AI Agent Admin and select Diagnostics, then Prepare Database; or run `universal-ai-agent diagnostics prepare-database` against this database.',
    ),
  ),
  DB_SCHEMA_OLD: ofInstallation(
    tenant(
      'The database is of a version that this one cannot upgrade: migration {needed} is not applied.',
      'Run `diagnostics prepare-database` of the last version that has this migration, then that of this version.',
    ),
  ),
  DB_SCHEMA_DAMAGED: ofInstallation(
    tenant(
      'The schema is not as `universal-ai-agent diagnostics prepare-database` makes it: {reason}.',
      'Restore what is named from a backup, create it by hand as its migration file does, or drop what is left of our tables and migrate from scratch. Rename a table that is not ours.',
    ),
  ),
  DB_SCHEMA_UNFIT: ofInstallation(
    tenant(
      'The database cannot hold runs and their bill: {reason}.',
      'Change what is named: give the column a default or a wider type, use a database in UTF8, or rename a table of your own so that ours is made. Then run `universal-ai-agent diagnostics prepare-database` again.',
    ),
  ),
  DB_PERMISSION_DENIED: ofInstallation(
    tenant(
      'The database user lacks a privilege: {reason}.',
      'Grant the user SELECT, INSERT, UPDATE and DELETE on the elo_ tables. `diagnostics prepare-database` has to run as their owner.',
    ),
  ),
  DB_ROW_REFUSED: tenant(
    'The database refuses a row: {reason}.',
    'Give the column that is named a default, or change the constraint: the table is one of your own that was adopted.',
  ),
  DB_QUERY_FAILED: internal(
    'A database statement failed: {reason}.',
    'Run `universal-ai-agent diagnostics schema`; report it if the schema is complete.',
  ),
  SQL_REFUSED: tenant(
    'The query is refused: {reason}.',
    'Write one SELECT that reads tables, with the usual functions of Postgres.',
  ),
  SQL_FAILED: tenant('The query failed: {reason}.', 'Correct the query and call the tool again.'),
  SQL_ROLE_UNSAFE: tenant(
    'The database role "{user}" may not be used for queries: {reason}.',
    'Make a role with "universal-ai-agent sql-role set --name NAME", and use it for queries only.',
  ),
  SQL_ROLE_NOT_MADE: caller(
    'The role "{role}" cannot be made: {reason}.',
    'Correct what the message names; the command needs the owner of the tables with CREATEROLE, or a superuser.',
  ),
  REDIS_MISSING: caller(
    '{what} needs Redis, and none is connected.',
    'Give a Redis: "Use Redis" and its credential in the node, REDIS_URL on the command line, or redis in the configuration.',
  ),
  REDIS_UNAVAILABLE: ofInstallation(
    upstreamLater(
      'Redis cannot be reached or failed: {reason}.',
      'Check that it runs, and host, port, database and password; its certificate too, where the reason names one (docs/configuration.md).',
    ),
  ),
  REDIS_AUTH_FAILED: caller(
    'Redis refuses the connection: {reason}.',
    'Check user and password, and that the user may do what a queue needs.',
  ),
});

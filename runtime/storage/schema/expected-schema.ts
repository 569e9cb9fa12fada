import { MIGRATIONS } from './migrations';

/** A column as the migrations define it. */
export interface ExpectedColumn {
  readonly name: string;
  /** What stands after its name: type, NOT NULL, DEFAULT, CHECK. */
  readonly definition: string;
  /** True for one that identifies rows: a table without it is none of ours, or is beyond repair. */
  readonly isKey: boolean;
  /** The migration that brings it. */
  readonly migration: string;
  /** That migration adds it to a table that is there; otherwise it makes it with the table. */
  readonly isAdded: boolean;
}

/** What there is after the migrations. */
export interface ExpectedObject {
  /** Begins with the kind of an index, a function or a trigger: `index elo_agent_runs_updated`. */
  readonly name: string;
  /** The first migration that makes it. */
  readonly migration: string;
}

/** A table or a view. */
export interface ExpectedTable extends ExpectedObject {
  /** Empty for a view, and for the table of tenants: columns that an installation's own one lacks read as defaults. */
  readonly columns: readonly ExpectedColumn[];
}

/** Either is the table of tenants: the other one is then not expected. */
export const TENANT_TABLES = ['elo_t_tenants', 'elo_tenants'];

const CREATE = /^ *CREATE TABLE (?:IF NOT EXISTS )?(\w+) \(\n([^]*?)\n *\)/gm;
const CREATE_VIEW = /^ *CREATE (?:OR REPLACE )?VIEW (\w+) AS/gm;
const ADD_COLUMN = /^ALTER TABLE (\w+) ADD COLUMN IF NOT EXISTS (\w+) ([^;]+);/gm;
const CREATE_OBJECT = /CREATE (?:OR REPLACE |UNIQUE )?(INDEX|FUNCTION|TRIGGER) (?:IF NOT EXISTS )?(\w+)/g;
const COLUMN = /^ +([a-z_0-9]+) ([A-Z][^\n]*?),?$/gm;
const KEYS = /(?:PRIMARY KEY|UNIQUE) \(([^)]+)\)/g;
const INLINE_KEY = / (?:PRIMARY KEY|UNIQUE)\b/;
/** Counts by itself, so it can be added to any table; an adopted one may have another primary key. */
const COUNTER = /^((?:BIG)?SERIAL) PRIMARY KEY$/;

/** What the migrations make, read from their own text, so that there is no second list to keep. */
export const EXPECTED_SCHEMA: readonly ExpectedTable[] = readSchema();

/** Indexes, functions and triggers. */
export const EXPECTED_OBJECTS: readonly ExpectedObject[] = readObjects();

function readObjects(): readonly ExpectedObject[] {
  const made = MIGRATIONS.flatMap(({ name: migration, sql }) =>
    matches(sql, CREATE_OBJECT).map(([kind, name]) => ({ name: `${kind.toLowerCase()} ${name}`, migration })),
  );
  return made.filter(({ name }, at) => made.findIndex((other) => other.name === name) === at);
}

function readSchema(): readonly ExpectedTable[] {
  const tables = new Map<string, ExpectedTable>();
  for (const { name: migration, sql } of MIGRATIONS) {
    for (const [name, body] of matches(sql, CREATE)) {
      tables.set(name, { name, migration, columns: TENANT_TABLES.includes(name) ? [] : columnsOf(body, migration) });
    }
    for (const [name] of matches(sql, CREATE_VIEW)) {
      if (!tables.has(name)) tables.set(name, { name, migration, columns: [] });
    }
    for (const [table, name, definition] of matches(sql, ADD_COLUMN)) {
      const known = tables.get(table);
      if (known === undefined || known.columns.some((column) => column.name === name)) continue;
      tables.set(table, {
        ...known,
        columns: [...known.columns, { name, definition, isKey: false, migration, isAdded: true }],
      });
    }
  }
  return [...tables.values()];
}

/** The groups of each match. */
function matches(text: string, pattern: RegExp): readonly (readonly [string, string, string])[] {
  return [...text.matchAll(pattern)].map(([, one = '', two = '', three = '']) => [one, two, three] as const);
}

function columnsOf(body: string, migration: string): readonly ExpectedColumn[] {
  const keys = new Set(matches(body, KEYS).flatMap(([names]) => names.split(', ')));
  return matches(body, COLUMN).map(([name, definition]) => ({
    name,
    definition: definition.replace(COUNTER, '$1'),
    isKey: keys.has(name) || (INLINE_KEY.test(definition) && !COUNTER.test(definition)),
    migration,
    isAdded: false,
  }));
}

/** A DuckDB with the compiler's macros and two projects' rows behind the table macros, for tests that run what was compiled. */

import { readFileSync } from 'node:fs'
import {
  DOUBLE,
  type DuckDBConnection,
  DuckDBDateValue,
  DuckDBInstance,
  DuckDBTimestampValue,
  type DuckDBValue,
  type Json,
  VARCHAR,
} from '@duckdb/node-api'
import { type CompiledQuery, compileHogQL } from '../../src/hogql/compile.ts'
import type { CompileContext } from '../../src/hogql/context.ts'
import type { BoundValue } from '../../src/hogql/sql/parameters.ts'
import { registerScalars } from '../../src/query/worker/scalar-functions.ts'
import { withFormNames } from '../query/handwritten-sql.ts'

/** 2024-06-15 12:00:00 UTC, a Saturday. */
export const NOW_US = BigInt(Date.UTC(2024, 5, 15, 12)) * 1000n

export const CONTEXT: CompileContext = {
  project_id: 1,
  timezone: 'UTC',
  week_start_day: 0,
  hidden_tables: [],
  now_us: NOW_US,
  property_types: new Map([
    ['event:price', 'Numeric'],
    ['event:paid', 'Boolean'],
    ['event:at', 'DateTime'],
    ['person:age', 'Numeric'],
  ]),
  cohorts: () => [
    { id: 5, name: 'vip', is_static: false },
    { id: 6, name: 'uploaded', is_static: true },
    { id: 7, name: 'twice', is_static: true },
    { id: 8, name: 'twice', is_static: false },
  ],
}

export type World = {
  readonly connection: DuckDBConnection
  ask(text: string, context?: Partial<CompileContext>): Promise<readonly (readonly Json[])[]>
  run(compiled: CompiledQuery): Promise<readonly (readonly Json[])[]>
  close(): void
}

const RELATIONS = `
create table all_events (project_id bigint, seq bigint, uuid uuid, event varchar, distinct_id varchar, person_id uuid,
  person_mode varchar, "timestamp" timestamp, created_at timestamp, properties varchar, elements_chain varchar,
  group_0 varchar, group_1 varchar, group_2 varchar, group_3 varchar, group_4 varchar);
create table all_overrides (project_id bigint, old_person_id uuid, person_id uuid);
create table all_persons (project_id bigint, id uuid, created_at timestamp, properties varchar, is_identified boolean, version bigint);
create table all_distinct_ids (project_id bigint, distinct_id varchar, person_id uuid, version bigint);
create table all_groups (project_id bigint, index bigint, key varchar, created_at timestamp, updated_at timestamp, properties varchar);
create table all_cohort_people (project_id bigint, person_id uuid, cohort_id bigint);
create table all_ingestion_warnings (project_id bigint, type varchar, details varchar, "timestamp" timestamp);
create macro ingestion_warnings_of(p) as table select * exclude (project_id) from all_ingestion_warnings where project_id = p;
create macro cohort_people_of(p) as table select * exclude (project_id) from all_cohort_people where project_id = p;
create macro events_of(p) as table select * exclude (project_id) from all_events where project_id = p;
create macro events_lean_of(p) as table select * exclude (project_id, properties) from all_events where project_id = p;
create macro events_counts_of(p) as table select count(*) as row_count from all_events where project_id = p;
create macro person_overrides_of(p) as table select * exclude (project_id) from all_overrides where project_id = p;
create macro persons_of(p) as table select * exclude (project_id) from all_persons where project_id = p;
create macro person_distinct_ids_of(p) as table select * exclude (project_id) from all_distinct_ids where project_id = p;
create macro groups_of(p) as table select * exclude (project_id) from all_groups where project_id = p;
`

/** Opens an empty world; rows are inserted through `connection` into the `all_…` tables. */
export async function openWorld(): Promise<World> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' })
  const connection = await instance.connect()
  await connection.run("set timezone = 'America/New_York'; set ieee_floating_point_ops = true")
  registerScalars(connection)
  await connection.run(RELATIONS)
  await connection.run(
    readFileSync(new URL('../../sql/duckdb/macros.sql', import.meta.url), 'utf8'),
  )
  const run = async (compiled: CompiledQuery): Promise<readonly (readonly Json[])[]> => {
    const prepared = await connection.prepare(withFormNames(compiled.sql, compiled.reads))
    prepared.bind(
      compiled.values.map(engineValue),
      compiled.values.map((value) =>
        value.type === 'DOUBLE' ? DOUBLE : value.type === 'UUID' ? VARCHAR : undefined,
      ) as never,
    )
    const reader = await prepared.runAndReadAll()
    return reader.getRowsJson()
  }
  return {
    connection,
    run,
    ask: (text, context = {}) => run(compileHogQL(text, { ...CONTEXT, ...context })),
    close: () => {
      connection.closeSync()
      instance.closeSync()
    },
  }
}

function engineValue({ type, value }: BoundValue): DuckDBValue {
  if (type === 'TIMESTAMP' && typeof value === 'bigint') return new DuckDBTimestampValue(value)
  if (type === 'DATE') return new DuckDBDateValue(Number(value))
  return value
}

/** A data folder for ingest tests: real databases in a temporary place, capture opened over them, rows read back. */
import { Database } from 'bun:sqlite'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type Capture,
  type CaptureSettings,
  openCapture,
} from '../../src/ingest/threads/capture.ts'
import type { CaptureAnswer, CaptureLimits, RawCapture } from '../../src/ingest/threads/messages.ts'
import { copyFreshDatabase } from '../fresh-databases.ts'

/** Two projects; the second hides its users' addresses. */
export const TOKEN = 'phc_one'
export const OTHER_TOKEN = 'phc_two'

/** When every request of the tests is received, unless it says otherwise. */
export const NOW = Date.parse('2026-03-01T12:00:00.000Z')

const GROUP_COLUMNS = ['group_0', 'group_1', 'group_2', 'group_3', 'group_4']

/** What a test reads of an event. */
export type StoredEvent = {
  readonly event: string
  readonly distinct_id: string
  readonly uuid: string
  readonly person_id: string
  readonly person_mode: string
  readonly timestamp: string
  readonly properties: { readonly [name: string]: unknown }
  readonly elements_chain: string
  readonly groups: readonly unknown[]
}

/** A row as SQLite gives it: texts, numbers, bytes and nulls by column. */
export type Row = { readonly [column: string]: unknown }

export class Folder {
  readonly path = mkdtempSync(join(tmpdir(), 'tidemark-ingest-'))
  #capture: Capture | null = null
  readonly first_events: number[] = []
  readonly broken: string[] = []

  constructor() {
    const control = new Database(join(this.path, 'control.db'), { create: true })
    control.run('pragma journal_mode = wal')
    // No test cuts the power while it makes its folder.
    control.run('pragma synchronous = off')
    control.run(
      'create table projects (id integer primary key, api_token text unique, anonymize_ips integer not null)',
    )
    control.run(
      'create table plugin_configs (id integer, project_id integer, plugin_id integer, enabled integer, config text, position integer)',
    )
    control.run(
      'create table moved_projects (project_id integer primary key, api_token text, left_at integer)',
    )
    control.run(`insert into projects values (1, '${TOKEN}', 0), (2, '${OTHER_TOKEN}', 1)`)
    control.close()
    copyFreshDatabase('events', this.path)
  }

  async open(
    limits: Partial<CaptureLimits> = {},
    more: Partial<CaptureSettings> = {},
  ): Promise<Capture> {
    this.#capture = await openCapture({
      data_dir: this.path,
      // On a busy machine any request may take long; `sliced-requests.test.ts` is about those.
      limits: { request_ms_max: 60_000, ...limits },
      log: { error: () => undefined },
      onFirstEvent: (project_id) => this.first_events.push(project_id),
      onBroken: (message) => this.broken.push(message),
      ...more,
    })
    return this.#capture
  }

  get capture(): Capture {
    if (this.#capture === null) throw new Error('open the folder first')
    return this.#capture
  }

  /** Sends a body as JSON, unless it is bytes or text already. */
  send(body: unknown, request: Partial<RawCapture> = {}): Promise<CaptureAnswer> {
    return this.capture.send({
      path: '/batch',
      query: '',
      content_type: 'application/json',
      content_encoding: '',
      client_ip: '1.2.3.4',
      received_at_ms: NOW,
      body: bytesOf(body),
      ...request,
    })
  }

  /** Sends events of the first project in one batch. */
  batch(...events: readonly unknown[]): Promise<CaptureAnswer> {
    return this.send({ api_key: TOKEN, batch: events })
  }

  rows(sql: string, ...values: (string | number)[]): readonly Row[] {
    const db = new Database(join(this.path, 'events.db'), { readonly: true })
    try {
      return db.query<Row, (string | number)[]>(sql).all(...values)
    } finally {
      db.close()
    }
  }

  run(sql: string): void {
    const db = new Database(join(this.path, 'events.db'))
    db.run(sql)
    db.close()
  }

  events(): readonly StoredEvent[] {
    return this.rows(
      `select event, distinct_id, lower(hex(uuid)) uuid, lower(hex(person_id)) person_id, person_mode,
       timestamp, properties, elements_chain, group_0, group_1, group_2, group_3, group_4
       from events order by seq`,
    ).map((row) => ({
      event: String(row['event']),
      distinct_id: String(row['distinct_id']),
      uuid: String(row['uuid']),
      person_id: String(row['person_id']),
      person_mode: String(row['person_mode']),
      timestamp: new Date(Number(row['timestamp']) / 1000).toISOString(),
      properties: JSON.parse(String(row['properties'])),
      elements_chain: String(row['elements_chain']),
      groups: GROUP_COLUMNS.map((column) => row[column]),
    }))
  }

  /** Which distinct ids belong together, each set and the list of sets in order. */
  partition(): readonly (readonly string[])[] {
    const rows = this.rows(
      'select distinct_id, hex(person_id) person from distinct_ids where project_id = 1 order by distinct_id',
    )
    return Object.values(Object.groupBy(rows, (row) => String(row['person'])))
      .map((ids) => (ids ?? []).map((row) => String(row['distinct_id'])))
      .toSorted((a, b) => (a.join() < b.join() ? -1 : 1))
  }

  /** The living person of a distinct id. */
  person(distinct_id: string) {
    const [row] = this.rows(
      `select lower(hex(p.id)) id, p.properties, p.is_identified, p.version, p.created_at
       from distinct_ids d join persons p on p.project_id = d.project_id and p.id = d.person_id
       where d.project_id = 1 and p.is_deleted = 0 and d.distinct_id = ?`,
      distinct_id,
    )
    if (row === undefined) return null
    return {
      id: String(row['id']),
      properties: JSON.parse(String(row['properties'])) as Record<string, unknown>,
      is_identified: row['is_identified'] === 1,
      created_at: new Date(Number(row['created_at']) / 1000).toISOString(),
    }
  }

  warnings(): readonly string[] {
    return this.rows('select type from ingestion_warnings order by id').map((row) =>
      String(row['type']),
    )
  }

  async remove(): Promise<void> {
    await this.#capture?.close()
    rmSync(this.path, { recursive: true, force: true })
  }
}

export function bytesOf(body: unknown): Uint8Array<ArrayBuffer> {
  if (body instanceof Uint8Array) return new Uint8Array(body)
  return new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body))
}

export const STORED_ONE = { kind: 'stored', accepted: 1, dropped: 0, repeated: 0 } as const

/** Answers with the definitions of an edge's projects: the rows of EDGE_TABLES, with an ETag. */
import { type SQL, sql } from 'drizzle-orm'
import { EDGE_TABLES, type ReplicatedRow } from '../../edge/definition-tables.ts'
import { WIRE_VERSION } from '../../edge/report.ts'
import type { Caller } from '../../projects/rights/access.ts'
import { Slices } from '../../threads/slices.ts'
import { answerBytes, JSON_HEADERS } from '../answers/answers.ts'
import { isKnown } from '../answers/fixed-texts.ts'
import type { AppContext } from '../app-context.ts'
import type { Endpoint } from '../endpoint.ts'
import { edgeEndpoint, requireEdgeProjects } from './edge-caller.ts'

/** Rows that are read at once. */
const ROWS_TOGETHER = 20

/** Keys whose last answer is remembered. */
const KEYS_MAX = 1000

/** The ETag of the answer to a key, and the state for which it holds: that of control.db, and of group types in events.db. */
type CurrentEtag = {
  readonly etag: string
  readonly version: number
  readonly group_types: string
}

/** The endpoint of `GET /_edge/v1/definitions`; see `edge/README.md`, 1. */
export function definitionsEndpoint(app: AppContext): Endpoint {
  const current = new Map<string, CurrentEtag>()
  const answer = async (caller: Caller, request: Request): Promise<Response> => {
    const projects = requireEdgeProjects(app, caller)
    const version = app.control_changes.version()
    const group_types = app.persons.groupTypesVersion()
    const stored = current.get(caller.id)
    const is_current = stored?.version === version && stored.group_types === group_types
    // Nothing has changed since this edge asked: most requests end here, and read no definitions.
    if (is_current && isKnown(request, stored.etag)) return notModified(stored.etag)
    const ids = projects.map(({ id }) => id)
    const { parts, etag } = await printDefinitions(app, ids)
    if (current.size >= KEYS_MAX) current.clear()
    current.set(caller.id, { etag, version, group_types })
    if (isKnown(request, etag)) return notModified(etag)
    return answerBytes(parts, {
      ...JSON_HEADERS,
      ETag: etag,
      'Cache-Control': 'private, no-cache',
    })
  }
  return edgeEndpoint(app, { method: 'GET', path: '/_edge/v1/definitions' }, answer)
}

const notModified = (etag: string): Response =>
  new Response(null, { status: 304, headers: { ETag: etag } })

/** Prints the definitions of projects, a project and table at a time. */
async function printDefinitions(
  app: AppContext,
  project_ids: readonly number[],
): Promise<{ readonly parts: readonly Uint8Array[]; readonly etag: string }> {
  const slices = new Slices()
  const hash = new Bun.CryptoHasher('sha256')
  const parts: Uint8Array[] = []
  const print = (text: string): void => {
    const part = Buffer.from(text)
    hash.update(part)
    parts.push(part)
  }
  const group_types = project_ids.flatMap((project_id) =>
    app.persons.listGroupTypes(project_id).map((type) => ({ project_id, ...type })),
  )
  print(`{"wire":${WIRE_VERSION},"group_types":${JSON.stringify(group_types)},"tables":{`)
  for (const [index, table] of EDGE_TABLES.entries()) {
    print(`${index === 0 ? '' : ','}${JSON.stringify(table.name)}:[`)
    // By id: projects share an organization.
    const printed = new Set<unknown>()
    for (const row of readRowsOf(app, table, project_ids)) {
      if (printed.has(row['id'])) continue
      print(`${printed.size === 0 ? '' : ','}${JSON.stringify(row)}`)
      printed.add(row['id'])
      if (slices.isOver()) await slices.end()
    }
    print(']')
  }
  print('}}')
  return { parts, etag: `"${hash.digest('base64url')}"` }
}

function* readRowsOf(
  app: AppContext,
  table: (typeof EDGE_TABLES)[number],
  project_ids: readonly number[],
): Generator<ReplicatedRow> {
  for (const project_id of project_ids) yield* readRows(app, table, project_id)
}

/** Reads the rows of a project in the order of their ids, some at a time: together they may have many megabytes. */
function* readRows(
  { control }: AppContext,
  { name, where, hidden }: (typeof EDGE_TABLES)[number],
  project_id: number,
): Generator<ReplicatedRow> {
  const [before = '', after = ''] = where.split('?')
  const condition = sql`${sql.raw(before)}${project_id}${sql.raw(after)}`
  const nothing = Object.fromEntries(hidden.map((column) => [column, null]))
  for (let last: ReplicatedRow[string] = null; ; ) {
    const rest: SQL = last === null ? sql`` : sql`and id > ${last}`
    const rows: readonly ReplicatedRow[] = control.all<ReplicatedRow>(
      sql`select * from ${sql.identifier(name)} where (${condition}) ${rest} order by id limit ${ROWS_TOGETHER}`,
    )
    for (const row of rows) yield { ...row, ...nothing }
    if (rows.length < ROWS_TOGETHER) return
    last = rows.at(-1)?.['id'] ?? null
  }
}

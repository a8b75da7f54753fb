/** Answers with the definitions of an edge's projects: the rows of EDGE_TABLES, with an ETag. */
import { sql } from 'drizzle-orm'
import { EDGE_TABLES, type ReplicatedRow } from '../../edge/definition-tables.ts'
import { WIRE_VERSION } from '../../edge/report.ts'
import type { Caller } from '../../projects/rights/access.ts'
import { Slices } from '../../threads/slices.ts'
import { answerBytes, JSON_HEADERS } from '../answers/answers.ts'
import { isKnown } from '../answers/fixed-texts.ts'
import type { AppContext } from '../app-context.ts'
import type { Endpoint } from '../endpoint.ts'
import { edgeEndpoint, requireEdgeProjects } from './edge-caller.ts'

/** Keys whose last answer is remembered. */
const KEYS_MAX = 1000

/** The ETag of the answer to a key, and the state of control.db for which it holds. */
type CurrentEtag = { readonly etag: string; readonly version: number }

/** The endpoint of `GET /_edge/v1/definitions`; see `edge/README.md`, 1. */
export function definitionsEndpoint(app: AppContext): Endpoint {
  const current = new Map<string, CurrentEtag>()
  const answer = async (caller: Caller, request: Request): Promise<Response> => {
    const projects = requireEdgeProjects(app, caller)
    const version = app.control_changes.version()
    const stored = current.get(caller.id)
    // Nothing was committed since this edge asked: most requests end here, without a read.
    if (stored?.version === version && isKnown(request, stored.etag))
      return notModified(stored.etag)
    const ids = projects.map(({ id }) => id)
    const body = Buffer.from(await printDefinitions(app, ids))
    const etag = `"${new Bun.CryptoHasher('sha256').update(body).digest('base64url')}"`
    if (current.size >= KEYS_MAX) current.clear()
    current.set(caller.id, { etag, version })
    if (isKnown(request, etag)) return notModified(etag)
    return answerBytes([body], {
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
async function printDefinitions(app: AppContext, project_ids: readonly number[]): Promise<string> {
  const slices = new Slices()
  const tables: string[] = []
  for (const table of EDGE_TABLES) {
    // By id: projects share an organization.
    const rows = new Map<unknown, string>()
    for (const project_id of project_ids) {
      for (const row of readRows(app, table, project_id)) rows.set(row['id'], JSON.stringify(row))
      if (slices.isOver()) await slices.end()
    }
    tables.push(`${JSON.stringify(table.name)}:[${[...rows.values()].join(',')}]`)
  }
  const group_types = project_ids.flatMap((project_id) =>
    app.persons.listGroupTypes(project_id).map((type) => ({ project_id, ...type })),
  )
  const head = `"wire":${WIRE_VERSION},"group_types":${JSON.stringify(group_types)}`
  return `{${head},"tables":{${tables.join(',')}}}`
}

function readRows(
  { control }: AppContext,
  { name, where, hidden }: (typeof EDGE_TABLES)[number],
  project_id: number,
): readonly ReplicatedRow[] {
  const [before = '', after = ''] = where.split('?')
  const condition = sql`${sql.raw(before)}${project_id}${sql.raw(after)}`
  const nothing = Object.fromEntries(hidden.map((column) => [column, null]))
  return control
    .all<ReplicatedRow>(sql`select * from ${sql.identifier(name)} where ${condition} order by id`)
    .map((row) => ({ ...row, ...nothing }))
}

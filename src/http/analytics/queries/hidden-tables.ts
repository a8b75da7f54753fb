/** Refuses conditions that read tables hidden from their editor: what they count in the background shows those tables. */
import type { Caller } from '../../../projects/rights/access.ts'
import { rightsIn } from '../../../projects/rights/rights.ts'
import type { Project } from '../../../projects/settings/project.ts'
import { prepareQuery } from '../../../query/kinds/query-kinds.ts'
import type { Action, listActions } from '../../../targeting/action.ts'
import { listBehaviors } from '../../../targeting/cohorts/behavior.ts'
import type { AppContext } from '../../app-context.ts'
import { callerOf, projectContext } from './query-context.ts'

/** The editor of a definition. */
type EditCall = {
  readonly caller: Caller
  readonly project: Project
}

type CheckedQuery = {
  readonly query: string
  readonly values?: Readonly<Record<string, unknown>>
  readonly properties?: readonly unknown[]
}

/** Refuses a cohort's filters when a behavioral condition reads a hidden table. Other faults are found when they are stored. */
export async function requireShownBehaviors(
  app: AppContext,
  call: EditCall,
  filters: unknown,
): Promise<void> {
  const root = typeof filters === 'object' && filters !== null && 'properties' in filters
  if (!root) return
  for (const behavior of listBehaviors(filters.properties)) {
    await requireShown(app, call, { ...behavior, values: { ...behavior.values, after: '' } })
  }
}

/** Refuses an action's steps when one reads a hidden table: cohorts, and insights of others, may count the action. */
export async function requireShownSteps(
  app: AppContext,
  call: EditCall,
  steps: Action['steps'] | undefined,
): Promise<void> {
  if (steps === undefined) return
  const draft = { id: DRAFT_ID, name: '', steps_json: JSON.stringify(steps) }
  const query = `select 1 from events where matchesAction(${DRAFT_ID})`
  await requireShown(app, call, { query }, [draft])
}

/** The id of an action that is not stored. */
const DRAFT_ID = 0

/** Compiles a query without running it. */
async function requireShown(
  app: AppContext,
  { caller, project }: EditCall,
  { query, values = {}, properties = [] }: CheckedQuery,
  drafts?: ReturnType<typeof listActions>,
): Promise<void> {
  const { hidden_tables } = callerOf(caller, rightsIn(app.control, caller, project))
  if (hidden_tables.length === 0) return
  const narrowed = properties.length === 0 ? {} : { filters: { properties: [...properties] } }
  const prepared = prepareQuery(
    { kind: 'HogQLQuery', query, values, ...narrowed },
    { filters: null, variables: null },
    Object.assign(
      projectContext(app, { ...project, hidden_tables }),
      drafts === undefined ? {} : { actions: () => drafts },
    ),
  )
  // An export is compiled before its query is run, by another function.
  await prepared.buildExport?.('csv', 1, app.now())(refuseToRun)
}

function refuseToRun(): never {
  throw new Error('a query of text needs no other before it')
}

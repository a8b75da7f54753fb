/** Ids inside definitions: those of the source are replaced by those that the same things have here. */
import { isObject } from '../../json.ts'
import type { JSONObject } from '../sources/source.ts'

/** The id here of a thing of the source; null where it was not brought over. */
type FindTarget = (kind: string, source_id: string) => number | string | null

type RewrittenBody = {
  readonly body: JSONObject
  /** The things that the body names, as `kind id`. */
  readonly uses: ReadonlySet<string>
  /** The ids that have no item here. */
  readonly missing: ReadonlySet<string>
  /** Its HogQL may name cohorts or actions by number, which are not replaced. */
  readonly has_numbered_text: boolean
}

const DEPTH_MAX = 100

/** Members that name one thing, wherever they are. Adding a member means adding a line. */
const NAMING_MEMBERS: Readonly<Record<string, string>> = {
  actionId: 'actions',
  dashboard_id: 'dashboards',
  dashboard_item: 'insights',
  exposure_cohort: 'cohorts',
  feature_flag_id: 'feature_flags',
  holdout_id: 'experiment_holdouts',
  linked_flag_id: 'feature_flags',
  saved_metric: 'experiment_saved_metrics',
  targeting_flag_id: 'feature_flags',
  variableId: 'insight_variables',
  aggregation_group_type_index: 'group_types',
  breakdown_group_type_index: 'group_types',
  group_type_index: 'group_types',
  math_group_type_index: 'group_types',
}

/** Objects that name a thing by their members together: the first rule that holds says which member it is. */
const NAMING_OBJECTS: readonly {
  readonly has: Readonly<Record<string, readonly string[]>>
  readonly member: string
  readonly kind: string
}[] = [
  {
    has: { type: ['cohort', 'static-cohort', 'precalculated-cohort'] },
    member: 'value',
    kind: 'cohorts',
  },
  { has: { type: ['cohort'] }, member: 'property', kind: 'cohorts' },
  { has: { type: ['flag'] }, member: 'key', kind: 'feature_flags' },
  { has: { event_type: ['actions'] }, member: 'key', kind: 'actions' },
  { has: { seq_event_type: ['actions'] }, member: 'seq_event', kind: 'actions' },
  { has: { type: ['actions'] }, member: 'id', kind: 'actions' },
  { has: { kind: ['ActionsNode'] }, member: 'id', kind: 'actions' },
  { has: { breakdown_type: ['cohort'] }, member: 'breakdown', kind: 'cohorts' },
]

/** Objects whose keys are ids. */
const KEYED_OBJECTS: Readonly<Record<string, string>> = { variables: 'insight_variables' }

const NUMBERED_TEXT = /\bcohort\s+\d|\bmatchesAction\s*\(/i
const TEXT_MEMBERS: ReadonlySet<string> = new Set(['query', 'math_hogql'])

/** Thrown for a body that is nested deeper than any that a server writes. */
export class NestedTooDeeply extends Error {
  override readonly name = 'NestedTooDeeply'
}

/** `{type: 'cohort', key: 'id', value: 3}` → `{type: 'cohort', key: 'id', value: 7}` where cohort 3 is 7 here. */
export function rewriteReferences(body: JSONObject, findTarget: FindTarget): RewrittenBody {
  const uses = new Set<string>()
  const missing = new Set<string>()
  const found = { has_numbered_text: false }

  function replace(kind: string, value: unknown): unknown {
    if (Array.isArray(value)) return value.map((one) => replace(kind, one))
    if (!isId(value)) return value
    // Cohort 0 is everybody.
    if (kind === 'cohorts' && Number(value) === 0) return value
    const target = findTarget(kind, String(value))
    const name = `${kind} ${value}`
    uses.add(name)
    if (target === null) missing.add(name)
    const id = target ?? value
    return typeof value === 'string' ? String(id) : id
  }

  function rewrite(node: unknown, depth: number): unknown {
    if (depth > DEPTH_MAX) throw new NestedTooDeeply('nested too deeply')
    if (Array.isArray(node)) return node.map((part) => rewrite(part, depth + 1))
    if (!isObject(node)) return node
    const named = namingMembers(node)
    const pairs = Object.entries(node).map(([member, value]): [string, unknown] => {
      const kind = named.get(member)
      if (kind !== undefined) return [member, replace(kind, value)]
      if (typeof value === 'string' && TEXT_MEMBERS.has(member) && NUMBERED_TEXT.test(value)) {
        found.has_numbered_text = true
      }
      const keyed = Object.hasOwn(KEYED_OBJECTS, member) ? KEYED_OBJECTS[member] : undefined
      const rewritten = rewrite(value, depth + 1)
      if (keyed === undefined || !isObject(rewritten)) return [member, rewritten]
      const entries = Object.entries(rewritten)
      return [member, Object.fromEntries(entries.map(([id, one]) => [replace(keyed, id), one]))]
    })
    return Object.fromEntries(pairs)
  }

  return { body: rewrite(body, 0) as JSONObject, uses, missing, ...found }
}

/** The members of an object that name things, with their kinds. */
function namingMembers(node: JSONObject): ReadonlyMap<string, string> {
  const named = new Map<string, string>()
  for (const member of Object.keys(node)) {
    const kind = Object.hasOwn(NAMING_MEMBERS, member) ? NAMING_MEMBERS[member] : undefined
    if (kind !== undefined) named.set(member, kind)
  }
  for (const { has, member, kind } of NAMING_OBJECTS) {
    const holds = Object.entries(has).every(([name, values]) =>
      values.some((value) => node[name] === value),
    )
    if (holds && node[member] !== undefined) named.set(member, kind)
  }
  return named
}

/** Flags and actions are also named by text, which stays; numbers and uuids are ids. */
const ID = /^(?:\d{1,15}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/

export function isId(value: unknown): value is number | string {
  return typeof value === 'number'
    ? Number.isSafeInteger(value) && value >= 0
    : typeof value === 'string' && ID.test(value)
}

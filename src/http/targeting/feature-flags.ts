/** Feature flags under a project: listed, made, read, changed. Deleting is a change (wire §3.8). */
import type { Static } from 'elysia'
import { FlagAnswer, FlagChange, FlagPage, FlagsQuery, NewFlag } from '../../contract/flags.ts'
import type { Asker } from '../../projects/access.ts'
import type { Project } from '../../projects/project.ts'
import type { Editor } from '../../targeting/editor.ts'
import {
  createFlag,
  type Flag,
  getFlag,
  listFlags,
  updateFlag,
  type WantedFlag,
} from '../../targeting/flag.ts'
import { type FlagLinks, readLinks } from '../../targeting/links.ts'
import { statusOf } from '../../targeting/staleness.ts'
import { queryOf } from '../addresses.ts'
import { answerJson } from '../answers.ts'
import { numberIn } from '../ids.ts'
import type { Needs } from '../needs.ts'
import { answerPage } from '../pages.ts'
import { readUsage } from '../public/flag-usage.ts'
import { flagShower } from '../public/flag-wire.ts'
import { type Call, projectRoute } from '../route.ts'
import { shapeOf } from '../shape.ts'

const NEW_FLAG = shapeOf(NewFlag)
const FLAG_CHANGE = shapeOf(FlagChange)

export const FEATURE_FLAG_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'feature_flags/',
    scope: 'feature_flag:read',
    says: "List the project's feature flags, newest first.",
    query: FlagsQuery,
    answers: { 200: FlagPage },
    answer: async (needs, { request, project }) => {
      const query = new URLSearchParams(queryOf(request.url))
      const is_usage_asked = query.get('active')?.toUpperCase() === STALE
      const lastUse = is_usage_asked
        ? await readUsage(needs, { project, request })
        : () => undefined
      const flags = findFlags(needs, project.id, { query, lastUse })
      return answerPage(request, needs.publicUrl(), flags, flagShower(needs, project.id))
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'feature_flags/',
    scope: 'feature_flag:write',
    says: 'Make a feature flag.',
    answers: { 201: FlagAnswer },
    body: NEW_FLAG,
    answer: (needs, { body, project, asker }) => {
      const wanted = { ...wantedFlag(body), key: body.key }
      const flag = createFlag(editorOf(needs, project, asker), wanted, needs.now())
      return answerJson(flagShower(needs, project.id)(flag), 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'feature_flags/:id/',
    scope: 'feature_flag:read',
    says: 'Read a feature flag, with the verdict whether clients can evaluate it by themselves.',
    answers: { 200: FlagAnswer },
    answer: (needs, { params, project }) => {
      const flag = getFlag(needs.control, project.id, numberIn(params))
      return answerJson(flagShower(needs, project.id)(flag))
    },
  }),
  projectRoute({
    method: 'PATCH',
    path: 'feature_flags/:id/',
    scope: 'feature_flag:write',
    says: 'Change members of a feature flag; deleting is a change of `deleted`.',
    answers: { 200: FlagAnswer },
    body: FLAG_CHANGE,
    answer: (needs, call) => changeFlag(needs, call, wantedFlag(call.body)),
  }),
  projectRoute({
    method: 'PUT',
    path: 'feature_flags/:id/',
    scope: 'feature_flag:write',
    says: 'Change a feature flag, naming its key.',
    answers: { 200: FlagAnswer },
    body: NEW_FLAG,
    answer: (needs, call) => changeFlag(needs, call, wantedFlag(call.body)),
  }),
] as const

/** Who changes what: read outside of the change's transaction. */
export function editorOf(needs: Needs, project: Project, asker: Asker): Editor {
  return {
    control: needs.control,
    project,
    user_id: asker.user_id,
    saved_max: needs.saved_max,
    definitions: needs.flags.flagsOf(project.id).definitions,
    expectChange: () => needs.flags.expectChange(),
  }
}

type ProjectCall = Pick<
  Call<{ readonly project: Project }, typeof FlagChange>,
  'asker' | 'params' | 'project'
>

function changeFlag(needs: Needs, call: ProjectCall, wanted: WantedFlag): Response {
  const { params, project, asker } = call
  const before = getFlag(needs.control, project.id, numberIn(params))
  const flag = updateFlag(editorOf(needs, project, asker), before, wanted, needs.now())
  return answerJson(flagShower(needs, project.id)(flag))
}

/** Of a body what is stored; null says of most members what absence says of new flags. */
function wantedFlag(body: Static<typeof FlagChange>): WantedFlag {
  const contexts = body.evaluation_contexts ?? body.evaluation_tags
  const wanted = {
    key: body.key,
    name: body.name,
    filters: body.filters,
    active: body.active,
    deleted: body.deleted,
    ensure_experience_continuity: orFalse(body.ensure_experience_continuity),
    rollout_percentage: body.rollout_percentage,
    evaluation_runtime: body.evaluation_runtime,
    bucketing_identifier: body.bucketing_identifier,
    evaluation_contexts: contexts ?? undefined,
    is_remote_configuration: orFalse(body.is_remote_configuration),
    has_enriched_analytics: orFalse(body.has_enriched_analytics),
    rollback_conditions: body.rollback_conditions,
    performed_rollback: body.performed_rollback,
    analytics_dashboards: body.analytics_dashboards ?? undefined,
    usage_dashboard: body.usage_dashboard,
    tags: body.tags ?? undefined,
    creation_context: body.creation_context ?? undefined,
  }
  // What is undefined was not said.
  const said = Object.entries(wanted).filter(([, value]) => value !== undefined)
  return Object.fromEntries(said) as WantedFlag
}

function orFalse(value: boolean | null | undefined): boolean | undefined {
  return value === null ? false : value
}

/** What a flag is judged by beside itself; `lastUse` answers undefined where nobody looked. */
type Known = {
  readonly links: FlagLinks
  readonly last_called_at: Date | null | undefined
  readonly now: Date
}

type Wish = (flag: Flag, known: Known) => boolean

const STALE = 'STALE'

/** What a list of flags may be narrowed by: the parameter, and which flags its value leaves. */
const FILTERS: Readonly<Record<string, (value: string) => Wish>> = {
  active: (value) =>
    value.toUpperCase() === STALE
      ? (flag, { last_called_at, now }) => statusOf(flag, last_called_at, now).status === STALE
      : (flag) => flag.active === (value.toLowerCase() === 'true'),
  search: (value) => {
    const wanted = value.toLowerCase()
    return ({ key, name }) =>
      key.toLowerCase().includes(wanted) || name.toLowerCase().includes(wanted)
  },
  type: (value) => TYPES[value] ?? (() => true),
  created_by_id: (value) => (flag) => String(flag.created_by) === value,
  evaluation_runtime: (value) => (flag) => flag.evaluation_runtime === value,
  tags: (value) => {
    const wanted = tagsIn(value)
    return (flag) => wanted.some((tag) => flag.tags.includes(tag))
  },
}

const TYPES: Readonly<Record<string, Wish>> = {
  boolean: (flag) => !hasVariants(flag),
  multivariant: (flag) => hasVariants(flag),
  experiment: (_flag, { links }) => links.experiment_set.length > 0,
  remote_config: (flag) => flag.is_remote_configuration,
}

type Asked = {
  readonly query: URLSearchParams
  readonly lastUse: (flag_key: string) => Date | null | undefined
}

function findFlags(needs: Needs, project_id: number, { query, lastUse }: Asked): readonly Flag[] {
  const linksOf = readLinks(needs.control, project_id)
  const now = needs.now()
  const wishes = Object.entries(FILTERS).flatMap(([name, wishFor]) => {
    const value = query.get(name)
    return value === null || value === '' ? [] : [wishFor(value)]
  })
  return listFlags(needs.control, project_id)
    .filter((flag) => {
      const links = linksOf(flag.id)
      const known = { links, last_called_at: lastUse(flag.key), now }
      return !links.is_of_survey && wishes.every((wish) => wish(flag, known))
    })
    .toReversed()
}

function hasVariants({ filters }: Flag): boolean {
  const { multivariate } = (filters ?? {}) as { multivariate?: { variants?: unknown } | null }
  const variants = multivariate?.variants
  return Array.isArray(variants) && variants.length > 0
}

function tagsIn(value: string): readonly string[] {
  try {
    const tags: unknown = JSON.parse(value)
    if (Array.isArray(tags)) return tags.filter((tag) => typeof tag === 'string')
  } catch {
    // Not a list as JSON: then it is one with commas.
  }
  return value.split(',')
}

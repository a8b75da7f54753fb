/** Changes groups through the API: properties, sent as events that set or unset them; deletion; and the log of these. */
import { ItemActivityAnswer } from '../../contract/management/project.ts'
import { GroupActivityQuery, GroupItem, GroupQuery } from '../../contract/persons/groups.ts'
import { DeletePropertyBody, UpdatePropertyBody } from '../../contract/persons/person-changes.ts'
import { Refusal } from '../../errors.ts'
import { type ActivityEntry, recordActivity } from '../../projects/activity.ts'
import type { Caller } from '../../projects/rights/access.ts'
import type { Project } from '../../projects/settings/project.ts'
import { answerJson, answerNothing } from '../answers/answers.ts'
import type { AppContext } from '../app-context.ts'
import { validatorOf } from '../bodies/shape.ts'
import { projectActivity } from '../management/activity.ts'
import { type OfProject, projectRoute } from '../route.ts'
import { getGroup, readGroupKey } from './groups.ts'
import {
  propertyChanges,
  requireRoom,
  type SentProperties,
  sendOwnEvent,
  storageUnavailable,
  withoutKeys,
} from './property-changes.ts'

/** Clients look for deletions under this event name. */
const DELETING_EVENT = '$delete_group_property'

export const GROUP_CHANGE_ROUTES = [
  projectRoute({
    method: 'POST',
    path: 'groups/update_property/',
    scope: 'group:write',
    summary: 'Set one property of a group.',
    query: GroupQuery,
    body: validatorOf(UpdatePropertyBody),
    answers: { 200: GroupItem },
    answer: async (app, call) => {
      const group = findStoredGroup(app, call)
      const { key, value } = call.body
      if (value === undefined) {
        throw new Refusal('required', 'This field is required.', { attr: 'value' })
      }
      const set = Object.fromEntries([[key, value]])
      const after = { ...group.properties, ...set }
      requireRoom('group', { before: group.properties, after }, 'value')
      await sendGroupEvent(app, call.project, group, ['$groupidentify', { $group_set: set }])
      recordUpdate(app, call, group, after)
      return answerJson(await getGroup(app, call, group))
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'groups/delete_property/',
    scope: 'group:write',
    summary: 'Remove properties of a group.',
    query: GroupQuery,
    body: validatorOf(DeletePropertyBody),
    answers: { 200: GroupItem },
    answer: async (app, call) => {
      const group = findStoredGroup(app, call)
      const $group_unset = [call.body.$unset].flat()
      const unknown = $group_unset.find((key) => !Object.hasOwn(group.properties, key))
      if (unknown !== undefined) {
        const detail = `Property '${unknown}' does not exist on this group.`
        throw new Refusal('invalid_input', detail, { attr: '$unset' })
      }
      await sendGroupEvent(app, call.project, group, [DELETING_EVENT, { $group_unset }])
      recordUpdate(app, call, group, withoutKeys(group.properties, $group_unset))
      return answerJson(await getGroup(app, call, group))
    },
  }),
  projectRoute({
    method: 'DELETE',
    path: 'groups/find/',
    scope: 'group:write',
    summary:
      'Delete a group. Events keep its key; the next event about the group creates it again.',
    query: GroupQuery,
    answers: { 204: null },
    answer: async (app, call) => {
      const group = findStoredGroup(app, call)
      await deleteGroup(app, call.project, group)
      recordChange(app, call, group, { activity: 'deleted', changes: [] })
      return answerNothing()
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'groups/activity/',
    scope: 'activity_log:read',
    summary: 'List changes to a group.',
    query: GroupActivityQuery,
    answers: { 200: ItemActivityAnswer },
    answer: (app, call) => {
      const item_id = itemIdOf(readGroupKey(call.request))
      return answerJson(projectActivity(app, call, { scope: 'Group', item_id }))
    },
  }),
] as const

/** A group as stored. */
type StoredGroup = {
  readonly group_type: string
  readonly group_type_index: number
  readonly group_key: string
  readonly properties: SentProperties
}

type GroupCall = OfProject & { readonly caller: Caller; readonly request: Request }

/** Reads the group that the query string names. Refuses a group that is not stored. */
function findStoredGroup(app: AppContext, { project, request }: GroupCall): StoredGroup {
  const { group_type_index, group_key } = readGroupKey(request)
  const type = app.persons
    .listGroupTypes(project.id)
    .find((one) => one.group_type_index === group_type_index)
  const properties = app.persons.findGroup(project.id, group_type_index, group_key)
  if (type === undefined || properties === null) throw new Refusal('not_found', 'Not found.')
  return { group_type: type.group_type, group_type_index, group_key, properties }
}

/** Sends an event about a group. Its distinct id is the project's UUID: no person of the product made the change. */
async function sendGroupEvent(
  app: AppContext,
  project: Project,
  { group_type, group_key }: StoredGroup,
  [event, properties]: readonly [event: string, properties: SentProperties],
): Promise<void> {
  const named = { $group_type: group_type, $group_key: group_key, ...properties }
  await sendOwnEvent(app, project, { event, distinct_id: project.uuid, properties: named })
}

async function deleteGroup(
  app: AppContext,
  project: Project,
  { group_type_index, group_key }: StoredGroup,
): Promise<void> {
  // Cached answers have the group's properties. Dropped before the change too, in case the process ends between.
  app.query_service.forgetAnswers(project.id)
  const group = { project_id: project.id, group_type_index, group_key }
  const { kind } = await app.identity.deleteGroup(group)
  // Groups read earlier in this turn may predate the change.
  app.persons.refresh()
  if (kind === 'unavailable') throw storageUnavailable()
  // Two calls may delete the same group.
  if (kind === 'not_found') throw new Refusal('not_found', 'Not found.')
  app.query_service.forgetAnswers(project.id)
}

function recordUpdate(
  app: AppContext,
  call: GroupCall,
  group: StoredGroup,
  after: SentProperties,
): void {
  const changes = propertyChanges('Group', group.properties, after)
  if (changes.length > 0) recordChange(app, call, group, { activity: 'updated', changes })
}

function recordChange(
  app: AppContext,
  { caller, project }: GroupCall,
  group: StoredGroup,
  noted: Pick<ActivityEntry, 'activity' | 'changes'>,
): void {
  const { name } = group.properties
  recordActivity(
    app.control,
    {
      organization_id: project.organization_id,
      project_id: project.id,
      user_id: caller.user_id,
      scope: 'Group',
      item_id: itemIdOf(group),
      name: typeof name === 'string' && name !== '' ? name : group.group_key,
      ...noted,
    },
    app.now(),
  )
}

const itemIdOf = ({ group_type_index, group_key }: ReturnType<typeof readGroupKey>): string =>
  `${group_type_index}:${group_key}`

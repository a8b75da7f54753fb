/** Changes of event and property definitions: describe, tag, verify, hide, and remove a name from the lists. */

import {
  EventDefinitionBody,
  EventDefinitionItem,
  PropertyDefinitionBody,
  PropertyDefinitionItem,
} from '../../../contract/analytics/definitions.ts'
import {
  changeDefinition,
  type DefinitionChanges,
  deleteDefinition,
  type NamedDefinition,
} from '../../../dashboards/definition.ts'
import { Refusal, unknownId } from '../../../errors.ts'
import type { KnownPropertyType } from '../../../hogql/context.ts'
import type { Project } from '../../../projects/settings/project.ts'
import { listMembers } from '../../../projects/users/members.ts'
import { answerJson, answerNothing } from '../../answers/answers.ts'
import type { AppContext } from '../../app-context.ts'
import { validatorOf } from '../../bodies/shape.ts'
import { authorFinder } from '../../callers/authors.ts'
import { boardEditor } from '../../callers/editors.ts'
import { projectRoute } from '../../route.ts'
import {
  allDetectedProperties,
  type DetectedProperty,
  detectedEvents,
  serializeEventDefinition,
  serializePropertyDefinition,
} from './definition-names.ts'
import { getDefinitionInPath } from './definitions.ts'

export const DEFINITION_CHANGE_ROUTES = [
  projectRoute({
    method: 'PATCH',
    path: 'event_definitions/:id/',
    scope: 'event_definition:write',
    summary:
      'Change an event definition: its description, owner, and whether it is verified or hidden.',
    body: validatorOf(EventDefinitionBody),
    answers: { 200: EventDefinitionItem },
    answer: (app, { caller, body, params, project }) => {
      const event = getDefinitionInPath(params, detectedEvents(app, project))
      requireMember(app, project, body.owner ?? null)
      const wanted = {
        ...readDefinitionChanges(body),
        ...(body.owner === undefined ? {} : { owner: body.owner }),
      }
      const editor = boardEditor(app, project, caller)
      const definition = changeDefinition(
        editor,
        named(event, 'EventDefinition'),
        wanted,
        app.now(),
      )
      return answerJson(serializeEventDefinition({ ...event, definition }, authorFinder(app)))
    },
  }),
  projectRoute({
    method: 'DELETE',
    path: 'event_definitions/:id/',
    scope: 'event_definition:write',
    summary: 'Delete an event definition until the event is seen again; its events stay.',
    answers: { 204: null },
    answer: (app, { caller, params, project }) => {
      const event = getDefinitionInPath(params, detectedEvents(app, project))
      deleteDefinition(
        boardEditor(app, project, caller),
        named(event, 'EventDefinition'),
        app.now(),
      )
      return answerNothing()
    },
  }),
  projectRoute({
    method: 'PATCH',
    path: 'property_definitions/:id/',
    scope: 'property_definition:write',
    summary:
      'Change a property definition: its description, type, and whether it is verified or hidden.',
    body: validatorOf(PropertyDefinitionBody),
    answers: { 200: PropertyDefinitionItem },
    answer: async (app, { caller, body, params, project }) => {
      const property = getDefinitionInPath(params, allDetectedProperties(app, project))
      const { property_type: before } = property
      const { property_type: after = before } = body
      const editor = boardEditor(app, project, caller)
      const about = {
        ...named(property, 'PropertyDefinition'),
        retyped: { before, after },
      }
      const definition = changeDefinition(editor, about, readDefinitionChanges(body), app.now())
      if (after !== before) await changeType(app, project, property, after)
      const changed = { ...property, definition, property_type: after }
      return answerJson(serializePropertyDefinition(changed, authorFinder(app)))
    },
  }),
  projectRoute({
    method: 'DELETE',
    path: 'property_definitions/:id/',
    scope: 'property_definition:write',
    summary: 'Delete a property definition until the property is seen again; its values stay.',
    answers: { 204: null },
    answer: (app, { caller, params, project }) => {
      const property = getDefinitionInPath(params, allDetectedProperties(app, project))
      const editor = boardEditor(app, project, caller)
      deleteDefinition(editor, named(property, 'PropertyDefinition'), app.now())
      return answerNothing()
    },
  }),
] as const

/** Stores the type with which a property is read; answers computed with the former are forgotten. */
async function changeType(
  app: AppContext,
  { id: project_id }: Project,
  { owner, name }: DetectedProperty,
  property_type: KnownPropertyType | null,
): Promise<void> {
  const index = GROUP_TYPES.find((group_type) => group_type === owner.group_type_index)
  const of = owner.kind === 'group' ? index : owner.kind
  if (of === undefined) throw new Error(`a property of a group type ${owner.group_type_index}`)
  await app.property_types.changePropertyType({ project_id, owner: of, name, property_type })
  app.query_service.forgetAnswers(project_id)
}

const GROUP_TYPES = [0, 1, 2, 3, 4] as const

function named(
  { id, name }: Omit<NamedDefinition, 'scope'>,
  scope: NamedDefinition['scope'],
): NamedDefinition {
  return { id, name, scope }
}

/** Reads the stored members from a body; undefined members were not sent. */
function readDefinitionChanges({
  description,
  tags,
  hidden,
  verified,
}: DefinitionChanges): DefinitionChanges {
  return {
    ...(description === undefined ? {} : { description }),
    ...(tags === undefined ? {} : { tags }),
    ...(hidden === undefined ? {} : { hidden }),
    ...(verified === undefined ? {} : { verified }),
  }
}

/** Refuses an owner outside the organization; null means no owner. */
function requireMember(app: AppContext, project: Project, owner: number | null): void {
  if (owner === null) return
  const members = listMembers(app.control, project.organization_id)
  if (members.some(({ user }) => user.id === owner)) return
  throw new Refusal('does_not_exist', unknownId(owner), { attr: 'owner' })
}

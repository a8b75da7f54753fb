/** What people say of names of events and properties: said, taken back, or the name taken out of the lists (wire §4.10). */
import { describe, forget, type Named, type WantedDefinition } from '../../boards/definition.ts'
import {
  EventDefinitionBody,
  EventDefinitionItem,
  PropertyDefinitionBody,
  PropertyDefinitionItem,
} from '../../contract/definitions.ts'
import { Refusal } from '../../errors.ts'
import { listMembers } from '../../projects/members.ts'
import type { Project } from '../../projects/project.ts'
import { answerJson, answerNothing } from '../answers.ts'
import type { Needs } from '../needs.ts'
import { projectRoute } from '../route.ts'
import { shapeOf } from '../shape.ts'
import { authorNamer } from '../targeting/authors.ts'
import { allKnownProperties, eventOnWire, knownEvents, propertyOnWire } from './definition-names.ts'
import { nameIn } from './definitions.ts'
import { boardEditor } from './insights.ts'

export const DEFINITION_CHANGE_ROUTES = [
  projectRoute({
    method: 'PATCH',
    path: 'event_definitions/:id/',
    scope: 'event_definition:write',
    says: 'Say what a name of events means, whose it is, whether it counts.',
    body: shapeOf(EventDefinitionBody),
    answers: { 200: EventDefinitionItem },
    answer: (needs, { asker, body, params, project }) => {
      const event = nameIn(params, knownEvents(needs, project))
      requireMember(needs, project, body.owner ?? null)
      const wanted = { ...saidIn(body), ...(body.owner === undefined ? {} : { owner: body.owner }) }
      const editor = boardEditor(needs, project, asker)
      const said = describe(editor, named(event, 'EventDefinition'), wanted, needs.now())
      return answerJson(eventOnWire({ ...event, said }, authorNamer(needs)))
    },
  }),
  projectRoute({
    method: 'DELETE',
    path: 'event_definitions/:id/',
    scope: 'event_definition:write',
    says: 'Take a name of events out of the lists until it is seen again; its events stay.',
    answers: { 204: null },
    answer: (needs, { asker, params, project }) => {
      const event = nameIn(params, knownEvents(needs, project))
      forget(boardEditor(needs, project, asker), named(event, 'EventDefinition'), needs.now())
      return answerNothing()
    },
  }),
  projectRoute({
    method: 'PATCH',
    path: 'property_definitions/:id/',
    scope: 'property_definition:write',
    says: 'Say what a property means and whether it counts.',
    body: shapeOf(PropertyDefinitionBody),
    answers: { 200: PropertyDefinitionItem },
    answer: (needs, { asker, body, params, project }) => {
      const property = nameIn(params, allKnownProperties(needs, project))
      if (body.property_type !== undefined && body.property_type !== property.property_type) {
        const detail = 'The type of a property is that of the values it has had.'
        throw new Refusal('invalid_input', detail, { attr: 'property_type' })
      }
      const editor = boardEditor(needs, project, asker)
      const about = named(property, 'PropertyDefinition')
      const said = describe(editor, about, saidIn(body), needs.now())
      return answerJson(propertyOnWire({ ...property, said }, authorNamer(needs)))
    },
  }),
  projectRoute({
    method: 'DELETE',
    path: 'property_definitions/:id/',
    scope: 'property_definition:write',
    says: 'Take a property out of the lists until it is seen again; its values stay.',
    answers: { 204: null },
    answer: (needs, { asker, params, project }) => {
      const property = nameIn(params, allKnownProperties(needs, project))
      const editor = boardEditor(needs, project, asker)
      forget(editor, named(property, 'PropertyDefinition'), needs.now())
      return answerNothing()
    },
  }),
] as const

function named({ id, name }: Omit<Named, 'scope'>, scope: Named['scope']): Named {
  return { id, name, scope }
}

/** Of a body what is stored; what is undefined was not said. */
function saidIn({ description, tags, hidden, verified }: WantedDefinition): WantedDefinition {
  return {
    ...(description === undefined ? {} : { description }),
    ...(tags === undefined ? {} : { tags }),
    ...(hidden === undefined ? {} : { hidden }),
    ...(verified === undefined ? {} : { verified }),
  }
}

/** Refuses owners who are not of the organization; null is nobody. */
function requireMember(needs: Needs, project: Project, owner: number | null): void {
  if (owner === null) return
  const members = listMembers(needs.control, project.organization_id)
  if (members.some(({ user }) => user.id === owner)) return
  const detail = `Invalid pk "${owner}" - object does not exist.`
  throw new Refusal('does_not_exist', detail, { attr: 'owner' })
}

/** Schemas of lookups for authors of queries: events, properties and values. */
import { type Static, t } from 'elysia'
import { optionally, rowMembers } from './parts.ts'

const Name = t.String({ maxLength: 400 })
/** The most values of one property. */
const ValuesMax = t.Number({ multipleOf: 1, minimum: 1, maximum: 100 })

export const TeamTaxonomyQuery = t.Object(
  { kind: t.Literal('TeamTaxonomyQuery'), ...rowMembers },
  { additionalProperties: false },
)
export type TeamTaxonomyQuery = Static<typeof TeamTaxonomyQuery>

export const EventTaxonomyQuery = t.Object(
  {
    kind: t.Literal('EventTaxonomyQuery'),
    event: optionally(Name),
    actionId: optionally(t.Number({ multipleOf: 1 })),
    /** Only these properties; all by default. */
    properties: optionally(t.Array(Name, { maxItems: 100 })),
    maxPropertyValues: optionally(ValuesMax),
    ...rowMembers,
  },
  { additionalProperties: false },
)
export type EventTaxonomyQuery = Static<typeof EventTaxonomyQuery>

export const ActorsPropertyTaxonomyQuery = t.Object(
  {
    kind: t.Literal('ActorsPropertyTaxonomyQuery'),
    properties: t.Array(Name, { minItems: 1, maxItems: 100 }),
    /** The group type; persons by default. */
    groupTypeIndex: optionally(t.Number({ multipleOf: 1, minimum: 0, maximum: 4 })),
    maxPropertyValues: optionally(ValuesMax),
    ...rowMembers,
  },
  { additionalProperties: false },
)
export type ActorsPropertyTaxonomyQuery = Static<typeof ActorsPropertyTaxonomyQuery>

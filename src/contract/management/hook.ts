/** Schemas of REST hooks. */
import { t } from 'elysia'
import { Moment, pageOfItems, Whole } from '../common.ts'

/** Body of POST …/hooks/. */
export const HookBody = t.Object(
  {
    target: t.String({ minLength: 1, maxLength: 2000 }),
    event: t.UnionEnum(['action_performed']),
    /** The id of an action. */
    resource_id: Whole,
  },
  { additionalProperties: true },
)

/** A subscription of an address to an action. */
export const HookAnswer = t.Object({
  id: t.String(),
  created: Moment,
  updated: Moment,
  event: t.String(),
  target: t.String(),
  resource_id: Whole,
  team: Whole,
})
export const HookPage = pageOfItems(HookAnswer)

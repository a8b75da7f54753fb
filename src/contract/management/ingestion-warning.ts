/** Schemas of ingestion warnings. */
import { t } from 'elysia'
import { Moment, pageOfItems, Whole } from '../common.ts'

export const IngestionWarningPage = pageOfItems(
  t.Object({
    id: Whole,
    team_id: Whole,
    type: t.String(),
    timestamp: Moment,
    details: t.Object({}, { additionalProperties: true }),
  }),
)

/** Query parameters of the list. */
export const IngestionWarningQuery = t.Object({
  limit: t.Optional(Whole),
  offset: t.Optional(Whole),
  type: t.Optional(t.String()),
  search: t.Optional(t.String()),
  after: t.Optional(Moment),
  before: t.Optional(Moment),
})

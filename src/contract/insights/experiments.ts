/** Queries about what came of an experiment, as they are sent: by today's metrics, and by the two older kinds. */
import { type Static, t } from 'elysia'
import { Members, optionally } from './parts.ts'

const members = {
  experiment_id: t.Number({ multipleOf: 1 }),
  name: optionally(t.String()),
  uuid: optionally(t.String()),
  fingerprint: optionally(t.String()),
  modifiers: optionally(Members),
  response: optionally(t.Unknown()),
  tags: optionally(t.Unknown()),
  version: optionally(t.Number()),
}

/** A metric as experiments save it: `mean`, `funnel`, `ratio` or `retention`. */
export const ExperimentQuery = t.Object(
  { kind: t.Literal('ExperimentQuery'), metric: Members, ...members },
  { additionalProperties: false },
)
export type ExperimentQuery = Static<typeof ExperimentQuery>

/** The steps of a FunnelsQuery, after a variant was shown. */
export const ExperimentFunnelsQuery = t.Object(
  { kind: t.Literal('ExperimentFunnelsQuery'), funnels_query: Members, ...members },
  { additionalProperties: false },
)
export type ExperimentFunnelsQuery = Static<typeof ExperimentFunnelsQuery>

/** The first series of a TrendsQuery, after a variant was shown. */
export const ExperimentTrendsQuery = t.Object(
  {
    kind: t.Literal('ExperimentTrendsQuery'),
    count_query: Members,
    /** Who was exposed is always told by `$feature_flag_called`: nothing else is taken. */
    exposure_query: optionally(Members),
    ...members,
  },
  { additionalProperties: false },
)
export type ExperimentTrendsQuery = Static<typeof ExperimentTrendsQuery>

/** How many people were shown what, day by day; what is not said is as the experiment has it. */
export const ExperimentExposureQuery = t.Object(
  {
    kind: t.Literal('ExperimentExposureQuery'),
    experiment_id: optionally(t.Number({ multipleOf: 1 })),
    experiment_name: optionally(t.String()),
    exposure_criteria: optionally(Members),
    feature_flag: optionally(Members),
    holdout: optionally(Members),
    start_date: optionally(t.String()),
    end_date: optionally(t.String()),
    modifiers: optionally(Members),
    response: optionally(t.Unknown()),
    tags: optionally(t.Unknown()),
    version: optionally(t.Number()),
  },
  { additionalProperties: false },
)
export type ExperimentExposureQuery = Static<typeof ExperimentExposureQuery>

/** Schemas of experiment queries: by today's metrics, and two legacy kinds. */
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

/** A funnel after the exposure. */
export const ExperimentFunnelsQuery = t.Object(
  { kind: t.Literal('ExperimentFunnelsQuery'), funnels_query: Members, ...members },
  { additionalProperties: false },
)
export type ExperimentFunnelsQuery = Static<typeof ExperimentFunnelsQuery>

/** The first series of a trend after the exposure. */
export const ExperimentTrendsQuery = t.Object(
  {
    kind: t.Literal('ExperimentTrendsQuery'),
    count_query: Members,
    /** Exposures always come from `$feature_flag_called`: any other query is refused. */
    exposure_query: optionally(Members),
    ...members,
  },
  { additionalProperties: false },
)
export type ExperimentTrendsQuery = Static<typeof ExperimentTrendsQuery>

/** Exposures by day and variant; undefined members are those of the experiment. */
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

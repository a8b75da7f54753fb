/** Schemas of cohorts. */
import { t } from 'elysia'
import {
  AnyJson,
  Moment,
  NullableMoment,
  NullableText,
  PageQuery,
  pageOfItems,
  Whole,
} from '../common.ts'
import { PersonItem } from '../persons/persons.ts'
import { NullableUser } from '../user-basic.ts'

const NAME_LENGTH_MAX = 400
const DESCRIPTION_LENGTH_MAX = 1000
const PEOPLE_MAX = 100_000

const Names = t.Array(t.String({ minLength: 1 }), { maxItems: PEOPLE_MAX })

/** Body of POST …/cohorts/ and of PATCH. Unknown members are ignored: clients send back whole answers. */
export const CohortBody = t.Object(
  {
    name: t.Optional(t.Nullable(t.String({ maxLength: NAME_LENGTH_MAX }))),
    description: t.Optional(t.Nullable(t.String({ maxLength: DESCRIPTION_LENGTH_MAX }))),
    filters: t.Optional(t.Nullable(t.Object({}, { additionalProperties: true }))),
    groups: t.Optional(t.Nullable(t.Array(t.Unknown()))),
    /** An ActorsQuery, or another query with persons: adds them to a new static cohort. */
    query: t.Optional(t.Nullable(t.Record(t.String(), t.Unknown()))),
    is_static: t.Optional(t.Nullable(t.Boolean())),
    deleted: t.Optional(t.Nullable(t.Boolean())),
    _create_static_person_ids: t.Optional(Names),
  },
  { additionalProperties: true },
)

/** Body of …/cohorts/{id}/add_persons_to_static_cohort/ and its opposite. */
export const CohortPeople = t.Object(
  {
    person_ids: t.Optional(Names),
    distinct_ids: t.Optional(Names),
    person_id: t.Optional(t.String({ minLength: 1 })),
  },
  { additionalProperties: true },
)

export const CohortMembersQuery = t.Object({
  ...PageQuery.properties,
  format: t.Optional(t.UnionEnum(['csv', 'json'])),
  /** A part of the email or name, or an exact id. */
  search: t.Optional(t.String()),
  /** A JSON list of property filters, combined with AND. */
  properties: t.Optional(t.String()),
})

export const CohortsQuery = t.Object({
  ...PageQuery.properties,
  /** Part of a name. */
  search: t.Optional(t.String()),
  type: t.Optional(t.UnionEnum(['static', 'dynamic'])),
  /** Ids with commas. */
  created_by_id: t.Optional(t.String()),
  /** Excludes behavioral cohorts. */
  hide_behavioral_cohorts: t.Optional(t.UnionEnum(['true', 'false'])),
})

/** A cohort as the API returns it. */
export const CohortAnswer = t.Object({
  id: Whole,
  name: NullableText,
  description: t.String(),
  groups: t.Array(AnyJson),
  filters: AnyJson,
  query: AnyJson,
  is_static: t.Boolean(),
  cohort_type: t.UnionEnum(['static', 'person_property', 'behavioral']),
  deleted: t.Boolean(),
  is_calculating: t.Boolean(),
  /** Null until the first calculation. */
  count: t.Nullable(Whole),
  errors_calculating: Whole,
  last_calculation: NullableMoment,
  created_by: NullableUser,
  created_at: Moment,
  experiment_set: t.Array(Whole),
})
export const CohortPage = pageOfItems(CohortAnswer)

/** Calculations of a cohort. */
export const CalculationPage = pageOfItems(
  t.Object({
    id: Whole,
    filters: AnyJson,
    count: t.Nullable(Whole),
    started_at: Moment,
    finished_at: NullableMoment,
    error: NullableText,
    total_query_ms: t.Nullable(Whole),
    is_completed: t.Boolean(),
    is_successful: t.Boolean(),
  }),
)

/** The static cohort of the persons that a flag includes. */
export const FlagCohortAnswer = t.Object({ cohort: CohortAnswer })

/** The persons of a cohort, a page at a time. */
export const CohortMembers = t.Object({
  results: t.Array(PersonItem),
  next: NullableText,
  previous: NullableText,
})

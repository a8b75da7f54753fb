/** Schemas of changes to persons, and of merges. */
import { t } from 'elysia'
import { Moment, Uuid, Whole } from '../common.ts'
import { CohortAnswer } from '../targeting/cohorts.ts'

/** Values by name. */
const Properties = t.Record(t.String({ minLength: 1 }), t.Unknown())

/** Body of PATCH and PUT. */
export const PersonBody = t.Object({ properties: Properties }, { additionalProperties: true })

export const UpdatePropertyBody = t.Object(
  { key: t.String({ minLength: 1 }), value: t.Unknown() },
  { additionalProperties: true },
)

export const DeletePropertyBody = t.Object(
  {
    $unset: t.Union([
      t.String({ minLength: 1 }),
      t.Array(t.String({ minLength: 1 }), { minItems: 1 }),
    ]),
  },
  { additionalProperties: true },
)

export const SplitBody = t.Object(
  {
    main_distinct_id: t.Optional(t.Nullable(t.String())),
    /** Refused: it names the only ids to split off. */
    distinct_ids_to_split: t.Optional(t.Nullable(t.Array(t.String()))),
  },
  { additionalProperties: true },
)

/** Without an id, the last merge. */
export const UndoMergeBody = t.Object(
  { merge_id: t.Optional(t.Nullable(Whole)) },
  { additionalProperties: true },
)

export const BulkDeleteBody = t.Object(
  {
    ids: t.Optional(t.Array(t.String())),
    distinct_ids: t.Optional(t.Array(t.String())),
    delete_events: t.Optional(t.Nullable(t.Boolean())),
    delete_recordings: t.Optional(t.Nullable(t.Boolean())),
    /** Refused when true. */
    keep_person: t.Optional(t.Nullable(t.Boolean())),
  },
  { additionalProperties: true },
)

/** The answer of a bulk deletion. */
export const BulkDeleted = t.Object({
  persons_found: Whole,
  persons_deleted: Whole,
  /** None: persons are deleted before the answer. */
  persons_queued_for_deletion: Whole,
  events_queued_for_deletion: t.Boolean(),
  /** There are no recordings, so a request to delete them is always met. */
  recordings_queued_for_deletion: t.Boolean(),
  deletion_errors: t.Array(t.Unknown()),
})

export const DeleteQuery = t.Object({ delete_events: t.Optional(t.String()) })

export const PersonCohortsQuery = t.Object({ person_id: t.String() })

export const PersonCohorts = t.Object({ results: t.Array(CohortAnswer) })

export const Done = t.Object({ success: t.Literal(true) })

/** The persons after a split. */
export const SplitAnswer = t.Object({ success: t.Literal(true), persons: t.Array(Uuid) })

/** One merge that can be undone. */
const MergeItem = t.Object({
  id: Whole,
  /** The person that remained. */
  person: Uuid,
  /** The person that was absorbed. */
  merged_person: Uuid,
  /** Its own distinct ids; those of persons it had absorbed are listed at those merges. */
  distinct_ids: t.Array(t.String()),
  merged_at: Moment,
})

export const MergeList = t.Object({ results: t.Array(MergeItem) })

/** A person after the undo of a merge, in numbers. */
const PersonAfterUndo = t.Object({
  person: Uuid,
  /** At most a hundred of them. */
  distinct_ids: t.Array(t.String()),
  distinct_id_count: Whole,
  /** Null where there are too many ids to count the events of each. */
  event_count: t.Nullable(Whole),
  property_count: Whole,
  cohort_count: Whole,
})

/** The changes that undoing a merge would make. */
export const UndoPreviewAnswer = t.Object({
  survivor: PersonAfterUndo,
  restored: PersonAfterUndo,
  /** Properties that the survivor has from the other person alone, or with another value without it. */
  properties_lost: t.Array(t.String()),
  cohorts_lost_count: Whole,
})

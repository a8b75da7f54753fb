/** Schemas of lists of feature flags, their filters, and bulk actions. */
import { t } from 'elysia'
import { AnyJson, NullableText, PageQuery, Whole } from '../common.ts'
import { Texts } from './flags.ts'

const TRUTHS = t.UnionEnum(['true', 'false'])
const TYPES = ['boolean', 'multivariant', 'experiment', 'remote_config'] as const

/** Filters of a list of flags. */
const flagFilters = {
  active: t.Optional(t.UnionEnum(['true', 'false', 'STALE'])),
  /** Archived flags are excluded by default. */
  archived: t.Optional(TRUTHS),
  /** Part of a key, a name or the name of a flag's experiment. */
  search: t.Optional(t.String()),
  /** A whole key. */
  key: t.Optional(t.String()),
  type: t.Optional(t.UnionEnum(TYPES)),
  /** One id, several with commas, or a JSON list. */
  created_by_id: t.Optional(t.String()),
  evaluation_runtime: t.Optional(t.String()),
  /** A JSON list, or names with commas; any of them matches. */
  tags: t.Optional(t.String()),
  excluded_tags: t.Optional(t.String()),
  has_evaluation_contexts: t.Optional(TRUTHS),
  has_evaluation_tags: t.Optional(TRUTHS),
  /** A JSON list of keys to exclude. */
  excluded_properties: t.Optional(t.String()),
  /** Only flags with two to twenty variants. */
  eligible_for_experiment: t.Optional(TRUTHS),
}

export const FlagsQuery = t.Object({
  ...PageQuery.properties,
  ...flagFilters,
  /** A member to sort by; `-` before it reverses the order. */
  order: t.Optional(t.String()),
})

export const MatchingFlagsQuery = t.Object(flagFilters)
export const MatchingFlags = t.Object({ ids: t.Array(Whole), total: Whole })

const FLAG_IDS_MAX = 10_000
/** Ids as numbers or digits; others are reported, not refused. */
const AnyIds = t.Array(t.Unknown(), { maxItems: FLAG_IDS_MAX })

/** Body of …/feature_flags/bulk_keys/. */
export const FlagKeysBody = t.Object({ ids: t.Optional(AnyIds) }, { additionalProperties: true })
/** Keys by id. */
export const FlagKeys = t.Object({
  keys: t.Record(t.String(), t.String()),
  warning: t.Optional(t.String()),
})

/** Body of …/feature_flags/bulk_delete/: ids, or filters as in a list. */
export const FlagsToDelete = t.Object(
  { ids: t.Optional(AnyIds), filters: t.Optional(t.Record(t.String(), t.Unknown())) },
  { additionalProperties: true },
)
export const DeletedFlags = t.Object({
  deleted: t.Array(
    t.Object({
      id: Whole,
      key: t.String(),
      rollout_state: t.UnionEnum(['fully_rolled_out', 'not_rolled_out', 'partial']),
      active_variant: NullableText,
    }),
  ),
  errors: t.Array(t.Object({ id: AnyJson, key: t.Optional(t.String()), reason: t.String() })),
})

/** Body of …/feature_flags/bulk_update_tags/. */
export const FlagsToTag = t.Object(
  {
    ids: t.Array(Whole, { minItems: 1, maxItems: 500 }),
    action: t.UnionEnum(['add', 'remove', 'set']),
    tags: Texts,
  },
  { additionalProperties: true },
)
export const TaggedFlags = t.Object({
  updated: t.Array(t.Object({ id: Whole, tags: t.Array(t.String()) })),
  skipped: t.Array(t.Object({ id: Whole, reason: t.String() })),
})

/** Schemas of personal API keys. */
import { t } from 'elysia'
import { Moment, NullableMoment, pageOfItems, Uuid, Whole } from '../common.ts'

const SCOPES_MAX = 200
const REACH_MAX = 1000

const settable = {
  label: t.String(),
  scopes: t.Array(t.String(), { maxItems: SCOPES_MAX }),
  scoped_teams: t.Nullable(t.Array(Whole, { maxItems: REACH_MAX })),
  scoped_organizations: t.Nullable(t.Array(t.String(), { maxItems: REACH_MAX })),
  expires_at: NullableMoment,
}

/** Body of POST /api/personal_api_keys/. */
export const KeyBody = t.Object(
  {
    label: settable.label,
    scopes: settable.scopes,
    scoped_teams: t.Optional(settable.scoped_teams),
    scoped_organizations: t.Optional(settable.scoped_organizations),
    expires_at: t.Optional(settable.expires_at),
  },
  { additionalProperties: true },
)

/** Body of PATCH of one. */
export const KeyChange = t.Partial(t.Object(settable), { additionalProperties: true })

/** The limits of an unlimited key are empty lists. */
const key = {
  ...settable,
  scoped_teams: t.Array(Whole),
  scoped_organizations: t.Array(t.String()),
  id: Uuid,
  mask_value: t.String(),
  user_id: Whole,
  created_at: Moment,
  last_used_at: NullableMoment,
  last_rolled_at: NullableMoment,
}

export const KeyAnswer = t.Object(key)
export const KeyPage = pageOfItems(KeyAnswer)

/** A key with its value, which is shown only once. */
export const ShownKeyAnswer = t.Object({ ...key, value: t.String() })

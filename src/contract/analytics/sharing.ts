/** Schemas of public links to dashboards. */
import { t } from 'elysia'
import { AnyJson, NullableMoment, NullableText, Whole } from '../common.ts'

/** Body of PATCH …/sharing/: opens or ends the link. */
export const SharingBody = t.Object({ enabled: t.Boolean() }, { additionalProperties: true })

/** A dashboard's link; the token is null while there never was one. */
export const SharingAnswer = t.Object({
  created_at: NullableMoment,
  enabled: t.Boolean(),
  access_token: NullableText,
  settings: t.Null(),
  password_required: t.Boolean(),
  share_passwords: t.Array(AnyJson),
})

/** Answer of GET /shared/:token.json: the dashboard and its results, without names of members and without other dashboards. */
export const SharedBoard = t.Object({
  type: t.Literal('scene'),
  timezone: t.String(),
  dashboard: t.Object({
    id: Whole,
    name: NullableText,
    description: t.String(),
    tiles: t.Array(
      t.Object({
        id: Whole,
        layouts: AnyJson,
        color: NullableText,
        text: t.Nullable(t.Object({ body: t.String() })),
        insight: t.Nullable(
          t.Object({
            name: NullableText,
            description: t.String(),
            query: AnyJson,
            result: AnyJson,
            columns: AnyJson,
            types: AnyJson,
            last_refresh: AnyJson,
            query_status: AnyJson,
          }),
        ),
      }),
    ),
  }),
})

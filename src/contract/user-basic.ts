/** Schema of users inside other objects: the creator of a flag, the last editor of a survey. */
import { t } from 'elysia'
import { AnyJson, NullableYes, Uuid, Whole } from './common.ts'

const UserBasic = t.Object({
  id: Whole,
  uuid: Uuid,
  distinct_id: t.String(),
  first_name: t.String(),
  last_name: t.String(),
  email: t.String(),
  is_email_verified: NullableYes,
  hedgehog_config: AnyJson,
})

/** Null for no user and for deleted users. */
export const NullableUser = t.Nullable(UserBasic)

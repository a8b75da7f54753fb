/** Schemas of query variables. */
import { type Static, t } from 'elysia'
import { AnyJson, Moment, pageOfItems, Uuid } from '../common.ts'
import { NullableUser } from '../user-basic.ts'

const NAME_LENGTH_MAX = 400

const TYPES = ['String', 'Number', 'Boolean', 'List', 'Date'] as const

const members = {
  /** The value unless a query overrides it. */
  default_value: t.Optional(AnyJson),
  /** The choices of a variable of type List. */
  values: t.Optional(t.Nullable(t.Array(AnyJson))),
}

/** Body of POST …/insight_variables/. */
export const NewVariable = t.Object(
  {
    name: t.String({ minLength: 1, maxLength: NAME_LENGTH_MAX }),
    type: t.UnionEnum(TYPES),
    ...members,
  },
  { additionalProperties: true },
)

/** Body of PATCH …/insight_variables/{id}/. */
export const VariableChange = t.Object(
  {
    name: t.Optional(t.String({ minLength: 1, maxLength: NAME_LENGTH_MAX })),
    type: t.Optional(t.UnionEnum(TYPES)),
    ...members,
  },
  { additionalProperties: true },
)
export type VariableChange = Static<typeof VariableChange>

/** A variable as the API returns it. */
export const VariableAnswer = t.Object({
  id: Uuid,
  name: t.String(),
  type: t.UnionEnum(TYPES),
  default_value: AnyJson,
  values: t.Nullable(t.Array(AnyJson)),
  /** The name in queries: `{variables.code_name}`. */
  code_name: t.String(),
  created_by: NullableUser,
  created_at: Moment,
})
export const VariablePage = pageOfItems(VariableAnswer)

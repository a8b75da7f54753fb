/** Schemas that many bodies and answers of the management API share. */
import { type TSchema, t } from 'elysia'

/**
 * A whole number that a double stores exactly. Elysia's own `t.Integer` accepts the text "3", which JSON bodies
 * must not.
 */
export const Whole = t.Number({
  multipleOf: 1,
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
})

export const Uuid = t.String({ format: 'uuid' })
export const Moment = t.String({ format: 'date-time' })
export const NullableText = t.Nullable(t.String())
export const NullableYes = t.Nullable(t.Boolean())
export const NullableMoment = t.Nullable(Moment)

/** Any JSON at all. */
export const AnyJson = t.Unknown()

/** Query parameters of every list. */
export const PageQuery = t.Object({
  limit: t.Optional(Whole),
  offset: t.Optional(Whole),
})

/** A page of a list. */
export const pageOfItems = <Item extends TSchema>(item: Item) =>
  t.Object({
    count: Whole,
    next: t.Nullable(t.String({ format: 'uri' })),
    previous: t.Nullable(t.String({ format: 'uri' })),
    results: t.Array(item),
  })

/** The body of every refusal. */
export const ErrorAnswer = t.Object({
  type: t.String(),
  code: t.String(),
  detail: t.String(),
  attr: NullableText,
  extra: t.Optional(AnyJson),
})

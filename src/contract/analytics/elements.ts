/** Schemas of autocaptured elements and of session properties. */
import { t } from 'elysia'
import { AnyJson, NullableText, PageQuery, pageOfItems, Whole } from '../common.ts'

export const ElementStatsQuery = t.Object({
  ...PageQuery.properties,
  date_from: t.Optional(t.String()),
  date_to: t.Optional(t.String()),
  /** A JSON list of property filters. */
  properties: t.Optional(t.String()),
  filter_test_accounts: t.Optional(t.UnionEnum(['true', 'false'])),
  /** Events to count; may be repeated. */
  include: t.Optional(t.UnionEnum(['$autocapture', '$rageclick', '$dead_click'])),
})

const Element = t.Object({
  text: NullableText,
  tag_name: NullableText,
  attr_class: t.Nullable(t.Array(t.String())),
  href: NullableText,
  attr_id: NullableText,
  nth_child: t.Nullable(t.Number()),
  nth_of_type: t.Nullable(t.Number()),
  attributes: t.Record(t.String(), t.String()),
  order: Whole,
})

export const ElementStats = t.Object({
  next: NullableText,
  previous: NullableText,
  results: t.Array(
    t.Object({
      count: Whole,
      hash: t.Null(),
      /** The event's name. */
      type: t.String(),
      /** Innermost first. */
      elements: t.Array(Element),
    }),
  ),
})

export const LookedUpValuesQuery = t.Object({ key: t.String(), value: t.Optional(t.String()) })

/** Values, the most frequent first. */
export const LookedUpValues = t.Array(t.Object({ name: AnyJson, count: Whole }))

export const SessionPropertiesQuery = t.Object({
  ...PageQuery.properties,
  search: t.Optional(t.String()),
})

export const SessionProperty = t.Object({
  id: t.String(),
  name: t.String(),
  is_numerical: t.Boolean(),
  property_type: t.String(),
  tags: t.Array(t.String()),
  is_seen_on_filtered_events: t.Null(),
})

/** Stored elements: there are none. */
export const ElementPage = pageOfItems(AnyJson)

/** Kinds of questions about behaviour, as they are sent; one line per kind. Interface §4.3. */
import type { Static } from 'elysia'
import { LifecycleQuery } from './lifecycle.ts'
import { StickinessQuery } from './stickiness.ts'

export const INSIGHT_QUERIES = {
  LifecycleQuery,
  StickinessQuery,
} as const

type Schemas = typeof INSIGHT_QUERIES

/** What was sent, by kind, its shape checked. */
export type InsightQueries = { readonly [Kind in keyof Schemas]: Static<Schemas[Kind]> }

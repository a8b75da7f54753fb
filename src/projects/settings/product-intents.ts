/** Product intents: the products that a project's users want to use, and finished onboardings. */

import { and, asc, eq } from 'drizzle-orm'
import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { Refusal } from '../../errors.ts'
import { isObject } from '../../json.ts'
import type { ControlDB } from '../../storage/control/control-db.ts'
import { type Json, json, projects, timestamp } from '../tables.ts'
import { findProject } from './project.ts'

/** Every answer with a project contains its intents, so their number and their lengths have limits. */
const INTENTS_MAX = 50
const JSON_LENGTH_MAX = 10_000

const product_intents = sqliteTable(
  'product_intents',
  {
    project_id: integer().notNull(),
    product_type: text().notNull(),
    contexts: json().notNull().default({}),
    metadata: json().notNull().default({}),
    created_at: timestamp().notNull(),
    updated_at: timestamp().notNull(),
    onboarding_completed_at: timestamp(),
  },
  (table) => [primaryKey({ columns: [table.project_id, table.product_type] })],
)

export type IntentRequest = {
  readonly project_id: number
  readonly product_type: string
  /** The place in the UI that recorded the intent. */
  readonly context: string
  readonly metadata: Readonly<Record<string, Json>>
}

/** The intents of a project in the form of the API, oldest first. */
export function listProductIntents(db: ControlDB, project_id: number): readonly object[] {
  return db
    .select()
    .from(product_intents)
    .where(eq(product_intents.project_id, project_id))
    .orderBy(asc(product_intents.created_at), asc(product_intents.product_type))
    .all()
    .map(({ project_id: _project, ...intent }) => intent)
}

/**
 * Records an intent. An existing one keeps its creation date and counts the context. Refuses more intents, contexts or
 * metadata than fit.
 */
export function addProductIntent(db: ControlDB, request: IntentRequest, now: Date): void {
  const { project_id, product_type, context } = request
  const its = whichIntent(request)
  const stored = db.select().from(product_intents).where(its).get()
  const contexts: { [context: string]: Json } = { ...asObject(stored?.contexts) }
  const seen = contexts[context]
  contexts[context] = (typeof seen === 'number' ? seen : 0) + 1
  const metadata = { ...asObject(stored?.metadata), ...request.metadata }
  if (stored === undefined) requireRoom(db, project_id)
  requireLength(contexts, 'intent_context')
  requireLength(metadata, 'metadata')
  db.insert(product_intents)
    .values({ project_id, product_type, contexts, metadata, created_at: now, updated_at: now })
    .onConflictDoUpdate({
      target: [product_intents.project_id, product_intents.product_type],
      set: { contexts, metadata, updated_at: now },
    })
    .run()
}

/** Records a finished onboarding of a product, on the intent and the project. */
export function completeOnboarding(db: ControlDB, request: IntentRequest, now: Date): void {
  addProductIntent(db, request, now)
  db.update(product_intents).set({ onboarding_completed_at: now }).where(whichIntent(request)).run()
  const completed = asObject(findProject(db, request.project_id)?.has_completed_onboarding_for)
  db.update(projects)
    .set({
      has_completed_onboarding_for: { ...completed, [request.product_type]: true },
      updated_at: now,
    })
    .where(eq(projects.id, request.project_id))
    .run()
}

function requireRoom(db: ControlDB, project_id: number): void {
  if (listProductIntents(db, project_id).length < INTENTS_MAX) return
  const detail = `A project has at most ${INTENTS_MAX} product intents.`
  throw new Refusal('invalid_input', detail, { attr: 'product_type' })
}

function requireLength(value: Json, attr: string): void {
  if (JSON.stringify(value).length <= JSON_LENGTH_MAX) return
  const detail = `Ensure this field of the intent has no more than ${JSON_LENGTH_MAX} characters.`
  throw new Refusal('max_length', detail, { attr })
}

function whichIntent({ project_id, product_type }: IntentRequest) {
  return and(
    eq(product_intents.project_id, project_id),
    eq(product_intents.product_type, product_type),
  )
}

function asObject(value: Json | undefined): { readonly [key: string]: Json } {
  return isObject(value) ? value : {}
}

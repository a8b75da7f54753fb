/** A project with events and people whose insights are asked for, through the compiler and the query process. */

import type { CohortReference, KnownPropertyType } from '../../src/hogql/context.ts'
import type { Select } from '../../src/hogql/syntax/ast.ts'
import type { ExperimentDefinition } from '../../src/insights/experiments/experiment-definition.ts'
import type { InsightContext } from '../../src/insights/insight.ts'
import type { SavedAction } from '../../src/insights/members/actions.ts'
import { compileTextQuery, compileTree } from '../../src/query/compiling/compiler.ts'
import type { QueryEngine } from '../../src/query/engine/engine.ts'
import type { WorkerQuery } from '../../src/query/engine/protocol.ts'
import { workerQuery } from '../../src/query/kinds/hogql.ts'
import {
  contextOf,
  type InsightQueryNode,
  prepareInsight,
  runInsightTree,
} from '../../src/query/kinds/insight.ts'
import type { QueryContext } from '../../src/query/kinds/prepared-query.ts'
import { idOf, World } from '../query/world.ts'
import { fewOrMany, isTried } from '../random-runs.ts'
import { removeAtEnd } from '../remove-at-end.ts'
import { expectSameRows } from './any-history/printed.ts'

/** One event as tests write it. */
export type Sent = {
  readonly event?: string
  /** ISO 8601 in UTC. */
  readonly at: string
  /** The person's number; their distinct id is `d<number>`. */
  readonly person: number
  readonly properties?: Readonly<Record<string, unknown>>
  readonly groups?: readonly string[]
  readonly elements_chain?: string
  /** Sent without a person profile. */
  readonly is_personless?: boolean
}

/** What is known about the project. */
export type Known = {
  readonly timezone?: string
  readonly week_start_day?: 0 | 1
  readonly property_types?: Readonly<Record<string, KnownPropertyType>>
  readonly actions?: readonly SavedAction[]
  readonly cohorts?: readonly CohortReference[]
  readonly experiments?: readonly ExperimentDefinition[]
  readonly test_account_filters?: unknown
  readonly path_cleaning_filters?: unknown
  /** The most rows that one query to the engine may answer. */
  readonly rows_max?: number
}

/** An answer as clients read it. */
export type Answered = {
  readonly results: unknown
  readonly [member: string]: unknown
}

const AMPLE_MS = 90_000
const ROWS_MAX = 50_000
/** Queries of one shape whose printed text is asked too, for a part of the shapes. */
const COMPARED_MAX = fewOrMany(1, 2)
const SHAPES_STEP = 3

/** The folder of all worlds of a process: opening one more project takes 0.05 s of processor time, an engine 0.2. */
let shared: { readonly world: World; readonly engine: QueryEngine; projects: number } | null = null

function openShared(): NonNullable<typeof shared> {
  if (shared === null) {
    const world = new World()
    removeAtEnd(world.data_dir)
    shared = { world, engine: world.openEngine(), projects: 0 }
  }
  shared.projects += 1
  return shared
}

/** A project of its own; with a folder of its own if it is given one, which it then closes. */
export class InsightWorld implements AsyncDisposable {
  readonly world: World
  readonly project_id: number
  readonly #engine: QueryEngine
  readonly #own: World | null
  readonly #compared = new Map<string, number>()
  #known: Known = {}

  constructor(own: World | null = null) {
    this.#own = own
    const { world, engine, projects } =
      own === null ? openShared() : { world: own, engine: own.openEngine(), projects: 1 }
    this.world = world
    this.#engine = engine
    this.project_id = projects
  }

  /** What is known from now on. */
  know(known: Known): void {
    this.#known = known
  }

  send(...events: readonly Sent[]): void {
    this.world.send(
      ...events.map((sent) => ({
        project_id: this.project_id,
        event: sent.event ?? 'seen',
        distinct_id: `d${sent.person}`,
        person_id: idOf(sent.person),
        person_mode: sent.is_personless === true ? ('propertyless' as const) : ('full' as const),
        timestamp: Date.parse(sent.at) * 1000,
        created_at: Date.parse(sent.at) * 1000,
        properties: JSON.stringify(sent.properties ?? {}),
        elements_chain: sent.elements_chain ?? '',
        groups: Array.from({ length: 5 }, (_, index) => sent.groups?.[index] ?? null),
      })),
    )
  }

  /** A person, created at a time. */
  addPerson(person: number, created_at: string, properties: object = {}): void {
    this.#write(
      `insert or replace into persons
        (project_id, id, created_at, properties, is_identified, version, is_deleted, change)
        values (?, ?, ?, ?, 1, 0, 0, ?)`,
      idOf(person),
      Date.parse(created_at) * 1000,
      JSON.stringify(properties),
    )
  }

  addGroup(index: number, key: string, properties: object, created_at = '2024-01-01'): void {
    this.#write(
      'insert or replace into groups (project_id, group_type_index, group_key, created_at, updated_at, properties, change) values (?, ?, ?, ?, 0, ?, ?)',
      index,
      key,
      Date.parse(created_at) * 1000,
      JSON.stringify(properties),
    )
  }

  /** From now on events of one person are another's. */
  merge(old_person: number, person: number): void {
    this.#write(
      'insert into person_overrides (project_id, old_person_id, person_id, change) values (?, ?, ?, ?)',
      idOf(old_person),
      idOf(person),
    )
  }

  /** Asks as the query endpoint does, at a given time. */
  async ask(query: InsightQueryNode, now: string): Promise<Answered> {
    await this.#comparePrintedOnce(query, now)
    const prepared = prepareInsight(query, this.queryContext())
    const { head, results } = await prepared.compute(
      (sent) => this.#engine.run(sent, { timeout_ms: AMPLE_MS }),
      new Date(now),
    )
    return { ...JSON.parse(head), results: JSON.parse(Buffer.from(results).toString()) }
  }

  /** Compares the first queries of every shape, since tests ask thousands. */
  async #comparePrintedOnce(query: InsightQueryNode, now: string): Promise<void> {
    const shape = JSON.stringify(query).replaceAll(/\d+/g, '')
    const compared = this.#compared.get(shape) ?? 0
    if (compared >= COMPARED_MAX || !isTried(numberOf(shape), SHAPES_STEP)) return
    this.#compared.set(shape, compared + 1)
    await this.comparePrinted(query, now)
  }

  /** Compares the rows of an insight with those of its printed text. */
  async comparePrinted(query: InsightQueryNode, at: string): Promise<void> {
    const now = new Date(at)
    const context = this.queryContext()
    const { rows_max } = context
    const run = (sent: WorkerQuery) => this.#engine.run(sent, { timeout_ms: AMPLE_MS })
    await expectSameRows(query, contextOf(context, now), {
      runTree: (tree) => runInsightTree(tree, { context, run, now }),
      runText: async (text) => {
        const subject = { kind: 'text', text, values: new Map(), filters: null } as const
        const limits = { rows_default: 100, rows_max }
        const compiled = await compileTextQuery(subject, context, { now, limits })
        const { rows_json } = await run(workerQuery(compiled, context))
        return JSON.parse(Buffer.from(rows_json).toString())
      },
    })
  }

  /** The rows of a tree. */
  async rows(tree: Select, now: string): Promise<unknown[][]> {
    const asking = this.queryContext()
    const compiled = await compileTree(tree, asking, new Date(now))
    const answer = await this.#engine.run(workerQuery(compiled, asking), { timeout_ms: AMPLE_MS })
    return JSON.parse(Buffer.from(answer.rows_json).toString())
  }

  /** What a query knows of the project. */
  queryContext(): QueryContext {
    const { timezone, week_start_day, property_types, test_account_filters } = this.#known
    const { actions = [], cohorts = [], experiments = [] } = this.#known
    return {
      project: {
        id: this.project_id,
        timezone: timezone ?? 'UTC',
        week_start_day: week_start_day ?? 0,
        hidden_tables: [],
        test_account_filters: test_account_filters ?? [],
        path_cleaning_filters: this.#known.path_cleaning_filters ?? [],
      },
      property_types: new Map(Object.entries(property_types ?? {})),
      actions: () => actions,
      cohorts: () => cohorts,
      findExperiment: (id) => experiments.find((one) => one.id === id) ?? null,
      rows_max: this.#known.rows_max ?? ROWS_MAX,
    }
  }

  /** Runs a statement whose first value is the project and whose last one is a new change number. */
  #write(sql: string, ...values: (Uint8Array | number | string)[]): void {
    const { log } = this.world
    log.transact(() => {
      log.db.query(sql).run(this.project_id, ...values, log.nextChange())
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#own?.[Symbol.asyncDispose]()
  }
}

/** What insights know about a project of which nothing is known. */
export function insightContext(now: string, known: Known = {}): InsightContext {
  return {
    project_id: 1,
    timezone: known.timezone ?? 'UTC',
    week_start_day: known.week_start_day ?? 0,
    now: new Date(now),
    property_types: new Map(Object.entries(known.property_types ?? {})),
    test_account_filters: known.test_account_filters ?? [],
    actions: () => known.actions ?? [],
    cohorts: () => known.cohorts ?? [],
    findExperiment: (id) => known.experiments?.find((one) => one.id === id) ?? null,
    rows_max: 50_000,
  }
}

/** A number that a text has in each run. */
const numberOf = (text: string): number => Number(Bun.hash(text) % 1024n)

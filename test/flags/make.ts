/** Makes stored flags and people with everything at its plainest, so that a test shows only what matters to it. */
import { type CompiledFlags, compileDefinitions } from '../../src/flags/definition.ts'
import type {
  StoredCohort,
  StoredDefinitions,
  StoredFlag,
} from '../../src/flags/definition-types.ts'
import { evaluateFlags, type Selection } from '../../src/flags/evaluate.ts'
import { openLocalDefinitions } from '../../src/flags/local/local.ts'
import { type DecideVersion, writeDecide } from '../../src/flags/response.ts'
import type { Evaluation } from '../../src/flags/result.ts'
import { type FlagResult, valueOf } from '../../src/flags/result.ts'
import type { FlagPerson } from '../../src/flags/subject.ts'

/** The moment at which the clock of these tests stands. */
export const NOW = Date.UTC(2026, 4, 15, 12, 0, 0)

export function makeFlag(part: Partial<StoredFlag> & { key: string }): StoredFlag {
  return {
    id: 1,
    name: '',
    filters: { groups: [{ properties: [], rollout_percentage: 100 }] },
    active: true,
    deleted: false,
    version: 1,
    ensure_experience_continuity: false,
    bucketing_identifier: null,
    evaluation_runtime: null,
    evaluation_contexts: [],
    ...part,
  }
}

export function makeCohort(id: number, properties: unknown): StoredCohort {
  return { id, is_static: false, deleted: false, filters: { properties } }
}

export function makePerson(part: Partial<FlagPerson> = {}): FlagPerson {
  return {
    distinct_id: 'user_1',
    device_id: null,
    person_properties: {},
    group_properties: {},
    groups: {},
    overrides: new Map(),
    isInCohort: () => false,
    now: NOW,
    ...part,
  }
}

/** Definitions of flags (numbered from 1 unless they have an id) with whatever else a test needs. */
export function makeDefinitions(
  flags: readonly StoredFlag[],
  rest: Partial<StoredDefinitions> = {},
): CompiledFlags {
  const numbered = flags.map((flag, index) => (flag.id === 1 ? { ...flag, id: index + 1 } : flag))
  return compileDefinitions({ flags: numbered, cohorts: [], group_types: [], ...rest })
}

/** The results of an evaluation by flag key. */
export function byKey(evaluation: Evaluation): ReadonlyMap<string, FlagResult> {
  return new Map(evaluation.results.map((result) => [result.flag.key, result]))
}

/** The values that one person gets, by flag key. */
export function valuesFor(
  definitions: CompiledFlags,
  person: FlagPerson,
  selection?: Selection,
): Record<string, boolean | string> {
  const evaluation = evaluateFlags(definitions, person, selection)
  return Object.fromEntries(evaluation.results.map((result) => [result.flag.key, valueOf(result)]))
}

/** The flag members of an answer, as JSON text without braces. */
export function decideText(evaluation: Evaluation, version: DecideVersion): string {
  const texts: string[] = []
  writeDecide({ write: (text) => void texts.push(text) }, evaluation, version)
  return texts.join('')
}

/** The whole body of local evaluation. */
export function localDefinitions(...asked: Parameters<typeof openLocalDefinitions>) {
  const { flags, group_type_mapping, cohort_ids, localFlagOf, localCohortOf } =
    openLocalDefinitions(...asked)
  const trees = cohort_ids.map((id) => [id, localCohortOf(id)] as const)
  const cohorts: Record<string, unknown> = Object.fromEntries(
    trees.filter(([, tree]) => tree !== null),
  )
  return { group_type_mapping, flags: flags.map(localFlagOf), cohorts }
}

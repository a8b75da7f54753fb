/** Flag evaluations per second in this process, beside posthog-node's own evaluation of the same definitions. */
import { PostHog } from 'posthog-node'
import { compileDefinitions } from '../../src/flags/definition.ts'
import type { StoredDefinitions } from '../../src/flags/definition-types.ts'
import { evaluateFlags } from '../../src/flags/evaluate.ts'
import type { FlagPerson } from '../../src/flags/subject.ts'
import { localDefinitions } from '../flags/make.ts'

export type FlagRates = {
  /** People whose 50 flags are evaluated in a second. */
  readonly ours: number
  readonly posthog_node: number
}

type Query = readonly [key: string, operator: string, value: (number: number) => unknown]

/** What the filters ask; `number` makes every filter of the project a different one. */
const QUERIES: readonly Query[] = [
  ['plan', 'exact', (number) => ['pro', 'team', `plan-${number}`]],
  ['country', 'exact', (number) => ['DE', `C${number}`]],
  ['email', 'icontains', (number) => `@example.co${number % 2 === 0 ? 'm' : ''}`],
  ['age', 'gt', (number) => String(30 + number / 1000)],
  ['since', 'is_date_after', (number) => `-${30 + number}d`],
  ['version', 'semver_gte', (number) => `1.2.${number}`],
]

/** 50 flags, one in five multivariate, two sets of two filters each. */
export function someDefinitions(): StoredDefinitions {
  const flags = Array.from({ length: 50 }, (_, index) => ({
    id: index + 1,
    key: `flag-${index}`,
    name: '',
    filters: {
      groups: [0, 1].map((set) => ({
        properties: [0, 1].map((part) => someFilter(index * 4 + set * 2 + part, index)),
        rollout_percentage: set === 0 ? 30 : 50,
      })),
      multivariate: index % 5 === 0 ? { variants: halves() } : null,
    },
    active: true,
    deleted: false,
    version: 1,
    ensure_experience_continuity: false,
    bucketing_identifier: null,
    evaluation_runtime: null,
    evaluation_contexts: [],
  }))
  return { flags, cohorts: [], group_types: [] }
}

function someFilter(number: number, index: number): Record<string, unknown> {
  const [key, operator, valueFor] = QUERIES[(number + index) % QUERIES.length] ?? ['', '', String]
  return { key, operator, type: 'person', value: valueFor(number) }
}

function halves(): Record<string, unknown>[] {
  return ['a', 'b'].map((key) => ({ key, rollout_percentage: 50 }))
}

/** A person of whom everything that the filters ask about is known. */
export function somePerson(number: number): FlagPerson & { readonly distinct_id: string } {
  return {
    distinct_id: `person-${number}`,
    device_id: null,
    person_properties: {
      plan: number % 2 === 0 ? 'pro' : 'free',
      country: number % 3 === 0 ? 'US' : 'DE',
      email: `p${number}@${number % 4 === 0 ? 'other.org' : 'example.com'}`,
      age: (number % 80) + 0.5,
      since: '2026-05-01T00:00:00Z',
      version: `1.${number % 5}.3`,
    },
    group_properties: {},
    groups: {},
    overrides: new Map(),
    isInCohort: () => false,
    now: Date.now(),
  }
}

/** Measures both, one after the other, for a number of seconds each. */
export async function flagRates(seconds: number): Promise<FlagRates> {
  const definitions = compileDefinitions(someDefinitions())
  const body = localDefinitions(definitions, { project_id: 1, send_cohorts: true })
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => Response.json(body) })
  const client = new PostHog('phc_bench', {
    host: `http://127.0.0.1:${server.port}`,
    secretKey: 'phx_bench',
    featureFlagsPollingInterval: 3_600_000,
  })
  await client.reloadFeatureFlags()
  const people = Array.from({ length: 1000 }, (_, number) => somePerson(number))
  const ours = await rateOf(seconds, people, (person) => evaluateFlags(definitions, person))
  const posthog_node = await rateOf(seconds, people.slice(0, 100), (person) =>
    client.getAllFlags(person.distinct_id, {
      personProperties: person.person_properties,
      onlyEvaluateLocally: true,
    }),
  )
  await client.shutdown()
  await server.stop(true)
  return { ours, posthog_node }
}

/** Rounds over all people until the time is up; what a call returns is waited for only if it is a promise. */
async function rateOf<Person>(
  seconds: number,
  people: readonly Person[],
  evaluate: (person: Person) => unknown,
): Promise<number> {
  const started = performance.now()
  let count = 0
  while (performance.now() - started < seconds * 1000) {
    for (const person of people) {
      const answer = evaluate(person)
      if (answer instanceof Promise) await answer
    }
    count += people.length
  }
  return Math.round((count / (performance.now() - started)) * 1000)
}

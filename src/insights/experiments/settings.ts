/** Statistical settings of an experiment: its `stats_config`, parsed and checked. */

import { Refusal, refuseMember } from '../../errors.ts'
import { isObject } from '../../json.ts'

/** The statistical method that compares variants with the baseline, and its parameters. */
export type StatsSettings = {
  readonly method: 'bayesian' | 'frequentist'
  /** Confidence or credible level: 1 − alpha for tests. */
  readonly level: number
  /** Whether intervals are of the difference or of its share of the baseline. */
  readonly difference: 'absolute' | 'relative'
  /** The baseline variant; null for the control. */
  readonly baseline: string | null
  /** Days of the lookback before exposure (CUPED); null without it. */
  readonly lookback_days: number | null
  /**
   * Sequential tests, valid at any time: the number of actors at which they are tightest; null
   * without them.
   */
  readonly sequential_people: number | null
}

type RawStatsConfig = Readonly<Record<string, unknown>>

const LEVEL = 0.95
const LOOKBACK_DAYS = { usual: 14, min: 1, max: 30 } as const
const SEQUENTIAL_PEOPLE = { usual: 5000, min: 1, max: 1_000_000_000 } as const
const METHODS = ['bayesian', 'frequentist'] as const
const DIFFERENCES = { ABSOLUTE: 'absolute', RELATIVE: 'relative' } as const

/**
 * Parses a `stats_config`; null means the defaults. Refuses (naming `attr` and the member) invalid
 * values.
 */
export function readSettings(raw: unknown, attr: string): StatsSettings {
  const config = membersOf(raw, attr)
  const method = choiceOf(METHODS, config['method'] ?? METHODS[0], `${attr}__method`)
  const method_config = membersOf(config[method], `${attr}__${method}`)
  const cuped = membersOf(config['cuped'], `${attr}__cuped`)
  const { baseline_variant_key: baseline } = config
  if (baseline !== undefined && baseline !== null && typeof baseline !== 'string') {
    throw refuseMember('Not a valid string.', `${attr}__baseline_variant_key`)
  }
  return {
    method,
    level: levelOf(method, method_config, `${attr}__${method}`),
    difference: differenceOf(
      method_config['difference_type'],
      `${attr}__${method}__difference_type`,
    ),
    baseline: baseline ?? null,
    lookback_days: amountWhere(
      cuped,
      ['enabled', 'lookback_days'],
      LOOKBACK_DAYS,
      `${attr}__cuped`,
    ),
    sequential_people:
      method === 'frequentist'
        ? amountWhere(
            method_config,
            ['sequential_testing_enabled', 'sequential_tuning_parameter'],
            SEQUENTIAL_PEOPLE,
            `${attr}__${method}`,
          )
        : null,
  }
}

/** The level, given as a credible level or as alpha. */
function levelOf(
  method: StatsSettings['method'],
  method_config: RawStatsConfig,
  attr: string,
): number {
  const name = method === 'bayesian' ? 'ci_level' : 'alpha'
  const value = method_config[name]
  if (value === undefined || value === null) return LEVEL
  if (typeof value !== 'number' || value <= 0 || value >= 1) {
    throw refuseMember('Must be a number between 0 and 1.', `${attr}__${name}`)
  }
  return method === 'bayesian' ? value : 1 - value
}

function differenceOf(value: unknown, attr: string): StatsSettings['difference'] {
  const name = value ?? 'RELATIVE'
  const names = ['ABSOLUTE', 'RELATIVE'] as const
  return DIFFERENCES[choiceOf(names, typeof name === 'string' ? name.toUpperCase() : name, attr)]
}

type SettingBounds = { readonly usual: number; readonly min: number; readonly max: number }

/** A whole number that applies only when its switch is on; null when off. */
function amountWhere(
  config: RawStatsConfig,
  [switch_name, name]: readonly [switch_name: string, name: string],
  { usual, min, max }: SettingBounds,
  attr: string,
): number | null {
  const is_on = config[switch_name] ?? false
  if (typeof is_on !== 'boolean')
    throw refuseMember('Must be a valid boolean.', `${attr}__${switch_name}`)
  const value = config[name] ?? usual
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
    throw refuseMember(`Must be a whole number from ${min} to ${max}.`, `${attr}__${name}`)
  }
  return is_on ? value : null
}

function choiceOf<Name extends string>(names: readonly Name[], value: unknown, attr: string): Name {
  const choice = names.find((name) => name === value)
  if (choice !== undefined) return choice
  const quoted = typeof value === 'string' ? `"${value.slice(0, 100)}"` : 'This'
  const detail = `${quoted} is not a valid choice.`
  throw new Refusal('invalid_choice', detail, { attr })
}

function membersOf(value: unknown, attr: string): RawStatsConfig {
  if (value === undefined || value === null) return {}
  if (isObject(value)) return value
  throw refuseMember('Expected an object.', attr)
}

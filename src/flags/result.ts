/** The result of one flag for one person, with its reason; and an evaluation of all flags. */

import type { StoredFlag } from './definition-types.ts'
import type { FailureCode } from './failure.ts'

export type ReasonCode =
  | 'condition_match'
  | 'flag_disabled'
  | 'holdout_condition_value'
  | 'no_condition_match'
  | 'no_group_type'
  | 'out_of_rollout_bound'
  | 'super_condition_value'

export type Reason = {
  readonly code: ReasonCode | FailureCode
  /** Index of the condition set that decided, from 0; null without one. */
  readonly condition_index: number | null
  readonly description: string | null
}

/** Results are made once per definition and shared by persons: immutable. */
export type FlagResult = {
  readonly flag: StoredFlag
  readonly enabled: boolean
  readonly variant: string | null
  /** As stored, mostly a string of JSON text; null if there is none, or the flag is off. */
  readonly payload: unknown
  readonly reason: Reason
  /** The flag could not be evaluated: `enabled` is meaningless. */
  readonly is_failed: boolean
  /** Key and value as a member of a JSON object, serialized once. */
  readonly value_text: string
  /** Key and payload as a member of a JSON object; null without a payload. */
  readonly payload_text: string | null
}

/** The members of an answer's two objects, as JSON. */
export type ResponseTexts = { readonly values: string; readonly payloads: string }

/** Takes an answer's text in pieces: joined, they would be as many strings that are garbage at once. */
export type TextSink = { write(text: string): void }

export type Evaluation = {
  /** Every active flag that the caller gets, in stored order, failed ones included. */
  readonly results: readonly FlagResult[]
  /** The value of `errorsWhileComputingFlags`. */
  readonly has_errors: boolean
  /** Bugs, as opposed to invalid definitions; the caller logs them. */
  readonly bugs: readonly FlagBug[]
  /** Writes the JSON of the values, a separator, and the JSON of the payloads; null if no JSON is cached. */
  readonly writeTexts: ((out: TextSink, separator: string) => void) | null
}

export type FlagBug = { readonly flag_key: string; readonly cause: unknown }

/** The flag's value in `featureFlags`: its variant, else true or false. */
export function valueOf(result: FlagResult): boolean | string {
  return result.enabled ? (result.variant ?? true) : false
}

/** Whether the flag is active: a result of another one is not listed. */
export function isActive({ flag }: FlagResult): boolean {
  return flag.active
}

/** The reason with the description that SDKs expect. */
export function reasonOf(code: ReasonCode, condition_index: number | null): Reason {
  return { code, condition_index, description: describe(code, condition_index) }
}

/** The result of a flag that is off. */
export function offResult(flag: StoredFlag, reason: Reason): FlagResult {
  return { ...offMembers(flag), reason, is_failed: false }
}

/** The result of a flag that is on, with its variant and payload. */
export function onResult(
  flag: StoredFlag,
  variant: string | null,
  payload: unknown,
  reason: Reason,
): FlagResult {
  const value_text = memberText(flag, variant ?? true)
  const payload_text = payload === null ? null : memberText(flag, payload)
  return {
    flag,
    enabled: true,
    variant,
    payload,
    value_text,
    payload_text,
    reason,
    is_failed: false,
  }
}

/** The result of a flag that could not be evaluated. */
export function failedResult(flag: StoredFlag, code: FailureCode): FlagResult {
  const reason = { code, condition_index: null, description: null }
  return { ...offMembers(flag), reason, is_failed: true }
}

function offMembers(flag: StoredFlag): Omit<FlagResult, 'is_failed' | 'reason'> {
  const value_text = memberText(flag, false)
  return { flag, enabled: false, variant: null, payload: null, value_text, payload_text: null }
}

function memberText({ key }: StoredFlag, value: unknown): string {
  return `${JSON.stringify(key)}:${JSON.stringify(value)}`
}

/**
 * Reasons of sets that do not match, weakest first. The strongest of a flag's sets is reported; of equal ones the last.
 */
export const NON_MATCH_RANKS: readonly string[] = [
  'no_condition_match',
  'out_of_rollout_bound',
  'no_group_type',
] satisfies ReasonCode[]

function describe(code: ReasonCode, condition_index: number | null): string {
  switch (code) {
    case 'condition_match':
      return `Matched condition set ${(condition_index ?? 0) + 1}`
    case 'flag_disabled':
      return 'Flag is disabled'
    case 'holdout_condition_value':
      return 'Holdout condition value'
    case 'no_condition_match':
      return 'No matching condition set'
    case 'no_group_type':
      return 'No group type'
    case 'out_of_rollout_bound':
      return 'Out of rollout bound'
    case 'super_condition_value':
      return 'Super condition value'
  }
}

/** What one flag is for one person, and why. */

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
  /** The condition set that decided, counted from 0; null when none did. */
  readonly condition_index: number | null
  readonly description: string | null
}

/** Results are made once per definition and shared by all people who get them: never change one. */
export type FlagResult = {
  readonly flag: StoredFlag
  readonly enabled: boolean
  readonly variant: string | null
  /** Exactly as stored (as a rule a string of JSON text); null when there is none, or the flag is off. */
  readonly payload: unknown
  readonly reason: Reason
  /** The flag could not be evaluated: `enabled` then says nothing. */
  readonly is_failed: boolean
  /** Key and value as a member of a JSON object. Made with the result, since all people who get it are told it. */
  readonly value_text: string
  /** Key and payload likewise; null when there is none. */
  readonly payload_text: string | null
}

/** The members of an answer's two objects. */
export type ResponseTexts = { readonly values: string; readonly payloads: string }

export type Evaluation = {
  /** In stored order: every active flag the caller may have, failed ones among them. */
  readonly results: readonly FlagResult[]
  /** What `errorsWhileComputingFlags` says. */
  readonly has_errors: boolean
  /** Faults that are not the definition's own: bugs, to be logged by the caller. */
  readonly bugs: readonly FlagBug[]
  /** What it looks like on the wire, where that is known without going through the results. */
  readonly texts: ResponseTexts | null
}

export type FlagBug = { readonly flag_key: string; readonly cause: unknown }

/** What the flag is worth in `featureFlags`: its variant, else true or false. */
export function valueOf(result: FlagResult): boolean | string {
  return result.enabled ? (result.variant ?? true) : false
}

/** The reason for a code, worded as clients know it. */
export function reasonOf(code: ReasonCode, condition_index: number | null): Reason {
  return { code, condition_index, description: describe(code, condition_index) }
}

/** A flag that is off, for a reason. */
export function offResult(flag: StoredFlag, reason: Reason): FlagResult {
  return { ...offMembers(flag), reason, is_failed: false }
}

/** A flag that is on, with the variant it gives and the payload that goes with it. */
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

/** A flag that could not be evaluated. */
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
 * Reasons why a set does not match, weakest first. Of several sets' the strongest is reported, and of equal ones the
 * later set's.
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

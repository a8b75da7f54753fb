/** Serializes one evaluation as the answers of decide (versions 1–4) and flags. */

import { responseTexts } from './decision-cache/decision.ts'
import { type Evaluation, type FlagResult, type TextSink, valueOf } from './result.ts'

export type DecideVersion = 1 | 2 | 3 | 4

/** One flag in decide v4 and flags v2. */
type FlagDetails = {
  readonly key: string
  readonly enabled: boolean
  readonly variant: string | null
  /** Clients keep the value that they have of a flag which failed. */
  readonly failed?: true
  readonly reason: FlagResult['reason']
  readonly metadata: {
    readonly id: number
    readonly payload: unknown
    readonly version: number
    readonly description: null
  }
}

type VariantsByKey<Value> = Readonly<Record<string, Value>>

/** The flag members of an answer; the route adds the others (config, compression). */
type FlagMembers =
  | { readonly featureFlags: readonly string[] }
  | { readonly featureFlags: VariantsByKey<boolean | string> }
  | {
      readonly featureFlags: VariantsByKey<boolean | string>
      readonly featureFlagPayloads: VariantsByKey<unknown>
      readonly errorsWhileComputingFlags: boolean
    }
  | { readonly flags: VariantsByKey<FlagDetails>; readonly errorsWhileComputingFlags: boolean }

/** Parses decide's `v`: missing is 1, a non-integer is 2, everything above 4 is 4. */
export function decideVersion(v: string | null | undefined): DecideVersion {
  if (v === null || v === undefined) return 1
  if (!/^\s*[+-]?\d+\s*$/.test(v)) return 2
  const version = Math.min(Math.max(Number(v), 1), 4)
  return version === 1 || version === 2 || version === 3 ? version : 4
}

/** decide's flag members for a version. Failed flags are left out, except in version 4, which has their reasons. */
export function decideMembers(evaluation: Evaluation, version: DecideVersion): FlagMembers {
  switch (version) {
    case 1:
      return { featureFlags: keysOfEnabled(evaluation) }
    case 2:
      return { featureFlags: valuesOf(evaluation, (result) => result.enabled) }
    case 3:
      return {
        featureFlags: valuesOf(evaluation, () => true),
        featureFlagPayloads: payloadsOf(evaluation),
        errorsWhileComputingFlags: evaluation.has_errors,
      }
    case 4:
      return detailsOf(evaluation)
  }
}

/** Writes `decideMembers` as JSON without braces, in texts that are made once per definition. */
export function writeDecide(out: TextSink, evaluation: Evaluation, version: DecideVersion): void {
  switch (version) {
    case 1:
    case 2:
      return out.write(JSON.stringify(decideMembers(evaluation, version)).slice(1, -1))
    case 3:
      return writeValues(out, evaluation)
    case 4:
      return writeDetails(out, evaluation)
  }
}

const PAYLOADS = '},"featureFlagPayloads":{'
const NO_ERRORS = '},"errorsWhileComputingFlags":false'
const ERRORS = '},"errorsWhileComputingFlags":true'

function writeValues(out: TextSink, evaluation: Evaluation): void {
  out.write('"featureFlags":{')
  if (evaluation.writeTexts === null) {
    const { values, payloads } = responseTexts(evaluation.results)
    out.write(values)
    out.write(PAYLOADS)
    out.write(payloads)
  } else {
    evaluation.writeTexts(out, PAYLOADS)
  }
  out.write(evaluation.has_errors ? ERRORS : NO_ERRORS)
}

function writeDetails(out: TextSink, { results, has_errors }: Evaluation): void {
  out.write('"flags":{')
  results.forEach((result, index) => {
    if (index > 0) out.write(',')
    out.write(detailText(result))
  })
  out.write(has_errors ? ERRORS : NO_ERRORS)
}

/** JSON by result; persons share results. */
const DETAIL_TEXTS = new WeakMap<FlagResult, string>()

function detailText(result: FlagResult): string {
  const cached = DETAIL_TEXTS.get(result)
  if (cached !== undefined) return cached
  const text = `${JSON.stringify(result.flag.key)}:${JSON.stringify(detailOf(result))}`
  DETAIL_TEXTS.set(result, text)
  return text
}

function keysOfEnabled(evaluation: Evaluation): string[] {
  return evaluation.results.flatMap((result) => (result.enabled ? result.flag.key : []))
}

function valuesOf(
  evaluation: Evaluation,
  isListed: (result: FlagResult) => boolean,
): VariantsByKey<boolean | string> {
  const values = newKeyed<boolean | string>()
  for (const result of evaluation.results) {
    if (!result.is_failed && isListed(result)) values[result.flag.key] = valueOf(result)
  }
  return values
}

function payloadsOf(evaluation: Evaluation): VariantsByKey<unknown> {
  const payloads = newKeyed<unknown>()
  for (const { payload, flag } of evaluation.results) {
    if (payload !== null) payloads[flag.key] = payload
  }
  return payloads
}

function detailsOf(evaluation: Evaluation): FlagMembers {
  const flags = newKeyed<FlagDetails>()
  for (const result of evaluation.results) flags[result.flag.key] = detailOf(result)
  return { flags, errorsWhileComputingFlags: evaluation.has_errors }
}

function detailOf({ flag, enabled, variant, is_failed, reason, payload }: FlagResult): FlagDetails {
  const metadata = { id: flag.id, payload, version: flag.version ?? 0, description: null }
  const failed = is_failed ? ({ failed: true } as const) : {}
  return { key: flag.key, enabled, variant, ...failed, reason, metadata }
}

/** Without a prototype, so that a flag named `__proto__` is a key like any other. */
function newKeyed<Value>(): Record<string, Value> {
  return Object.create(null) as Record<string, Value>
}

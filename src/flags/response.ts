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

/** Parses decide's `v`: missing is 1, a non-integer is 2, everything above 4 is 4. */
export function decideVersion(v: string | null | undefined): DecideVersion {
  if (v === null || v === undefined) return 1
  if (!/^\s*[+-]?\d+\s*$/.test(v)) return 2
  const version = Math.min(Math.max(Number(v), 1), 4)
  return version === 1 || version === 2 || version === 3 ? version : 4
}

/**
 * Writes decide's flag members for a version as JSON without braces; the route adds the others (config, compression).
 * Failed flags are left out, except in version 4, which has their reasons.
 */
export function writeDecide(out: TextSink, evaluation: Evaluation, version: DecideVersion): void {
  const enabled = (): readonly FlagResult[] => evaluation.results.filter((one) => one.enabled)
  switch (version) {
    case 1:
      return writeFlags(
        out,
        enabled().map(({ flag }) => flag.key),
      )
    case 2:
      return writeFlags(
        out,
        Object.fromEntries(enabled().map((one) => [one.flag.key, valueOf(one)])),
      )
    case 3:
      return writeValues(out, evaluation)
    case 4:
      return writeDetails(out, evaluation)
  }
}

function writeFlags(out: TextSink, flags: object): void {
  out.write(`"featureFlags":${JSON.stringify(flags)}`)
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

function detailOf({ flag, enabled, variant, is_failed, reason, payload }: FlagResult): FlagDetails {
  const metadata = { id: flag.id, payload, version: flag.version ?? 0, description: null }
  const failed = is_failed ? ({ failed: true } as const) : {}
  return { key: flag.key, enabled, variant, ...failed, reason, metadata }
}

/** One person's outcome in a decision table: a code byte per group of flags, and from them the results or the JSON. */
import type { Buckets } from '../bucket.ts'
import {
  type Evaluation,
  type FlagBug,
  type FlagResult,
  isActive,
  type ResponseTexts,
  type TextSink,
} from '../result.ts'
import type { DecisionTable, FlagGroup, OpenFlag } from './decision-table.ts'

const NO_BUGS: readonly FlagBug[] = []

/** The code bytes of a person as a latin1 string, the smallest form to cache. Needs buckets, and nothing else. */
export function outcomeCodes({ flag_groups }: DecisionTable, buckets: Buckets): string {
  const codes = Buffer.allocUnsafe(flag_groups.length)
  for (let index = 0; index < flag_groups.length; index += 1) {
    let code = 0
    for (const flag of flag_groups[index]?.open ?? []) {
      code = code * flag.options.length + chooseOption(flag, buckets)
    }
    codes[index] = code
  }
  return codes.toString('latin1')
}

/** The results of all flags for these codes. */
export function decodeResults(
  { results, flag_groups }: DecisionTable,
  codes: string,
): FlagResult[] {
  const all = results.slice()
  flag_groups.forEach((flag_group, index) => {
    decodeGroup(flag_group, codes.charCodeAt(index), all, 0)
  })
  return all
}

/** An evaluation that a table decided completely. Most callers only write its texts. */
export class TableEvaluation implements Evaluation {
  readonly has_errors = false
  readonly bugs = NO_BUGS
  readonly #decision_table: DecisionTable
  readonly #outcome_codes: string

  constructor(table: DecisionTable, codes: string) {
    this.#decision_table = table
    this.#outcome_codes = codes
  }

  get results(): readonly FlagResult[] {
    return decodeResults(this.#decision_table, this.#outcome_codes).filter(isActive)
  }

  writeTexts(out: TextSink, separator: string): void {
    const { flag_groups } = this.#decision_table
    let payloads = ''
    for (let index = 0; index < flag_groups.length; index += 1) {
      const code = this.#outcome_codes.charCodeAt(index)
      const texts = flag_groups[index]?.texts[code] ?? this.#formatGroup(index, code)
      out.write(texts.values)
      payloads += texts.payloads
    }
    out.write(separator)
    if (payloads !== '') out.write(payloads.slice(1))
  }

  #formatGroup(index: number, code: number): ResponseTexts {
    const { flag_groups, results, budget } = this.#decision_table
    const flag_group = flag_groups[index]
    if (flag_group === undefined) return { values: '', payloads: '' }
    const own = results.slice(flag_group.start, flag_group.end)
    decodeGroup(flag_group, code, own, flag_group.start)
    const texts = addCommas(responseTexts(own.filter(isActive)), index > 0)
    const chars = texts.values.length + texts.payloads.length
    if (chars > budget.chars) return texts
    budget.chars -= chars
    flag_group.texts[code] = texts
    return texts
  }
}

/**
 * Prefixes texts by a comma. The first group always has values; any group may be the first with payloads, so these
 * always get a comma, which the caller removes.
 */
function addCommas({ values, payloads }: ResponseTexts, is_behind: boolean): ResponseTexts {
  return {
    values: is_behind ? `,${values}` : values,
    payloads: payloads === '' ? '' : `,${payloads}`,
  }
}

/** The JSON members of results: values, and payloads. */
export function responseTexts(results: readonly FlagResult[]): ResponseTexts {
  const values: string[] = []
  const payloads: string[] = []
  for (const result of results) {
    if (!result.is_failed) values.push(result.value_text)
    if (result.payload_text !== null) payloads.push(result.payload_text)
  }
  return { values: values.join(','), payloads: payloads.join(',') }
}

/** Writes the results that a group's code encodes into `results`, which begin with that of flag `first`: the reverse of `outcomeCodes`. */
function decodeGroup(
  { open }: FlagGroup,
  code: number,
  results: FlagResult[],
  first: number,
): void {
  let rest = code
  for (const { index, options } of open.toReversed()) {
    const option = options[rest % options.length]
    if (option !== undefined) results[index - first] = option
    rest = Math.floor(rest / options.length)
  }
}

/**
 * The option of the first set whose rollout includes the person's bucket. A bucket beyond the last variant gets none.
 */
function chooseOption({ key, steps }: OpenFlag, buckets: Buckets): number {
  let bucket = -1
  for (const { threshold, option, variants } of steps) {
    if (threshold < 1) {
      if (bucket < 0) bucket = buckets.rollout(key)
      if (bucket > threshold) continue
    }
    return variants.length === 0 ? option : option + variantIndex(buckets.variant(key), variants)
  }
  return 0
}

function variantIndex(bucket: number, variants: readonly number[]): number {
  let index = 0
  for (const until of variants) {
    if (bucket < until) break
    index += 1
  }
  return index
}

/** What an outline comes to for one person: a few letters, and from them the results and the text of an answer. */
import type { Buckets } from '../bucket.ts'
import type { Evaluation, FlagBug, FlagResult, ResponseTexts } from '../result.ts'
import type { DecisionTable, FlagGroup, OpenFlag } from './decision-table.ts'

const NO_BUGS: readonly FlagBug[] = []

/** What a person gets of an outline, as the codes of a text's letters: the smallest form to remember it in. */
export function outcomeCodes({ flag_groups }: DecisionTable, buckets: Buckets): string {
  const codes = Buffer.allocUnsafe(flag_groups.length)
  for (let index = 0; index < flag_groups.length; index += 1) {
    let letter = 0
    for (const flag of flag_groups[index]?.open ?? []) {
      letter = letter * flag.options.length + chooseOption(flag, buckets)
    }
    codes[index] = letter
  }
  return codes.toString('latin1')
}

/** The results of all flags of an outline, for who got these letters. */
export function decodeResults(
  { results, flag_groups }: DecisionTable,
  codes: string,
): FlagResult[] {
  const all = results.slice()
  flag_groups.forEach((flag_group, index) => readLetter(flag_group, codes.charCodeAt(index), all))
  return all
}

/** An evaluation in which an outline decided everything. Most are only asked for their text. */
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

  get texts(): ResponseTexts {
    const { flag_groups } = this.#decision_table
    let values = ''
    let payloads = ''
    for (let index = 0; index < flag_groups.length; index += 1) {
      const letter = this.#outcome_codes.charCodeAt(index)
      const texts = flag_groups[index]?.texts[letter] ?? this.#write(index, letter)
      values += texts.values
      payloads += texts.payloads
    }
    return { values, payloads: payloads.slice(1) }
  }

  #write(index: number, letter: number): ResponseTexts {
    const { flag_groups, results, budget } = this.#decision_table
    const flag_group = flag_groups[index]
    if (flag_group === undefined) return { values: '', payloads: '' }
    const all = results.slice()
    readLetter(flag_group, letter, all)
    const texts = continued(
      responseTexts(all.slice(flag_group.start, flag_group.end).filter(isActive)),
      index > 0,
    )
    const chars = texts.values.length + texts.payloads.length
    if (chars > budget.chars) return texts
    budget.chars -= chars
    flag_group.texts[letter] = texts
    return texts
  }
}

/** As they stand behind others: with a comma. Values always begin in the first chunk, payloads anywhere or nowhere. */
function continued({ values, payloads }: ResponseTexts, is_behind: boolean): ResponseTexts {
  return {
    values: is_behind ? `,${values}` : values,
    payloads: payloads === '' ? '' : `,${payloads}`,
  }
}

/** The texts of results. */
export function responseTexts(results: readonly FlagResult[]): ResponseTexts {
  const values: string[] = []
  const payloads: string[] = []
  for (const result of results) {
    if (!result.is_failed) values.push(result.value_text)
    if (result.payload_text !== null) payloads.push(result.payload_text)
  }
  return { values: values.join(','), payloads: payloads.join(',') }
}

function isActive({ flag }: FlagResult): boolean {
  return flag.active
}

/** Puts what a letter says in its place among all results. */
function readLetter({ open }: FlagGroup, letter: number, all: FlagResult[]): void {
  let rest = letter
  for (const { index, options } of open.toReversed()) {
    const option = options[rest % options.length]
    if (option !== undefined) all[index] = option
    rest = Math.floor(rest / options.length)
  }
}

/** The first set that takes the person's bucket; a bucket beyond the last variant gets none. */
function chooseOption({ key, steps }: OpenFlag, buckets: Buckets): number {
  let bucket = -1
  for (const { threshold, option, variants } of steps) {
    if (threshold < 1) {
      if (bucket < 0) bucket = buckets.rollout(key)
      if (bucket > threshold) continue
    }
    return variants.length === 0 ? option : option + placeOf(buckets.variant(key), variants)
  }
  return 0
}

function placeOf(bucket: number, variants: readonly number[]): number {
  let place = 0
  for (const until of variants) {
    if (bucket < until) break
    place += 1
  }
  return place
}

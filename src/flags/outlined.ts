/** What an outline comes to for one person: a few letters, and from them the results and the text of an answer. */
import type { Buckets } from './bucket.ts'
import type { Evaluation, FlagBug } from './evaluate.ts'
import type { OpenFlag, Outline } from './outline.ts'
import type { FlagResult } from './result.ts'

/**
 * Flags that stand together and are told together: one letter says what all of its open flags came to, and texts are
 * kept by letter. Putting fifty texts together costs more than finding out which.
 */
export type Chunk = {
  /** The positions of its flags, from `start` up to `end`. */
  readonly start: number
  readonly end: number
  readonly open: readonly OpenFlag[]
  readonly texts: (AnswerTexts | undefined)[]
}

/** The members of an answer's two objects. */
export type AnswerTexts = { readonly values: string; readonly payloads: string }

/** What may still be kept of texts, in characters: one project's outlines share it. */
export type TextRoom = { chars: number }

/** How much one letter may say: few enough for most texts to be needed again. */
const LETTERS_MAX = 64

const NO_BUGS: readonly FlagBug[] = []

/** Cuts the flags into chunks; `open` are those without a result, in their order. */
export function cutChunks(open: readonly OpenFlag[], flag_count: number): readonly Chunk[] {
  const chunks: Chunk[] = []
  let start = 0
  let together: OpenFlag[] = []
  let letters = 1
  for (const flag of open) {
    const { length } = flag.options
    if (together.length > 0 && letters * length > LETTERS_MAX) {
      chunks.push({ start, end: flag.index, open: together, texts: [] })
      start = flag.index
      together = []
      letters = 1
    }
    together.push(flag)
    letters *= length
  }
  return [...chunks, { start, end: flag_count, open: together, texts: [] }]
}

/** What a person gets of an outline, as the codes of a text's letters: the smallest form to remember it in. */
export function chooseLetters({ chunks }: Outline, buckets: Buckets): string {
  const letters = Buffer.allocUnsafe(chunks.length)
  for (let index = 0; index < chunks.length; index += 1) {
    let letter = 0
    for (const flag of chunks[index]?.open ?? []) {
      letter = letter * flag.options.length + chooseOption(flag, buckets)
    }
    letters[index] = letter
  }
  return letters.toString('latin1')
}

/** The results of all flags of an outline, for who got these letters. */
export function resultsOf({ results, chunks }: Outline, letters: string): FlagResult[] {
  const all = results.slice()
  chunks.forEach((chunk, index) => readLetter(chunk, letters.charCodeAt(index), all))
  return all
}

/** An evaluation in which an outline decided everything. Most are only asked for their text. */
export class OutlinedEvaluation implements Evaluation {
  readonly has_errors = false
  readonly bugs = NO_BUGS
  readonly #outline: Outline
  readonly #letters: string

  constructor(outline: Outline, letters: string) {
    this.#outline = outline
    this.#letters = letters
  }

  get results(): readonly FlagResult[] {
    return resultsOf(this.#outline, this.#letters).filter(isActive)
  }

  get texts(): AnswerTexts {
    const { chunks } = this.#outline
    let values = ''
    let payloads = ''
    for (let index = 0; index < chunks.length; index += 1) {
      const letter = this.#letters.charCodeAt(index)
      const texts = chunks[index]?.texts[letter] ?? this.#write(index, letter)
      values += texts.values
      payloads += texts.payloads
    }
    return { values, payloads: payloads.slice(1) }
  }

  #write(index: number, letter: number): AnswerTexts {
    const { chunks, results, room } = this.#outline
    const chunk = chunks[index]
    if (chunk === undefined) return { values: '', payloads: '' }
    const all = results.slice()
    readLetter(chunk, letter, all)
    const texts = continued(textsOf(all.slice(chunk.start, chunk.end).filter(isActive)), index > 0)
    const chars = texts.values.length + texts.payloads.length
    if (chars > room.chars) return texts
    room.chars -= chars
    chunk.texts[letter] = texts
    return texts
  }
}

/** As they stand behind others: with a comma. Values always begin in the first chunk, payloads anywhere or nowhere. */
function continued({ values, payloads }: AnswerTexts, is_behind: boolean): AnswerTexts {
  return {
    values: is_behind ? `,${values}` : values,
    payloads: payloads === '' ? '' : `,${payloads}`,
  }
}

/** The texts of results. */
export function textsOf(results: readonly FlagResult[]): AnswerTexts {
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
function readLetter({ open }: Chunk, letter: number, all: FlagResult[]): void {
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

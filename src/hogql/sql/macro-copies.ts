/**
 * Counts the copies that the engine makes of the arguments of macros.
 *
 * A macro that uses an argument four times copies it four times, so that eight nested calls are 65,536 copies: eight times
 * `substring(…)` took the engine 38 s to bind, which no interrupt ends. The uses of each argument are counted in the
 * macros' texts.
 */
import macro_texts from '../../../sql/duckdb/macros.sql' with { type: 'text' }
import type { Fragment } from './ir.ts'

/** Macros of the engine itself that use an argument more than once. */
const ENGINE_MACROS = `
create macro array_to_string(arr, sep) as case when len(arr) = 0 then '' else list_aggr(arr, 'string_agg', sep) end;
create macro nullif(a, b) as case when a = b then null else a end;
create macro round_even(x, n) as case when abs(x) * power(10, n + 1) % 10 = 5 then round(x / 2, n) * 2 else round(x, n) end;
create macro split_part(s, d, p) as case when s is not null and d is not null and p is not null then coalesce(string_split(s, d)[p], '') end;
`

const CREATE = /^create (?:or replace )?macro ([a-z_0-9]+)\(([^)]*)\) as (?!table\b)/gm
/** A string, a quoted name, a comment, a word, a bracket, a comma, a dot; all other characters are operators. */
const TOKEN = /'(?:[^']|'')*'|"[^"]*"|--[^\n]*|[\w$]+|[()[\]{}]|,|\.|[^\s\w'"()[\]{},.]+/g

type MacroText = { readonly params: readonly string[]; readonly body: string }

const TEXTS = readMacros(ENGINE_MACROS + macro_texts)
const COPIES = new Map<string, readonly number[]>()

/** The macros of a text, by name. A body ends with a semicolon at the end of a line. */
function readMacros(text: string): ReadonlyMap<string, MacroText> {
  const macros = new Map<string, MacroText>()
  for (const match of text.matchAll(CREATE)) {
    const [whole, name = '', params = ''] = match
    const start = match.index + whole.length
    const body = text.slice(start, text.indexOf(';\n', start))
    macros.set(name, { params: params.split(', '), body })
  }
  return macros
}

/** The copies of each argument of a macro, nested macros included; null for any other function. */
export function copiesByMacro(name: string): readonly number[] | null {
  const known = COPIES.get(name)
  if (known !== undefined) return known
  const text = TEXTS.get(name)
  if (text === undefined) return null
  // The engine has no recursive macros: a macro within itself counts as a function.
  COPIES.set(
    name,
    text.params.map(() => 1),
  )
  const counter = new CopyCounter(text.params.length)
  let last = ''
  for (const [token] of text.body.matchAll(TOKEN)) {
    const param = last === '.' ? -1 : text.params.indexOf(token)
    if (param === -1) counter.add(token)
    else counter.addArgument(param)
    last = token
  }
  COPIES.set(name, counter.copies)
  return counter.copies
}

/** Copies by pieces, which are literals of this program. */
const PIECES = new WeakMap<readonly string[], readonly number[]>()

/** The copies of each argument of a fragment, the macros it calls included. */
export function copiesByFragment({ pieces }: Pick<Fragment, 'pieces'>): readonly number[] {
  const known = PIECES.get(pieces)
  if (known !== undefined) return known
  const counter = new CopyCounter(pieces.length - 1)
  for (const [index, piece] of pieces.entries()) {
    if (index > 0) counter.addArgument(index - 1)
    for (const [token] of piece.matchAll(TOKEN)) counter.add(token)
  }
  PIECES.set(pieces, counter.copies)
  return counter.copies
}

/** A bracket that is open: of a macro's arguments, or any other. */
type OpenBracket = {
  /** The copies of each argument of the macro; null for any other bracket. */
  readonly copies: readonly number[] | null
  /** The copies of the bracket as a whole. */
  readonly factor: number
  /** The argument that is being read. */
  position: number
}

/** Reads SQL token by token and counts how often each argument in it is printed. */
class CopyCounter {
  readonly copies: number[]
  readonly #open: OpenBracket[] = []
  #last = ''

  constructor(args: number) {
    this.copies = Array.from({ length: args }, () => 0)
  }

  addArgument(index: number): void {
    this.copies[index] = (this.copies[index] ?? 0) + this.#factor()
    this.#last = ''
  }

  add(token: string): void {
    if (token === '(' || token === '[' || token === '{') {
      const copies = token === '(' ? copiesByMacro(this.#last.toLowerCase()) : null
      this.#open.push({ copies, factor: this.#factor(), position: 0 })
    } else if (token === ')' || token === ']' || token === '}') {
      this.#open.pop()
    } else if (token === ',') {
      const bracket = this.#open.at(-1)
      if (bracket !== undefined) bracket.position += 1
    }
    this.#last = token
  }

  /** The copies of the next token. The commas of a lambda count as those between arguments. */
  #factor(): number {
    const bracket = this.#open.at(-1)
    if (bracket === undefined) return 1
    const { copies, factor, position } = bracket
    return copies === null ? factor : factor * (copies[position] ?? Math.max(1, ...copies))
  }
}

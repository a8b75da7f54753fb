/** Texts that were compiled before are not compiled again: dashboards ask the same ones all day. */

import type { Select } from './ast.ts'
import {
  type CompiledQuery,
  compiledAt,
  findMeaning,
  type Lowered,
  lowerMeaning,
  type Meaning,
} from './compile.ts'
import type { CompileContext } from './context.ts'
import { parseSelect } from './parser.ts'

/** Characters of all keys that are remembered, whatever project they are of: one takes some 265 bytes of memory. */
const LENGTH_MAX = 300_000
/** Longer texts are compiled each time. */
const TEXT_LENGTH_MAX = 4000

/** What stays the same for less is compiled again too often: its rewriting alone is repeated each time. */
const STAY_MIN_US = 60_000_000n

/** All of what a text compiles to; what it means alone where that does not stay for long. */
type CachedCompilation = {
  readonly types: CompileContext['property_types']
  readonly columns: CompileContext['property_columns']
  readonly known: Lowered | Meaning
}

// What a text compiles to depends on its key and its definitions alone, so remembering it changes no answer. The maps
// of definitions are never changed, only replaced: a text that was compiled for others is compiled again.
const remembered = new Map<string, CachedCompilation>()
let length = 0

/** `compileHogQL`, remembering. Refusals are not remembered. Whoever has read the text already hands its tree over. */
export function compileText(
  text: string,
  context: CompileContext,
  tree: Select | null = null,
): CompiledQuery {
  if (text.length > TEXT_LENGTH_MAX) return compileAnew(tree ?? parseSelect(text), context).compiled
  const key = keyOf(text, context)
  const found = recall(key, context)
  if (found !== null && 'validity' in found && found.validity.holds(context.now_us))
    return compiledAt(found, context.now_us)
  const { compiled, known } =
    found === null || 'validity' in found
      ? compileAnew(tree ?? parseSelect(text), context)
      : rewritten(found, context)
  if (known === null || known === found) return compiled
  const { property_types: types, property_columns: columns } = context
  remember(key, { types, columns, known })
  return compiled
}

/** What was asked for last stays longest. */
function recall(key: string, context: CompileContext): CachedCompilation['known'] | null {
  const found = remembered.get(key)
  if (found === undefined || found.types !== context.property_types) return null
  if (found.columns !== context.property_columns) return null
  remembered.delete(key)
  remembered.set(key, found)
  return found.known
}

function remember(key: string, entry: CachedCompilation): void {
  forget(key)
  remembered.set(key, entry)
  length += key.length
  for (const oldest of remembered.keys()) {
    if (length <= LENGTH_MAX) return
    forget(oldest)
  }
}

function forget(key: string): void {
  if (remembered.delete(key)) length -= key.length
}

/** Characters remembered now, for tests of the limit. */
export function cachedLength(): number {
  return length
}

/** Everything but the definitions that a compiled text depends on; the year, because zones are spelled out around it. */
function keyOf(text: string, context: CompileContext): string {
  const { project_id, timezone, week_start_day, now_us, values, cohorts, limits } = context
  const { hidden_tables = [] } = context
  const year = new Date(Number(now_us / 1000n)).getUTCFullYear()
  // Cohorts can be many: they only matter to texts that hold the word.
  const named_cohorts = /cohort/i.test(text) ? cohorts : null
  const parts = [
    text,
    project_id,
    timezone,
    week_start_day,
    year,
    limits,
    named_cohorts,
    hidden_tables,
  ]
  const named = values === undefined ? [] : [...values]
  return JSON.stringify([parts, named], (_, value: unknown) =>
    typeof value === 'bigint' ? { bigint: String(value) } : value,
  )
}

type CompiledAnew = {
  readonly compiled: CompiledQuery
  /** Null when even what the text means depends on the time. */
  readonly known: CachedCompilation['known'] | null
}

function compileAnew(tree: Select, context: CompileContext): CompiledAnew {
  const watched = watchTime(context)
  const meaning = findMeaning(tree, watched.context)
  const is_meaning_timeless = !watched.isRead()
  const anew = rewritten(meaning, context)
  return is_meaning_timeless ? anew : { ...anew, known: null }
}

function rewritten(meaning: Meaning, context: CompileContext): CompiledAnew {
  const lowered = lowerMeaning(meaning, context)
  const { compiled, validity } = lowered
  return { compiled, known: validity.width_us < STAY_MIN_US ? meaning : lowered }
}

/** The context, telling whether anybody read the time from it. */
function watchTime(context: CompileContext): {
  readonly context: CompileContext
  readonly isRead: () => boolean
} {
  let is_read = false
  const { resources } = context
  const watched: CompileContext = {
    ...context,
    zones_us: context.now_us,
    get now_us() {
      is_read = true
      return context.now_us
    },
    // Rows that come with the query are those of this moment.
    ...(resources === undefined
      ? {}
      : {
          resources: (name) => {
            is_read = true
            return resources(name)
          },
        }),
  }
  return { context: watched, isRead: () => is_read }
}

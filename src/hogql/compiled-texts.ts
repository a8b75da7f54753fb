/** Texts that were compiled before are not compiled again: dashboards ask the same ones all day. */

import { type CompiledQuery, findMeaning, lowerMeaning, type Meaning } from './compile.ts'
import type { CompileContext } from './context.ts'
import { parseSelect } from './parser.ts'

/** Texts remembered for each state of a project's property definitions. */
const TEXTS_MAX = 256
/** Longer ones are compiled each time, so that the memory of all is bounded. */
const TEXT_LENGTH_MAX = 16_384

/** `compiled` is there when the text does not ask for the time; else only its rewriting is repeated. */
type Remembered = {
  readonly columns: CompileContext['property_columns']
  readonly meaning: Meaning
  readonly compiled: CompiledQuery | null
}

// What a text compiles to depends on its key and its definitions alone, so remembering it changes no answer. The maps
// of definitions are never changed, only replaced: with one of them go the texts that were compiled for it.
const known = new WeakMap<CompileContext['property_types'], Map<string, Remembered>>()

/** `compileHogQL`, remembering. Refusals are not remembered. */
export function compileText(text: string, context: CompileContext): CompiledQuery {
  if (text.length > TEXT_LENGTH_MAX) return compileAnew(text, context).compiled
  const texts = known.get(context.property_types) ?? new Map<string, Remembered>()
  known.set(context.property_types, texts)
  const key = keyOf(text, context)
  const found = texts.get(key)
  if (found !== undefined && found.columns === context.property_columns) {
    return found.compiled ?? lowerMeaning(found.meaning, context)
  }
  const { compiled, remembered } = compileAnew(text, context)
  if (remembered === null) return compiled
  if (texts.size >= TEXTS_MAX) texts.delete(texts.keys().next().value ?? '')
  texts.set(key, remembered)
  return compiled
}

/** Everything but the definitions that a compiled text depends on; the year, because zones are spelled out around it. */
function keyOf(text: string, context: CompileContext): string {
  const { project_id, timezone, week_start_day, now_us, values, cohorts, limits } = context
  const year = new Date(Number(now_us / 1000n)).getUTCFullYear()
  const parts = [text, project_id, timezone, week_start_day, year, limits, cohorts]
  const named = values === undefined ? [] : [...values]
  return JSON.stringify([parts, named], (_, value: unknown) =>
    typeof value === 'bigint' ? { bigint: String(value) } : value,
  )
}

type CompiledAnew = {
  readonly compiled: CompiledQuery
  /** Null when even what the text means depends on the time. */
  readonly remembered: Remembered | null
}

function compileAnew(text: string, context: CompileContext): CompiledAnew {
  const watched = watchTime(context)
  const meaning = findMeaning(parseSelect(text), watched.context)
  const is_meaning_timeless = !watched.isRead()
  const compiled = lowerMeaning(meaning, watched.context)
  if (!is_meaning_timeless) return { compiled, remembered: null }
  const columns = context.property_columns
  return {
    compiled,
    remembered: { columns, meaning, compiled: watched.isRead() ? null : compiled },
  }
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
    // Rows that come with the question are those of this moment.
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

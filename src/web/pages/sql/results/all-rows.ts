/** More rows than an answer has: read from the server's stream of lines, as far as a table of the page can go. */
import { useRef, useState } from 'preact/hooks'
import { download } from '../../../api/calls/call.ts'
import { useProject } from '../../../state/project.tsx'
import type { HogQLNode } from '../node.ts'
import type { SqlRow } from './cells.ts'
import { lineReader } from './row-lines.ts'

export const ALL_ROWS_MAX = 100_000

export type AllRows = {
  /** Null until the first rows are here. */
  readonly rows: readonly SqlRow[] | null
  readonly is_loading: boolean
  /** Whether the server has still more. */
  readonly has_more: boolean
  readonly error: unknown
  readonly load: (node: HogQLNode, columns: readonly string[]) => void
}

const NOTHING = { rows: null, is_loading: false, has_more: true, error: null }

/** The rows of a run; another key is another run. Leaving the page ends the stream. */
export function useAllRows(key: string): AllRows {
  const { id } = useProject()
  const [state, setState] = useState<Omit<AllRows, 'load'> & { readonly of: string }>({
    ...NOTHING,
    of: key,
  })
  const current = useRef(key)
  current.current = key
  const load = async (node: HogQLNode, columns: readonly string[]): Promise<void> => {
    setState({ ...NOTHING, is_loading: true, of: key })
    try {
      const path = `/api/projects/${id}/query/`
      const options = { query: { format: 'ndjson' }, body: { query: node } }
      const response = await download('POST', path, options)
      const isWanted = (): boolean => current.current === key
      const rows: SqlRow[] = []
      const readLine = lineReader(columns)
      for await (const part of linesOf(response, isWanted)) {
        for (const line of part) rows.push(readLine(line))
        if (rows.length > ALL_ROWS_MAX) break
      }
      if (!isWanted()) return
      const has_more = rows.length > ALL_ROWS_MAX
      setState({ ...NOTHING, rows: rows.slice(0, ALL_ROWS_MAX), has_more, of: key })
    } catch (error) {
      setState({ ...NOTHING, error, of: key })
    }
  }
  const shown = state.of === key ? state : { ...NOTHING, of: key }
  return { ...shown, load: (node, columns) => void load(node, columns) }
}

/** Whole lines as they come; ends, and so cancels the stream, when they are not wanted any more. */
async function* linesOf(
  response: Response,
  isWanted: () => boolean,
): AsyncGenerator<readonly string[]> {
  if (response.body === null) return
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of response.body) {
    if (!isWanted()) return
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    yield lines.filter((line) => line !== '')
  }
  if (rest !== '') yield [rest]
}

/** Asks a server whose events are in ClickHouse: on a busy machine, a query may be told to come again. */
import { askHogQL } from '../flows/processes/server.ts'

const WAIT_MS = 60_000
const PAUSE_MS = 100

/** The rows of an answer. Asks again while ClickHouse does not follow, or cannot be reached. */
export async function askFresh(url: string, query: string): Promise<readonly unknown[]> {
  for (const end = Date.now() + WAIT_MS; ; ) {
    try {
      return (await askHogQL(url, query)).results
    } catch (error) {
      const is_passing = error instanceof Error && error.message.startsWith('503')
      if (!is_passing || Date.now() > end) throw error
    }
    await Bun.sleep(PAUSE_MS)
  }
}

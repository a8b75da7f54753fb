/** Whether the server still has the version of the interface that this tab runs. */
import { BASE_PATH } from './base-path.ts'

/** Names the files of its version, by their hashes; every page has the same one. */
function entryOf(page: Document): string | null {
  const script = page.querySelector<HTMLScriptElement>('script[type=module][src]')
  return script?.getAttribute('src') ?? null
}

/** Resolves with true when the server has another version. A server that does not answer has none. */
export async function isOutdated(): Promise<boolean> {
  const own = entryOf(document)
  try {
    const answer = await fetch(`${BASE_PATH}/`, { cache: 'no-cache' })
    const text = await answer.text()
    return answer.ok && own !== null && !text.includes(`"${own}"`)
  } catch {
    return false
  }
}

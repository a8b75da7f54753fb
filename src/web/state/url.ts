/** State in the address, so that a page can be linked, reloaded, and undone with the back button. */
import { useCallback, useEffect, useState } from 'preact/hooks'
import { useLocation, useSearch } from 'wouter-preact'
import { withoutBase } from './base-path.ts'

export type ChangeOptions = {
  /** Replaces the history's entry instead of adding one: for typing. Choices add one, so that Back undoes them. */
  readonly is_typing?: boolean
}

/**
 * One member of the query string, and a function that changes it. The fallback is left out of the address. Other
 * members and the fragment stay.
 */
export function useParam(
  name: string,
  fallback = '',
): readonly [string, (value: string, options?: ChangeOptions) => void] {
  const params = new URLSearchParams(useSearch())
  const changeAll = useParamsChange()
  const change = (value: string, options?: ChangeOptions): void =>
    changeAll({ [name]: value === fallback ? null : value }, options)
  return [params.get(name) ?? fallback, change]
}

/** A function that changes several members of the query string in one step; null removes one. */
export function useParamsChange(): (
  values: Readonly<Record<string, string | null>>,
  options?: ChangeOptions,
) => void {
  const [, navigate] = useLocation()
  return (values, { is_typing = false } = {}) => {
    const { pathname, search, hash } = location
    const params = new URLSearchParams(search)
    for (const [name, value] of Object.entries(values)) {
      if (value === null) params.delete(name)
      else params.set(name, value)
    }
    const text = params.toString()
    navigate(`~${withoutBase(pathname)}${text === '' ? '' : `?${text}`}${hash}`, {
      replace: is_typing,
    })
  }
}

/** The length of a text that the server searches; it answers nothing to an address of more than 16 KB, not even the page. */
export const SEARCH_LENGTH_MAX = 400

/** Longer queries are deflated: servers and chats cut long addresses. */
const PLAIN_LENGTH_MAX = 8000

/** The query in the fragment; `undefined` while a deflated one is being read, null when there is none. */
type HashQuery<Query> = Query | null | undefined

/**
 * The query of a page, as JSON in the fragment: `#q=…`, or deflated `#z=…`. `read` checks what came from outside
 * and returns null for what is no query of this page; keep it outside of the component.
 */
export function useHashQuery<Query>(
  read: (value: unknown) => Query | null,
): readonly [HashQuery<Query>, (query: Query, options?: ChangeOptions) => void] {
  const hash = useHash()
  const [query, setQuery] = useState<HashQuery<Query>>(() => readPlain(hash, read))
  useEffect(() => {
    // A later change is shown already.
    if (hash === last_write?.hash && pending_changes > 0) return undefined
    const plain = readPlain(hash, read)
    setQuery(plain)
    if (plain !== undefined) return undefined
    let is_current = true
    const readDeflated = async (): Promise<void> => {
      const value = await inflate(hash.slice('#z='.length))
      if (is_current) setQuery(read(value))
    }
    void readDeflated()
    return () => {
      is_current = false
    }
  }, [hash, read])
  const change = useCallback(
    (next: Query, options: ChangeOptions = {}): void => {
      // As the address has it: members that are undefined are missing.
      const node: unknown = JSON.parse(JSON.stringify(next))
      // Shown at once: the next change begins with this one, also while it is being deflated.
      setQuery(read(node))
      const place_before = placeNow()
      pending_changes += 1
      const write = (): Promise<void> => writeHash(node, place_before, options)
      // Also after one that failed: browsers refuse too many changes of the history in a short time.
      all_writes = all_writes.then(write, write)
    },
    [read],
  )
  return [query, change]
}

/** Resolves when all changes so far are in the address: deflating takes a while, and each is to be in the history. */
let all_writes: Promise<void> = Promise.resolve()

/** Changes that are not in the address yet. */
let pending_changes = 0

/** The last query in the address: it need not be inflated again. */
let last_write: { readonly hash: string; readonly place: string; readonly query: unknown } | null =
  null

const placeNow = (): string => location.pathname + location.hash

/** Puts a query into the fragment, unless the address has since become another one, as by Back. */
async function writeHash(
  query: unknown,
  place_before: string,
  { is_typing = false }: ChangeOptions,
): Promise<void> {
  const hash = await hashOf(query)
  pending_changes -= 1
  const place = placeNow()
  if ((place !== place_before && place !== last_write?.place) || hash === location.hash) return
  last_write = { hash, place: location.pathname + hash, query }
  if (is_typing) history.replaceState(history.state, '', hash)
  else history.pushState(history.state, '', hash)
}

/** The fragment of a query, for links: `#q=…` or `#z=…`. */
export async function hashOf(query: unknown): Promise<string> {
  const json = JSON.stringify(query)
  const plain = `#q=${encodeURIComponent(json)}`
  return plain.length <= PLAIN_LENGTH_MAX ? plain : `#z=${await deflate(json)}`
}

/** The current fragment with its `#`; follows the back button, `history.pushState`, and another address typed into the same tab. */
export function useHash(): string {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const follow = (): void => setHash(location.hash)
    follow()
    for (const event of HASH_EVENTS) addEventListener(event, follow)
    return () => {
      for (const event of HASH_EVENTS) removeEventListener(event, follow)
    }
  }, [])
  return hash
}

/** The router announces its own changes of the history by the events `pushState` and `replaceState`. */
const HASH_EVENTS = ['popstate', 'hashchange', 'pushState', 'replaceState']

function readPlain<Query>(hash: string, read: (value: unknown) => Query | null): HashQuery<Query> {
  if (hash === last_write?.hash) return read(last_write.query)
  if (hash.startsWith('#z=')) return undefined
  if (!hash.startsWith('#q=')) return null
  try {
    return read(JSON.parse(decodeURIComponent(hash.slice('#q='.length))))
  } catch {
    return null
  }
}

async function deflate(text: string): Promise<string> {
  const packed = new Blob([text]).stream().pipeThrough(new CompressionStream('deflate-raw'))
  const bytes = new Uint8Array(await new Response(packed).arrayBuffer())
  let binary = ''
  for (const byte of bytes) binary += String.fromCodePoint(byte)
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

/** Links come from outside: a small text may inflate to gigabytes. */
const INFLATED_LENGTH_MAX = 2_000_000

async function inflate(text: string): Promise<unknown> {
  try {
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
    const bytes = Uint8Array.from(binary, (char) => char.codePointAt(0) ?? 0)
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'))
    const decoder = new TextDecoder()
    let json = ''
    for await (const part of stream) {
      json += decoder.decode(part, { stream: true })
      if (json.length > INFLATED_LENGTH_MAX) return null
    }
    return JSON.parse(json)
  } catch {
    return null
  }
}

/** Pages load when they are opened. */
import type { ComponentType, VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ErrorNote } from './parts/error-note.tsx'
import { Skeleton } from './parts/skeleton.tsx'

type LoadState<Props> =
  | { readonly is: 'loading' }
  | { readonly is: 'loaded'; readonly Page: ComponentType<Props> }
  | { readonly is: 'failed' }

/** A reload within this time did not help; a second one would not either. */
const RELOAD_PAUSE_MS = 30_000
const RELOADED_AT = 'tidemark.reloaded_at'

/**
 * Makes a component of a page, or of a heavy part of one, that is loaded at its first use. A tab that is older than the server asks for files
 * that are gone: it then reloads once, which brings the new version to the same address.
 */
export function lazyPage<Props extends object = object>(
  load: () => Promise<ComponentType<Props>>,
): ComponentType<Props> {
  let loaded: ComponentType<Props> | null = null
  const start = async (): Promise<LoadState<Props>> => {
    try {
      loaded = await load()
      return { is: 'loaded', Page: loaded }
    } catch {
      return { is: reloadOnce() ? 'loading' : 'failed' }
    }
  }
  return function LazyPage(props: Props): VNode {
    const [state, setState] = useState<LoadState<Props>>(
      loaded === null ? { is: 'loading' } : { is: 'loaded', Page: loaded },
    )
    const run = (): void => {
      setState({ is: 'loading' })
      void start().then(setState)
    }
    useEffect(() => {
      if (loaded === null) run()
    }, [])
    if (state.is === 'loaded') return <state.Page {...props} />
    if (state.is === 'loading') return <Skeleton lines={6} label="Loading the page" />
    return <ErrorNote message="This page could not be loaded." onRetry={run} />
  }
}

/** Reloads the tab unless it has just done so; returns whether it does. */
function reloadOnce(): boolean {
  try {
    const before = Number(sessionStorage.getItem(RELOADED_AT) ?? 0)
    if (Math.abs(Date.now() - before) < RELOAD_PAUSE_MS) return false
    sessionStorage.setItem(RELOADED_AT, String(Date.now()))
  } catch {
    // Without storage a reload could not be told from the next, and would go on for ever.
    return false
  }
  location.reload()
  return true
}

/** Pages load when they are opened. */
import type { ComponentType, VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ErrorNote } from './parts/notes/error-note.tsx'
import { Skeleton } from './parts/notes/skeleton.tsx'
import { PageHead } from './parts/page-head.tsx'
import { waitForServer } from './state/connection.ts'
import { isOutdated } from './state/version.ts'

type LoadState<Props> =
  | { readonly is: 'loading' }
  | { readonly is: 'loaded'; readonly Page: ComponentType<Props> }
  | { readonly is: 'failed' }

/** When a page fails again this soon after a reload, another reload would not help either. */
const RELOAD_PAUSE_MS = 30_000
const RELOADED_AT = 'tidemark.reloaded_at'

type LazyOptions = {
  /** A part of a page. */
  readonly is_part?: boolean
  /** A dialog, for which the page keeps no place while it is loading. */
  readonly is_dialog?: boolean
}

/** A component that is loaded at its first use, or before it by `preload`. */
type LazyComponent<Props> = ComponentType<Props> & { readonly preload: () => void }

/**
 * Makes a component of a page, or of a heavy part of one, that is loaded at its first use. While the server is gone it
 * waits. A tab that is older than the server asks for files that are gone: it then reloads once, which brings the new
 * version to the same address.
 */
export function lazyPage<Props extends object = object>(
  load: () => Promise<ComponentType<Props>>,
  { is_part = false, is_dialog = false }: LazyOptions = {},
): LazyComponent<Props> {
  let loaded: ComponentType<Props> | null = null
  const start = async (): Promise<LoadState<Props>> => {
    const Page = await load().catch(() => loadAgain(load))
    if (Page === 'reloading') return { is: 'loading' }
    if (Page === null) return { is: 'failed' }
    loaded = Page
    return { is: 'loaded', Page }
  }
  function LazyPage(props: Props): VNode | null {
    const [state, setState] = useState<LoadState<Props>>(
      loaded === null ? { is: 'loading' } : { is: 'loaded', Page: loaded },
    )
    useEffect(() => {
      // A preload may have ended since this was drawn.
      if (state.is === 'loading') void start().then(setState)
    }, [])
    if (state.is === 'loaded') return <state.Page {...props} />
    if (state.is === 'loading')
      return is_dialog ? null : <Skeleton lines={6} label="Loading the page" />
    const is_page = !is_part && !is_dialog
    return (
      <>
        {is_page && <PageHead title="Something went wrong" />}
        <ErrorNote
          message={`This ${is_page ? 'page' : 'part'} could not be loaded.`}
          // Some browsers remember for the life of a page that a script could not be loaded.
          onRetry={() => location.reload()}
        />
      </>
    )
  }
  const preload = (): void => {
    if (loaded === null) void start()
  }
  return Object.assign(LazyPage, { preload })
}

/** Tries once more when the server answers, or reloads when it has another version; null when nothing helps. */
async function loadAgain<Loaded>(
  load: () => Promise<Loaded>,
): Promise<Loaded | 'reloading' | null> {
  await waitForServer()
  if ((await isOutdated()) && reloadOnce()) return 'reloading'
  return load().catch(() => null)
}

/** Reloads the tab unless it has just done so; returns whether it does. */
function reloadOnce(): boolean {
  try {
    const before = Number(sessionStorage.getItem(RELOADED_AT) ?? 0)
    if (Math.abs(Date.now() - before) < RELOAD_PAUSE_MS) return false
    sessionStorage.setItem(RELOADED_AT, String(Date.now()))
  } catch {
    // Without storage nothing says that the page was reloaded once, and it would reload for ever.
    return false
  }
  location.reload()
  return true
}

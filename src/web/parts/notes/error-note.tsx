/** An error in place: the server's words, and a button that tries again. */
import type { ComponentChildren, VNode } from 'preact'
import { ApiError } from '../../api/calls/call.ts'
import { Button } from '../button.tsx'
import { Icon } from '../icon.tsx'
import style from './notes.module.css'

type ErrorNoteProps = {
  readonly message: string
  readonly onRetry?: (() => void) | undefined
  /** Further buttons. */
  readonly children?: ComponentChildren
}

/** Shows an error in the place of the answer. */
export function ErrorNote({ message, onRetry, children }: ErrorNoteProps): VNode {
  return (
    <div class={style.error} role="alert">
      <Icon name="alert" />
      <p>{message}</p>
      {(onRetry !== undefined || children !== undefined) && (
        <div class={style.actions}>
          {onRetry && <Button onClick={onRetry}>Retry</Button>}
          {children}
        </div>
      )}
    </div>
  )
}

/** Whether the server is gone. */
export const isUnreachable = (error: unknown): boolean =>
  error instanceof ApiError && error.code === 'unreachable'

/** Codes of status 400 after which the same query may succeed later. Others refuse the query itself, 403 a right, 413 its length. */
const PASSING_CODES: ReadonlySet<string> = new Set([
  'query_cancelled',
  'query_failed',
  'query_memory',
  'query_timeout',
])

/** Whether the same call may succeed later. */
export const isWorthRetry = (error: unknown): boolean =>
  !(error instanceof ApiError) ||
  (error.status !== 403 &&
    error.status !== 413 &&
    (error.status !== 400 || PASSING_CODES.has(error.code)))

/** The message of an error for the reader: a missing right, a server that is gone, the server's refusal. */
export function errorText(error: unknown): string {
  if (!(error instanceof ApiError)) return 'Something went wrong in this page.'
  if (isUnreachable(error))
    return 'The server does not answer. Is it running, and is the network up?'
  if (error.code === 'not_authenticated') return 'Your session has ended. Log in to continue.'
  if (error.status === 403) return `You do not have access to this. ${error.message}`
  return error.message
}

/** The message of the error of a change. For a missing right it is the server's: the text for pages says "may not see". */
export const changeErrorText = (error: unknown): string =>
  error instanceof ApiError && error.status === 403 ? error.message : errorText(error)

/** The HogQL of an answer: to read, to copy, to open in SQL where the server takes it as it is. */
import { useQuery } from '@tanstack/preact-query'
import type { VNode } from 'preact'
import { type ApiError, call } from '../../api/calls/call.ts'
import { useProject } from '../../state/project.tsx'
import { ButtonLink } from '../button.tsx'
import { CopyButton } from '../copy.tsx'
import { Dialog } from '../overlays/dialog.tsx'
import style from './answer-menu.module.css'
import { brokenIntoLines } from './hogql-lines.ts'

type HogqlDialogProps = { readonly hogql: string; readonly onClose: () => void }

type Metadata = {
  readonly isValid: boolean
  readonly errors: readonly { readonly message: string }[]
}

/** Draws the query, with the reason if the server refuses it. */
export function HogqlDialog({ hogql, onClose }: HogqlDialogProps): VNode {
  const { id } = useProject()
  const metadata = useQuery<Metadata, ApiError>({
    queryKey: ['metadata', id, hogql],
    queryFn: ({ signal }) => {
      const query = { kind: 'HogQLMetadata', language: 'hogQL', query: hogql }
      return call<Metadata>('POST', `/api/projects/${id}/query/`, { body: { query }, signal })
    },
  })
  const text = brokenIntoLines(hogql)
  const reason = metadata.data?.errors[0]?.message
  const address = `/sql#q=${encodeURIComponent(JSON.stringify({ kind: 'HogQLQuery', query: text }))}`
  const foot = (
    <>
      <CopyButton text={text} label="Copy HogQL" is_named />
      {metadata.data?.isValid === true && (
        <ButtonLink href={address} look="main" icon="sql">
          Open in SQL
        </ButtonLink>
      )}
    </>
  )
  return (
    <Dialog title="HogQL" onClose={onClose} is_wide foot={foot}>
      <pre class={style.code} tabIndex={0}>
        {text}
      </pre>
      {metadata.data?.isValid === false && (
        <p class={style.remark}>The SQL page cannot run it as it is: {reason}</p>
      )}
    </Dialog>
  )
}

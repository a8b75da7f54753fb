/** SQL: tabs with an editor, the tables beside it, the rows below. */
import { useQuery, useQueryClient } from '@tanstack/preact-query'
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ask } from '../../api/ask.ts'
import type { ApiError } from '../../api/call.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { copyText } from '../../parts/copy.tsx'
import { errorText } from '../../parts/error-note.tsx'
import { Menu } from '../../parts/menu.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { showToast } from '../../parts/toast.tsx'
import { useProject } from '../../state/project.tsx'
import { useHashQuery } from '../../state/url.ts'
import { type EditorHandle, SqlEditor } from './editor.tsx'
import { EXAMPLES } from './examples.ts'
import { CODE_FORMS, EXPORT_FORMATS, saveAsFile } from './exports.ts'
import { Results, type SqlAnswer } from './results.tsx'
import { SchemaTree } from './schema-tree.tsx'
import style from './sql.module.css'
import { type SqlTabs, tabName, useTabs } from './tabs.ts'

type HogQLNode = { readonly kind: 'HogQLQuery'; readonly query: string }

/** A question from an address, if it is one of this page. */
function readNode(value: unknown): HogQLNode | null {
  if (typeof value !== 'object' || value === null) return null
  const { kind, query } = value as Readonly<Record<string, unknown>>
  return kind === 'HogQLQuery' && typeof query === 'string' ? { kind, query } : null
}

/** The page. What was run last is in the address, so that a link and the back button bring it back. */
export function SqlPage(): VNode {
  const tabs = useTabs()
  const [node, setNode] = useHashQuery(readNode)
  const editor = useRef<EditorHandle | null>(null)
  const { open } = tabs
  const linked = node?.query
  useEffect(() => {
    if (linked !== undefined && linked !== open.ran && linked !== open.text)
      tabs.add(linked, linked)
  }, [linked])
  const { answer, run, cancel } = useRun(tabs, (query) => setNode({ kind: 'HogQLQuery', query }))
  const runText = (): void => run(editor.current?.selectedText() ?? open.text)
  return (
    <>
      <PageHead title="SQL">
        {answer.isFetching ? (
          <Button icon="close" onClick={cancel}>
            Cancel
          </Button>
        ) : (
          <Button look="main" onClick={runText} disabled={open.text.trim() === ''}>
            Run <kbd class={style.keys}>{RUN_KEYS}</kbd>
          </Button>
        )}
      </PageHead>
      <TabBar tabs={tabs} />
      <div class={style.split}>
        <SchemaTree onPick={(text) => editor.current?.insert(text)} />
        <div class={style.work}>
          <SqlEditor
            tab_id={open.id}
            text={open.text}
            changes_elsewhere={tabs.changes_elsewhere}
            onChange={(text) => tabs.change({ text })}
            onRun={runText}
            onReady={(handle) => {
              editor.current = handle
            }}
          />
          {open.ran === null ? (
            <Examples onPick={(text) => tabs.add(text)} />
          ) : (
            <Results of={answer} actions={<TakeAway text={open.ran} />} />
          )}
        </div>
      </div>
    </>
  )
}

const RUN_KEYS = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘↵' : 'Ctrl ↵'

/** Runs the open tab's text: each run computes anew, and leaving or cancelling stops it in the server. */
function useRun(tabs: SqlTabs, onRun: (text: string) => void) {
  const { id } = useProject()
  const client = useQueryClient()
  const { open } = tabs
  const [runs, setRuns] = useState(0)
  const key = ['sql', id, open.id, open.ran, runs]
  const answer = useQuery<SqlAnswer, ApiError>({
    queryKey: key,
    queryFn: async ({ signal }) => {
      const started_ms = performance.now()
      const query = { kind: 'HogQLQuery', query: open.ran ?? '' } as const
      const found = await ask(id, query, { is_forced: true, signal })
      return { ...found, waited_ms: performance.now() - started_ms }
    },
    enabled: open.ran !== null,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  })
  return {
    answer,
    run: (text: string) => {
      if (text.trim() === '') return
      tabs.change({ ran: text })
      setRuns((count) => count + 1)
      onRun(text)
    },
    cancel: () => void client.cancelQueries({ queryKey: key }),
  }
}

function TabBar({ tabs }: { readonly tabs: SqlTabs }): VNode {
  return (
    <div class={style.tabs}>
      {tabs.tabs.map(({ id, text }) => (
        <span key={id} class={id === tabs.open.id ? style.open : undefined}>
          <button
            type="button"
            aria-pressed={id === tabs.open.id}
            onClick={() => tabs.choose(id)}
            title={text}
          >
            {tabName(text)}
          </button>
          <IconButton
            icon="close"
            label={`Close ${tabName(text)}`}
            onClick={() => tabs.close(id)}
          />
        </span>
      ))}
      <IconButton icon="plus" label="New tab" onClick={() => tabs.add('')} />
    </div>
  )
}

async function copyCode(code: string): Promise<void> {
  const is_copied = await copyText(code)
  showToast({ text: is_copied ? 'Copied' : 'This browser does not let pages copy.' })
}

function TakeAway({ text }: { readonly text: string }): VNode {
  const { id } = useProject()
  const address = `${location.origin}/api/projects/${id}/query/`
  const save = async (format: (typeof EXPORT_FORMATS)[number]): Promise<void> => {
    try {
      await saveAsFile(id, text, format)
    } catch (error) {
      showToast({ text: errorText(error) })
    }
  }
  return (
    <Menu
      label="Export and copy"
      text="Export"
      icon="download"
      items={[
        ...EXPORT_FORMATS.map((format) => ({
          text: `Save as ${format.text}`,
          onSelect: () => void save(format),
        })),
        null,
        ...CODE_FORMS.map(({ text: name, write }) => ({
          text: `Copy as ${name}`,
          onSelect: () => void copyCode(write(address, text)),
        })),
      ]}
    />
  )
}

function Examples({ onPick }: { readonly onPick: (text: string) => void }): VNode {
  return (
    <section class={style.examples} aria-label="Examples">
      <h2>Begin with an example</h2>
      <ul>
        {EXAMPLES.map(({ title, text }) => (
          <li key={title}>
            <button type="button" onClick={() => onPick(text)}>
              <strong>{title}</strong>
              <code>{text}</code>
            </button>
          </li>
        ))}
      </ul>
    </section>
  )
}

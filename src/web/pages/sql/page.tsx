/** SQL: tabs with an editor, the tables beside it, the rows below. */
import type { VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { ROW_FILES } from '../../api/exports.ts'
import { useVariables } from '../../api/variables.ts'
import { CODE_FORMS, queryAddress } from '../../parts/answer/code-forms.ts'
import { saveRows } from '../../parts/answer/save-file.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { copyText } from '../../parts/copy.tsx'
import { Progress } from '../../parts/notes/progress.tsx'
import { Menu } from '../../parts/overlays/menu.tsx'
import { showToast } from '../../parts/overlays/toast.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { useKeys } from '../../state/keys.ts'
import { useProject } from '../../state/project.tsx'
import { useHashQuery, useParam } from '../../state/url.ts'
import { type EditorHandle, SqlEditor } from './editor/editor.tsx'
import { Refusal } from './editor/refusal.tsx'
import { SchemaTree } from './editor/schema-tree.tsx'
import { VariableFields } from './editor/variables.tsx'
import { EXAMPLES } from './examples.ts'
import {
  type HogQLNode,
  isSameNode,
  nodeOfText,
  readNode,
  textsOfNode,
  variableNames,
} from './node.ts'
import { Results } from './results/results.tsx'
import { useRun } from './results/run.ts'
import { readView } from './results/views.ts'
import { SavedQueries } from './saved.tsx'
import style from './sql.module.css'
import { type SqlTabs, tabName, useTabs } from './tabs.ts'

/** The page. The last run query is in the address, so that a link and the back button bring it back. */
export function SqlPage(): VNode {
  const desk = useDesk()
  const { tabs, editor } = desk
  return (
    <>
      <PageHead title="SQL">
        <Actions desk={desk} />
      </PageHead>
      <TabBar tabs={tabs} />
      <div class={style.split}>
        <SchemaTree onPick={(text) => editor.current?.insert(text)} />
        <Work desk={desk} />
      </div>
    </>
  )
}

/** The state that the parts of the page share. */
function useDesk() {
  const tabs = useTabs()
  const [linked, setLinked] = useHashQuery(readNode)
  const editor = useRef<EditorHandle | null>(null)
  const { open } = tabs
  const variables = useVariables().data ?? []
  useEffect(() => {
    if (!linked || isSameNode(linked, open.ran)) return
    if (linked.query === open.text) tabs.change(ranNode(linked))
    else tabs.add({ text: linked.query, ...ranNode(linked) })
  }, [linked])
  const running = useRun(tabs, setLinked)
  const nodeOf = (text: string): HogQLNode => nodeOfText(text, open.values, variables)
  const runText = (): void => running.run(nodeOf(editor.current?.selectedText() ?? open.text))
  return { tabs, editor, variables, running, node: nodeOf(open.text), runText }
}

type DeskProps = { readonly desk: ReturnType<typeof useDesk> }

function Actions({ desk }: DeskProps): VNode {
  const { tabs, running, node, runText } = desk
  const { open } = tabs
  const [view, setView] = useParam('view', 'table')
  useKeys([{ keys: 'mod+enter', text: 'Run', group: 'SQL', run: runText }])
  return (
    <>
      <SavedQueries
        node={node}
        view={readView(view)}
        saved={open.saved}
        onSaved={(saved) => tabs.change({ saved })}
        onOpen={({ node: opened, view: shown, saved }) => {
          tabs.add({ text: opened.query, ...ranNode(opened), saved })
          setView(shown)
        }}
      />
      {running.answer.isFetching ? (
        <Button icon="close" onClick={running.cancel}>
          Cancel
        </Button>
      ) : (
        <Button look="main" onClick={runText} disabled={open.text.trim() === ''}>
          Run <kbd class={style.keys}>{RUN_KEYS}</kbd>
        </Button>
      )}
    </>
  )
}

function Work({ desk }: DeskProps): VNode {
  const { tabs, editor, variables, running, runText } = desk
  const { open } = tabs
  const { answer, progress } = running
  return (
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
      <VariableFields
        names={variableNames(open.text)}
        saved={variables}
        values={open.values}
        onChange={(values) => tabs.change({ values })}
        onRun={runText}
      />
      {progress !== null && <Progress progress={progress} />}
      {open.ran === null ? (
        <Examples onPick={(text) => tabs.add({ text })} />
      ) : (
        <Results
          of={answer}
          node={open.ran}
          run_key={`${open.id}:${open.run}`}
          actions={<TakeAway node={open.ran} />}
          refusal={(error) => (
            <Refusal
              error={error}
              text={open.text}
              editor={editor.current}
              onRetry={() => void answer.refetch()}
            />
          )}
        />
      )}
    </div>
  )
}

/** A tab that has run a query. */
const ranNode = (node: HogQLNode) => ({ ran: node, values: textsOfNode(node) })

const RUN_KEYS = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘↵' : 'Ctrl ↵'

function TabBar({ tabs }: { readonly tabs: SqlTabs }): VNode {
  const bar = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const open = bar.current?.querySelector('[aria-pressed=true]')
    open?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [tabs.open.id])
  return (
    <div ref={bar} class={style.tabs}>
      {tabs.tabs.map((tab) => (
        <span key={tab.id} class={tab.id === tabs.open.id ? style.open : undefined}>
          <button
            type="button"
            aria-pressed={tab.id === tabs.open.id}
            onClick={() => tabs.choose(tab.id)}
            title={tab.text}
          >
            {tabName(tab)}
          </button>
          <IconButton
            icon="close"
            label={`Close ${tabName(tab)}`}
            onClick={() => tabs.close(tab.id)}
          />
        </span>
      ))}
      <IconButton icon="plus" label="New tab" onClick={() => tabs.add({})} />
    </div>
  )
}

async function copyCode(code: string): Promise<void> {
  const is_copied = await copyText(code)
  showToast({ text: is_copied ? 'Copied' : 'This browser does not let pages copy.' })
}

function TakeAway({ node }: { readonly node: HogQLNode }): VNode {
  const { id } = useProject()
  return (
    <Menu
      label="Export and copy"
      text="Export"
      icon="download"
      items={[
        ...ROW_FILES.map((file) => ({
          text: `Download ${file.text}`,
          onSelect: () => void saveRows(id, node, { name: 'query', file }),
        })),
        null,
        ...CODE_FORMS.map(({ text: name, write }) => ({
          text: `Copy as ${name}`,
          onSelect: () => void copyCode(write(queryAddress(id), node)),
        })),
      ]}
    />
  )
}

function Examples({ onPick }: { readonly onPick: (text: string) => void }): VNode {
  return (
    <section class={style.examples} aria-label="Examples">
      <h2>Start with an example</h2>
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

/** The editor as a part of the page. It lives in a shadow root: there its styles need no `style` element. */
import { EditorState } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import type { VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { completeText, findFaults } from '../../../api/editor.ts'
import { useProject } from '../../../state/project.tsx'
import style from '../sql.module.css'
import { editorExtensions } from './editor-setup.ts'

/** The functions by which the page controls the editor. */
export type EditorHandle = {
  /** The selected text; all of it when nothing is selected. */
  readonly selectedText: () => string
  readonly insert: (text: string) => void
  /** Selects a part of the text and brings it into sight. */
  readonly show: (from: number, to: number) => void
  /** Puts another text in place of a part. */
  readonly replace: (from: number, to: number, text: string) => void
}

type SqlEditorProps = {
  /** Another key is another text with a history of its own. */
  readonly tab_id: string
  /** The text when the tab is opened; later the editor has it. */
  readonly text: string
  /** Another number takes over the text, which was changed elsewhere. */
  readonly changes_elsewhere: number
  readonly onChange: (text: string) => void
  readonly onRun: () => void
  readonly onReady: (handle: EditorHandle) => void
}

/** Draws the editor. */
export function SqlEditor(props: SqlEditorProps): VNode {
  const { tab_id, text, changes_elsewhere, onChange, onRun, onReady } = props
  const host = useRef<HTMLDivElement>(null)
  const opened = useRef<EditorView | null>(null)
  const { id } = useProject()
  const is_foreign = useRef(false)
  const calls = useRef({ onChange, onRun })
  calls.current = { onChange, onRun }
  useEffect(() => {
    const element = host.current
    if (element === null) return undefined
    const root = element.shadowRoot ?? element.attachShadow({ mode: 'open' })
    const view = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: text,
        extensions: editorExtensions({
          complete: (all, from, to) => completeText(id, all, [from, to]),
          findFaults: (all) => findFaults(id, all),
          onChange: (changed) => {
            if (!is_foreign.current) calls.current.onChange(changed)
          },
          onRun: () => calls.current.onRun(),
        }),
      }),
    })
    onReady(handleOf(view))
    opened.current = view
    return () => view.destroy()
    // The text is only the first one: the editor is its owner afterwards.
  }, [tab_id, id])
  useEffect(() => {
    const view = opened.current
    if (view === null || changes_elsewhere === 0 || view.state.doc.toString() === text) return
    // Written back, it would replace text typed there since.
    is_foreign.current = true
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } })
    is_foreign.current = false
  }, [changes_elsewhere])
  return <div ref={host} class={style.editor} />
}

function handleOf(view: EditorView): EditorHandle {
  return {
    selectedText: () => {
      const { main } = view.state.selection
      return main.empty ? view.state.doc.toString() : view.state.sliceDoc(main.from, main.to)
    },
    insert: (text) => {
      view.dispatch(view.state.replaceSelection(text))
      view.focus()
    },
    show: (from, to) => {
      const { length } = view.state.doc
      const selection = { anchor: Math.min(from, length), head: Math.min(to, length) }
      view.dispatch({ selection, scrollIntoView: true })
      view.focus()
    },
    replace: (from, to, text) => {
      const { length } = view.state.doc
      if (to <= length) view.dispatch({ changes: { from, to, insert: text } })
      view.focus()
    },
  }
}

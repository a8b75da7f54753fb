/** The editor as a part of the page. It lives in a shadow root: there its styles need no `style` element. */
import { EditorState } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import type { VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { completeText, findFaults } from '../../api/editor.ts'
import { useProject } from '../../state/project.tsx'
import { editorExtensions } from './editor-setup.ts'
import style from './sql.module.css'

/** What the page may ask of the editor. */
export type EditorHandle = {
  /** The selected text; all of it when nothing is selected. */
  readonly selectedText: () => string
  readonly insert: (text: string) => void
}

type SqlEditorProps = {
  /** Another key is another text with a history of its own. */
  readonly tab_id: string
  /** The text when the tab is opened; later the editor has it. */
  readonly text: string
  readonly onChange: (text: string) => void
  readonly onRun: () => void
  readonly onReady: (handle: EditorHandle) => void
}

/** Draws the editor. */
export function SqlEditor({ tab_id, text, onChange, onRun, onReady }: SqlEditorProps): VNode {
  const host = useRef<HTMLDivElement>(null)
  const { id } = useProject()
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
          onChange: (changed) => calls.current.onChange(changed),
          onRun: () => calls.current.onRun(),
        }),
      }),
    })
    onReady(handleOf(view))
    return () => view.destroy()
    // The text is only the first one: the editor is its owner afterwards.
  }, [tab_id, id])
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
  }
}
